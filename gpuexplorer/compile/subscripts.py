"""Unsigned subscripts that stay fast: where the sign cannot matter, they are made signed.

CUDA's ``threadIdx`` and its kin are unsigned, so that ``A[row * N + threadIdx.x]`` has an unsigned
subscript that could wrap between two threads: Intel's compiler then loads every element on its own,
and a tiled product falls from 43 to 4 GFLOP/s. In a subscript a sign does not show, as long as no
array has 2³¹ elements: sums and products have the same bits either way, and one that is negative as
a signed number is out of bounds as an unsigned one. So subscripts are computed as signed numbers;
anywhere else, in comparisons, divisions and conversions, numbers are what they are in CUDA.

A difference is left unsigned, for there the sign does show: with ``p`` inside an array, a GPU looks
for ``p[i - 1]`` far outside where ``i`` is an unsigned 0. In shared memory it does not, for there
addresses have 32 bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from gpuexplorer.workloads.cuda_source import CudaSource

BUILT_IN = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
SIGNED = "(int)"
AT = "gpux_at("
"""Opens the function that turns a subscript of unsigned type, and no other, into a signed one."""

LONGEST_NAME = 256
LONGEST = 2000
"""Characters of a subscript, or a declaration, that is looked at."""
DEEPEST = 50
"""Brackets in it."""

_UNSIGNED = re.compile(
    r"\b(?:unsigned(?:\s+int)?|uint[234]?|uint32_t|dim3|auto)\s+(?:const\s+)?(?=[A-Za-z_])"
)
_DECLARED = re.compile(r"\s*([A-Za-z_]\w*)\s*(?=[=,;:)\[{]|$)")
_SHARED = re.compile(r"\b__shared__\b[^;=(]*?([A-Za-z_]\w*)\s*\[")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+((?:[^\n\\]|\\(?:\n|.))*)", re.MULTILINE)
_TOKEN = re.compile(
    r"[A-Za-z_]\w*|\d[\w.']*|\.\d[\w.']*|<<|>>|<=|>=|==|!=|&&|\|\||->|\+\+|--|::|\S"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_WHOLE = re.compile(r"(?:0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)[uUlL]*")
_LAST_NAME = re.compile(r"(?:([A-Za-z_]\w*)\s+)?\b([A-Za-z_]\w*)$")
"""The name that a text ends with, and a word before it, such as a declaration's type."""
_NO_ARRAY = frozenset("return else case do goto throw operator delete new auto".split())
"""Words before a bracket that opens no subscript."""
_NO_TYPE = frozenset("return else case do goto".split())
"""Words that stand before a name which is not declared there."""


