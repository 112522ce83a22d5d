"""The lab's errors on the real engine, against errors worked out here with NumPy alone.

Formats are rounded by hand (bf16 by its bits), products and sums are float64, and nothing of the
program is used but the inputs' values. Where the only roundings are those of inputs and of the
result, the figure must agree; where the order of sums decides, its order of magnitude must.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.studies.precision import PrecisionLab, PrecisionStudy
from gpuexplorer.studies.running import How
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload
from tests.support.studies import SHIPPED, asked

Array = npt.NDArray[np.float64]
Round = Callable[[Any], Array]
PRECISIONS_HERE = ("fp64", "fp32", "bf16", "fp16")
SIZES = {
    "matmul": {"N": 64},
    "attention": {"B": 1, "H": 2, "S": 64, "D": 32},
    "layer_norm": {"B": 2, "S": 16, "D": 256},
}


def to_bf16(values: Any) -> Array:
    """Round to 8 significant bits by the bits of a float32: half up to even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
    rounded: Array = bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return rounded


ROUND: dict[str, Round] = {
    "fp64": lambda v: np.asarray(v, np.float64),
    "fp32": lambda v: np.asarray(v, np.float32).astype(np.float64),
    "bf16": to_bf16,
    "fp16": lambda v: np.asarray(v, np.float16).astype(np.float64),
}


def matmul(given: dict[str, Array], rounded: Round) -> Array:
    return rounded(given["A"]) @ rounded(given["B"])


def attention(given: dict[str, Array], rounded: Round) -> Array:
    q, k, v = (rounded(given[name]) for name in "QKV")
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    # the fused kernels round the weights before they multiply the values, and divide at the end
    mixed: Array = rounded(weights) @ v / weights.sum(axis=-1, keepdims=True)
    return mixed


def layer_norm(given: dict[str, Array], rounded: Round) -> Array:
    x, gain, shift = (rounded(given[name]) for name in "Xgb")
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    normed: Array = centred / spread * gain + shift
    return normed


BY_HAND: dict[str, Callable[[dict[str, Array], Round], Array]] = {
    "matmul": matmul, "attention": attention, "layer_norm": layer_norm,
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession() as opened:
        yield opened


@pytest.fixture(scope="module")
def labs(session: EngineSession) -> dict[str, PrecisionStudy]:
    how = How(rounds=6, seconds=0.03, samples=30, seed=1)
    return {
        name: PrecisionLab(
            asked(name, variant="torch", size=size), SHIPPED[name], session.devices(), how,
            precisions=PRECISIONS_HERE,
        ).run(session)
        for name, size in SIZES.items()
    }  # fmt: skip


def masters(session: EngineSession, study: PrecisionStudy) -> dict[str, Array]:
    """Return the inputs as the host has them, float32 in every precision but fp64."""
    workload = SHIPPED[study.config.workload]
    device = find_device(session.devices(), study.config.device)
    plan = make_plan(workload, study.config, device)
    return {name: np.asarray(v, np.float64) for name, v in make_inputs(plan).items()}


def rms_error(result: Array, right: Array) -> float:
    return float(np.linalg.norm(result - right) / np.linalg.norm(right))


@pytest.mark.parametrize("name", SIZES)
def test_every_precision_of_the_cpu_is_on_the_chart(
    labs: dict[str, PrecisionStudy], name: str
) -> None:
    study = labs[name]
    measured = {p.precision for p in study.points if p.measured is not None}
    assert measured == set(PRECISIONS_HERE), [p.skipped for p in study.points]
    assert study.error_field == "rms_rel_error"
    assert any(point.front for point in study.points)
    for point in study.points:
        assert point.measured is not None and point.measured.time_s > 0
        if point.precision not in ("fp32", "fp64"):
            assert point.fallback is None, point.fallback


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_half_errors_are_those_of_rounding_by_hand(
    session: EngineSession, labs: dict[str, PrecisionStudy], name: str, precision: str
) -> None:
    study = labs[name]
    given = masters(session, study)
    right = BY_HAND[name](given, ROUND["fp64"])
    rounded = ROUND[precision]
    expected = rms_error(rounded(BY_HAND[name](given, rounded)), right)
    point = next(p for p in study.points if p.precision == precision)
    assert point.measured is not None and point.measured.rms_rel_error is not None
    # Matrix products and norms round inputs and result alone; how attention rounds between its two
    # products is the kernel's choice.
    within = 0.3 if name == "attention" else 0.03
    assert point.measured.rms_rel_error == pytest.approx(expected, rel=within)
    unit = PRECISIONS[precision].rounding
    assert 0.1 * unit < point.measured.rms_rel_error < 3 * unit


@pytest.mark.parametrize("name", SIZES)
def test_single_and_double_errors_have_their_order_of_magnitude(
    session: EngineSession, labs: dict[str, PrecisionStudy], name: str
) -> None:
    study = labs[name]
    errors = {p.precision: p.measured.rms_rel_error for p in study.points if p.measured}
    assert errors["fp64"] is not None and errors["fp32"] is not None
    assert errors["fp64"] < 30 * 2.0**-53
    assert 0.05 * 2.0**-24 < errors["fp32"] < 30 * 2.0**-24
    given = masters(session, study)
    if name == "matmul":  # by hand in float32, in another order of sums
        singles = {key: value.astype(np.float32) for key, value in given.items()}
        product = np.zeros((64, 64), np.float32)
        for k in range(64):
            product += np.outer(singles["A"][:, k], singles["B"][k])
        by_hand = rms_error(product.astype(np.float64), matmul(given, ROUND["fp64"]))
        assert by_hand / 8 < errors["fp32"] < by_hand * 8


def test_the_formats_are_ordered_by_their_significant_bits(
    labs: dict[str, PrecisionStudy],
) -> None:
    for study in labs.values():
        errors = {p.precision: study.error(p) or 0.0 for p in study.points}
        assert errors["fp64"] < errors["fp32"] < errors["fp16"] < errors["bf16"]


def test_a_result_beyond_the_tolerance_is_timed(session: EngineSession) -> None:
    """The whole way through the engine, with a kernel whose manifest asks for too much."""
    source = SHIPPED["matmul"].source
    manifest = source.manifest.replace("fp16 = { tolerance = 2e-3 }", "fp16 = { tolerance = 1e-9 }")
    assert manifest != source.manifest
    strict = Workload(msgspec.structs.replace(source, manifest=manifest))
    request = asked("matmul", variant="naive", size={"N": 48})
    how = How(rounds=6, seconds=0.03, samples=30, seed=1)
    study = PrecisionLab(
        request, strict, session.devices(), how, precisions=["fp32", "fp16"]
    ).run(session)  # fmt: skip
    fp32, fp16 = study.points
    assert fp32.measured is not None and not fp32.measured.wrong
    assert fp16.measured is not None and fp16.measured.wrong and fp16.measured.time_s > 0
    assert 1e-5 < (fp16.measured.rms_rel_error or 0) < 1e-3
