"""A function body as nested statements: enough of C's grammar to see what controls what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_HEAD = re.compile(r"(if|for|while|switch|do|else|return|break|continue|goto)\b")
_LABEL = re.compile(r"(?:case\b(?:[^:;{}?]|::)*|default\s*):(?!:)")
_BLACK = re.compile(r"\S")
_LEAVES = frozenset(("return", "break", "continue", "goto"))


@dataclass
class Statement:
    """One statement: its kind, extent, condition (``if``, loops, ``switch``) and parts.

    A ``for`` has all three of its clauses as condition. A ``label`` is that of a ``switch``, alone;
    what it labels follows.
    """

    kind: str
    start: int
    end: int
    condition: str = ""
    parts: list[Statement] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        """Whether its parts may run again."""
        return self.kind in ("for", "while", "do")


def walk(statement: Statement) -> Iterator[Statement]:
    """Yield a statement and everything inside it, outermost first."""
    yield statement
    for part in statement.parts:
        yield from walk(part)


def end_of(statement: Statement) -> str:
    """Return the kind of a statement, or of the last one inside its braces."""
    while statement.kind == "block" and statement.parts:
        statement = statement.parts[-1]
    return statement.kind


def leaves(statement: Statement) -> bool:
    """Return whether what follows a statement is not reached through it."""
    return end_of(statement) in _LEAVES


def cases_of(body: Statement) -> list[tuple[list[Statement], list[Statement]]] | None:
    """Return the cases of a switch: their labels, and what is done up to where they leave it.

    None where some labels stand deeper inside, or something before the first.
    """
    cases: list[tuple[list[Statement], list[Statement]]] = []
    for part in body.parts:
        if part.kind == "label":
            if not cases or cases[-1][1]:
                cases.append(([], []))
            cases[-1][0].append(part)
        elif not cases:
            return None
        elif not cases[-1][1] or not leaves(cases[-1][1][-1]):
            cases[-1][1].append(part)
    return cases if sum(len(labels) for labels, _ in cases) == _labels(body) else None


def _labels(statement: Statement) -> int:
    """Return how many labels of a switch stand inside a statement."""
    return sum(
        part.kind == "label" or (part.kind != "switch" and _labels(part))
        for part in statement.parts
    )


@lru_cache(maxsize=8)  # each function is looked at by several, one after the other
def parse_body(code: str, start: int, end: int) -> Statement | None:
    """Read the braces at ``start`` to ``end``; None when the text is not shaped like C.

    What is returned is not to be changed.
    """
    try:
        reader = _Reader(code, end)
        statement, _ = reader.statement(start)
    except (IndexError, ValueError, RecursionError):
        return None
    return statement


class _Reader:
    """Recursive descent over text whose comments, literals and directives are blanked."""

    def __init__(self, code: str, end: int) -> None:
        self.code, self.end = code, end

    def _space(self, at: int) -> int:
        while at < self.end and self.code[at].isspace():
            at += 1
        if at >= self.end:
            raise ValueError("the text ends early")
        return at

    def _close(self, at: int) -> int:
        """Return the offset behind the bracket group that opens at ``at``."""
        depth = 0
        for i in range(at, self.end):
            depth += (self.code[i] in "([{") - (self.code[i] in ")]}")
            if depth == 0:
                return i + 1
        raise ValueError("a bracket is not closed")

    def statement(self, at: int) -> tuple[Statement, int]:
        at = self._space(at)
        if self.code[at] == "{":
            return self._block(at)
        label = _LABEL.match(self.code, at, self.end)
        if label is not None:
            return Statement("label", at, label.end()), label.end()
        head = _HEAD.match(self.code, at)
        kind = head[1] if head else "expression"
        if kind in ("if", "for", "while", "switch"):
            return self._controlled(kind, at)
        if kind == "do":
            return self._do(at)
        end = self._simple_end(at)
        return Statement(kind, at, end), end

    def _block(self, at: int) -> tuple[Statement, int]:
        end = self._close(at)
        block, i = Statement("block", at, end), at + 1
        while self._space(i) < end - 1:
            part, i = self.statement(i)
            block.parts.append(part)
        return block, end

    def _controlled(self, kind: str, at: int) -> tuple[Statement, int]:
        opening = self._space(at + len(kind))
        if self.code.startswith("constexpr", opening):
            opening = self._space(opening + len("constexpr"))
        if self.code[opening] != "(":
            raise ValueError("a condition is missing")
        close = self._close(opening)
        part, end = self.statement(close)
        found = Statement(kind, at, end, self.code[opening:close], [part])
        if kind == "if":
            following = self._space(end) if self._more(end) else self.end
            if re.compile(r"else\b").match(self.code, following):
                other, end = self.statement(following + 4)
                found.parts.append(other)
                found.end = end
        return found, end

    def _more(self, at: int) -> bool:
        return _BLACK.search(self.code, at, self.end) is not None

    def _do(self, at: int) -> tuple[Statement, int]:
        part, end = self.statement(at + 2)
        tail = re.compile(r"\s*while\s*(?=\()").match(self.code, end)
        if not tail:
            raise ValueError("do without while")
        close = self._close(tail.end())
        return Statement("do", at, close + 1, self.code[tail.end() : close], [part]), (
            self._simple_end(close)
        )

    def _simple_end(self, at: int) -> int:
        i = at
        while i < self.end:
            if self.code[i] in "([{":
                i = self._close(i)
            elif self.code[i] == ";":
                return i + 1
            elif self.code[i] == "}":
                return i  # a label or macro without semicolon before the block's end
            else:
                i += 1
        raise ValueError("a statement does not end")
