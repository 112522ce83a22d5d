"""PTX as a compiler writes it, read: each kernel's lines, and the source lines they come from."""

from __future__ import annotations

import re
from collections.abc import Callable

from gpuexplorer.analysis.instructions import Place, Places, PtxLine

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.MULTILINE)
_BEGIN = re.compile(r"^(?:\.(?:visible|weak|extern)\s+)*\.(entry|func)\b", re.MULTILINE)
_NAME = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?([\w$]+)")
_REST = re.compile(r"^\s*\.(?:file|section)\s", re.MULTILINE)
_LOC = re.compile(
    r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)"
    r"(?:.*\binlined_at\s+(\d+)\s+(\d+)\s+(\d+))?"
)
_At = tuple[str, str, str]
"""File, line and column of a ``.loc``."""


def read_ptx(text: str, name_of: Callable[[str], str] = str) -> dict[str, tuple[PtxLine, ...]]:
    """Return each kernel's PTX by symbol, with the functions that it calls behind it.

    ``name_of`` returns what a file is called by the path that the compiler knew it by.
    """
    files = {number: name_of(path) for number, path in _FILE.findall(text)}
    kernels: dict[str, tuple[PtxLine, ...]] = {}
    functions: dict[str, tuple[PtxLine, ...]] = {}
    rest = _REST.search(text)
    begun = list(_BEGIN.finditer(text))
    ends = [one.start() for one in begun[1:]] + [rest.start() if rest else len(text)]
    for one, end in zip(begun, ends, strict=True):
        part = text[one.start() : end]
        name, close = _NAME.search(part), part.rfind("\n}")
        if name is None or close < 0:
            continue  # declared alone
        kept = kernels if one[1] == "entry" else functions
        kept[name[1]] = tuple(_lines(part[: close + 2], files))
    return {name: _with_called(lines, functions) for name, lines in kernels.items()}


def _lines(body: str, files: dict[str, str]) -> list[PtxLine]:
    found: list[PtxLine] = []
    inlined: dict[_At, _At] = {}
    places: Places = ()
    for line in body.splitlines():
        loc = _LOC.match(line)
        if loc is not None:
            at: _At = (loc[1], loc[2], loc[3])
            if loc[4] is not None:
                inlined[at] = (loc[4], loc[5], loc[6])
            else:
                inlined.pop(at, None)
            places = _chain(at, inlined, files) or places
        elif line.strip():
            found.append(PtxLine(text=line.expandtabs(4).rstrip(), places=places))
    return found


def _chain(at: _At, inlined: dict[_At, _At], files: dict[str, str]) -> Places:
    chain: list[_At] = [at]
    while chain[-1] in inlined and inlined[chain[-1]] not in chain:
        chain.append(inlined[chain[-1]])
    return tuple(
        Place(files[file], int(line)) for file, line, _ in chain if int(line) and file in files
    )


def _with_called(
    lines: tuple[PtxLine, ...], functions: dict[str, tuple[PtxLine, ...]]
) -> tuple[PtxLine, ...]:
    """Return a kernel's lines, and behind them those of each function that they name."""
    left, found = dict(functions), lines
    while True:
        words = {word for line in found for word in re.findall(r"[\w$]+", line.text)}
        named = [name for name in left if name in words]
        if not named:
            return found
        for name in named:
            found += left.pop(name)
