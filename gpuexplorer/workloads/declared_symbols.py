"""Variables outside of functions that a host program fills and reads: CUDA's symbols.

A launch names them under ``symbols``: an array, a number or a size of the manifest whose values are
copied to the ``__constant__`` or ``__device__`` variable of that name before the kernel runs, as
``cudaMemcpyToSymbol`` does. An array that is an output is copied back afterwards, as
``cudaMemcpyFromSymbol`` does; for a single number it has one element.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

import msgspec

from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter

_DECLARED = re.compile(
    r"\b(?:__constant__|__device__)\s+((?:[A-Za-z_]\w*\s+|::\s*)+)([A-Za-z_]\w*)\s*"
    r"((?:\[[^\[\]]*\]\s*)*)(=\s*(?:[0.fFuUlL]+|\{\s*[0.fFuUlL]*\s*\})\s*)?;"
)
_QUALIFIERS = frozenset("const static volatile extern __constant__ __device__".split())
_NAME = re.compile(r"[A-Za-z_]\w*")
_FILLED = re.compile(
    r"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*&?\s*([A-Za-z_]\w*)(?:\s*,\s*([^,]+))?"
)
_KEPT = re.compile(
    r"\b(?:__device__|__managed__)\s+(?![^;{}()=]*\bconst\b)[^;{}()=]*?\b([A-Za-z_]\w*)\s*"
    r"(?:\[[^\[\]]*\]\s*)*[;={]"
)
_SUBSCRIPTS = r"\s*(?:\[(?:[^\[\];=]|\[[^\[\];=]*\])*\]\s*)*"
_CHANGED = re.compile(
    r"\batomic\w+\s*\(\s*&?\s*\(?\s*([A-Za-z_]\w*)"
    r"|(?:\+\+|--|(?:[(,=]|\*\s*\))\s*&)\s*([A-Za-z_]\w*)"
    rf"|(?<![\w.])([A-Za-z_]\w*){_SUBSCRIPTS}(?:\.\s*\w+\s*)*"
    r"(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
)
_SET = re.compile(
    rf"(?<![\w.])([A-Za-z_]\w*){_SUBSCRIPTS}=\s*[-.\d]|\batomicExch\s*\(\s*&?\s*([A-Za-z_]\w*)"
)
_READ = re.compile(r"\bcudaMemcpyFromSymbol(?:Async)?\s*\([^,;]+,\s*&?\s*([A-Za-z_]\w*)")


class Symbol(msgspec.Struct, frozen=True):
    """A variable outside of functions that has no values in the text, or zeros."""

    name: str
    type: str
    sides: tuple[str, ...]
    """The text of each side of an array; none for a number."""
    start: int
    end: int
    is_constant: bool
    is_zero: bool
    """Whether the text says that it begins with zeros."""
    is_read: bool
    """Whether the host reads it after the launch."""

    @property
    def parameter(self) -> Parameter:
        """It as if the kernel were handed it; what the host reads as an array."""
        pointers = 1 if self.sides or self.is_read else 0
        return Parameter(self.name, self.type, pointers, self.start, self.end)


@lru_cache(maxsize=1)  # a file of thousands of kernels is read once and not for each of them
def symbols_of(source: CudaSource) -> dict[str, Symbol]:
    """Return the variables outside of functions that have no values, or zeros, by name."""
    bodies = [f.body for f in source.functions]
    read = set(_READ.findall(source.code))
    found = {}
    for match in _DECLARED.finditer(source.code):
        if any(start <= match.start() < end for start, end in bodies):
            continue
        words = match[1].split()
        kind = " ".join(word for word in words if word not in _QUALIFIERS)
        sides = tuple(side.strip() for side in re.findall(r"\[([^\]]*)\]", match[3]))
        found[match[2]] = Symbol(
            match[2], kind, sides, *match.span(),
            is_constant="__constant__" in match[0],
            is_zero=match[4] is not None,
            is_read=match[2] in read,
        )  # fmt: skip
    return found


@lru_cache(maxsize=1)
def filled_by_host(source: CudaSource) -> dict[str, str]:
    """Return the variables that host code copies to, each with what it copies from."""
    return {m[1]: (m[2] or "").strip().lstrip("&").strip() for m in _FILLED.finditer(source.code)}


def symbols_used(source: CudaSource, kernel: Function) -> list[Symbol]:
    """Return which variables of a kernel the host is to fill, or reads, in the text's order."""
    filled = filled_by_host(source)
    known = {
        name: symbol
        for name, symbol in symbols_of(source).items()
        if symbol.is_read or name in filled or (symbol.is_constant and not symbol.is_zero)
    }
    return _named(source, kernel, known)


def symbols_touched(source: CudaSource, kernel: Function) -> list[Symbol]:
    """Return which variables in global memory a kernel and its helpers name, in order."""
    known = {n: s for n, s in symbols_of(source).items() if not s.is_constant}
    return _named(source, kernel, known)


def kept_by(source: CudaSource, kernel: Function) -> list[str]:
    """Return the variables in global memory that a kernel or its helpers change.

    What a launch leaves in them is what the next one finds.
    """
    own = {p.name for p in source.parameters(kernel)}
    names = [name for name in dict.fromkeys(_KEPT.findall(source.code)) if name not in own]
    texts = _texts(source, kernel) if names else []
    changed = {name for text in texts for name in _named_by(_CHANGED, text)}
    return [name for name in names if name in changed]


def counters_of(source: CudaSource, kernel: Function) -> list[Symbol]:
    """Return the variables that a kernel changes from zeros on, and never sets to a number."""
    known = symbols_of(source)
    texts = _texts(source, kernel) if known else []
    set_to_numbers = {name for text in texts for name in _named_by(_SET, text)}
    return [
        known[name]
        for name in (kept_by(source, kernel) if known else ())
        if name in known and name not in set_to_numbers
    ]


def _named_by(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the names that a pattern's groups have found, also where its matches overlap."""
    at = 0
    while match := pattern.search(text, at):
        yield from filter(None, match.groups())
        at = max(match.start(i) for i in range(1, pattern.groups + 1)) + 1


def _named(source: CudaSource, kernel: Function, known: Mapping[str, Symbol]) -> list[Symbol]:
    """Return those of some variables that a kernel or one of its helpers names."""
    if not known:
        return []
    needed = {name for text in _texts(source, kernel) for name in _NAME.findall(text)}
    own = {p.name for p in source.parameters(kernel)}
    return [symbol for name, symbol in known.items() if name in needed and name not in own]


def _texts(source: CudaSource, kernel: Function) -> list[str]:
    """Return the bodies of a kernel and of the helpers that it calls."""
    helpers = {f.name: f for f in source.functions if not f.is_kernel}
    texts, waiting = list[str](), [kernel]
    while waiting:
        texts.append(source.plain[slice(*waiting.pop().body)])
        called = set(_NAME.findall(texts[-1])) & helpers.keys()
        waiting += [helpers.pop(name) for name in called]
    return texts


def writable(source: CudaSource, names: Collection[str]) -> list[tuple[int, int]]:
    """Return the words that keep a program from filling these variables, which are to go."""
    spans = []
    for symbol in symbols_of(source).values():
        if symbol.name in names:
            words = re.compile(r"\b(?:__constant__|const|static)\b")
            start = max(source.code.rfind(c, 0, symbol.start) for c in ";}{") + 1
            spans += [m.span() for m in words.finditer(source.code, start, symbol.end)]
    return spans
