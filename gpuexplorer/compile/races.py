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
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

import msgspec

from gpuexplorer.compile.assignments import assigned
from gpuexplorer.compile.expressions import shared_declared
from gpuexplorer.compile.pointer_aliases import TYPED, pointer_aliases
from gpuexplorer.compile.statements import (
    Statement,
    cases_of,
    end_of,
    leaves,
    parse_body,
    walk,
)
from gpuexplorer.compile.uniform_ways import UniformWays
from gpuexplorer.workloads.cuda_source import CudaSource, Function

_ALIAS = re.compile(r"\bauto &(\w+) = gpux_shared_")
_POINTER = re.compile(
    r"\bvolatile\b[^;=(),]*\*\s*(?:const\s+)?([A-Za-z_]\w*)\s*=\s*&?\s*([A-Za-z_]\w*)"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_WRITE = re.compile(r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)")
_SET = re.compile(r"\s*=(?!=)")
_INDEX = re.compile(r"(([A-Za-z_]\w*)[\w.]*)(?:[-+^](\w+))?$")
"""An index without spaces: one's own, and a number behind it for a neighbour's."""
_NUMBERED = re.compile(r"\s*\[\s*(\d+)\s*\]")
_ATOMIC = re.compile(r"\batomic\w+\s*\(\s*&\s*$")
_CHOOSES = re.compile(r"\?|&&|\|\||\[[&=]?\]\s*\(")
"""A statement in which not every thread may read what it names, or not now."""
_INSIDE = re.compile(r"[(\[{]([^()\[\]{}]*)[)\]}]")
_PIECE = re.compile(r"@(\d+)|([A-Za-z_]\w*)")
_ADDED = re.compile(r"[-+?:,&|^<>=!]")
_LONGEST_SUM = 1000
"""Characters of a value that is a sum; a longer one is a table."""
_THREAD = re.compile(r"\bthreadIdx\s*\.\s*([xyz])\b")
_RANK = re.compile(r"\b(?:\w+::)*(\w+|this_thread_block\s*\(\s*\))\s*\.\s*thread_rank\s*\(\s*\)")
_BLOCK = re.compile(r"\b(?:auto|thread_block)\s*&?\s+(\w+)\s*=[\s\w:]*\bthis_thread_block\b")
"""A thread's rank, and the names of its block, in which no two threads have one rank."""
_MERGED = re.compile(r"[^\w\s.+*-]")
"""What may give several threads one number."""
_BELOW = re.compile(r"([^<>=!]+)<(=?)([^<>=!]+)")
_ABOVE = re.compile(r"([^<>=!]+)>(=?)([^<>=!]+)")
_GOES = frozenset(("return", "continue", "goto"))
"""What leaves more than a switch."""


class Race(msgspec.Struct, frozen=True):
    """A read of what another thread wrote since the last barrier."""

    offset: int
    array: str
    written_at: int
    in_step: bool
    """Whether it would be right where a warp runs in step."""


def shared_names(source: CudaSource, function: Function) -> frozenset[str]:
    """Return the names by which a function reads and writes shared memory."""
    text = source.code[slice(*function.body)]
    arrays = {*shared_declared(text), *_ALIAS.findall(text)}
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
    ways = UniformWays(body, source.code, numbers.is_same)
    reader = _Reader(source, function, arrays, barriers, numbers, ways)
    reader.statement(body, {})
    return reader.found


class _Numbers:
    """What a function's variables have to do with the thread's number."""

    def __init__(self, text: str, apart: Collection[str]) -> None:
        self._apart = apart
        self._axes = frozenset(_THREAD.findall(text) or "x")
        self._blocks = frozenset(_BLOCK.findall(text))
        self._values: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in assigned(self.without_ranks(text)):
            self._values[name].append(value)
        self._counting: dict[str, bool] = {}

    def without_ranks(self, text: str) -> str:
        """Return a text with a thread's numbers in the place of its rank in the block."""
        numbers = " + ".join(f"threadIdx.{axis}" for axis in sorted(self._axes))

        def written(rank: re.Match[str]) -> str:
            whole = rank[1] in self._blocks or rank[1].startswith("this_thread_block")
            return numbers if whole else rank[0]

        return _RANK.sub(written, text)

    def count_threads(self, name: str) -> bool:
        """Return whether a variable may differ by one between two threads."""
        if name not in self._counting:
            self._counting[name] = self._follow(name)
        return self._counting[name]

    def _follow(self, name: str) -> bool:
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
        for part in map(_bare, condition.split("&&")):
            below = _BELOW.fullmatch(part)
            if below is not None and below[3].strip() == ("0" if below[2] else "1"):
                pinned |= self._told(below[1])
                continue
            sides = part.split("==")
            if len(sides) == 1 and part.startswith("!"):
                pinned |= self._told(_bare(part[1:]))
            for one, other in (sides, sides[::-1]) if len(sides) == 2 else ():
                if not any(map(self.count_threads, _WORD.findall(other))):
                    pinned |= self._told(one)
        return pinned >= self._axes

    def leave_one_out(self, condition: str) -> bool:
        """Return whether a condition holds for all threads of a block but one at most."""
        return "&&" not in condition and self.leave_one(
            " && ".join(map(_negated, _bare(condition).split("||")))
        )

    def keep_most(self, condition: str) -> bool:
        """Return whether a condition holds for several threads, as far as it tells them apart."""
        parts = condition.split(";")
        condition = parts[1] if len(parts) == 3 else condition
        return "||" not in condition and self._bound(_bare(condition).split("&&"), 1)

    def leave_most(self, condition: str) -> bool:
        """Return whether several threads do not fulfil a condition, as far as it parts them."""
        return "&&" not in condition and self._bound(_bare(condition).split("||"), 3)

    def is_same(self, text: str) -> bool:
        """Return whether an expression is the same for all threads."""
        return self._different.isdisjoint(_WORD.findall(self.without_ranks(text)))

    def _bound(self, parts: Iterable[str], side: int) -> bool:
        """Return whether each part is the same for all threads, or bounds a thread's number.

        ``side`` of ``<`` is where that stands: 1 is left, 3 is right, as in the match.
        """
        return all(
            self.is_same(part)
            or self._is_bound(_BELOW.fullmatch(part), side)
            or self._is_bound(_ABOVE.fullmatch(part), 4 - side)
            for part in map(_bare, parts)
        )

    def _is_bound(self, match: re.Match[str] | None, side: int) -> bool:
        """Return whether a comparison holds a thread's number below what is one for all."""
        if match is None:
            return False
        bound = _bare(match[4 - side])
        few = bound.isdigit() and int(bound) < 2
        return not few and self.is_same(bound) and "(" not in match[side]

    @cached_property
    def _different(self) -> set[str]:
        """The names whose value may differ between threads."""
        into: defaultdict[str, set[str]] = defaultdict(set)
        for name, values in self._values.items():
            for value in values:
                for word in _WORD.findall(value):
                    into[word].add(name)
        found, waiting = set(self._apart), list(self._apart)
        while waiting:
            more = into[waiting.pop()] - found
            found |= more
            waiting += more
        return found

    def _told(self, value: str) -> set[str]:
        """Return the axes along which a value tells every thread from the others."""
        axes, waiting, seen = set[str](), [value], set[str]()
        while waiting:
            one = waiting.pop()
            if _MERGED.search(one):
                continue
            axes |= set(_THREAD.findall(one))
            for name in set(_WORD.findall(one)) - seen:
                seen.add(name)
                if len(values := self._values.get(name, [])) == 1:
                    waiting.append(values[0])
        return axes


def _bare(text: str) -> str:
    """Return a condition without brackets around it."""
    return text.strip("() \n\t")


def _negated(condition: str) -> str:
    """Return what holds where a comparison does not, as far as it is one of a thread's number."""
    part = _bare(condition)
    if "!=" in part:
        return part.replace("!=", "==")
    for pattern, side in ((_ABOVE, 1), (_BELOW, 3)):
        match = pattern.fullmatch(part)
        if match is not None:
            number, other = _bare(match[4 - side]), match[side]
            return f"{other} < 1" if number == ("1" if match[2] else "0") else ""
    return f"!{part}" if part and "=" not in part else ""


def _added(value: str) -> Iterator[str]:
    """Yield the names that go into a value without a factor."""
    groups: list[str] = []
    while len(value) < _LONGEST_SUM and (inside := _INSIDE.search(value)):
        value = f"{value[: inside.start()]} @{len(groups)} {value[inside.end() :]}"
        groups.append(inside[1])
    waiting = [value] if len(value) < _LONGEST_SUM else []
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
        function: Function,
        arrays: Collection[str],
        barriers: frozenset[str],
        numbers: _Numbers,
        ways: UniformWays,
    ) -> None:
        self._source, self._code = source, source.code
        self._barriers, self._numbers, self._ways = barriers, numbers, ways
        own = source.code[slice(*function.body)]
        self._aliases = pointer_aliases(own, arrays)
        """Pointers that stand for an array of shared memory."""
        listed = "|".join(sorted(map(re.escape, {*arrays, *self._aliases})))
        self._element = re.compile(rf"(?<![\w.])({listed})\s*\[")
        self._name = re.compile(rf"(?<![\w.])(?<!->)({listed})\b")
        own = re.sub(r"\b__shared__\b[^;]*;", "", own)
        self._hidden = set(re.findall(rf"{TYPED}({listed})\b", own)) - self._aliases.keys()
        """Names that local variables have as well."""
        self._by_all: _Written | None = None
        """What all threads wrote, where one goes on alone."""
        self._bounds: list[tuple[str, str, _Written]] = []
        """Where a thread's number is below something: both, and what all had written."""
        self._many = True
        """Whether several threads come here."""
        self._again = False
        """Whether a loop's body is gone through a second time."""
        self._loops: list[Statement] = []
        """The loops around, the outermost first."""
        self._lost = self._quiet = False
        """Whether it is not followed any more who comes where, and whether nothing is said here."""
        self.found: Race | None = None

    def statement(self, statement: Statement, before: _Written) -> _Written:
        """Return what is written after a statement that follows ``before``, which it may change."""
        if self.found is not None or self._lost:
            return before
        if statement.kind != "block" and not statement.parts:
            return self._simple(statement.start, statement.end, before)
        if statement.kind == "block":
            for part in statement.parts:
                before = self.statement(part, before)
            return before
        condition, numbers = self._numbers.without_ranks(statement.condition), self._numbers
        waits = self._waits(condition)
        written: _Written = {} if waits else before
        self._look_at_fixed(statement.start, statement.parts[0].start, dict(written))
        if statement.is_loop:
            return self._loop(statement, condition, written, waits)
        if statement.kind == "switch":
            return self._switch(statement, condition, written)
        first, *others = statement.parts
        alone, rest_alone = numbers.leave_one(condition), numbers.leave_one_out(condition)
        most, rest_most = numbers.keep_most(condition), numbers.leave_most(condition)
        ways = [self._chosen(first, dict(written), alone, most, condition)]
        if others:
            ways += [self._chosen(others[0], dict(written), rest_alone, rest_most, "")]
        else:
            ways += [written]
        left = [leaves(part) for part in statement.parts]
        if left[0]:
            self._many &= rest_most
            if rest_alone and self._by_all is None:
                self._by_all = dict(written)
        if left[1:] == [True]:
            self._many &= most and not alone
        staying = [way for way, gone in zip(ways, [*left, False], strict=False) if not gone]
        return {at: offset for way in staying for at, offset in way.items()}

    def _loop(
        self, statement: Statement, condition: str, written: _Written, waits: bool
    ) -> _Written:
        many, again = self._many, self._again
        self._loops.append(statement)
        for _ in range(1 if again else 2):  # what one round writes the next reads
            self._many = many and self._numbers.keep_most(condition)
            for part in statement.parts:
                written = self.statement(part, written)
            written = {} if waits else written
            self._again = True
        self._many, self._again = many and self._many, again
        self._loops.pop()
        return written

    def _chosen(
        self, part: Statement, before: _Written, alone: bool, most: bool, condition: str
    ) -> _Written:
        """Return what is written after what is done where a condition holds."""
        by_all, many, bounds = self._by_all, self._many, len(self._bounds)
        if alone and by_all is None:
            self._by_all = dict(before)
        for one in condition.split("&&") if "||" not in condition else ():
            below = _BELOW.fullmatch("".join(_bare(one).split()))
            if below is not None and not below[2]:
                self._bounds.append((below[1], below[3], dict(before)))
        self._many = many and most
        after = self.statement(part, before)
        self._by_all, self._many = by_all, many
        del self._bounds[bounds:]
        return after

    def _switch(self, statement: Statement, condition: str, written: _Written) -> _Written:
        """Return what is written after a switch: each of its cases is one way through it.

        A case that does not leave goes on in the next. Labels within a loop or a condition are not
        followed, nor who goes on where some threads leave more than the switch.
        """
        (body,), same = statement.parts, self._numbers.is_same(condition)
        cases = cases_of(body)
        if not cases or not (same or {s.kind for s in walk(body)}.isdisjoint(_GOES)):
            self._lost = True
            return {}
        quiet, value, ways = self._quiet, _bare(condition), list[_Written]()
        if self._again and self._ways.is_fixed(condition, self._loops[0]):
            self._quiet = True  # the same case in each round
        on: _Written | None = None
        """What was written on the way from the case before."""
        for labels, parts in cases:
            label = self._code[labels[0].start : labels[0].end - 1].removeprefix("case")
            single = on is None and len(labels) == 1 and not _MERGED.search(f"{value} {label}")
            alone = single and self._numbers.leave_one(f"{value} == {label}")
            case = Statement("block", labels[0].start, body.end, parts=parts)
            way = self._chosen(case, written | (on or {}), alone, same, "")
            end = end_of(case)
            ways += [way] if end == "break" else []
            on = None if leaves(case) else way
        self._quiet = quiet
        labelled = [self._code[one.start : one.end] for labels, _ in cases for one in labels]
        ways += [on] if on is not None else []
        ways += [] if any(text.startswith("default") for text in labelled) else [written]
        return {at: offset for way in ways for at, offset in way.items()}

    def _waits(self, text: str) -> bool:
        return not self._barriers.isdisjoint(_WORD.findall(text))

    def _simple(self, start: int, end: int, before: _Written) -> _Written:
        if self._waits(self._code[start:end]):
            return {}
        now: _Written = {}
        for match in self._element.finditer(self._code, start, end):
            array = self._aliases.get(match[1], match[1])
            closing = self._source.closing(match.end() - 1)
            if closing is None:
                continue
            index = _INDEX.match("".join(self._code[match.end() : closing].split()))
            if index is None or not self._numbers.count_threads(index[2]):
                continue
            own, behind = index[3] is None, self._code[closing + 1 : end]
            if (_WRITE if own else _SET).match(behind):
                now[array, index[0]] = match.start()
            elif not own and not _WRITE.match(behind) and (array, index[0]) not in before:
                at = self._seen_by_all(index, before).get((array, index[1]))
                if at is not None:
                    self._find(Race(match.start(), array, at, in_step=True))
        self._look_at_fixed(start, end, before)
        before |= now
        return before

    def _find(self, race: Race) -> None:
        """Keep the first race, unless the write and the read are never of one launch."""
        if self.found or self._quiet or self._ways.exclude(race.written_at, race.offset):
            return
        self.found = race

    def _seen_by_all(self, index: re.Match[str], before: _Written) -> _Written:
        """Return what others may have written of a neighbour's element.

        Where only threads below a bound write, nobody has written what lies a bound away.
        """
        for name, bound, outside in self._bounds:
            far = index[3] == bound or (
                index[3].isdigit() and bound.isdigit() and int(index[3]) >= int(bound)
            )
            if name == index[1] and far and "+" in index[0]:
                return outside
        return before if self._by_all is None else self._by_all

    def _look_at_fixed(self, start: int, end: int, written: _Written) -> None:
        """Find reads of what one thread wrote alone; ``written`` is brought up to date."""
        now: list[tuple[tuple[str, str], int | None]] = []
        for match in self._name.finditer(self._code, start, end):
            numbered = _NUMBERED.match(self._code, match.end(), end)
            behind = self._code[numbered.end() if numbered else match.end() : end]
            array = self._aliases.get(match[1], match[1])
            if behind.lstrip()[:1] in ("[", "(") or {match[1], array} & self._hidden:
                continue
            if array != match[1] and not numbered:
                continue  # the pointer itself, as where it is declared
            key = array, numbered[1] if numbered else ""
            before = self._code[start : match.start()]
            alone = self._by_all is not None
            if _SET.match(behind):
                plain = before.rstrip()[-1:] not in ("*", "&")
                now.append((key, match.start() if alone and plain else None))
            elif key in written and self._many and not (alone or self.found or self._quiet):
                taken = before.rstrip().endswith("&") and not _ATOMIC.search(before)
                if not taken and not _CHOOSES.search(self._code, start, end):
                    self._find(Race(match.start(), array, written[key], in_step=False))
        for key, at in now:
            if at is None:
                written.pop(key, None)
            else:
                written[key] = at
