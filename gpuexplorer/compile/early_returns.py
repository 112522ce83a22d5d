"""Threads that leave a kernel before a barrier, the commonest form of a guard in textbooks.

On a GPU the others' barrier no longer waits for those that have left. OpenCL wants every thread of
the block at each barrier, so that here a thread that has left goes on to the end, does nothing on
the way but what decides where it goes (counters of loops and the like), and meets every barrier.
``if (i >= n) return;`` becomes ``if (i >= n) gpux_live = false;``, and what follows is done
``if (gpux_live)``. What has not the form of that is left as it is, to be refused.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from gpuexplorer.compile.assignments import assignments, changed_names
from gpuexplorer.compile.edits import Edits
from gpuexplorer.compile.refusals import (
    BARRIERS,
    callers_of,
    last_place,
    leaving,
    thread_dependent,
)
from gpuexplorer.compile.statements import Statement, parse_body, walk
from gpuexplorer.workloads.cuda_source import CudaSource, Function

_WORD = re.compile(r"[A-Za-z_]\w*")
_ALONE = re.compile(r"\s*__syncthreads\s*\(\s*\)\s*;?\s*")
_DECLARES = re.compile(
    r"(?!(?:return|else|case|goto|delete|throw|using|typedef)\b)"
    r"(?:(?:const|volatile|static|constexpr|register|unsigned|signed|long|short|struct)\s+)*"
    r"(?:(?:const|volatile|unsigned|signed|long|short)\b|[A-Za-z_][\w:]*(?:\s*<[^;=()]*>)?)"
    r"(?:\s+const)?(?:\s*[*&]+\s*|\s+)(?:const\s+|__restrict__\s+)*(?=[A-Za-z_])"
)
_DECLARATOR = re.compile(r"\s*[*&]*\s*([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)(=(?!=)|\(|\{|$|(?=,))")
_CALL = re.compile(r"([A-Za-z_][\w:]*)\s*(?:<[^<>;]*>\s*)?\(")
_HARMLESS = frozenset(
    "min max fminf fmaxf fmin fmax abs fabsf sqrtf float int unsigned double sizeof size_t long "
    "static_cast this_thread_block tiled_partition make_float2 make_float3 make_float4 make_int2 "
    "thread_rank size meta_group_rank meta_group_size".split()
)
_PLAIN_CHANGE = re.compile(r"\s*[A-Za-z_]\w*\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*\w*\s*(?:\+\+|--)")
_ADDRESS = re.compile(r"(?:^|[^&\w)\]\s])\s*&\s*([A-Za-z_]\w*)")
"""A name whose address is handed on."""
_CHANGES = re.compile(r"(?<![=<>!])=(?!=)|\+\+|--|,")
_READS = re.compile(r"\[|->|\+\+|--|(?:^|[-+*/%=(,<>&|^?:!~])\s*\*\s*[A-Za-z_(]")
"""An element, a member through a pointer, a change, or what a pointer points to."""


class _OtherForm(Exception):
    """What threads that have left would do here cannot be told from the text."""


def edits(source: CudaSource) -> Edits:
    """Return what makes threads that leave before a barrier go on to it."""
    made = Edits()
    reach = callers_of(source, BARRIERS)
    for kernel in source.kernels.values():
        if kernel.name not in reach:
            continue
        body = parse_body(source.code, *kernel.body)
        if body is None:
            continue
        try:
            for start, end, text in _Kernel(source, kernel, body, reach).edits():
                made.replace(start, end, text)
        except _OtherForm:
            continue
    return made


class _Kernel:
    """One kernel with barriers."""

    def __init__(
        self, source: CudaSource, kernel: Function, body: Statement, reach: Iterable[str]
    ) -> None:
        self._code = source.code
        self._kernel, self._body = kernel, body
        barriers = {*BARRIERS, *reach}
        start, end = kernel.body
        self._barriers = [
            m.start() for m in _WORD.finditer(source.code, start, end) if m[0] in barriers
        ]
        self._tainted = thread_dependent(source.code[start:end], kernel, source)
        self._made: list[tuple[int, int, str]] = []
        self._decisive: frozenset[str] = frozenset()

    def edits(self) -> Sequence[tuple[int, int, str]]:
        """Return the replacements; none where nobody leaves early."""
        last = last_place(self._body, self._barriers[-1])
        self._leaving = [s.start for s in leaving(self._body, self._tainted) if s.start < last]
        if not self._leaving:
            return ()
        self._decisive = self._what_decides()
        self._block(self._body.parts, guarded=False)
        at = self._kernel.body[0] + 1
        return [(at, at, " bool gpux_live = true;"), *self._made]

    def _holds(self, places: Sequence[int], statement: Statement) -> bool:
        following = bisect_left(places, statement.start)
        return following < len(places) and places[following] < statement.end

    def _is_shared_path(self, statement: Statement) -> bool:
        """Whether every thread must go through a statement: to a barrier, or out of such a loop."""
        return self._holds(self._barriers, statement) or self._jumps(statement)

    def _jumps(self, statement: Statement) -> bool:
        if statement.kind in ("break", "continue"):
            return True
        if statement.is_loop or statement.kind == "switch":
            return False  # the jumps in it are its own
        return any(self._jumps(part) for part in statement.parts)

    def _what_decides(self) -> frozenset[str]:
        """Return the names that say which way to a barrier is taken, or how often."""
        names: set[str] = set()
        for statement in walk(self._body):
            if statement.condition and self._is_shared_path(statement):
                names.update(_WORD.findall(statement.condition))
        start, end = self._kernel.body
        made_of = assignments(self._code[start:end])
        while True:
            more = {w for name, used in made_of if name in names for w in used}
            if more <= names:
                break
            names |= more
        memory = {n for n in names if re.search(rf"\b{n}\s*\[", self._code[start:end])}
        conditions = " ".join(
            s.condition for s in walk(self._body)
            if s.kind in ("while", "do") and self._holds(self._barriers, s)
        )  # fmt: skip
        if memory.intersection(_WORD.findall(conditions)) or self._tainted & names & {
            n for n, _ in made_of
        } & set(_WORD.findall(conditions)):
            raise _OtherForm  # a block that all threads have left might never end
        return frozenset(names - memory)

    # ---- statements

    def _block(self, parts: Sequence[Statement], *, guarded: bool) -> None:
        for part in parts:
            leaves = self._holds(self._leaving, part)
            if part.kind == "return" and leaves:
                self._leave(part)
            elif self._is_shared_path(part):
                self._shared_path(part, guarded=guarded)
            else:
                if leaves:
                    self._nested(part)
                if guarded:
                    self._guard(part)
            guarded |= leaves

    def _leave(self, part: Statement) -> None:
        if self._code[part.start : part.end].split() not in (["return;"], ["return", ";"]):
            raise _OtherForm
        self._made.append((part.start, part.end, "{ gpux_live = false; }"))

    def _nested(self, statement: Statement) -> None:
        """Change the returns inside of a statement without a barrier."""
        if statement.is_loop or statement.kind == "switch":
            raise _OtherForm  # which would have to be left, too
        if statement.kind == "block":
            self._block(statement.parts, guarded=False)
            return
        for part in statement.parts:
            self._block([part], guarded=False)

    def _shared_path(self, part: Statement, *, guarded: bool) -> None:
        if part.kind in ("break", "continue"):
            return
        if part.kind == "expression":
            if guarded and not _ALONE.fullmatch(self._code, part.start, part.end):
                raise _OtherForm  # a vote, or a helper with a barrier
            return
        if part.kind == "switch":
            raise _OtherForm
        leaves = self._holds(self._leaving, part)
        inner = guarded or (part.is_loop and leaves)
        if inner and part.condition and _READS.search(_without_counting(part.condition)):
            raise _OtherForm
        if part.kind == "block":
            self._block(part.parts, guarded=inner)
            return
        for sub in part.parts:
            self._block([sub], guarded=inner)

    def _guard(self, part: Statement) -> None:
        text = self._code[part.start : part.end]
        if text.strip() == ";" or "__shared__" in text:
            return
        if part.kind == "expression" and (declares := _DECLARES.match(text)):
            self._guard_declaration(part, declares.end())
            return
        own = set(re.findall(r"\bfor\s*\(\s*(?:[A-Za-z_]\w*\s+)+([A-Za-z_]\w*)\s*=", text))
        changed = changed_names(text) | set(_ADDRESS.findall(text))
        if (changed - own) & self._decisive:
            plain = _PLAIN_CHANGE.match(text)
            harmless = plain and part.kind == "expression" and _is_harmless(text[plain.end() :])
            if not harmless or _CHANGES.search(text, plain.end() if plain else 0):
                raise _OtherForm
            return  # by all of them, so that all go the same way
        # In braces of its own: an else may follow.
        self._made.append((part.start, part.start, "{ if (gpux_live) { "))
        self._made.append((part.end, part.end, " } }"))

    def _guard_declaration(self, part: Statement, behind_type: int) -> None:
        """Let threads that have left declare a variable without reading anything for it."""
        at = part.start + behind_type
        end = self._code.rindex(";", part.start, part.end)
        while at < end:
            stop = self._comma(at, end)
            declared = _DECLARATOR.match(self._code, at, stop)
            if declared is None:
                raise _OtherForm
            is_reference = "&" in self._code[part.start : declared.start(1)]
            value = self._code[declared.end() : stop]
            is_lambda = value.lstrip().startswith("[")
            if declared[3] and not (is_reference or is_lambda or _is_harmless(value)):
                if (
                    declared[1] in self._decisive
                    or declared[3] != "="
                    or value.lstrip().startswith("{")
                    or declared[2]
                ):
                    raise _OtherForm
                begin = declared.end() + len(value) - len(value.lstrip())
                self._made.append((begin, begin, "gpux_live ? ("))
                otherwise = " ".join(value.split())
                self._made.append((stop, stop, f") : decltype(gpux_bare({otherwise}))()"))
            at = stop + 1

    def _comma(self, at: int, end: int) -> int:
        depth = 0
        for i in range(at, end):
            c = self._code[i]
            depth += (c in "([{") - (c in ")]}")
            if c == "," and depth == 0:
                return i
        return end


def _without_counting(condition: str) -> str:
    return re.sub(r"\+\+|--", "  ", condition)


def _is_harmless(text: str) -> bool:
    """Return whether computing a value neither reads memory nor changes anything."""
    calls = {name.rpartition(":")[2] for name in _CALL.findall(text)}
    return not _READS.search(text) and calls <= _HARMLESS
