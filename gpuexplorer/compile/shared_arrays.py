"""Shared memory that is declared where OpenCL has none: in nested blocks, in helpers, outside.

OpenCL wants it at the top of a kernel. So it is declared there, under a name of ours, and what
stood elsewhere becomes a reference to it; a helper is handed it by its callers. As in CUDA, all
calls of a helper in a block share its arrays. Only C++ for OpenCL has references.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from gpuexplorer.compile.edits import Edits
from gpuexplorer.compile.refusals import callers_of
from gpuexplorer.compile.statements import Statement, parse_body
from gpuexplorer.workloads.cuda_source import CudaSource, Function

NAME = "gpux_shared_"
_STATIC = re.compile(
    r"\b(?<!extern )(?:static\s+)?__shared__\s+(?:static\s+)?"
    r"((?:(?:__align__|alignas)\s*\([^()]*\)\s*|volatile\s+)*[A-Za-z_][\w\s:]*?(?:<[^<>;]*>)?)"
    r"\s*\b([A-Za-z_]\w*\s*(?:\[[^;=\]][^;=]*\])?(?:\s*,\s*[A-Za-z_]\w*\s*(?:\[[^;=]*\])?)*)\s*;"
)
_DYNAMIC = re.compile(
    r"\bextern\s+__shared__\s+(?:(?:__align__|alignas)\s*\([^()]*\)\s*)?"
    r"([A-Za-z_][\w\s]*?)\s*\b([A-Za-z_]\w*)\s*\[\s*\]\s*;"
)
_WORD = re.compile(r"[A-Za-z_]\w*")


class _Declared(msgspec.Struct, frozen=True):
    """One array or variable in shared memory."""

    ours: str
    kind: str
    name: str
    sides: str
    dynamic: bool = False
    """Whether the launch says how long it is."""

    def definition(self) -> str:
        """Return how a kernel declares it."""
        if self.dynamic:
            return f" extern __shared__ char {self.ours}[];"
        return f" __shared__ {self.kind} {self.ours}{self.sides};"

    def parameter(self) -> str:
        """Return how a helper takes it."""
        if self.dynamic:
            return f"__local char *{self.ours}"
        return f"__local {self.kind} (&{self.ours}){self.sides}"


def edits(source: CudaSource) -> Edits:
    """Return what makes all shared memory of a source stand at the top of kernels.

    What cannot be moved stays, to be refused: arrays of a template whose sides its arguments say.
    """
    made = Edits()
    bodies = sorted(source.functions, key=lambda f: f.body)
    starts = [f.body[0] for f in bodies]
    number = 0
    for match in _DYNAMIC.finditer(source.code):
        index = bisect_right(starts, match.start()) - 1
        inside = index >= 0 and match.start() < bodies[index].body[1]
        if inside and not bodies[index].is_kernel:
            declared = _Declared(f"{NAME}{number}", match[1], match[2], "", dynamic=True)
            number += 1
            alias = _hand_down(source, bodies[index], [declared], made)
            made.replace(*match.span(), alias + "\n" * source.text.count("\n", *match.span()))
    tops: dict[int, list[Statement]] = {}
    """Of each body that declares shared memory, its outermost statements."""
    for match in _STATIC.finditer(source.code):
        index = bisect_right(starts, match.start()) - 1
        if index < 0 or match.start() >= bodies[index].body[1]:
            continue
        function = bodies[index]
        if index not in tops:
            body = parse_body(source.code, *function.body)
            tops[index] = body.parts if body is not None else []
        at = bisect_right(tops[index], match.start(), key=lambda s: s.start) - 1
        top = tops[index][at].start if at >= 0 else function.body[0] + 1
        if function.is_kernel and top == match.start():
            continue
        found = []
        for name, sides in _declarators(match[2]):
            found.append(_Declared(f"{NAME}{number}", " ".join(match[1].split()), name, sides))
            number += 1
        if function.is_kernel:
            made.replace(top, top, "".join(d.definition() for d in found).lstrip() + " ")
            aliases = " ".join(f"auto &{d.name} = {d.ours};" for d in found)
        else:
            aliases = _hand_down(source, function, found, made)
        if aliases:
            lines = "\n" * source.text.count("\n", *match.span())
            made.replace(*match.span(), aliases + lines)
    _move_inside(source, bodies, starts, made)
    return made


def _declarators(text: str) -> list[tuple[str, str]]:
    """Return the name and sides of each declarator."""
    found = re.findall(r"([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)", text)
    return [(name, sides.strip()) for name, sides in found]


def _hand_down(
    source: CudaSource, helper: Function, found: Sequence[_Declared], made: Edits
) -> str:
    """Declare a helper's arrays in the kernels that reach it; return what stands there instead."""
    head = source.code[helper.start : helper.open_paren]
    own = re.search(r"\btemplate\s*<(.*)>", head, re.DOTALL)
    template = set(_WORD.findall(own[1])) if own else set()
    casts = []
    passed: list[_Declared] = []
    for declared in found:
        if declared.dynamic:
            kind = f"__local {declared.kind} *"
            passed.append(declared)
            casts.append(f"{kind}{declared.name} = ({kind}){declared.ours};")
            continue
        if template & set(_WORD.findall(declared.sides)):
            return ""
        if template & set(_WORD.findall(declared.kind)):
            sides = declared.sides or "[1]"
            raw = _Declared(declared.ours, "gpux_widest", declared.name, sides)
            passed.append(raw)
            casts.append(
                f"__local {declared.kind} (&{declared.name}){declared.sides} = "
                f"*(__local {declared.kind} (*){declared.sides}){declared.ours};"
            )
        else:
            passed.append(declared)
            casts.append(f"auto &{declared.name} = {declared.ours};")
    callers = callers_of(source, frozenset({helper.name})) | {helper.name}
    takes = ", ".join(d.parameter() for d in passed)
    gives = ", ".join(d.ours for d in passed)
    for function in source.functions:
        if function.name not in callers:
            continue
        if function.is_kernel:
            at = function.body[0] + 1
            made.replace(at, at, "".join(d.definition() for d in passed))
        else:
            _insert(source, function.open_paren, takes, made)
    heads = {f.open_paren for f in source.functions}
    inside = [f.body for f in source.functions]
    helpers = {f.name for f in source.functions if not f.is_kernel} & callers
    for name in helpers:
        for call in re.finditer(rf"\b{name}\s*(?:<[^<>;(){{}}]*>\s*)?\(", source.plain):
            opening = call.end() - 1
            if opening in heads:
                continue
            called = any(a < opening < b for a, b in inside) or source.code[opening] != "("
            _insert(source, opening, gives if called else takes, made)
    return " ".join(casts)


def _insert(source: CudaSource, opening: int, text: str, made: Edits) -> None:
    """Put something before the first of what stands in brackets."""
    rest = re.compile(r"\s*(void\s*)?\)").match(source.plain, opening + 1)
    if rest and rest[1]:
        made.replace(rest.start(1), rest.end(1), text)
    else:
        made.replace(opening + 1, opening + 1, text if rest else f"{text}, ")


def _move_inside(
    source: CudaSource, bodies: Sequence[Function], starts: Sequence[int], made: Edits
) -> None:
    """Declare in its kernels what the launch gives the size of, where it stands outside."""
    outside = [
        m for m in _DYNAMIC.finditer(source.code)
        if (i := bisect_right(starts, m.start()) - 1) < 0 or m.start() >= bodies[i].body[1]
    ]  # fmt: skip
    if not outside:
        return
    said = [(f, set(_WORD.findall(source.code[slice(*f.body)]))) for f in bodies]
    for match in outside:
        users = [function for function, words in said if match[2] in words]
        if not all(function.is_kernel for function in users):
            continue
        made.blank(source.text, *match.span())
        for function in users:
            at = function.body[0] + 1
            made.replace(at, at, " " + " ".join(match[0].split()))
