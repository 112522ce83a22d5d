"""What the host code of a CUDA file says: its constants, launches and allocations.

Nothing is compiled.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from gpuexplorer.workloads.c_expressions import (
    DEEPEST,
    REAL_NUMBERS,
    definitions,
    factors,
    names_in,
    number_of,
    read_expression,
    with_sizes,
)
from gpuexplorer.workloads.cuda_source import CudaSource
from gpuexplorer.workloads.declared_symbols import filled_by_host
from gpuexplorer.workloads.instances import split_list

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\n]+)", re.MULTILINE)
_LAUNCH = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<(?!<)((?:[^<>;]|<[^<>;]*>)*)>)?\s*<<<")
_POINTS_TO = (
    r"\b(float|double|(?:__)?half|(?:__)?nv_bfloat16|unsigned(?:\s+int)?|int)\s*\*[^;()]*\b"
)
_CALLED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)\(([\w\s,]*)\)((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE
)
"""A macro with parameters."""
_DIM3 = re.compile(r"\bdim3\s+([^;]+);")
_DIMENSIONS = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:=\s*dim3\s*)?[({](.*)[)}]\s*", re.DOTALL)
_SIDE_OF = re.compile(r"\b([A-Za-z_]\w*)\s*\.\s*([xyz])\b")
_ALLOCATED = re.compile(
    r"\bcudaMalloc(?:Managed|Async)?\s*\(\s*(?:\(\s*void\s*\*\s*\*\s*\)\s*)?&\s*([\w.]+)\s*,"
)
_IN_FORMULAS = (ast.BinOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Load)
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "//"
}  # fmt: skip
"""Of whole numbers, as formulas have them."""
_LONGEST_FORMULA = 300
_MOST_EXPANSIONS = 100
_LONGEST = 200_000


class Launch(msgspec.Struct, frozen=True):
    """How the host code launches a kernel: the block where it is known, and the arguments' text."""

    block: tuple[int, ...] | None
    arguments: tuple[str, ...]
    template: tuple[str, ...] = ()
    """The template's arguments as far as they are written there."""
    shared: str = "0"
    """The bytes of shared memory that it asks for, as they are written there."""
    grid: tuple[int, ...] | None = None
    sides: tuple[str, ...] = ()
    """The sides of the block as they are written there..."""
    grid_sides: tuple[str, ...] = ()
    """... and those of the grid."""