class Subscripts:
    """The subscripts of one source in which the sign of an unsigned number cannot matter."""

    def __init__(self, source: CudaSource) -> None:
        self._code = source.code
        self._plain = source.plain

    @cached_property
    def _unsigned(self) -> frozenset[str]:
        """Names that stand for an unsigned number of 32 bits, as far as the text tells."""
        found = {name for name, body in _MACRO.findall(self._plain) if self._has(body, BUILT_IN)}
        for match in _UNSIGNED.finditer(self._code):
            at = match.end()
            while declared := _DECLARED.match(self._code, at):
                found.add(declared[1])
                comma = self._next_declarator(declared.end())
                if comma is None:
                    break
                at = comma
        return frozenset(found)

    @cached_property
    def _names(self) -> frozenset[str]:
        """Names that stand for an unsigned number, those that are built in among them."""
        return BUILT_IN | self._unsigned

    def _next_declarator(self, at: int) -> int | None:
        """Return where the next name of the same declaration stands; None when there is none."""
        depth = 0
        for i in range(at, min(at + LONGEST, len(self._code))):
            c = self._code[i]
            depth += (c in "([{") - (c in ")]}")
            if depth < 0 or c == ";":
                return None
            if c == "," and depth == 0:
                return i + 1
        return None

    @cached_property
    def _shared(self) -> frozenset[str]:
        return frozenset(_SHARED.findall(self._code))

    def edits(self, *, cpp: bool) -> Iterator[tuple[int, str]]:
        """Yield where something is to be inserted, and what, in the order of the text.

        What needs overloaded functions is left out where the language is not C++.
        """
        found: list[tuple[int, str]] = []
        for opening, closing, array in self._subscripts():
            inside = self._code[opening + 1 : closing]
            if len(inside) > LONGEST or inside.count("(") > DEEPEST:
                continue
            names = frozenset(_WORD.findall(_without(inside, "[", "]")))
            if names.isdisjoint(self._names):
                continue
            if self._differs(inside) and array not in self._shared:
                continue
            tokens = [(m[0], m.start()) for m in _TOKEN.finditer(inside)]
            found += [(at + opening + 1, SIGNED) for at in _sum(tokens) or []]
            found += [(opening + 1, AT), (closing, ")")] if cpp else []
        return iter(sorted(found, key=lambda edit: (edit[0], edit[1] != AT)))

    def _subscripts(self) -> Iterator[tuple[int, int, str]]:
        """Yield the brackets of every subscript, and the array's name where it has one.

        Declarations and captures are left out.
        """
        opened: list[int] = []
        arrays: dict[int, str | None] = {}
        """By where a bracket closes: the array's name, None where it is being declared."""
        for match in re.finditer(r"[\[\]]", self._code):
            if match[0] == "[":
                opened.append(match.start())
                continue
            if not opened:
                return
            opening = opened.pop()
            start = max(0, opening - LONGEST_NAME)
            before = self._code[start:opening].rstrip()
            if before.endswith("]"):
                array = arrays.get(start + len(before) - 1, "")
            elif before.endswith(")"):
                array = ""
            else:
                name = _LAST_NAME.search(before)
                if name is None or name[2] in _NO_ARRAY:
                    continue
                declared = name[1] is not None and name[1] not in _NO_TYPE
                array = None if declared else name[2]
            arrays[match.start()] = array
            if array is not None:
                yield opening, match.start(), array

    @staticmethod
    def _has(text: str, names: frozenset[str]) -> bool:
        return not names.isdisjoint(_WORD.findall(text))

    def _differs(self, text: str) -> bool:
        """Return whether something is subtracted in a sum that has something unsigned in it."""
        text = _without(text, "[", "]").replace("->", "  ")
        names = self._names
        while inner := re.search(r"\(([^()]*)\)", text):
            unsigned = self._has(inner[1], names)
            if unsigned and "-" in inner[1]:
                return True
            atom = "threadIdx" if unsigned else "0"
            text = f"{text[: inner.start()]} {atom} {text[inner.end() :]}"
        return "-" in text and self._has(text, names)


def _without(text: str, opens: str, closes: str) -> str:
    """Return a text with what stands in one kind of brackets blanked."""
    depth, out = 0, []
    for c in text:
        depth -= c == closes
        out.append(" " if depth > 0 else c)
        depth += c == opens
    return "".join(out)


_Token = tuple[str, int]


def _sum(tokens: list[_Token]) -> list[int] | None:
    """Return the built-in numbers of a sum of products; None for anything else."""
    found: list[int] = []
    for term in _split(tokens, "+-"):
        factors = _split(term, "*")
        offsets = [_factor(factor) for factor in factors]
        if any(o is None for o in offsets):
            # An operator that binds as a product does hides its operands; a weaker one is no sum.
            if any(token in _WEAKER for token, _ in _outer(term)) or not term:
                return None
            continue
        found += [offset for group in offsets for offset in group or []]
    return found


_WEAKER = frozenset("<< >> < > <= >= == != & | ^ && || ? : = , ! ~ ++ -- ;".split())


def _outer(tokens: list[_Token]) -> Iterator[_Token]:
    """Yield the tokens outside of every bracket."""
    depth = 0
    for token in tokens:
        depth -= token[0] in (")", "]")
        if depth == 0 and token[0] not in ("(", "[", ")", "]"):
            yield token
        depth += token[0] in ("(", "[")


def _split(tokens: list[_Token], operators: str) -> list[list[_Token]]:
    parts: list[list[_Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token[0] in ("(", "[")) - (token[0] in (")", "]"))
        if depth == 0 and token[0] in operators:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _factor(tokens: list[_Token]) -> list[int] | None:
    """Return the built-in numbers of a factor: a name, a number, an element, a sum in brackets."""
    if not tokens:
        return None
    words = [token for token, _ in tokens]
    if _is_group(words):
        return _sum(tokens[1:-1])
    if len(words) == 1 and _WHOLE.fullmatch(words[0]):
        return []
    if not _WORD.fullmatch(words[0]):
        return None
    rest = [token for token, _ in _outer(tokens[1:])]
    called = "(" in words
    plain = all(a == "." or _WORD.fullmatch(a) for a in rest)
    if called or not plain:
        return None
    return [tokens[0][1]] if words[0] in BUILT_IN else []


def _is_group(words: list[str]) -> bool:
    """Return whether the first of these tokens opens a bracket that the last one closes."""
    depth = 0
    for index, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return word == ")" and index == len(words) - 1
    return False
