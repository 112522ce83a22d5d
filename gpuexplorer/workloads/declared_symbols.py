"""Variables outside of functions that a host program fills: ``cudaMemcpyToSymbol`` in a manifest.

A launch names them under ``symbols``: an array, a number or a size of the manifest whose values are
copied to the ``__constant__`` or ``__device__`` variable of that name before the kernel runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter

_DECLARED = re.compile(
    r"\b(?:__constant__|__device__)\s+((?:[A-Za-z_]\w*\s+|::\s*)+)([A-Za-z_]\w*)\s*"
    r"((?:\[[^\[\]]*\]\s*)*);"
)
_QUALIFIERS = frozenset("const static volatile extern __constant__ __device__".split())
_NAME = re.compile(r"[A-Za-z_]\w*")
_FILLED = re.compile(
    r"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*&?\s*([A-Za-z_]\w*)(?:\s*,\s*([^,]+))?"
)


@dataclass(frozen=True)
class Symbol:
    """A variable outside of functions that has no values in the text."""

    name: str
    type: str
    sides: tuple[str, ...]
    """The text of each side of an array; none for a number."""
    start: int
    end: int
    is_constant: bool

    @property
    def parameter(self) -> Parameter:
        """It as if the kernel were handed it."""
        return Parameter(self.name, self.type, 1 if self.sides else 0, self.start, self.end)


@lru_cache(maxsize=1)  # a file of thousands of kernels is read once and not for each of them
def symbols_of(source: CudaSource) -> dict[str, Symbol]:
    """Return the variables outside of functions that have no values, by name."""
    bodies = [f.body for f in source.functions]
    found = {}
    for match in _DECLARED.finditer(source.code):
        if any(start <= match.start() < end for start, end in bodies):
            continue
        words = match[1].split()
        kind = " ".join(word for word in words if word not in _QUALIFIERS)
        sides = tuple(side.strip() for side in re.findall(r"\[([^\]]*)\]", match[3]))
        is_constant = "__constant__" in match[0]
        found[match[2]] = Symbol(match[2], kind, sides, *match.span(), is_constant)
    return found


@lru_cache(maxsize=1)
def filled_by_host(source: CudaSource) -> dict[str, str]:
    """Return the variables that host code copies to, each with what it copies from."""
    return {m[1]: (m[2] or "").strip().lstrip("&").strip() for m in _FILLED.finditer(source.code)}


def symbols_used(source: CudaSource, kernel: Function) -> list[Symbol]:
    """Return which variables a kernel needs the host to fill, in the text's order."""
    filled = filled_by_host(source)
    known = {n: s for n, s in symbols_of(source).items() if s.is_constant or n in filled}
    if not known:
        return []
    helpers = {f.name: f for f in source.functions if not f.is_kernel}
    needed, waiting = set[str](), [kernel]
    while waiting:
        function = waiting.pop()
        names = set(_NAME.findall(source.plain[slice(*function.body)])) - needed
        needed |= names
        waiting += [helpers[name] for name in names if name in helpers]
    own = {p.name for p in source.parameters(kernel)}
    return [symbol for name, symbol in known.items() if name in needed and name not in own]


def writable(source: CudaSource, names: Collection[str]) -> list[tuple[int, int]]:
    """Return the words that keep a program from filling these variables, which are to go."""
    spans = []
    for symbol in symbols_of(source).values():
        if symbol.name in names:
            words = re.compile(r"\b(?:__constant__|const|static)\b")
            start = max(source.code.rfind(c, 0, symbol.start) for c in ";}{") + 1
            spans += [m.span() for m in words.finditer(source.code, start, symbol.end)]
    return spans
