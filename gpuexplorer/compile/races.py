"""Reads of shared memory that no barrier puts after another thread's write.

``s[tid] += s[tid + 16]; s[tid] += s[tid + 8];`` was right on GPUs until 2017, where a warp ran in
step. Since then nothing promises that the second line sees what other threads wrote in the first,
and on a CPU it does not. So between a write of one's own element of shared memory and a read of a
neighbour's there must be a barrier. Beside ``s[2 * tid]`` lies no neighbour's, nor does what one
thread alone wrote, or a thread has written there itself.

``if (tid == 0) s = 3; y[i] = x[i] * s;`` was never right, but on a CPU, where the first thread runs
before the others, every result is: only the text shows it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gpuexplorer.compile.assignments import assigned
from gpuexplorer.compile.statements import Statement, parse_body
from gpuexplorer.workloads.cuda_source import CudaSource, Function

_SHARED = re.compile(r"\b__shared__\b[^;=()]*?([A-Za-z_]\w*)\s*(?:\[[^;]*)?;")
_ALIAS = re.compile(r"\bauto &(\w+) = gpux_shared_")
_POINTER = re.compile(
    r"\bvolatile\b[^;=(),]*\*\s*(?:const\s+)?([A-Za-z_]\w*)\s*=\s*&?\s*([A-Za-z_]\w*)"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_WRITE = re.compile(r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)")
_SET = re.compile(r"\s*=(?!=)")
_INDEX = re.compile(r"(([A-Za-z_]\w*)[\w.]*)(?:[-+^]\w+)?$")
"""An index without spaces: one's own, and a number behind it for a neighbour's."""
_INSIDE = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_PIECE = re.compile(r"@(\d+)|([A-Za-z_]\w*)")
_ADDED = re.compile(r"[-+?:,&|^<>=!]")
_THREAD = re.compile(r"\bthreadIdx\s*\.\s*([xyz])\b")
_MERGED = re.compile(r"[^\w\s.+*-]")
"""What may give several threads one number."""
_PICKS = re.compile(r"==|!(?!=)|<\s*1\b|[?(]\s*[A-Za-z_]\w*\s*\(|^\s*[A-Za-z_]\w*\s*\(")
"""What may leave few threads: a condition that is so is not judged."""
_OTHERS = re.compile(r"!=|>\s*0\b|>=\s*1\b")
"""What holds for all but few threads: few are left where those return."""
_RETURN = re.compile(r"\breturn\b")
_CHOOSES = re.compile(r"\?|&&|\|\|")
_NUMBERED = re.compile(r"\s*\[\s*(\d+)\s*\]")
_ATOMIC = re.compile(r"\batomic\w+\s*\(\s*&\s*$")


@dataclass(frozen=True)
class Race:
    """A read of what another thread wrote since the last barrier."""

    offset: int
    array: str
    written_at: int
    in_step: bool
    """Whether it would be right where a warp runs in step."""


def shared_names(source: CudaSource, function: Function) -> frozenset[str]:
    """Return the names by which a function reads and writes shared memory."""
    text = source.code[slice(*function.body)]
    arrays = {*_SHARED.findall(text), *_ALIAS.findall(text)}
    arrays |= {name for name, of in _POINTER.findall(text) if of in arrays}
    if not function.is_kernel:
        for parameter in source.parameters(function):
            if "volatile" in source.code[parameter.start : parameter.end] and parameter.is_pointer:
                arrays.add(parameter.name)
    return frozenset(arrays)


def first_race(
    source: CudaSource,
    function: Function,
    arrays: Collection[str],
    barriers: frozenset[str],
    apart: Collection[str],
) -> Race | None:
    """Return the first read of an array in a function that another thread's write may follow.

    ``barriers`` are the names of what waits for other threads, ``apart`` of what tells threads
    apart.
    """
    body = parse_body(source.code, *function.body)
    if body is None:
        return None
    numbers = _Numbers(source.code[slice(*function.body)], apart)
    reader = _Reader(source, arrays, barriers, numbers)
    reader.statement(body, {})
    return reader.found


class _Numbers:
    """What a function's variables have to do with the thread's number."""

    def __init__(self, text: str, apart: Collection[str]) -> None:
        self._apart = apart
        self._axes = frozenset(_THREAD.findall(text))
        self._values: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in assigned(text):
            self._values[name].append(value)

    def count_threads(self, name: str) -> bool:
        """Return whether a variable may differ by one between two threads."""
        waiting, seen = [name], {name}
        while waiting:
            one = waiting.pop()
            if one in self._apart:
                return True
            for value in self._values.get(one, ()):
                more = set(_added(value)) - seen
                seen |= more
                waiting += more
        return False

    def leave_one(self, condition: str) -> bool:
        """Return whether one thread of a block at most fulfils a condition."""
        if "||" in condition:
            return False
        pinned: set[str] = set()
        for part in condition.split("&&"):
            sides = part.strip("() \n\t").split("==")
            if len(sides) == 1 and sides[0].startswith("!"):
                pinned |= self._told(sides[0][1:].strip(), frozenset())
            for one, other in (sides, sides[::-1]) if len(sides) == 2 else ():
                if not any(map(self.count_threads, _WORD.findall(other))):
                    pinned |= self._told(one, frozenset())
        return bool(self._axes) and pinned >= self._axes

    def may_pick(self, condition: str) -> bool:
        """Return whether a condition may hold for the thread that wrote something alone only."""
        names = set(_WORD.findall(condition))
        texts = [condition, *(value for name in names for value in self._values.get(name, ()))]
        return any(map(_PICKS.search, texts))

    def _told(self, value: str, inside: frozenset[str]) -> set[str]:
        """Return the axes along which a value tells every thread from the others."""
        if _MERGED.search(value):
            return set()
        axes = set(_THREAD.findall(value))
        for name in set(_WORD.findall(value)) - inside:
            if len(values := self._values.get(name, [])) == 1:
                axes |= self._told(values[0], inside | {name})
        return axes


def _added(value: str) -> Iterator[str]:
    """Yield the names that go into a value without a factor."""
    groups: list[str] = []
    while inside := _INSIDE.search(value):
        value = f"{value[: inside.start()]} @{len(groups)} {value[inside.end() :]}"
        groups.append(inside[1])
    waiting = [value]
    while waiting:
        one = waiting.pop()
        for term in _ADDED.split(one) if "<<" not in one else ():
            if "*" in term:
                continue
            for number, name in _PIECE.findall(term):
                if number:
                    waiting.append(groups[int(number)])
                else:
                    yield name


_Written = dict[tuple[str, str], int]
"""Where an array was written since the last barrier: by threads at an index of their own, or by one
thread alone at a number or, empty, as a variable that is no array."""


class _Reader:
    """Goes through a body in the order in which it runs."""

    def __init__(
        self,
        source: CudaSource,
        arrays: Collection[str],
        barriers: frozenset[str],
        numbers: _Numbers,
    ) -> None:
        self._source, self._code = source, source.code
        self._barriers, self._numbers = barriers, numbers
        listed = "|".join(sorted(map(re.escape, arrays)))
        self._element = re.compile(rf"(?<![\w.])({listed})\s*\[")
        self._name = re.compile(rf"(?<![\w.])(?<!->)({listed})\b")
        self._by_all: _Written | None = None
        """What all threads wrote, where one goes on alone."""
        self._few = False
        """Whether it may be that few threads come here."""
        self.found: Race | None = None

    def statement(self, statement: Statement, before: _Written) -> _Written:
        """Return what is written after a statement that follows ``before``."""
        if statement.kind != "block" and not statement.parts:
            return self._simple(statement.start, statement.end, before)
        waits = self._waits(statement.condition)
        written = {} if waits else before
        if statement.condition:
            self._look_at_fixed(statement.start, statement.parts[0].start, dict(written))
        if statement.kind == "block" or statement.is_loop:
            for _ in range(2 if statement.is_loop else 1):  # what one round writes the next reads
                for part in statement.parts:
                    written = self.statement(part, written)
                written = {} if waits else written
            return written
        first, *others = statement.parts
        ways = [self._chosen(statement, first, written)]
        ways += [self.statement(part, written) for part in others] or [written]
        return {at: offset for way in ways for at, offset in way.items()}

    def _chosen(self, statement: Statement, part: Statement, before: _Written) -> _Written:
        """Return what is written after what is done where a condition holds."""
        all_come, few = self._by_all is None, self._few
        if all_come and statement.kind == "if" and self._numbers.leave_one(statement.condition):
            self._by_all = before
        self._few = few or self._numbers.may_pick(statement.condition)
        after = self.statement(part, before)
        leaves_few = _OTHERS.search(statement.condition) is not None
        self._few = few or (leaves_few and bool(_RETURN.search(self._code, part.start, part.end)))
        if all_come:
            self._by_all = None
        return after

    def _waits(self, text: str) -> bool:
        return not self._barriers.isdisjoint(_WORD.findall(text))

    def _simple(self, start: int, end: int, before: _Written) -> _Written:
        if self._waits(self._code[start:end]):
            return {}
        written = dict(before)
        for match in self._element.finditer(self._code, start, end):
            array, closing = match[1], self._source.closing(match.end() - 1)
            if closing is None:
                continue
            index = _INDEX.match("".join(self._code[match.end() : closing].split()))
            if index is None or not self._numbers.count_threads(index[2]):
                continue
            own, behind = index[0] == index[1], self._code[closing + 1 : end]
            if (_WRITE if own else _SET).match(behind):
                written[array, index[0]] = match.start()
            elif not own and not _WRITE.match(behind) and (array, index[0]) not in before:
                at = (before if self._by_all is None else self._by_all).get((array, index[1]))
                if at is not None and self.found is None:
                    self.found = Race(match.start(), array, at, in_step=True)
        self._look_at_fixed(start, end, written)
        return written

    def _look_at_fixed(self, start: int, end: int, written: _Written) -> None:
        """Find reads of what one thread wrote alone; ``written`` is brought up to date."""
        for match in self._name.finditer(self._code, start, end):
            numbered = _NUMBERED.match(self._code, match.end(), end)
            behind = self._code[numbered.end() if numbered else match.end() : end]
            if behind.lstrip()[:1] in ("[", "("):
                continue
            key = match[1], numbered[1] if numbered else ""
            before = self._code[start : match.start()]
            alone = self._by_all is not None
            if _SET.match(behind):
                written.pop(key, None)
                if alone and before.rstrip()[-1:] not in ("*", "&"):
                    written[key] = match.start()
            elif key in written and not alone and not self._few and self.found is None:
                taken = before.rstrip().endswith("&") and not _ATOMIC.search(before)
                if not taken and not _CHOOSES.search(self._code, start, end):
                    self.found = Race(match.start(), match[1], written[key], in_step=False)
