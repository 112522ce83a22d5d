"""Macros put in place where they are used, as far as what they hold has to be followed.

An element that a macro names (``#define A(i, j) a[(i) * N + (j)]``) is read at the line that uses
it, and so is a loop that one begins. Macros that hold neither stay as they are. Every line stays
where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from gpuexplorer.compile.edits import Edits
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\(([^)\n]*)\))?((?:[^\n\\]|\\(?:\n|.))*)", re.MULTILINE
)
_FOLLOWED = re.compile(
    r"\[|->|\batomic\w+\s*\(|\b__(?:ld|st)(?:g|c[agsv]|lu|wb|wt)\s*\("
    r"|\b__pipeline_memcpy_async\b|\b(?:for|while|do)\b"
    r"|(?:^|[(,=?:+\-<>!|;{])\s*\*\s*[\w(]"
)
"""What touches memory, or repeats something."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_PIECE = re.compile(
    r"""(?P<quoted>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|(?P<comment>//[^\n]*|/\*.*?\*/)"""
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.'])*)|(?P<break>\\?\n)",
    re.DOTALL,
)
LONGEST = 1 << 20
"""Characters that one use may become."""


class Macro(msgspec.Struct, frozen=True):
    """One macro; ``parameters`` is None for one that is used without brackets."""

    parameters: tuple[str, ...] | None
    body: str
    where: str


def edits(source: CudaSource) -> Edits:
    """Put every macro in place that touches memory or begins a loop.

    Raises WorkFailed, naming file and line, for one that only a preprocessor can put in place.
    """
    found, made = _followed(source), Edits()
    if not found:
        return made
    end = 0
    for word in _WORD.finditer(source.code):
        if word.start() < end or word[0] not in found:
            continue
        used = _use(source.code, word.end(), found[word[0]])
        if used is None:
            continue
        end = used
        text = source.text[word.start() : end]
        new = _expanded(text, found, frozenset(), word[0]) + "\n" * text.count("\n")
        made.replace(word.start(), end, new)
    return made


def _followed(source: CudaSource) -> dict[str, Macro]:
    """Return the macros to put in place, by name: those that hold another one as well."""
    every: dict[str, list[Macro]] = {}
    for match in _DEFINE.finditer(source.plain):
        names = None if match[2] is None else tuple(n.strip() for n in match[2].split(","))
        body = _plain(source.text[match.start(3) : match.end(3)]).strip()
        macro = Macro(names, body, source.where(match.start()))
        every.setdefault(match[1], []).append(macro)
    chosen = {n for n, ones in every.items() if any(_FOLLOWED.search(one.body) for one in ones)}
    while True:
        more = {
            name
            for name, ones in every.items()
            if name not in chosen
            and any(chosen.intersection(_WORD.findall(one.body)) for one in ones)
        }
        if not more:
            break
        chosen |= more
    used = set(_WORD.findall(source.code))
    for name in chosen & used:
        ones = every[name]
        if len({(one.parameters, one.body) for one in ones}) > 1:
            first, *_, last = ones
            raise WorkFailed(
                f"{first.where}: the macro '{name}', which touches memory or begins a loop, is "
                f"something else at {last.where}, so its accesses cannot be counted",
                remedy="give the two their own names",
            )
    return {name: every[name][0] for name in chosen}


def _plain(text: str) -> str:
    """Return a text in one line and without comments."""
    return _PIECE.sub(lambda m: " " if m["comment"] or m["break"] else m[0], text)


def _use(code: str, at: int, macro: Macro) -> int | None:
    """Return where the use of a macro ends whose name ends at ``at``; None where it is no use."""
    if macro.parameters is None:
        return at
    opening = re.compile(r"\s*\(").match(code, at)
    if opening is None:
        return None
    depth = 0
    for i in range(opening.end() - 1, len(code)):
        depth += (code[i] == "(") - (code[i] == ")")
        if depth == 0:
            return i + 1
    return None


def _expanded(
    text: str, macros: Mapping[str, Macro], inside: frozenset[str], name: str = ""
) -> str:
    """Return a text with every macro in it put in place, but for those it is inside of."""
    text, parts, at = _plain(text), [], 0
    for piece in _PIECE.finditer(text):
        word = piece["word"]
        if piece.start() < at or word is None or word not in macros or word in inside:
            continue
        macro = macros[word]
        end = _use(text, piece.end(), macro)
        if end is None:
            continue
        if "#" in macro.body:
            raise WorkFailed(
                f"{macro.where}: the accesses inside the macro '{word}' cannot be counted, as it "
                "makes names with #",
                remedy="write it as a __device__ function, or let it give the index alone",
            )
        parts += [text[at : piece.start()], _body(macro, text[piece.end() : end], macros, inside)]
        parts[-1] = _expanded(parts[-1], macros, inside | {word})
        at = end
        if sum(map(len, parts)) > LONGEST:
            raise WorkFailed(
                f"{macro.where}: the macro '{name or word}' becomes more than {LONGEST:,} letters",
                remedy="write it as a __device__ function",
            )
    return "".join([*parts, text[at:]])


def _body(macro: Macro, brackets: str, macros: Mapping[str, Macro], inside: frozenset[str]) -> str:
    """Return a macro's body with what it is used with."""
    if macro.parameters is None:
        return macro.body
    opening, closing = brackets.index("("), len(brackets) - 1
    given = [_expanded(one, macros, inside) for one in _split(brackets[opening + 1 : closing])]
    names = list(macro.parameters)
    if names[-1] == "...":
        names[-1] = "__VA_ARGS__"
        given[len(names) - 1 :] = [", ".join(given[len(names) - 1 :])]
    by_name = dict(zip(names, given, strict=False))
    return _PIECE.sub(lambda m: by_name.get(m[0], m[0]) if m["word"] else m[0], macro.body)


def _split(text: str) -> Iterator[str]:
    """Yield what a macro is used with, piece by piece."""
    depth, begin = 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            yield text[begin:i].strip()
            begin = i + 1
    yield text[begin:].strip()
