"""Constant expressions of C: read where Python means the same by them, and worked out.

Nothing is compiled.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping

from gpuexplorer.workloads.instances import split_list

_WHOLE_TYPE = (
    r"(?:unsigned\s+long\s+long|unsigned\s+int|unsigned|long\s+long|long|int|size_t|auto|uint|"
    r"u?int(?:32|64)_t)"
)
WHOLE_NUMBERS = re.compile(
    rf"\b(?:const\s+|constexpr\s+|static\s+)*{_WHOLE_TYPE}\s+(?=[A-Za-z_]\w*\s*=)"
)
"""Where whole numbers are defined."""
REAL_NUMBERS = re.compile(
    r"\b(?:const\s+|constexpr\s+|static\s+)*(?:float|double)\s+(?=[A-Za-z_]\w*\s*=)"
)
_NAMED_VALUE = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([\w\s]+?)\s*\)")
_SIZES_B = {
    "char": 1, "unsigned char": 1, "uint8_t": 1, "half": 2, "__half": 2, "short": 2, "float": 4,
    "nv_bfloat16": 2, "__nv_bfloat16": 2,
    "int": 4, "unsigned": 4, "unsigned int": 4, "uint": 4, "double": 8, "long long": 8,
    "unsigned long long": 8, "size_t": 8, "float2": 8, "int2": 8, "float3": 12, "float4": 16,
    "int4": 16, "uchar4": 4, "double2": 16,
}  # fmt: skip
CAST = re.compile(rf"\(\s*(?:const\s+)?{_WHOLE_TYPE}\s*\)|\bstatic_cast\s*<[^<>]*>")
DEEPEST = 12
"""Names that stand for names."""
_DEEPEST_TREE = 200
"""Operators within each other; a deeper expression is read by nobody."""


def with_sizes(text: str) -> str:
    """Return an expression with the bytes of types in place of ``sizeof``."""
    return _SIZEOF.sub(lambda m: str(_SIZES_B.get(" ".join(m[1].split()), m[0])), text)


def definitions(code: str, kind: re.Pattern[str] = WHOLE_NUMBERS) -> Iterator[tuple[str, str]]:
    """Yield the numbers that are defined in some code, whole ones or all, with their text."""
    for match in kind.finditer(code):
        end = code.find(";", match.end())
        for part in split_list(code[match.end() : end if end >= 0 else len(code)]):
            named = _NAMED_VALUE.match(part)
            if named:
                yield named[1], part[named.end() :].strip()


def names_in(text: str) -> set[str]:
    """Return every name in an expression."""
    return set(re.findall(r"[A-Za-z_]\w*", text))


def read_expression(text: str) -> ast.expr | None:
    """Read a C expression that Python reads in the same way; None for any other."""
    plain = re.sub(r"\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b", r"\1", CAST.sub("", text))
    plain = re.sub(r"(?<=\d)'(?=\d)", "", plain)
    try:
        tree = ast.parse(" ".join(plain.split()), mode="eval").body
        return tree if _is_shallow(tree) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_shallow(tree: ast.expr) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST_TREE):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def number_of(text: str, values: Mapping[str, str], depth: int) -> float | None:
    """Return what an expression comes to, with the texts of names; None where it cannot be told."""
    plain = re.sub(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)[fF]\b", r"\1", text)
    tree = read_expression(plain)
    return None if tree is None or depth > DEEPEST else _value(tree, values, depth)


def _value(node: ast.expr, values: Mapping[str, str], depth: int) -> float | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    if isinstance(node, ast.Name):
        if node.id not in values:
            return None
        others = {name: text for name, text in values.items() if name != node.id}
        known = number_of(values[node.id], others, depth + 1)
        if isinstance(values, dict):  # each name is worked out once
            values[node.id] = "?" if known is None else repr(known)
        return known
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand, values, depth)
        return None if inner is None else -inner
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left, values, depth), _value(node.right, values, depth)
    if left is None or right is None or max(abs(left), abs(right)) > 2**53:
        return None
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.LShift) and isinstance(left, int) and right in range(53):
        return left << int(right)
    if isinstance(node.op, ast.Div) and right:
        both = isinstance(left, int) and isinstance(right, int)
        return math.trunc(left / right) if both else left / right
    return None


def factors(node: ast.expr) -> list[str]:
    """Return what is multiplied, as text."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*factors(node.left), *factors(node.right)]
    return [ast.unparse(node)]
