"""Parts of a function that all threads run or none does, and which of them exclude each other.

``if (n) s[t] = x[i]; else y[i] = s[t + 1];`` never does both, in a loop neither, where ``n`` stays
as it is. Nor do ``if (mode == 0) ...`` and ``if (mode == 1) ...`` ever run together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from gpuexplorer.compile.assignments import changed_names
from gpuexplorer.compile.statements import Statement, leaves

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT = re.compile(r"!(?:(\w+)|\(([^()]*)\))")
_EQUAL = re.compile(r"([^=!<>]+)==(\d+)")
_OPPOSITES = (("!=", "=="), (">=", "<"), ("<=", ">"))


class _Way(msgspec.Struct, frozen=True):
    """Text that runs where a condition holds, or where it does not."""

    start: int
    end: int
    condition: str
    holds: bool

    def has(self, offset: int) -> bool:
        return self.start <= offset < self.end


class UniformWays:
    """The ways of a function's ``if`` statements whose condition is the same for all threads.

    Where a loop around changes the condition, both of its ways may be gone, one after the other.
    """

    def __init__(self, body: Statement, code: str, is_same: Callable[[str], bool]) -> None:
        """``is_same`` tells whether an expression is the same for all threads."""
        self._code, self._is_same = code, is_same
        self._changed: dict[int, set[str]] = {}
        """What a loop changes, by where it begins."""
        self._ways = list(self._of(body, body.end, None))

    def exclude(self, one: int, other: int) -> bool:
        """Return whether what stands at two offsets never runs in one launch, or seems so.

        It seems so where both run on one condition, and its value has changed between them.
        """
        apart = [way for way in self._ways if way.has(one) != way.has(other)]
        ones = {(way.condition, way.holds) for way in apart if way.has(one)}
        others = {(way.condition, way.holds) for way in apart if way.has(other)}
        if any((condition, not holds) in others for condition, holds in ones):
            return True
        numbers = _numbers(ones)
        if any(numbers.get(name, number) != number for name, number in _numbers(others).items()):
            return True
        changed = changed_names(self._code[min(one, other) : max(one, other)])
        return any(changed & set(_WORD.findall(condition)) for condition, _ in ones & others)

    def is_fixed(self, condition: str, loop: Statement) -> bool:
        """Return whether nothing in a loop changes what a condition is made of."""
        if loop.start not in self._changed:
            self._changed[loop.start] = changed_names(self._code[loop.start : loop.end])
        return self._changed[loop.start].isdisjoint(_WORD.findall(condition))

    def _of(self, statement: Statement, end: int, loop: Statement | None) -> Iterator[_Way]:
        """Yield the ways in a statement of a block up to ``end``, ``loop`` the outermost around."""
        condition = statement.condition
        if statement.kind == "if" and self._is_same(condition):
            if loop is None or self.is_fixed(condition, loop):
                yield from self._ways_of(statement, end)
        if statement.is_loop:
            loop = loop or statement
        for part in statement.parts:
            inside = statement.end if statement.kind == "block" else part.end
            yield from self._of(part, inside, loop)

    @staticmethod
    def _ways_of(statement: Statement, end: int) -> Iterator[_Way]:
        """Yield the ways of an ``if``: what follows one that leaves belongs to the other."""
        condition, first = _plain(statement.condition)
        for holds, part in zip((first, not first), statement.parts, strict=False):
            yield _Way(part.start, part.end, condition, holds)
            if leaves(part):
                yield _Way(statement.end, end, condition, not holds)


def _plain(condition: str) -> tuple[str, bool]:
    """Return a condition in brackets without ``!``, and whether it is to hold instead of not to."""
    text = "".join(condition.split())[1:-1]
    if re.search(r"&&|\|\||\?", text):
        return text, True
    if (negated := _NOT.fullmatch(text)) is not None:
        return negated[1] or negated[2], False
    for sign, opposite in _OPPOSITES:
        if text.count(sign) == 1:
            return text.replace(sign, opposite), False
    return text, True


def _numbers(conditions: set[tuple[str, bool]]) -> dict[str, str]:
    """Return what is to equal which number where some conditions hold."""
    found = (_EQUAL.fullmatch(condition) for condition, holds in conditions if holds)
    return {match[1]: match[2] for match in found if match is not None}
