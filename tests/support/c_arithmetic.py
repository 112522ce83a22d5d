"""Expressions of C over threadIdx and its kin, made at random, and what CUDA makes of them.

``Maker`` writes expressions; ``Value`` is the number that each thread has, in C's type, computed
with NumPy: the usual arithmetic conversions, unsigned numbers that wrap, shifts and divisions as
the language has them. What the language leaves undefined is not made: ``Undefined`` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

RANKS = ("int", "unsigned int", "long long", "unsigned long long")
DTYPES: dict[str, Any] = {
    "int": np.int32,
    "unsigned int": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "short": np.int16,
    "unsigned char": np.uint8,
    "float": np.float32,
}


class Undefined(Exception):
    """The language does not say what comes of it."""


@dataclass(frozen=True)
class Value:
    """A number in each thread, and its C type."""

    type: str
    values: npt.NDArray[Any]

    def to(self, type_: str) -> Value:
        """Return it converted, as an assignment or a cast does."""
        if self.type == "float" and type_ != "float":
            raise Undefined("a float out of range")
        return Value(type_, self.values.astype(DTYPES[type_]))

    def promoted(self) -> Value:
        """Return it as it takes part in arithmetic."""
        return self if self.type in RANKS or self.type == "float" else self.to("int")


def common(a: Value, b: Value) -> tuple[Value, Value]:
    """Return two operands in their common type."""
    a, b = a.promoted(), b.promoted()
    if "float" in (a.type, b.type):
        return a.to("float"), b.to("float")
    type_ = max(a.type, b.type, key=RANKS.index)
    return a.to(type_), b.to(type_)


def _exact(value: Value) -> npt.NDArray[Any]:
    return value.values.astype(object)


def _fitting(type_: str, values: npt.NDArray[Any]) -> Value:
    """Return exact numbers in a type: an unsigned one wraps, a signed one must not."""
    limits = np.iinfo(DTYPES[type_])
    if type_.startswith("unsigned"):
        values = values % (limits.max + 1)
    elif any(not limits.min <= v <= limits.max for v in values):
        raise Undefined("a signed number overflows")
    return Value(type_, np.array([int(v) for v in values], DTYPES[type_]))


def _divided(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if any(v == 0 for v in b):
        raise Undefined("a division by zero")
    signs = np.where((a < 0) == (b < 0), 1, -1).astype(object)
    return np.asarray(abs(a) // abs(b) * signs, object)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "%": lambda a, b: a - b * _divided(a, b),
    "&": lambda a, b: np.array([x & y for x, y in zip(a, b, strict=True)], object),
    "|": lambda a, b: np.array([x | y for x, y in zip(a, b, strict=True)], object),
    "^": lambda a, b: np.array([x ^ y for x, y in zip(a, b, strict=True)], object),
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def binary(operator: str, a: Value, b: Value) -> Value:
    """Return what an operator makes of two numbers."""
    if operator in ("<<", ">>"):
        a, b = a.promoted(), b.promoted()
        bits = DTYPES[a.type](0).nbytes * 8
        if a.type == "float" or any(not 0 <= v < bits for v in _exact(b)):
            raise Undefined("a shift by too much")
        if operator == "<<":
            if any(v < 0 for v in _exact(a)):
                raise Undefined("a negative number shifted up")
            return _fitting(a.type, _exact(a) * (2 ** _exact(b)))
        return Value(a.type, (_exact(a) // (2 ** _exact(b))).astype(DTYPES[a.type]))
    a, b = common(a, b)
    if operator in COMPARISONS:
        return Value("int", COMPARISONS[operator](a.values, b.values).astype(np.int32))
    if a.type == "float":
        raise Undefined("sums of floats may be contracted")
    return _fitting(a.type, ARITHMETIC[operator](_exact(a), _exact(b)))


@dataclass(frozen=True)
class Expression:
    """A text and what it is worth."""

    text: str
    value: Value


class Maker:
    """Makes expressions of the leaves that a kernel has."""

    def __init__(self, random: Random, leaves: Mapping[str, Value]) -> None:
        self._random = random
        self._leaves = dict(leaves)

    def any(self, depth: int) -> Expression:
        """Return an expression; Undefined where the draw was an unlucky one."""
        draw = self._random.random()
        if depth == 0 or draw < 0.12:
            return self._leaf()
        if draw < 0.22:
            type_ = self._random.choice([*RANKS, "short", "unsigned char"])
            inner = self.any(depth - 1)
            return Expression(f"({type_})({inner.text})", inner.value.to(type_))
        if draw < 0.28:
            inner = self.any(depth - 1)
            promoted = inner.value.promoted()
            value = binary("-", Value("int", np.zeros_like(promoted.values, np.int32)), promoted)
            return Expression(f"(-({inner.text}))", value)
        if draw < 0.36:
            condition, a, b = (self.any(depth - 1) for _ in range(3))
            left, right = common(a.value, b.value)
            chosen = np.where(condition.value.values != 0, left.values, right.values)
            text = f"(({condition.text}) ? ({a.text}) : ({b.text}))"
            return Expression(text, Value(left.type, chosen))
        operator = self._random.choice([*"+-*", *"+-*", *ARITHMETIC, *COMPARISONS, "<<", ">>"])
        a, b = self.any(depth - 1), self.any(depth - 1)
        if operator in ("<<", ">>"):
            b = Expression(f"(({b.text}) & 7)", binary("&", b.value, self.number(7).value))
        text = f"({a.text} {operator} {b.text})"
        return Expression(text, binary(operator, a.value, b.value))

    def ring(self, depth: int) -> Expression:
        """Return a sum or product, as subscripts are."""
        if depth == 0 or self._random.random() < 0.15:
            return self._leaf()
        operator = self._random.choice("++**-")
        a, b = self.ring(depth - 1), self.ring(depth - 1)
        text = f"{a.text} {operator} {b.text}" if operator != "*" else f"({a.text}) * ({b.text})"
        if operator == "-":
            text = f"({a.text}) - ({b.text})"
        return Expression(f"({text})", binary(operator, a.value, b.value))

    def number(self, value: int, suffix: str = "") -> Expression:
        """Return a literal."""
        type_ = "unsigned int" if suffix == "u" else "int"
        size = len(next(iter(self._leaves.values())).values)
        return Expression(f"{value}{suffix}", Value(type_, np.full(size, value, DTYPES[type_])))

    def _leaf(self) -> Expression:
        if self._random.random() < 0.25:
            value = self._random.choice([0, 1, 2, 3, 5, 10, 16])
            return self.number(value, self._random.choice(["", "u"]))
        name = self._random.choice(list(self._leaves))
        return Expression(name, self._leaves[name])
