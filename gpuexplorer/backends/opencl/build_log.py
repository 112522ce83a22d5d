"""A driver's build log in the user's terms: file, line and column as the user wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpuexplorer.compile.origin import Origin
from gpuexplorer.compile.prelude import PRELUDE_NAME

_NOISE = re.compile(
    r"clBuildProgram failed|Build on <|Compilation (?:started|failed|done)|\(options:|"
    r"\(source saved|Device build|Linking|Options used|remark:|^=+$|^Done\.?$|^\d+ error|"
    r"failed to build the program"
)
_POCL = re.compile(r"^(error|warning|note): (\S+:\d+:\d+)(?: <Spelling=(\S+:\d+:\d+)>)?: ")
"""With a second place where the first is a macro's."""
_MESSAGE = re.compile(r"([^\s:][^:\n]*):(\d+):(\d+): (.*)")
_EXCERPT = re.compile(r"\s*(?:\d+ )?\|")
_OURS = (PRELUDE_NAME, "opencl-c", "<")
_NAMES = {"gpux_grid": "gridDim", "gpux_max_of": "std::max", "gpux_min_of": "std::min"}
_OWN_NAME = re.compile(r"\bgpux_(\w+)")
_SPACE = re.compile(r"\b__(?:private|generic|global|local) (?=\w)")
_RECURSION = re.compile(r"Unsupported recursive call in function:((?:\s+[\w.]+$)+)", re.MULTILINE)


class Error(NamedTuple):
    """The first error of a log."""

    where: str
    """``file:line``."""
    what: str


def first_error(log: str) -> Error | None:
    """Return the first error of a cleaned log."""
    found = re.search(r"^([^\s:][^:\n]*:\d+):\d+: (?:fatal )?error: (.*)$", log, re.MULTILINE)
    return Error(found[1], found[2]) if found else None


def led_to_recursion(log: str) -> frozenset[str]:
    """Return the functions that call themselves or lead to one, where a log says that some do."""
    found = _RECURSION.search(log)
    return frozenset(map(_plain_name, found[1].split() if found else ()))


def _plain_name(symbol: str) -> str:
    """Return the last name of a symbol, without namespaces, classes and types."""
    mangled = re.match(r"_Z(N?)[A-Z]*(?=\d)", symbol)
    if mangled is None:
        return symbol
    rest, name = symbol[mangled.end() :], ""
    while (not name or mangled[1]) and (length := re.match(r"\d+", rest)):
        end = length.end() + int(length[0])
        name, rest = rest[length.end() : end], rest[end:]
    return name


def clean_log(log: str, origin: Origin | None = None) -> str:
    """Return a build log as ``file:line:column: error: ...``, without the driver's chatter.

    With ``origin`` each message is followed by the user's own line. Notes and warnings on the
    prelude, which is not the user's, are left out with their excerpts.
    """
    lines: list[str] = []
    shown = True
    excerpt_made = False
    for raw in log.splitlines():
        line = _POCL.sub(_place_first, raw)
        if _NOISE.search(line):
            continue
        message = _MESSAGE.match(line)
        if message is None:
            if line.strip() and shown and not (excerpt_made and _is_excerpt(line)):
                lines.append(line.rstrip())
            continue
        shown = not message[1].startswith(_OURS) or message[4].startswith(("error:", "fatal"))
        made = list(_in_users_terms(message, origin)) if shown else []
        excerpt_made = len(made) > 1
        lines += made
    return "\n".join(lines)


def _place_first(message: re.Match[str]) -> str:
    spelled = message[3] if message[3] and not message[3].startswith(_OURS) else None
    return f"{spelled or message[2]}: {message[1]}: "


def _is_excerpt(line: str) -> bool:
    """Return whether a line shows the compiler's text, with a mark below or without."""
    return _EXCERPT.match(line) is not None or line[:1].isspace() or set(line) <= set(" ^~")


def _in_users_terms(message: re.Match[str], origin: Origin | None) -> Iterator[str]:
    file, line, column = message[1], int(message[2]), int(message[3])
    words = _OWN_NAME.sub(lambda m: _NAMES.get(m[0], m[1]), message[4])
    if "address space" not in words:
        words = _SPACE.sub("", words)
    place = origin.place(file, line, column) if origin is not None else None
    if place is None:
        yield f"{file}:{line}:{column}: {words}"
        return
    indent = re.sub(r"[^\t]", " ", place.text[: place.column - 1])
    yield f"{file}:{line}:{place.column}: {_as_named(words, place.text)}"
    yield f"{line:5} | {place.text}"
    yield f"      | {indent}^"


def _as_named(words: str, text: str) -> str:
    """Return a message with names as they stand in the user's line: a keyword had an underscore."""

    def named(match: re.Match[str]) -> str:
        there = match[0] not in text and re.search(rf"\b{match[1]}\b", text)
        return match[1] if there else match[0]

    return re.sub(r"\b([A-Za-z]\w*)_\b", named, words)
