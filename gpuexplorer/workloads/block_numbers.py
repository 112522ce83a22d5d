"""How many blocks a kernel counts on an axis of its grid, where it numbers blocks and not threads.

Textbooks give a row to each block, ``row = blockIdx.x``, to each warp, or to each line of threads
of a block. Nothing is compiled.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from gpuexplorer.workloads.c_expressions import CAST, DEEPEST, names_in, read_expression
from gpuexplorer.workloads.host_text import HostText

_FACTOR = r"(?:[A-Za-z_]\w*(?:\s*\.\s*[xyz])?|\d\w*|\((?:[^()]|\([^()]*\))*\))"
_TIMES = re.compile(rf"\s*(?:\*|<<)\s*({_FACTOR})")
_TIMES_BEFORE = re.compile(rf"({_FACTOR})\s*\*\s*$")
_FARTHEST = 200
"""Characters before a name in which what it is multiplied by is looked for."""
_ENDS_A_SUM = frozenset(";{}[],=<>?:&|")
_WARP = {"warpSize": 32}
MOST_THREADS = 1024
"""Of a block; more of them share no index."""


def names_block(axis: str) -> str:
    """Return the expression that finds the number of a block on an axis."""
    return rf"\bblockIdx\s*\.\s*{axis}\b"


Steps = dict[str, tuple[str, int]]
"""How far apart two blocks' indices are, by axis: a formula, and what it is divided by."""


