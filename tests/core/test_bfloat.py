"""bf16 on the host: rounding to the nearest, ties to even, as CUDA converts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core import bfloat
from gpuexplorer.workloads.fills import is_poison

EVERY = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)


def test_every_number_of_16_bits_is_kept() -> None:
    values = bfloat.unpacked(EVERY)
    assert values.dtype == np.float32
    number = ~np.isnan(values)
    assert (bfloat.packed(values)[number] == EVERY[number]).all()
    assert (bfloat.packed(values)[~number] == 0x7FFF).all()
    assert (bfloat.rounded(values)[number] == values[number]).all()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_number_becomes_the_nearest_and_a_tie_the_even_one(value: float) -> None:
    bits = int(bfloat.packed(np.float32(value).reshape(1))[0])
    finite = np.sort(bfloat.unpacked(EVERY)[np.isfinite(bfloat.unpacked(EVERY))]).astype(np.float64)
    step = finite[-1] - finite[-2]
    candidates = np.concatenate([[finite[0] - step], finite, [finite[-1] + step]])
    at = int(np.searchsorted(candidates, value))
    near = candidates[max(0, at - 1) : at + 1]
    distances = np.abs(near - value)
    found = float(bfloat.unpacked(np.array([bits], np.uint16))[0])
    if np.isinf(found):  # half a step beyond the largest
        assert abs(value) >= finite[-1] + step / 2 and np.sign(found) == np.sign(value)
        return
    assert abs(found - value) == distances.min()
    if len(near) == 2 and distances[0] == distances[1] and near[0] != near[1]:
        assert bits % 2 == 0


def test_poison_stays_what_it_is() -> None:
    bits = np.array([0xFFFF, 0x7FC0, 0x3F80], np.uint16)
    assert is_poison(bfloat.unpacked(bits)).tolist() == [True, False, False]
    assert bfloat.packed(np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)).tolist() == [
        0x7FFF, 0x7F80, 0xFF80, 0x8000,
    ]  # fmt: skip


def test_any_shape_and_order_of_memory_is_packed() -> None:
    values = np.arange(12, dtype=np.float64).reshape(3, 4).T
    assert bfloat.unpacked(bfloat.packed(values)).tolist() == values.tolist()
    long = np.arange((1 << 20) + 300) % 256  # whole numbers that bf16 holds, over more than a part
    assert np.array_equal(bfloat.rounded(long), long)
    assert bfloat.rounded(np.array(1.0 + 2**-9)) == 1.0
