"""Read the part of CUDA C++ in which the shipped kernels are written, into a tree to be run.

Nothing here knows the program's own reader: macros are written out, and each token keeps the line
at which the user sees it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

_TOKEN = re.compile(
    r"\s*(0[xX][\da-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[fFuUlL]*|[A-Za-z_]\w*"
    r"|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])"
)
_IGNORED = frozenset(
    "const volatile static inline __restrict__ __restrict __forceinline__ __device__ "
    "__global__".split()
)
_ATTRIBUTES = frozenset("__launch_bounds__ __align__".split())
_WHOLE = {"int": 4, "unsigned": 4, "long": 8, "bool": 1, "char": 1, "short": 2, "size_t": 8}
_OTHERS = ("float", "double", "void")
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
    ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
ASSIGNMENTS = frozenset("= += -= *= /= %= &= |= ^= <<= >>=".split())


class Token(NamedTuple):
    """A word or a sign, and the line that it stands in."""

    text: str
    line: int


# ---- types


@dataclass(frozen=True)
class Scalar:
    """A number: ``kind`` as NumPy has it, ``i``, ``u``, ``f`` or ``b``."""

    kind: str
    size: int

    @property
    def align(self) -> int:
        """Bytes that it is aligned to."""
        return self.size


@dataclass(frozen=True)
class Pointer:
    """Where something of a type lies."""

    to: Type
    size: int = 8
    align: int = 8


@dataclass(frozen=True)
class Array:
    """So many of a type; None where nobody says how many."""

    of: Type
    sides: Node | None
    align: int = 0


@dataclass(frozen=True)
class Structure:
    """Members by name: each with its type and its offset."""

    members: Mapping[str, tuple[Type, int]]
    size: int
    align: int


Type = Scalar | Pointer | Array | Structure


# ---- the tree


@dataclass
class Node:
    """One expression or statement: what it is, its word, and its parts."""

    what: str
    line: int
    word: str = ""
    parts: list[Node] = field(default_factory=list)
    type: Type | None = None


@dataclass
class Function:
    """One function with its parameters' names and types."""

    name: str
    parameters: list[tuple[str, Type]]
    body: Node


def read_source(
    text: str, types: Mapping[str, Type], macros: Mapping[str, str]
) -> dict[str, Function]:
    """Return the functions of a source; ``types`` and ``macros`` are what a compiler is given."""
    return _Reader(_preprocessed(text, macros), types).functions()


# ---- macros

Macros = dict[str, tuple[list[str] | None, list[Token]]]
"""Names, each with its parameters, if it has any, and what it stands for."""


def _plain(text: str) -> str:
    """Return a text without remarks; lines stay where they are."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def _preprocessed(text: str, given: Mapping[str, str]) -> list[Token]:
    macros: Macros = {name: (None, _tokens(value, 0)) for name, value in given.items()}
    found: list[Token] = []
    taken: list[list[bool]] = []
    """Of each ``#if`` around a line: whether it is in use, and whether one of its branches was."""
    for number, line in enumerate(_plain(text).split("\n"), start=1):
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if directive is not None and directive[1] in ("if", "elif", "else", "endif"):
            _branch(directive[1], directive[2], macros, taken)
        elif not all(used for used, _ in taken):
            continue
        elif directive is None:
            found += _tokens(line, number)
        elif directive[1] == "define":
            made = re.match(r"(\w+)(?:\(([^)]*)\))?\s*(.*)", directive[2])
            assert made is not None and not line.endswith("\\"), line
            names = None if made[2] is None else [n.strip() for n in made[2].split(",")]
            macros[made[1]] = names, _tokens(made[3], number)
        else:
            assert directive[1] in ("pragma", "include"), line
    return _expanded(found, macros, frozenset())


def _branch(word: str, condition: str, macros: Macros, taken: list[list[bool]]) -> None:
    """Go on behind an ``#if`` and its kin."""
    if word == "endif":
        taken.pop()
        return
    if word == "if":
        taken.append([False, False])
    tokens = _expanded(_tokens(condition or "1", 0), macros, frozenset())
    used = not taken[-1][1] and constant(_Reader(tokens, {}).expression()) != 0
    taken[-1] = [used, taken[-1][1] or used]


def _tokens(text: str, line: int) -> list[Token]:
    return [Token(match[1], line) for match in _TOKEN.finditer(text) if match[1]]