@dataclass(frozen=True)
class BlockNumbers:
    """What the indices of one kernel count."""

    host: HostText
    body: str
    values: Mapping[str, str]
    """The texts that variables are defined as."""
    whole: Collection[str]
    """The parameters that are whole numbers."""
    _steps_of: dict[str, Steps | None] = field(default_factory=dict, init=False)
    _formulas: dict[str, str | None] = field(default_factory=dict, init=False)
    """Of the variables that were looked at; each is once."""
    _derived: dict[str, set[str]] = field(default_factory=dict, init=False)

    def is_of_block(self, axis: str) -> bool:
        """Return whether blocks are numbered on an axis, and nothing there numbers threads.

        That is so where a block's number is multiplied by parameters alone: by a row's length, and
        not by the threads of a block.
        """
        code = CAST.sub("", self.body)
        if not re.search(names_block(axis), code) or self._is_elsewhere(axis):
            return False
        derived = self.derived(axis)
        return all(
            self._is_size(factor)
            for match in re.finditer(rf"{names_block(axis)}|[A-Za-z_]\w*", code)
            if "." in match[0] or match[0] in derived
            for factor in _factors(code, *match.span())
        )

    def reaches(self, axis: str, subscripts: Iterable[str]) -> bool:
        """Return whether a block's number leads to an element of an array."""
        names = self.derived(axis)
        return any(re.search(names_block(axis), t) or names_in(t) & names for t in subscripts)

    def is_unnumbered(self, axis: str) -> bool:
        """Return whether a kernel's blocks do the same along an axis."""
        return not re.search(names_block(axis), self.body) and not self._is_elsewhere(axis)

    def derived(self, axis: str) -> set[str]:
        """Return the variables that follow from a block's number; elements read by it do not."""
        if axis not in self._derived:
            texts = {n: re.sub(r"\[[^\[\]]*\]", "", t) for n, t in self.values.items()}
            into: defaultdict[str, list[str]] = defaultdict(list)
            for name, text in texts.items():
                for used in names_in(text):
                    into[used].append(name)
            waiting = [n for n, text in texts.items() if re.search(names_block(axis), text)]
            found = self._derived[axis] = set(waiting)
            while waiting:
                more = set(into[waiting.pop()]) - found
                found |= more
                waiting += more
        return self._derived[axis]

    def same(self, axis: str) -> set[str]:
        """Return the variables that are a block's number as it is."""
        plain = {n: "".join(CAST.sub("", t).split()).strip("()") for n, t in self.values.items()}
        found = {f"blockIdx.{axis}"}
        while more := {n for n, text in plain.items() if n not in found and text in found}:
            found |= more
        return found

    def blocks(self, name: str, bound: str) -> tuple[str, str] | None:
        """Return the axis on which blocks part an index below a bound, and how many are needed.

        None where the index is the number of a thread, or of nothing.
        """
        tree = read_expression(self.values[name])
        steps = None if tree is None else self._steps(tree)
        if tree is None or steps is None or len(steps) != 1:
            return None
        ((axis, (step, divisor)),) = steps.items()
        thread = step == f"block_{axis}" or (step.isdigit() and self._has_thread(tree, axis))
        if step == "1" or (thread and divisor == 1):
            return None
        plain = bound if bound.isidentifier() else f"({bound})"
        total = bound if divisor == 1 else f"{divisor} * {plain}"
        whole = f"ceil_div({total}, {f'max({step}, 1)' if '//' in step else step})"
        made = read_expression(whole)
        return None if made is None else (axis, ast.unparse(made))

    def _is_elsewhere(self, axis: str) -> bool:
        """Return whether helpers and macros may number threads of the whole grid."""
        return axis in self.host.numbered_outside or "this_grid" in self.body

    def _is_size(self, factor: str) -> bool:
        """Return whether a factor comes down to parameters alone."""
        seen: set[str] = set()
        left, leaves = names_in(factor), set[str]()
        while left:
            seen |= left
            leaves |= left - self.values.keys()
            left = {n for one in left for n in names_in(self.values.get(one, ""))} - seen
        return bool(leaves) and leaves <= set(self.whole)

    def _value(self, name: str) -> ast.expr | None:
        return read_expression(self.values[name]) if name in self.values else None

    def _steps(self, node: ast.expr, depth: int = 0) -> Steps | None:
        """Return how far apart blocks are in an expression; None where that is not known."""
        if isinstance(node, ast.Name):
            if node.id not in self._steps_of:
                self._steps_of[node.id] = {}
                known = self._value(node.id) if depth < DEEPEST else None
                self._steps_of[node.id] = {} if known is None else self._steps(known, depth + 1)
            return self._steps_of[node.id]
        if isinstance(node, ast.Attribute):
            return {node.attr: ("1", 1)} if ast.unparse(node.value) == "blockIdx" else {}
        if not isinstance(node, ast.BinOp):
            return None if "blockIdx" in ast.unparse(node) else {}
        left, right = self._steps(node.left, depth), self._steps(node.right, depth)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add | ast.Sub) and not left.keys() & right.keys():
            return {**left, **right}
        if not left and not right:
            return {}
        if isinstance(node.op, ast.Mult) and not (left and right):
            times = self._in_blocks(node.right if left else node.left)
            return None if times is None else {
                axis: (times if step == "1" else f"{step} * {times}", divisor)
                for axis, (step, divisor) in (left or right).items()
                if divisor == 1
            }  # fmt: skip
        if isinstance(node.op, ast.Div | ast.RShift) and not right:
            by = self._in_blocks(node.right)
            if by is not None and by.isdigit() and int(by) <= MOST_THREADS:
                number = int(by) if isinstance(node.op, ast.Div) else 2 ** min(int(by), 31)
                return {axis: (step, divisor * number) for axis, (step, divisor) in left.items()}
        return None

    def _in_blocks(self, node: ast.expr, depth: int = 0) -> str | None:
        """Return a formula over the sides of the block; None for what is something else."""
        if isinstance(node, ast.Attribute):
            return f"block_{node.attr}" if ast.unparse(node.value) == "blockDim" else None
        if isinstance(node, ast.Name) and node.id in self.values:
            if node.id not in self._formulas:
                self._formulas[node.id] = None
                known = self._value(node.id) if depth < DEEPEST else None
                made = None if known is None else self._in_blocks(known, depth + 1)
                self._formulas[node.id] = made
            return self._formulas[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.RShift):
            left, right = (self._in_blocks(one, depth) for one in (node.left, node.right))
            if left is None or right is None or len(left + right) > _FARTHEST:
                return None
            if left.isdigit() and right.isdigit():
                return self._number(ast.unparse(node))
            if isinstance(node.op, ast.RShift):
                right = f"2 ** {right}"
            return f"({left} {'*' if isinstance(node.op, ast.Mult) else '//'} {right})"
        return self._number(ast.unparse(node))

    def _number(self, text: str) -> str | None:
        number = _WARP.get(text) or self.host.number(text)
        whole = number is not None and number >= 1 and number == int(number)
        return str(int(number)) if number is not None and whole else None

    def _has_thread(self, tree: ast.expr, axis: str) -> bool:
        """Return whether the number of a thread is added as it is."""
        seen: set[str] = set()
        nodes = [tree]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                nodes += [node.left, node.right]
            elif isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                known = self._value(node.id)
                nodes += [] if known is None else [known]
            elif ast.unparse(node) == f"threadIdx.{axis}":
                return True
        return False


# ---- pieces of text


def _factors(code: str, start: int, end: int) -> Iterator[str]:
    """Yield what a piece of a sum is multiplied by, and the sums in round brackets around it."""
    while True:
        while match := _TIMES.match(code, end):
            yield match[1]
            end = match.end()
        while match := _TIMES_BEFORE.search(code[max(start - _FARTHEST, 0) : start]):
            yield match[1]
            start -= len(match[0])
        around = _opening(code, start), _closing(code, end)
        if around[0] is None or around[1] is None:
            return
        start, end = around[0], around[1] + 1
        if re.search(r"\w\s*$", code[max(start - _FARTHEST, 0) : start]):
            return  # the brackets of a call


def _opening(code: str, start: int) -> int | None:
    depth = 0
    for at in range(start - 1, -1, -1):
        if code[at] == "(" and not depth:
            return at
        depth += (code[at] == ")") - (code[at] == "(")
        if not depth and code[at] in _ENDS_A_SUM:
            return None
    return None


def _closing(code: str, end: int) -> int | None:
    depth = 0
    for at in range(end, len(code)):
        if code[at] == ")" and not depth:
            return at
        depth += (code[at] == "(") - (code[at] == ")")
        if not depth and code[at] in _ENDS_A_SUM:
            return None
    return None
