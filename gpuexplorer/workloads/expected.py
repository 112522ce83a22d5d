"""What an array must hold in float64, and how far another one is from it."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.fills import is_poison

Array = npt.NDArray[np.float64]
HostArray = npt.NDArray[Any]

_CHUNK = 1 << 16
"""Elements compared at a time, so that the intermediate arrays stay in the cache."""
MOVED = 10.0
"""How many times its tolerance an element is moved by to see that a check finds it."""


def root_mean_square(values: Array) -> float:
    """Return the root mean square; 0 for an empty array. Safe against overflow of the squares."""
    largest = float(np.abs(values).max()) if values.size else 0.0
    if largest == 0.0:
        return 0.0
    scaled = values / largest
    return largest * math.sqrt(float(np.vdot(scaled, scaled)) / values.size)


class Judgement(msgspec.Struct, frozen=True):
    """How far an output is from what it must hold."""

    worst: float
    """The largest error."""
    where: int
    """Flat index of the element that has it."""
    rms_rel_error: float | None
    """‖output − reference‖ over ‖reference‖; None where that is no number."""


def unfit(name: str, reason: str) -> InputError:
    """Return the refusal of a check that could never fail, or never succeed."""
    return InputError(
        f"the check of '{name}' says nothing: {reason}",
        remedy="correct 'reference' in the manifest, or choose other inputs",
    )


def check_measure(name: str, values: HostArray, scale: Array | None, expression: str) -> None:
    """Refuse values and a scale with which a check could not fail.

    Raises InputError where no value is finite, and where the ``scale`` of an element is negative,
    infinite or no number. A scale of 0 asks for the very value.
    """
    if values.size == 0:
        raise unfit(name, "the array has no element")
    if not np.isfinite(values).any():
        raise unfit(name, "no element of its reference is a finite number")
    if scale is not None:
        wrong = scale[~(np.isfinite(scale) & (scale >= 0.0))]
        if wrong.size:
            raise unfit(
                name,
                f"its scale '{expression}' is {wrong.flat[0]:.7g} where it must be finite "
                "and not negative",
            )


class Expected:
    """Right values, and the measure of an error.

    The error of an element is ``|out - ref| / (|ref| + rms)``, with the root mean square of all
    that fit into the storage type, or over ``scale`` (one number or one an element) where given.
    Without one a whole number is right or wrong: one that differs is off by 100 % at the least.
    """

    def __init__(
        self,
        values: HostArray,
        dtype: np.dtype[Any],
        tolerance: float,
        scale: Array | None = None,
    ) -> None:
        """``values`` are float64, or whole numbers, which float64 may not hold."""
        self.shape = values.shape
        self._values: Array = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        self._exact = _comparable(values, dtype) if dtype.kind in "iu" and scale is None else None
        self._tolerance = tolerance
        self._largest, self._rounds_to_inf = _limits(dtype)
        with np.errstate(all="ignore"):
            unusual = ~(np.abs(self._values) * (1 + tolerance) <= self._largest)  # NaN too
            self._rms = 0.0
            self._scale: Array | None = None
            if scale is None:
                self._rms = root_mean_square(
                    self._values[~unusual] if unusual.any() else self._values
                )
                if self._rms == 0.0:
                    unusual |= self._values == 0.0
            else:
                self._scale = np.broadcast_to(scale, self.shape).reshape(-1)
                unusual |= ~(self._scale > 0.0)
        self._unusual: npt.NDArray[np.bool_] | None = unusual if unusual.any() else None

    @property
    def nbytes(self) -> int:
        """Bytes kept."""
        arrays = (self._values, self._scale, self._unusual)
        return sum(a.nbytes for a in arrays if a is not None)

    def judge(self, output: HostArray) -> Judgement:
        """Compare with an output of the same shape.

        A NaN or an infinity that should not be there counts as infinite.
        """
        flat = output.reshape(-1)
        worst, where, squares = 0.0, 0, 0.0
        with np.errstate(all="ignore"):
            for start in range(0, flat.size, _CHUNK):
                errors, square = self._errors(flat[start : start + _CHUNK], start)
                squares += square
                at = int(errors.argmax())  # a NaN, where there is one
                error = float(errors[at])
                if math.isnan(error):
                    return Judgement(math.inf, start + at, None)
                if error > worst:
                    worst, where = error, start + at
        return Judgement(worst, where, ratio(squares, self._squares))

    @cached_property
    def _squares(self) -> float:
        with np.errstate(all="ignore"):
            return float(np.vdot(self._values, self._values))

    def finds(self, output: HostArray) -> bool:
        """Return whether an output of the same shape is refused once one element is moved.

        The element is moved by ``MOVED`` times what the tolerance allows it.
        """
        flat = output.reshape(-1)
        index = flat.size // 2
        part = flat[index : index + 1].copy()
        with np.errstate(all="ignore"):
            scale = self._rms + abs(self._values[index])
            if self._scale is not None:
                scale = self._scale[index]
            part[0] = moved(part[0], MOVED * self._tolerance * float(scale))
            errors, _ = self._errors(part, index)
        return not float(errors[0]) <= self._tolerance

    def words(self, index: int) -> str:
        """Return the right value of one element by its flat index, as it is shown."""
        return number_words((self._values if self._exact is None else self._exact)[index])

    def _errors(self, output: HostArray, start: int) -> tuple[Array, float]:
        """Return the error of each element, and the sum of the squared differences."""
        part = slice(start, start + len(output))
        reference = self._values[part]
        errors = output.astype(np.float64)
        errors -= reference
        squares = float(np.vdot(errors, errors))
        np.abs(errors, out=errors)
        if self._scale is None:
            scale = np.abs(reference)
            scale += self._rms
            errors /= scale
        else:
            errors /= self._scale[part]
        if self._exact is not None:
            wrong = output != self._exact[part]
            return np.where(wrong, np.maximum(errors, 1.0), 0.0), squares
        if self._unusual is not None:
            at = self._unusual[part]
            if at.any():
                errors[at] = self._unusual_errors(output[at], reference[at], errors[at])
        return errors, squares

    def _unusual_errors(self, stored: HostArray, reference: Array, usual: Array) -> Array:
        """Judge elements that have no scale, or do not fit into the storage type.

        Where a NaN is right, one that was there before the launch is not.
        """
        output = stored.astype(np.float64)
        magnitude = np.abs(reference)
        may_overflow = magnitude * (1 + self._tolerance) > self._largest
        must_overflow = magnitude * (1 - self._tolerance) >= self._rounds_to_inf
        right = (output == reference) | (
            np.isnan(output) & np.isnan(reference) & ~is_poison(stored)
        )
        right |= may_overflow & np.isinf(output) & (np.sign(output) == np.sign(reference))
        wrong = must_overflow | np.isnan(reference)
        return np.where(right, 0.0, np.where(wrong, np.inf, usual))


def moved(value: Any, distance: float) -> Any:
    """Return a stored number moved by a distance, or by some steps of its type if that is more."""
    kind = value.dtype.type
    if value.dtype.kind in "iu":
        whole, limits = max(1, math.ceil(min(distance, 1e9))), np.iinfo(value.dtype)
        away = int(value) - whole if int(value) > 0 else int(value) + whole
        return kind(min(max(away, int(limits.min)), int(limits.max)))
    if not np.isfinite(value):
        return kind(0.0)
    away = kind(float(value) + max(distance, 4 * abs(float(np.spacing(value)))))
    return away if np.isfinite(away) else kind(-float(value))


def ratio(squares: float, reference: float) -> float | None:
    """Return the root of a ratio of sums of squares; None when it is no finite number."""
    if not (math.isfinite(squares) and math.isfinite(reference) and reference > 0.0):
        return None
    return math.sqrt(squares / reference)


def number_words(value: Any) -> str:
    """Return an element as it is shown: a whole number in full."""
    return str(int(value)) if value.dtype.kind in "iu" else f"{float(value):.7g}"


def _comparable(values: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """Return right values as an output of whole numbers is compared with them.

    NumPy compares signed with unsigned numbers of 64 bits as float64, which holds 53 bits.
    """
    flat = np.ascontiguousarray(values).reshape(-1)
    mixed = {dtype.kind, flat.dtype.kind} == {"i", "u"} and max(dtype.itemsize, flat.itemsize) == 8
    if mixed and flat.size:
        limits = np.iinfo(dtype)
        if int(flat.min()) >= limits.min and int(flat.max()) <= limits.max:
            return flat.astype(dtype)
    return flat


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Return the largest finite value of a type and where rounding to infinity begins."""
    if dtype.kind in "iu":
        return float(np.iinfo(dtype).max), math.inf
    largest = np.finfo(dtype).max
    below = np.nextafter(largest, largest.dtype.type(0))
    return float(largest), float(largest) + (float(largest) - float(below)) / 2
