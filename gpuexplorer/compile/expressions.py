"""The expressions of a function's body as tokens: enough of C++ to see what names an element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gpuexplorer.compile.prelude_vectors import is_vector

BRACKETS = {"(": ")", "[": "]", "{": "}"}
_TOKEN = re.compile(
    r"[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.'])*|<<=|>>=|->|::|\+\+|--|<<|[-+*/%&|^]=|[<>=!]=|&&|\|\||\S"
)
_KEYWORDS = frozenset(
    "return else do case goto throw new delete sizeof alignof decltype if for while switch break "
    "continue default using typedef static_assert const_cast static_cast reinterpret_cast "
    "dynamic_cast".split()
)
_CASTS = frozenset("const_cast static_cast reinterpret_cast dynamic_cast".split())
_CONTROL = frozenset("if for while switch".split())
_QUALIFIERS = frozenset(
    "const static constexpr volatile extern register __shared__ __restrict__ __restrict restrict "
    "unsigned signed struct typename long short mutable inline __constant__".split()
)
_ATTRIBUTES = frozenset("alignas __align__ __attribute__".split())
"""Words of a declaration that have a bracket."""
_TYPES = frozenset(
    "void bool char short int long float double half __half half2 __half2 real accum unsigned "
    "signed uint size_t int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t "
    "ptrdiff_t uintptr_t intptr_t auto uchar ushort ulong".split()
)
_POINTS = frozenset(("*", "&", "&&", "const", "volatile", "__restrict__", "__restrict", "restrict"))
_NAMED_TYPES = re.compile(
    r"\b(?:struct|class|union|enum|typename|using)\s+([A-Za-z_]\w*)|\btypedef\b[^;]*?([A-Za-z_]\w*)\s*;"
)


class Token(NamedTuple):
    """A word, number or sign, and where in the text it stands."""

    text: str
    start: int
    end: int


@dataclass
class Chain:
    """A primary expression with what follows it: ``name``, ``f(x)``, ``A[i].x``, ``p->q``."""

    end: int
    """The token behind it."""
    touches: bool = False
    """Whether it names an element through a pointer or an array."""
    members: int = 0
    call: int | None = None
    """Where the bracket of its call opens, if its name is called."""
    groups: list[int] = field(default_factory=list)
    """Every bracket in it that has expressions inside."""


def is_word(text: str) -> bool:
    """Return whether a token is a name or keyword."""
    return text[0].isalpha() or text[0] == "_"


class Tokens:
    """The tokens of one body, with its brackets matched and its declarations found."""

    def __init__(self, code: str, start: int, end: int) -> None:
        self._tokens = [Token(m[0], m.start(), m.end()) for m in _TOKEN.finditer(code, start, end)]
        self._types = _TYPES | {m[1] or m[2] for m in _NAMED_TYPES.finditer(code)}
        self._close: dict[int, int] = {}
        self._open: dict[int, int] = {}
        waiting: list[int] = []
        for i, token in enumerate(self._tokens):
            if token.text in BRACKETS:
                waiting.append(i)
            elif token.text in BRACKETS.values() and waiting:
                self._open[i] = waiting.pop()
                self._close[self._open[i]] = i
        self.skipped: dict[int, int] = {}
        """Names that are declared, and the token behind each with its bounds."""
        self._stars: set[int] = set()
        """Stars that belong to a declaration."""
        self.pointers_to_arrays: list[int] = []
        """Offsets of declarations such as ``float (*p)[4]``."""
        self._find_declarations()

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, i: int) -> Token:
        return self._tokens[i]

    def close(self, i: int) -> int:
        """Return the token that closes the bracket at ``i``; the last one where none does."""
        return self._close.get(i, len(self._tokens) - 1)

    def _text(self, i: int) -> str:
        return self._tokens[i].text if 0 <= i < len(self._tokens) else ""

    # ---- declarations

    def _find_declarations(self) -> None:
        for i in range(len(self._tokens)):
            before = self._text(i - 1)
            opens_for = before == "(" and self._text(i - 2) == "for"
            control = before == ")" and self._text(self._open.get(i - 1, 0) - 1) in _CONTROL
            if before in (";", "{", "}") or opens_for or control:
                self._declaration(i)

    def _declaration(self, i: int) -> None:
        if self._text(i) == "__local":  # what ``shared_arrays`` made of another declaration
            self.skipped[i] = self.argument_end(i, len(self._tokens))
            return
        at, words = i, 0
        while is_word(self._text(at) or " ") and self._text(at) not in _KEYWORDS:
            named = self._text(at)
            if named in _ATTRIBUTES and self._text(at + 1) == "(":
                at = self.close(at + 1) + 1
                continue
            if (
                words
                and self._text(at + 1) in ("=", ";", ",", "[", "{", ":")
                and (named not in _QUALIFIERS)
            ):
                break
            if words and self._text(at + 1) == "(" and named not in self._types | _QUALIFIERS:
                break
            at, words = at + 1, words + 1
            while self._text(at) == "::":
                at += 2
            if self._text(at) == "<":
                at = self._template_end(at)
            stars = at
            while self._text(at) in _POINTS:
                at += 1
            if at > stars and self._text(at) == "(":
                return
        if not words:
            return
        if self._text(at) == "(" and self._text(at + 1) in ("*", "&"):
            inside = self._close.get(at, at)
            if self._text(inside + 1) == "[" and self._text(i) in self._types | _QUALIFIERS:
                self.pointers_to_arrays.append(self._tokens[i].start)
            return
        if not is_word(self._text(at) or " ") or self._text(at) in _KEYWORDS:
            return
        if self._text(at + 1) not in ("=", ";", ",", "[", "(", "{", ":"):
            return
        self._stars.update(range(i, at))
        self._declarators(at)

    def _template_end(self, i: int) -> int:
        """Return the token behind the template arguments that open at ``i``; ``i`` for none."""
        depth = 0
        for at in range(i, min(i + 64, len(self._tokens))):
            text = self._text(at)
            if text in (";", "{", "}", "&&", "||"):
                return i
            depth += (text == "<") - (text == ">")
            if depth == 0:
                return at + 1
        return i

    def _declarators(self, at: int) -> None:
        while at < len(self._tokens):
            behind = at + 1
            while self._text(behind) == "[":
                behind = self.close(behind) + 1
            self.skipped[at] = behind
            at = self.argument_end(behind, len(self._tokens))
            if self._text(at) != ",":
                return
            at += 1
            while self._text(at) in _POINTS:
                self._stars.add(at)
                at += 1

    # ---- expressions

    def argument_end(self, i: int, end: int) -> int:
        """Return the token that ends the argument or initialiser which starts at ``i``."""
        while i < end and self._text(i) not in (",", ";", ")", "]", "}"):
            i = self.close(i) + 1 if self._text(i) in BRACKETS else i + 1
        return min(i, end)

    def _is_cast(self, closing: int) -> bool:
        """Return whether the bracket that closes at ``closing`` holds a type."""
        opening = self._open.get(closing)
        if opening is None or (
            is_word(self._text(opening - 1) or " ")
            and (self._text(opening - 1) not in ("return", "else", "case"))
        ):
            return False
        inner = [t.text for t in self._tokens[opening + 1 : closing]]
        if not inner or not is_word(inner[0]):
            return False
        if inner[-1] in ("*", "&"):
            return True
        return all(t in self._types | _QUALIFIERS or is_vector(t) or t in _POINTS for t in inner)

    def _begins_operand(self, i: int) -> bool:
        """Return whether an operand begins at ``i``: what stands before it is no operand."""
        before = self._text(i - 1)
        if before in ("", "]", "}"):
            return before in ("", "}")
        if before == ")":
            opener = self._text(self._open.get(i - 1, 0) - 1)
            return opener in _CONTROL or self._is_cast(i - 1)
        if is_word(before):
            return before in ("return", "else", "do", "case")
        return not (before[0].isdigit() or (before[0] == "." and len(before) > 1))

    def is_dereference(self, i: int) -> bool:
        """Return whether the star at ``i`` follows a pointer, and is no product or declaration."""
        behind = self._text(i + 1)
        if i in self._stars or not behind or not (is_word(behind) or behind in "(*&+-"):
            return False
        return behind not in _POINTS - {"*", "&"} and self._begins_operand(i)

    def unary_end(self, i: int, end: int) -> int:
        """Return the token behind the operand of a star that starts at ``i``."""
        while i < end:
            if self._text(i) in ("*", "&", "++", "--", "+", "-"):
                i += 1
            elif self._text(i) == "(" and self._is_cast(self.close(i)):
                i = self.close(i) + 1
            else:
                break
        stop = self.chain(i, end).end
        if self._text(i) == "(" and stop == i + 1:
            stop = self.close(i) + 1
        return stop + 1 if self._text(stop) in ("++", "--") else stop

    def chain(self, i: int, end: int) -> Chain:
        """Read the primary expression at ``i``, a word or a bracket, and what follows it."""
        text, found = self._text(i), Chain(i + 1)
        at = i + 1
        if text == "(":
            at = self.close(i) + 1
            if self._text(at) not in ("[", "->", ".") or self._is_cast(at - 1):
                return found
            found.groups.append(i)
        elif text in _CASTS and self._text(at) == "<":
            at = self._template_end(at)
            if self._text(at) == "(":
                found.groups.append(at)
                at = self.close(at) + 1
        elif text in _KEYWORDS:
            return found
        else:
            if self._text(at) == "<":
                behind = self._template_end(at)
                at = behind if self._text(behind) == "(" else at
            if self._text(at) == "(":
                found.call = at
                found.groups.append(at)
                at = self.close(at) + 1
        return self._suffixes(at, end, found)

    def _suffixes(self, at: int, end: int, found: Chain) -> Chain:
        found.end = at
        while at < end:
            text = self._text(at)
            if text == "[":
                found.touches = True
                found.groups.append(at)
                at = self.close(at) + 1
            elif text in (".", "->") and self._text(at + 2) != "(":
                found.touches |= text == "->"
                found.members += 1
                at += 2
            else:
                break
            found.end = at
        return found

    def around(self, start: int, end: int) -> tuple[str, str]:
        """Return the signs before and behind an expression, brackets around it left out.

        A sign before it that belongs to another operand is "".
        """
        while self._text(start - 1) == "(" and self._text(end) == ")":
            if is_word(self._text(start - 2) or " ") and self._text(start - 2) != "return":
                break
            start, end = start - 1, end + 1
        before = self._text(start - 1)
        if before in ("&", "++", "--") and not self._begins_operand(start - 1):
            before = ""
        return before, self._text(end)

    def argument_of(self, start: int, end: int) -> tuple[str, int] | None:
        """Return the function that takes an expression as a whole argument, and which it is."""
        if self._text(start - 1) not in ("(", ",") or self._text(end) not in (")", ","):
            return None
        before, at = 0, start - 1
        while at >= 0 and self._text(at) not in BRACKETS:
            before += self._text(at) == ","
            at = self._open.get(at, at) - 1
        return (self._text(at - 1), before) if at > 0 and self._text(at) == "(" else None

    def qualified_start(self, i: int) -> int:
        """Return where the qualified name begins that ends at ``i``."""
        while self._text(i - 1) == "::":
            i -= 2 if is_word(self._text(i - 2) or " ") else 1
        return i


def declared_names(text: str) -> Iterator[str]:
    """Yield the names that a declaration declares, from behind its qualifiers."""
    depth, part = 0, ""
    for c in (*text, ","):
        depth += (c in BRACKETS) - (c in BRACKETS.values())
        if c == "," and depth == 0:
            names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]|=.*", " ", part))
            if names:
                yield names[-1]
            part = ""
        else:
            part += c


def shared_declared(text: str) -> set[str]:
    """Return the names of all arrays and variables in shared memory that a text declares."""
    found = re.finditer(r"\b__shared__\b([^;]*);", text)
    return {name for match in found for name in declared_names(match[1])}