def _expanded(
    tokens: list[Token],
    macros: Macros,
    inside: frozenset[str],
) -> list[Token]:
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        names, body = macros.get(token.text, (None, [token]))
        opens = at < len(tokens) and tokens[at].text == "("
        if token.text not in macros or token.text in inside or (names is not None and not opens):
            found.append(token)
            continue
        given: dict[str, list[Token]] = {}
        if names is not None:
            parts, at = _arguments(tokens, at)
            given = {n: _expanded(p, macros, inside) for n, p in zip(names, parts, strict=True)}
        made: list[Token] = []
        for word in body:
            made += given.get(word.text, [Token(word.text, token.line)])
        found += _expanded(made, macros, inside | {token.text})
    return found


def _arguments(tokens: list[Token], opening: int) -> tuple[list[list[Token]], int]:
    parts: list[list[Token]] = [[]]
    depth, at = 0, opening
    while True:
        text = tokens[at].text
        depth += (text in "([{") - (text in ")]}")
        if depth == 0:
            return parts, at + 1
        if depth == 1 and text == ",":
            parts.append([])
        elif at != opening:
            parts[-1].append(tokens[at])
        at += 1


# ---- the grammar


class _Reader:
    """Reads tokens from the first to the last."""

    def __init__(self, tokens: list[Token], types: Mapping[str, Type]) -> None:
        self.tokens = [t for t in tokens if t.text not in _IGNORED]
        self.types = dict(types)
        self.at = 0

    @property
    def text(self) -> str:
        """The token to come."""
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    @property
    def line(self) -> int:
        """Its line."""
        return self.tokens[min(self.at, len(self.tokens) - 1)].line

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1].text

    def take(self, text: str) -> bool:
        if self.text == text:
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        assert self.take(text), f"line {self.line}: '{self.text}' in place of '{text}'"

    def functions(self) -> dict[str, Function]:
        found = {}
        while self.at < len(self.tokens):
            if self.take("typedef"):
                self._structure()
                continue
            self._skip_attributes()
            self._type()
            self._skip_attributes()
            function = self._function(self.next())
            found[function.name] = function
        return found

    def _skip_attributes(self) -> int:
        aligned = 0
        while self.text in _ATTRIBUTES:
            self.next()
            self.need("(")
            value = self.expression()
            aligned = constant(value)
            while self.take(","):
                self.ternary()
            self.need(")")
        return aligned

    def _structure(self) -> None:
        self.need("struct")
        aligned = self._skip_attributes()
        self.next()
        self.need("{")
        members: dict[str, tuple[Type, int]] = {}
        size, align = 0, aligned or 1
        while not self.take("}"):
            base = self._type()
            name, kind = self._declarator(base)
            self.need(";")
            align = max(align, align_of(kind))
            size = -(-size // align_of(kind)) * align_of(kind)
            members[name] = kind, size
            size += size_of(kind)
        self.types[self.next()] = Structure(members, -(-size // align) * align, align)
        self.need(";")

    def _function(self, name: str) -> Function:
        self.need("(")
        parameters: list[tuple[str, Type]] = []
        while not self.take(")"):
            parameters.append(self._declarator(self._type()))
            self.take(",")
        return Function(name, parameters, self._block())

    def _is_type(self) -> bool:
        return self.text in self.types or self.text in _WHOLE or self.text in _OTHERS

    def _type(self) -> Type:
        words: list[str] = []
        while self.text in _WHOLE or (self._is_type() and not words):
            words.append(self.next())
        if words[0] in self.types:
            return self.types[words[0]]
        if words[0] in _OTHERS:
            return Scalar("f", 8 if words[0] == "double" else 4)
        return Scalar("b" if words == ["bool"] else "i", max(_WHOLE[w] for w in words))

    def _declarator(self, base: Type) -> tuple[str, Type]:
        while self.take("*"):
            base = Pointer(base)
        name = self.next()
        sides: list[Node | None] = []
        while self.take("["):
            sides.append(None if self.text == "]" else self.expression())
            self.need("]")
        for side in reversed(sides):
            base = Array(base, side)
        return name, base

    # ---- statements

    def _block(self) -> Node:
        made = Node("block", self.line)
        self.need("{")
        while not self.take("}"):
            made.parts.append(self._statement())
        return made

    def _statement(self) -> Node:
        line = self.line
        if self.text == "{":
            return self._block()
        if self.text in ("if", "while"):
            word = self.next()
            self.need("(")
            parts = [self.expression()]
            self.need(")")
            parts.append(self._statement())
            if word == "if" and self.take("else"):
                parts.append(self._statement())
            return Node(word, line, parts=parts)
        if self.take("for"):
            self.need("(")
            first = self._statement()
            condition = Node("number", line, "1") if self.text == ";" else self.expression()
            self.need(";")
            step = Node("empty", line) if self.text == ")" else self.expression()
            self.need(")")
            return Node("for", line, parts=[first, condition, step, self._statement()])
        if self.text in ("break", "continue"):
            word = self.next()
            self.need(";")
            return Node(word, line)
        if self.take("return"):
            parts = [] if self.text == ";" else [self.expression()]
            self.need(";")
            return Node("return", line, parts=parts)
        if self.take(";"):
            return Node("empty", line)
        if self.text in ("extern", "__shared__", "alignas") or self._is_type():
            return self._declaration()
        made = self.expression()
        self.need(";")
        return made

    def _declaration(self) -> Node:
        line = self.line
        dynamic = self.take("extern")
        shared = self.take("__shared__")
        if self.take("alignas"):
            self.need("(")
            self.expression()
            self.need(")")
        made = Node("declare", line, "dynamic" if dynamic else "shared" if shared else "own")
        base = self._type()
        while True:
            at = self.line
            name, kind = self._declarator(base)
            value = [self.ternary()] if self.take("=") else []
            made.parts.append(Node("variable", at, name, value, kind))
            if self.take(";"):
                return made
            self.need(",")

    # ---- expressions

    def expression(self) -> Node:
        """Read an expression, an assignment included."""
        left = self.ternary()
        if self.text in ASSIGNMENTS:
            word = self.next()
            return Node("assign", left.line, word, [left, self.expression()])
        return left

    def ternary(self) -> Node:
        """Read an expression without an assignment."""
        first = self._binary(0)
        if not self.take("?"):
            return first
        second = self.ternary()
        self.need(":")
        return Node("choose", first.line, parts=[first, second, self.ternary()])

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self.text in _LEVELS[level]:
            word = self.next()
            left = Node("binary", left.line, word, [left, self._binary(level + 1)])
        return left

    def _unary(self) -> Node:
        line, text = self.line, self.text
        if text in ("-", "+", "!", "~", "&", "*", "++", "--"):
            self.next()
            return Node("unary", line, text, [self._unary()])
        if text == "(":
            self.next()
            if self._is_type():
                kind = self._type()
                while self.take("*"):
                    kind = Pointer(kind)
                self.need(")")
                return Node("cast", line, parts=[self._unary()], type=kind)
            inner = self.expression()
            self.need(")")
            return self._behind(inner, line)
        self.next()
        if text[0].isdigit() or text[0] == ".":
            return Node("number", line, text)
        return self._behind(Node("name", line, text), line)

    def _behind(self, node: Node, line: int) -> Node:
        while True:
            if self.take("["):
                node = Node("element", line, parts=[node, self.expression()])
                self.need("]")
            elif self.take("."):
                node = Node("member", line, self.next(), [node])
            elif self.take("("):
                arguments = []
                while not self.take(")"):
                    arguments.append(self.ternary())
                    self.take(",")
                node = Node("call", line, node.word, arguments)
            elif self.text in ("++", "--"):
                node = Node("after", line, self.next(), [node])
            else:
                return node


# ---- sizes


def constant(node: Node) -> int:
    """Return a whole number that is written out."""
    if node.what == "number":
        return int(node.word.rstrip("uUlL"), 0)
    if node.what == "choose":
        return constant(node.parts[1] if constant(node.parts[0]) else node.parts[2])
    assert node.what == "binary", node
    left, right = map(constant, node.parts)
    found = {
        "+": left + right, "-": left - right, "*": left * right, "==": left == right,
        "/": left // right if right else 0, "%": left % right if right else 0,
    }  # fmt: skip
    return int(found[node.word])


def size_of(kind: Type) -> int:
    """Return how many bytes something takes."""
    if isinstance(kind, Array):
        return (1 if kind.sides is None else constant(kind.sides)) * size_of(kind.of)
    return kind.size


def align_of(kind: Type) -> int:
    """Return how many bytes it is aligned to."""
    return align_of(kind.of) if isinstance(kind, Array) else kind.align
