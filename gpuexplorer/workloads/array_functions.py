"""The functions that a reference's expressions call, each with a bound on what it may make."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.errors import InputError

MAX_ELEMENTS = 2**28
"""Elements that one array of a reference may have (2 GiB of float64)."""


class FormulaError(InputError):
    """A formula that cannot be read or evaluated; the message quotes it."""


def check_size(*operands: Any) -> None:
    """Refuse operands that would spread out to a result of too many elements."""
    _check_elements(math.prod(np.broadcast_shapes(*(np.shape(o) for o in operands))))


def _check_elements(count: float) -> None:
    if count > MAX_ELEMENTS:
        raise FormulaError("an intermediate result has too many elements")


def _named(called: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a wrapper the name that Python's message on wrong arguments shows."""
    called.__qualname__ = function.__name__
    return called


def _of_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a NumPy function take one array only: a second one would be overwritten."""

    def called(a: Any) -> Any:
        return function(a)

    return _named(called, function)


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a NumPy function take an array and, when wanted, an axis."""

    def called(a: Any, axis: Any = None) -> Any:
        return function(a, axis=None if axis is None else _whole(axis, "an axis"))

    return _named(called, function)


def _of_two(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a NumPy function take two arrays whose result stays within bounds."""

    def called(a: Any, b: Any) -> Any:
        check_size(a, b)
        return function(a, b)

    return _named(called, function)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return ``a`` where a condition holds, else ``b``."""
    check_size(condition, a, b)
    return np.where(condition, a, b)


def arange(count: Any) -> Any:
    """Return 0, 1, 2 … below ``count``."""
    _check_elements(count)
    return np.arange(_whole(count, "a count"), dtype=np.float64)


def reshape(a: Any, *shape: Any) -> Any:
    """Return the elements, row by row, in another shape."""
    return np.reshape(a, [_whole(length, "a length") for length in shape])


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along an axis; those that leave at its end come in at its beginning."""
    return np.roll(
        a, _whole(shift, "a shift"), axis=None if axis is None else _whole(axis, "an axis")
    )


def sort(a: Any, axis: Any = -1) -> Any:
    """Sort in ascending order, along the last axis unless another is given."""
    return np.sort(a, axis=_whole(axis, "an axis"))


def take(a: Any, indices: Any, axis: Any = None) -> Any:
    """Return the elements at some indices: of all, row by row, or along an axis."""
    a, places = np.asarray(a), _indices(indices)
    if axis is None:
        length, rest = a.size, 1
    else:
        axis = _whole(axis, "an axis")
        length, rest = a.shape[axis], a.size // max(1, a.shape[axis])
    _check_elements(places.size * rest)
    if places.size and not (places.min() >= 0 and places.max() < length):
        raise FormulaError(f"an index lies outside 0 to {length - 1}")
    return np.take(a, places, axis=axis)


def bincount(a: Any, length: Any, weights: Any = None) -> Any:
    """Count how often each of 0, 1 … below ``length`` stands in ``a``, or add its weights up."""
    _check_elements(length)
    count, places = _whole(length, "a length"), _indices(a).reshape(-1)
    if places.size and not (places.min() >= 0 and places.max() < count):
        raise FormulaError(f"a number to count lies outside 0 to {count - 1}")
    amounts = None if weights is None else np.asarray(weights, np.float64).reshape(-1)
    return np.bincount(places, amounts, count).astype(np.float64)


def _whole(value: Any, what: str) -> int:
    """Return a whole number, which a formula may hold as a float."""
    if np.ndim(value) or not math.isfinite(value) or value != int(value):
        raise FormulaError(f"{what} must be a whole number, not {value}")
    return int(value)


def _indices(values: Any) -> npt.NDArray[np.int64]:
    """Return whole numbers of an array; a reference's arrays are all float64."""
    numbers = np.asarray(values, np.float64)
    if not bool((np.isfinite(numbers) & (numbers == np.floor(numbers))).all()):
        raise FormulaError("indices must be whole numbers")
    return numbers.astype(np.int64)


ARRAY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "transpose": _of_one(np.transpose),
    "sum": _along(np.sum),
    "mean": _along(np.mean),
    "max": _along(np.max),
    "min": _along(np.min),
    "argmax": _along(np.argmax),
    "argmin": _along(np.argmin),
    "cumsum": _along(np.cumsum),
    "abs": _of_one(np.abs),
    "sqrt": _of_one(np.sqrt),
    "exp": _of_one(np.exp),
    "log": _of_one(np.log),
    "sin": _of_one(np.sin),
    "cos": _of_one(np.cos),
    "tanh": _of_one(np.tanh),
    "floor": _of_one(np.floor),
    "maximum": _of_two(np.maximum),
    "minimum": _of_two(np.minimum),
    "where": where,
    "arange": arange,
    "reshape": reshape,
    "roll": roll,
    "sort": sort,
    "take": take,
    "bincount": bincount,
}
"""The functions by name. ``sum mean max min argmax argmin cumsum`` take an axis as a second one."""
