"""What a compiled kernel takes for each parameter: its bytes, and what kind of number it is.

The text alone does not say it: a type may be an alias, and ``long`` has 8 bytes under Linux and 4
under Windows, where NVRTC follows the host. So the sizes are those in the compiled code. The kind
stands in the mangled name of a template that NVRTC makes of a kernel's own type, aliases resolved,
by the rules of the Itanium C++ ABI.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Kind = Literal["signed", "unsigned", "float", "bool", "pointer", "other"]


class CompiledParameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a compiled kernel."""

    size_B: int
    kind: Kind | None = None
    """``other`` is a structure or enumeration; None before the compiler was asked."""


def with_kinds(sizes_B: Sequence[int], kinds: Sequence[Kind] | None) -> list[CompiledParameter]:
    """Return parameters of these sizes, with their kinds where those are known for every one."""
    known: Sequence[Kind | None] = kinds if kinds and len(kinds) == len(sizes_B) else ()
    return [
        CompiledParameter(size_B=size, kind=known[i] if known else None)
        for i, size in enumerate(sizes_B)
    ]


# ---- sizes in PTX

_ENTRY = re.compile(r"^\s*(?:\.\w+\s+)*\.entry\s+([\w$]+)\s*\((.*?)\)", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z](\d+)\s+"
    r"(?:\.ptr\s+(?:\.[a-z]+\s+)??(?:\.align\s+\d+\s+)?)?[\w$]+\s*(?:\[(\d+)\])?"
)


def sizes_in_ptx(text: str) -> dict[str, tuple[int, ...]]:
    """Return the bytes of each parameter of each kernel in PTX, by the kernel's symbol."""
    return {
        symbol: tuple(
            int(bits) // 8 * int(count or 1) for bits, count in _PARAMETER.findall(parameters)
        )
        for symbol, parameters in _ENTRY.findall(text)
    }


# ---- kinds in a mangled name

PROBE = "template <typename F> __device__ char gpux_type;\n"
"""What is added to a source to ask NVRTC for a kernel's type."""
_PROBED = re.compile(r"_Z\d+gpux_typeIP(?:Do)?Fv(.*)EE$")
_BUILT_IN: Mapping[str, Kind] = {
    "b": "bool",
    **dict.fromkeys("acswilxn", "signed"),
    **dict.fromkeys("htjmyo", "unsigned"),
    **dict.fromkeys("fdeg", "float"),
}
_DEEPEST = 100


def probe_of(entry: str) -> str:
    """Return the name expression whose symbol tells the types of a kernel's parameters."""
    return f"&gpux_type<decltype(&{entry})>"


def kinds_of(symbol: str) -> list[Kind] | None:
    """Return what a probe's symbol says of each parameter; None for a symbol of another shape."""
    found = _PROBED.match(symbol)
    if found is None:
        return None
    if found[1] == "v":
        return []
    reader = _Mangled(found[1])
    kinds: list[Kind] = []
    try:
        while reader.at < len(reader.text):
            kinds.append(reader.type(0))
    except (IndexError, ValueError):
        return None
    return kinds


class _Mangled:
    """Reads mangled types one after the other; IndexError or ValueError for what is none."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def _next(self) -> str:
        c = self.text[self.at]
        self.at += 1
        return c

    def type(self, depth: int) -> Kind:
        """Read one type and return its kind."""
        if depth > _DEEPEST:
            raise ValueError("types too deep")
        c = self._next()
        if c in "rVK":
            return self.type(depth + 1)
        if c in "PRO":
            self.type(depth + 1)
            return "pointer"
        if c in _BUILT_IN:
            return _BUILT_IN[c]
        if c == "v":
            return "other"
        if c == "A":
            self._until("_")
            return self.type(depth + 1)
        if c == "F":
            while self.text[self.at] != "E":
                self.type(depth + 1)
            self.at += 1
            return "other"
        if c == "D":
            if self._next() == "F":  # DF16_ and DF16b
                self._until("_b")
            return "other"
        self.at -= 1
        self._name(depth + 1)
        return "other"

    def _until(self, ends: str) -> None:
        while self._next() not in ends:
            pass

    def _name(self, depth: int) -> None:
        """Read the name of a class: plain, nested, or one that was named before."""
        c = self.text[self.at]
        if c.isdigit():
            self._plain()
        elif c == "N":
            self.at += 1
            while self.text[self.at] != "E":
                if self.text[self.at] in "rVK":
                    self.at += 1
                else:
                    self._name(depth + 1)
            self.at += 1
        elif c == "S":
            self.at += 1
            if self.text[self.at] == "t":
                self.at += 1
                self._plain()
            elif self._next() != "_":
                self.at -= 1
                if self.text[self.at].islower():
                    self.at += 1
                else:
                    self._until("_")
        elif c == "I":
            self._arguments(depth)
            return
        else:
            raise ValueError(f"a name that begins with {c}")
        if self.at < len(self.text) and self.text[self.at] == "I":
            self._arguments(depth)

    def _plain(self) -> None:
        digits = re.compile(r"\d+").match(self.text, self.at)
        if digits is None or digits.end() + int(digits[0]) > len(self.text):
            raise ValueError("a name without its length")
        self.at = digits.end() + int(digits[0])

    def _arguments(self, depth: int) -> None:
        """Read a template's arguments: types, numbers, and packs of them."""
        self.at += 1
        while (c := self.text[self.at]) != "E":
            if c == "L":
                self._until("E")
            elif c == "J":
                self._arguments(depth + 1)
            else:
                self.type(depth + 1)
        self.at += 1
