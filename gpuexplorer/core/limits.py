"""The range of every number that a user may give, each in one place.

The command line and the window read them from text, the Python API takes them as values, NumPy's
included; all say the same of one that cannot be.
"""

from __future__ import annotations

import math
import operator
import re
import reprlib
from numbers import Real
from typing import Any

import msgspec

from gpuexplorer.core.errors import InputError

SHOWN = 60
"""Characters of a wrong value that a sentence repeats."""
_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)


class Whole(msgspec.Struct, frozen=True):
    """Whole numbers from ``least`` to ``most``, both included."""

    least: int
    most: int

    @property
    def words(self) -> str:
        """What they are, in words."""
        if self.least < -(10**8):
            return "a whole number of 64 bits"
        if self.most >= 10**8:
            return f"a whole number from {self.least} on"
        return f"a whole number from {self.least} to {self.most}"

    def read(self, text: str) -> int:
        """Read one from text; InputError when it is none of them."""
        words = text.strip()
        if not _WHOLE.fullmatch(words) or not self.least <= int(words) <= self.most:
            raise InputError(f"{shown(text)} is not {self.words}")
        return int(words)

    def check(self, value: object, name: str) -> int:
        """Return a value as a whole number; InputError with the argument's name otherwise."""
        plain = unwrapped(value)
        try:
            if isinstance(plain, bool):
                raise TypeError
            number = operator.index(plain)  # type: ignore[arg-type]
        except TypeError:
            raise refusal(value, name, self.words) from None
        if not self.least <= number <= self.most:
            raise refusal(value, name, self.words)
        return number


class Fraction(msgspec.Struct, frozen=True):
    """Numbers above 0: up to ``most``, or below it where that is ``open``."""

    noun: str
    most: float
    open: bool = False

    @property
    def words(self) -> str:
        """What they are, in words."""
        if self.open:
            return f"{self.noun} above 0 and below {self.most:.0f}"
        return f"{self.noun} above 0 and up to {self.most:.0f}"

    def holds(self, value: float) -> bool:
        """Return whether a number is one of them; what is not a number is not."""
        return 0 < value < self.most or (value == self.most and not self.open)

    def read(self, text: str) -> float:
        """Read one from text; InputError when it is none of them."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not self.holds(value):
            raise InputError(f"{shown(text)} is not {self.words}")
        return value

    def check(self, value: object, name: str) -> float:
        """Return a value as a number; InputError with the argument's name otherwise."""
        plain = unwrapped(value)
        try:
            if isinstance(plain, bool) or not isinstance(plain, Real):
                raise TypeError
            number = float(plain)
        except (TypeError, OverflowError):  # a whole number beyond any float
            raise refusal(value, name, self.words) from None
        if not self.holds(number):
            raise refusal(value, name, self.words)
        return number


MAX_INT = 2**63 - 1
"""The largest number of 64 bits; what is larger is hardly meant, and cannot be kept."""
SECONDS = Fraction("a number of seconds", 86_400.0)
NOISE = Fraction("a share such as 0.005", 1.0, open=True)
"""An error relative to the median, a tolerance of a ratio, a slowdown that is too much."""
SAMPLES = Whole(1, 4_000_000)
"""Launches of one run; a record keeps no more."""
ROUNDS = Whole(1, 10**9)
EVALUATIONS = Whole(1, 10**9)
THREADS = Whole(1, 1_000_000)
"""CPU threads; how many a machine has, an engine's start knows."""
NICENESS = Whole(0, 19)
"""How much of the processor a process leaves to others, as ``nice`` counts."""
SEED = Whole(0, MAX_INT)
ANY_WHOLE = Whole(-MAX_INT - 1, MAX_INT)
"""Sizes and tunables: the manifest knows which there are."""
SIDE = Whole(1, 999_999_999)
"""Threads along one axis of a block: the device knows how many it launches."""
COUNT = Whole(0, 10**15)
"""Rows to leave out, bytes of shared memory, the number of a deletion."""
ROWS = Whole(1, 10**9)


def unwrapped(value: object) -> object:
    """Return the plain value in a NumPy scalar or an array without axes; any other as it is."""
    item: Any = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return item()
    return value


def refusal(value: object, name: str, wanted: str) -> InputError:
    """Return what is said of an argument that is not what it should be."""
    return InputError(f"{name} is {shown(value)}", remedy=f"give {wanted}")


class _Shown(reprlib.Repr):
    """Writes a value in a few characters, however large it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 2
        self.maxstring = self.maxother = self.maxlong = SHOWN


def shown(value: object) -> str:
    """Return a wrong value in a few characters on one line, whatever it is."""
    try:
        text = " ".join(_Shown().repr(value).split())
    except Exception:  # noqa: BLE001 - such as a number with too many digits to write
        return f"of the type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
