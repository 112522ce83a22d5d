"""What a run's inputs hold: seeded, the same on every machine, in the exact type of the plan."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.core import bfloat
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.manifest import ElementType, InputFill
from gpuexplorer.workloads.plan import ArrayPlan, Plan

HostArray = npt.NDArray[Any]

LARGE = 256.0
"""Magnitude of the ``large`` fill: exact in half, and its square is above half's largest value."""
WHOLE: dict[str, np.dtype[Any]] = {
    "int": np.dtype(np.int32),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "int64": np.dtype(np.int64),
    "uint64": np.dtype(np.uint64),
}
"""Types of whole numbers, as manifests name them."""
INTEGERS = 4
"""The ``integers`` fill lies between minus and plus this number, so that sums stay exact."""
_CHUNK = 1 << 20


def poison_byte(type_: ElementType) -> int:
    """Return the byte that fills an output before a launch that is checked.

    Every bit set is a NaN in each floating-point format, and one that arithmetic hardly ever gives.
    As a whole number that would be -1, which many a kernel writes; this one is -1768515946.
    """
    return 0x96 if type_ in WHOLE else 0xFF


def is_poison(values: HostArray) -> npt.NDArray[np.bool_]:
    """Return which elements of an array still hold the poison, by their bits."""
    flat = np.ascontiguousarray(values)
    byte = 0x96 if flat.dtype.kind in "iu" else 0xFF
    bits = np.dtype(f"u{flat.dtype.itemsize}")
    pattern = int.from_bytes(bytes([byte]) * bits.itemsize, "little")
    return np.asarray(flat.view(bits) == bits.type(pattern))


def element_dtype(type_: ElementType, precision: str) -> np.dtype[Any]:
    """Return how NumPy holds the value of one element of ``type_`` in a precision."""
    chosen = PRECISIONS[precision]
    return np.dtype(
        {
            "real": chosen.dtype,
            "accum": chosen.accum_dtype,
            "float": np.float32,
            **WHOLE,
        }[type_]
    )


def dtype_of(array: ArrayPlan, precision: str) -> np.dtype[Any]:
    """Return how NumPy holds one array of a plan in a precision."""
    return element_dtype(array.type, precision)


def is_bfloat(type_: str, precision: str) -> bool:
    """Return whether elements of ``type_`` are bf16, whose bits NumPy holds as uint16."""
    return type_ == "real" and precision == "bf16"


def stored_dtype(type_: ElementType, precision: str) -> np.dtype[Any]:
    """Return how NumPy holds the bits of one element of ``type_``, as they are on a device."""
    bits = is_bfloat(type_, precision)
    return np.dtype(np.uint16) if bits else element_dtype(type_, precision)


def stored(array: ArrayPlan, precision: str, values: HostArray) -> HostArray:
    """Return an array as a device stores it: contiguous, and bf16 as its bits."""
    if is_bfloat(array.type, precision):
        return bfloat.packed(values)
    return np.ascontiguousarray(values)


def loaded(array: ArrayPlan, precision: str, bits: HostArray) -> HostArray:
    """Return the values of an array that came from a device."""
    return bfloat.unpacked(bits) if is_bfloat(array.type, precision) else bits


def make_inputs(plan: Plan, seed: int | None = None) -> dict[str, HostArray]:
    """Make every array that the host fills (roles ``in`` and ``inout``), by name.

    ``seed`` stands in for the run's own.

    ``normal`` is N(0, 1), ``uniform`` [0, 1), ``integers`` whole numbers from -4 to 4, ``zeros``
    what it says, ``large`` ±256 with random sign; all times the array's own ``scale``. Whole-number
    arrays get ``integers`` for the first two, those without a sign from 0 to 8, and numbers from 0
    to below ``below`` where they have one. An array with ``values`` holds what these say, whatever
    the fill and the seed. Each array's stream depends on the run's seed and the
    array's name alone, so that every framework computes on the same.

    No scaling is needed for halves, whose largest value is 65504: sums of N products reach about
    5 √N for ``normal``, N / 4 for ``uniform`` and 40 √N for ``integers``, which is at most 5200
    where N is 16384. ``large`` is meant to overflow, and a reference that does not fit allows the
    output an infinity.
    """
    seed = plan.config.seed if seed is None else seed
    return {
        a.name: _fill(a, plan.config.precision, seed) if a.values is None else _evaluated(a, plan)
        for a in plan.inputs
    }


def _fill(array: ArrayPlan, precision: str, seed: int) -> HostArray:
    dtype = dtype_of(array, precision)
    if array.fill == "zeros":
        return np.zeros(array.shape, dtype)
    fill = array.fill
    narrow = dtype.itemsize == 1 or dtype.kind == "u"
    if dtype.kind in "iu" and (fill in ("normal", "uniform") or (narrow and fill == "large")):
        fill = "integers"
    stream = np.random.SeedSequence([seed, zlib.crc32(array.name.encode())])
    generator = np.random.Generator(np.random.SFC64(stream))
    values = np.empty(array.elements, dtype)
    for start in range(0, array.elements, _CHUNK):  # halves are drawn as float32: keep it small
        part = values[start : start + _CHUNK]
        if array.below is not None:
            part[:] = generator.integers(0, array.below, len(part))
            continue
        drawn = _draw(generator, fill, len(part), dtype)
        scaled = drawn if array.scale == 1.0 else drawn * array.scale
        part[:] = bfloat.rounded(scaled) if is_bfloat(array.type, precision) else scaled
    return values.reshape(array.shape)


def _evaluated(array: ArrayPlan, plan: Plan) -> HostArray:
    """Return the elements that an expression gives.

    Raises InputError where it fails, or gives another shape or what the type cannot hold.
    """
    dtype, expression = dtype_of(array, plan.config.precision), array.values or ""
    chosen = PRECISIONS[plan.config.precision]
    items = {"itemsize": chosen.itemsize_B, "accum_itemsize": chosen.accum_itemsize_B}
    wide = formulas.array(expression, {**plan.config.size, **items})
    if wide.shape != array.shape:
        raise InputError(
            f"'arrays.{array.name}.values' gives the shape {wide.shape}, and 'shape' says "
            f"{array.shape}",
            remedy="correct one of the two",
        )
    with np.errstate(all="ignore"):
        values = wide.astype(dtype)
        if is_bfloat(array.type, chosen.name):
            values = bfloat.rounded(values)
        kept = values == wide if dtype.kind in "iu" else np.isfinite(values)
    if not kept.all():
        raise InputError(
            f"'arrays.{array.name}.values' gives {wide[~kept][0]:.7g}, which no {array.type} holds",
            remedy="correct the expression or the type",
        )
    return values


def _draw(
    generator: np.random.Generator, fill: InputFill, count: int, dtype: np.dtype[Any]
) -> HostArray:
    wide = dtype == np.float64
    if fill == "normal":
        return generator.standard_normal(count, np.float64 if wide else np.float32)
    if fill == "uniform":
        return generator.random(count, np.float64 if wide else np.float32)
    if fill == "integers":
        least = 0 if dtype.kind == "u" else -INTEGERS
        return generator.integers(least, least + 2 * INTEGERS, count, np.int8, endpoint=True)
    signs = generator.integers(0, 1, count, np.int8, endpoint=True)
    return np.where(signs == 1, np.float32(LARGE), np.float32(-LARGE))