class HostText:
    """The constants of a file, and the launches in its host code."""

    def __init__(self, source: CudaSource) -> None:
        self._source = source
        self.macros = {m[1]: m[2].strip() for m in _MACRO.finditer(source.plain)}
        kernels = [f.body for f in source.functions if f.is_kernel]
        beside = _blanked(source.plain, kernels)
        self.numbered_outside = frozenset(re.findall(r"\bblockIdx\s*\.\s*([xyz])", beside))
        """The axes on which helpers and macros of the kernels number blocks."""
        outside = _blanked(source.code, kernels)
        self._called = {
            m[1]: ([n.strip() for n in m[2].split(",")], m[3].replace("\\\n", " ").strip())
            for m in _CALLED.finditer(source.plain)
        }
        found = {**dict(definitions(outside, REAL_NUMBERS)), **dict(definitions(outside))}
        self._values = {name: with_sizes(text) for name, text in found.items()}
        self._dims = {
            made[1]: split_list(made[2])
            for match in _DIM3.finditer(outside)
            for part in split_list(match[1])
            if (made := _DIMENSIONS.fullmatch(part))
        }
        self._filled = filled_by_host(source)
        self._code = outside

    def number(self, text: str) -> float | None:
        """Return what a constant expression comes to; None where a name has no value."""
        plain = _SIDE_OF.sub(self._side, with_sizes(text))
        return number_of(plain, {**self.macros, **self._values}, 0)

    def _side(self, match: re.Match[str]) -> str:
        sides = [*self._dims.get(match[1], ()), "1", "1", "1"]
        return f"({sides['xyz'.index(match[2])]})" if match[1] in self._dims else match[0]

    def copies_to(self, symbol: str) -> bool:
        """Return whether the host fills a variable outside of functions."""
        return symbol in self._filled

    def copied(self, symbol: str) -> float | None:
        """Return the number that is copied to a variable outside of functions, where it is told."""
        text = self._filled.get(symbol)
        return None if text is None else self.number(text)

    def bytes(self, text: str) -> int | None:
        """Return how many bytes a launch asks for; None where that is not known."""
        found = self.number(text)
        return int(found) if found is not None and 0 <= found == int(found) else None

    def bytes_by_block(self, launch: Launch) -> str | None:
        """Return the bytes a launch asks for as a formula over its block; None for another one.

        ``threads * sizeof(float)`` of a block of ``threads`` is ``block_x * 4``.
        """
        tree = read_expression(self._resolved(with_sizes(launch.shared), 0))
        if tree is None:
            return None
        sides = {
            name: f"block_{axis}"
            for axis, text in zip("xyz", launch.sides, strict=False)
            if (name := text.strip()).isidentifier() and self.number(name) is None
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                number = self.number(node.id)
                if node.id not in sides and number is None:
                    return None
                node.id = sides.get(node.id) or f"{number:.0f}"
            elif not isinstance(node, _IN_FORMULAS):
                return None
        return ast.unparse(tree)

    def formula(self, text: str, names: Mapping[str, str]) -> str | None:
        """Return an expression as a formula in which some names stand for others.

        Every other name is what it is defined as. None for what formulas do not say.
        """
        if not text.isdigit() and text in names:
            return names[text]
        tree = read_expression(with_sizes(text))
        made = None if tree is None else self._in_formula(tree, dict(names))
        tree = None if made is None else read_expression(made)
        if tree is None or any(isinstance(node, ast.Name) for node in ast.walk(tree)):
            return None if tree is None else ast.unparse(tree)
        number = self.number(text)
        return str(int(number)) if number is not None and 1 <= number == int(number) else None

    def _in_formula(
        self, node: ast.expr, names: dict[str, str | None], depth: int = 0
    ) -> str | None:
        """Return an expression with its names replaced; each is looked up once."""
        if isinstance(node, ast.Constant):
            return str(node.value) if isinstance(node.value, int) else None
        if isinstance(node, ast.Name):
            if node.id not in names:
                names[node.id] = None
                text = self._values.get(node.id) or self.macros.get(node.id)
                deep = text is None or depth > DEEPEST
                known = None if deep else read_expression(with_sizes(text or ""))
                made = None if known is None else self._in_formula(known, names, depth + 1)
                names[node.id] = made
            return names[node.id]
        if not isinstance(node, ast.BinOp) or type(node.op) not in _OPERATORS:
            return None
        left, right = (self._in_formula(one, names, depth) for one in (node.left, node.right))
        if left is None or right is None or len(left + right) > _LONGEST_FORMULA:
            return None
        return f"({left} {_OPERATORS[type(node.op)]} {right})"

    def sizes_of(self, launch: Launch) -> set[str]:
        """Return the names by which a launch's grid, and the arrays it is handed, are as large."""
        texts = [*launch.grid_sides]
        texts += filter(None, (self._allocations.get(a.strip()) for a in launch.arguments))
        return self._named(" ".join(texts)) - self._named(" ".join(launch.sides))

    def _named(self, text: str) -> set[str]:
        """Return the names in a text, and those in what they are defined as."""
        found: set[str] = set()
        left = names_in(text)
        while left:
            found |= left
            left = {n for one in left for n in names_in(self._values.get(one, ""))} - found
        return found

    def _resolved(self, text: str, depth: int) -> str:
        """Return a name's definition, or the text itself."""
        known = self._values.get(text.strip())
        return text if known is None or depth > DEEPEST else self._resolved(known, depth + 1)

    def expanded(self, code: str) -> str:
        """Return some code with its macros that have parameters written out, as far as it goes."""
        if not self._called:
            return code
        calls = re.compile(rf"\b({'|'.join(map(re.escape, self._called))})\s*\(")
        at = 0
        for _ in range(_MOST_EXPANSIONS):
            match = calls.search(code, at)
            if match is None or len(code) > _LONGEST:
                break
            closing = _closing(code, match.end() - 1)
            names, text = self._called[match[1]]
            given = split_list(code[match.end() : closing]) if closing is not None else []
            if closing is None or len(given) != len(names) or match[1] in text:
                at = match.end()
                continue
            by_name = dict(zip(names, given, strict=True))
            made = re.sub(
                r"\b[A-Za-z_]\w*\b",
                lambda m, by_name=by_name: by_name.get(m[0], m[0]),
                text,
            )
            code = code[: match.start()] + made + code[closing + 1 :]
            at = match.start()
        return code

    def allocated(self, name: str, itemsize_B: int) -> tuple[str, ...]:
        """Return the sides of what the host allocates for a pointer: names or numbers, or nothing.

        Of ``cudaMalloc(&d, nx * ny * sizeof(float))`` they are ``ny, nx``, of ``N * N`` ``N, N``.
        """
        text = self._allocations.get(name.strip())
        nbytes = None if text is None else self.bytes(text)
        if text is None or not nbytes or nbytes % itemsize_B:
            return ()
        tree = read_expression(with_sizes(self._resolved(text, 0)))
        known = [(f, self.number(f)) for f in ([] if tree is None else factors(tree))]
        sides = [f for f, n in known if not f.isdigit() and n is not None and n > 1]
        product = math.prod(n for f, n in known if f in sides and n is not None)
        if len(sides) == 1 and product * itemsize_B == nbytes:
            return (sides[0],)
        if len(sides) == 2 and product * itemsize_B == nbytes:
            across = re.fullmatch(r"(?i)n?x|w|cols?|n?cols|width", sides[0]) is not None
            return (sides[1], sides[0]) if across else (sides[0], sides[1])
        return (str(nbytes // itemsize_B),)

    @cached_property
    def _allocations(self) -> dict[str, str]:
        found = {}
        for match in _ALLOCATED.finditer(self._code):
            opening = self._code.index("(", match.start())
            closing = self._source.closing(opening)
            if closing is not None:
                found[match[1]] = split_list(self._code[match.end() : closing])[0]
        return found

    def pointed_type(self, name: str) -> str | None:
        """Return what a pointer of the host code points to; None where it is not declared."""
        if not re.fullmatch(r"\w+", name):
            return None
        declared = re.search(_POINTS_TO + name + r"\b", self._code)
        return declared[1] if declared else None

    @cached_property
    def launches(self) -> dict[str, list[Launch]]:
        """The launches of each kernel, in order."""
        found: dict[str, list[Launch]] = {}
        for match in _LAUNCH.finditer(self._code):
            end = self._code.find(">>>", match.end())
            opening = self._code.find("(", end)
            closing = self._source.closing(opening) if end > 0 else None
            if closing is None or self._code[end + 3 : opening].strip():
                continue
            how = split_list(self._code[match.end() : end])
            block = self._block(how[1]) if len(how) > 1 else None
            arguments = tuple(split_list(self._code[opening + 1 : closing]))
            template = tuple(split_list(match[2], pointed=True)) if (match[2] or "").strip() else ()
            shared = how[2] if len(how) > 2 else "0"
            sides = tuple(self._sides(how[1])) if len(how) > 1 else ()
            across = tuple(self._sides(how[0]))
            found.setdefault(match[1], []).append(
                Launch(block, arguments, template, shared, self._block(how[0]), sides, across)
            )
        return found

    def _sides(self, text: str) -> list[str]:
        made = re.fullmatch(r"dim3\s*[({](.*)[)}]", text.strip(), re.DOTALL)
        return self._dims.get(text.strip()) or (split_list(made[1]) if made else [text])

    def _block(self, text: str) -> tuple[int, ...] | None:
        numbers = [self.number(side) for side in self._sides(text)]
        if any(n is None or n < 1 or n != int(n) for n in numbers):
            return None
        return tuple(int(n) for n in numbers if n is not None)


# ---- pieces of text


def _closing(code: str, opening: int) -> int | None:
    depth = 0
    for at in range(opening, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if not depth:
            return at
    return None


def _blanked(code: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, kept = [], 0
    for start, end in spans:
        parts += [code[kept:start], " " * (end - start)]
        kept = end
    return "".join([*parts, code[kept:]])
