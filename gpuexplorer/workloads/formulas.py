"""Safe formulas: arithmetic over named numbers, and array expressions over named arrays.

The grammar is Python's expression grammar cut down to numbers, names, ``+ - * / // % **``,
``@`` between arrays, comparisons, ``and or not``, ``a if c else b`` and calls of the functions
listed here and in ``array_functions``. Attributes, subscripts, strings, keywords and everything
else are refused when the formula is read, before anything is evaluated; evaluation is simpleeval's,
with our operators.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import simpleeval

from gpuexplorer.workloads.array_functions import ARRAY_FUNCTIONS, MAX_ELEMENTS, check_size
from gpuexplorer.workloads.array_functions import FormulaError as FormulaError

MAX_LENGTH = 400
MAX_NODES = 120
MAX_EXPONENT = 64
MAX_BITS = 4096
MAX_MATMUL_FLOP = 4e12
"""Operations that one product of a reference may need (a minute or so)."""

Array = npt.NDArray[np.float64]
Number = int | float

_PARTS: dict[type[ast.AST], Callable[[Any], tuple[ast.AST, ...]]] = {
    ast.Expression: lambda node: (node.body,),
    ast.BinOp: lambda node: (node.left, node.op, node.right),
    ast.UnaryOp: lambda node: (node.op, node.operand),
    ast.BoolOp: lambda node: (node.op, *node.values),
    ast.Compare: lambda node: (node.left, *node.ops, *node.comparators),
    ast.IfExp: lambda node: (node.test, node.body, node.orelse),
    ast.Call: lambda node: (node.func, *node.args, *node.keywords),
    **dict.fromkeys(
        (
            ast.Name, ast.Constant,
            ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult,
            ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or,
            ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
        ),
        lambda node: (),
    ),
}  # fmt: skip
"""What the grammar has, and what each is made of."""


_RESERVED = re.compile(
    rf"\b(?:{'|'.join(set(keyword.kwlist) - {'and', 'or', 'not', 'if', 'else'})})\b"
)
"""Words of Python's that may be an array's name, such as ``in``, as the grammar has no use for
them."""
_MARK = "_gpux"


def _refuse(formula: str, why: str) -> FormulaError:
    return FormulaError(f"formula '{formula}' {why}")


def ceil_div(a: Number, b: Number) -> int:
    """Return ``a / b`` rounded up to a whole number."""
    return math.ceil(a / b) if isinstance(a, float) or isinstance(b, float) else -(-a // b)


NUMBER_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil_div": ceil_div,
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "log2": math.log2,
    "ceil": math.ceil,
    "floor": math.floor,
}


class _Formula(NamedTuple):
    """A formula that was read."""

    tree: ast.expr
    names: frozenset[str]
    """Those that are not functions."""
    functions: tuple[str, ...]
    """Those it calls, outermost first."""


@lru_cache(maxsize=4096)
def _read(formula: str) -> _Formula:
    """Read a formula and refuse everything outside the grammar."""
    if len(formula) > MAX_LENGTH:
        raise FormulaError(
            f"a formula of {len(formula)} characters is too long", remedy=f"keep to {MAX_LENGTH}"
        )
    try:
        tree = ast.parse(_RESERVED.sub(r"\g<0>" + _MARK, formula.strip()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _refuse(formula, "is not an expression") from None
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # which grows meanwhile: outermost first
        parts = _PARTS.get(type(node))
        nodes += ast.iter_child_nodes(node) if parts is None else parts(node)
    nodes = [node for node in nodes if not isinstance(node, ast.Load)]
    if len(nodes) > MAX_NODES:
        raise _refuse(formula, f"has more than {MAX_NODES} parts")
    names: list[ast.Name] = []
    functions: list[ast.Name] = []
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = node.id.removesuffix(_MARK)
            names.append(node)
        elif isinstance(node, ast.Constant):
            if type(node.value) not in (int, float):
                raise _refuse(formula, "may hold numbers only")
        elif isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.keywords:
                raise _refuse(formula, "may only call the listed functions, without keywords")
            functions.append(node.func)
        elif type(node) not in _PARTS:
            what = type(node).__name__.lower()
            raise _refuse(formula, f"uses '{what}', which formulas do not offer")
    used = frozenset([node.id for node in set(names).difference(functions)])
    return _Formula(tree.body, used, tuple([node.id for node in functions]))


def names_in(formula: str) -> frozenset[str]:
    """Return the names (not functions) a formula uses."""
    return _read(formula).names


def check_names(formula: str, known: frozenset[str] | set[str], *, arrays: bool = False) -> None:
    """Refuse a formula that uses a name or calls a function that is not there."""
    unknown = names_in(formula) - known
    if unknown:
        raise _refuse(
            formula,
            f"uses {', '.join(repr(n) for n in sorted(unknown))}; "
            f"known here are {', '.join(sorted(known))}",
        )
    functions = ARRAY_FUNCTIONS if arrays else NUMBER_FUNCTIONS
    for called in _read(formula).functions:
        if called not in functions:
            raise _refuse(
                formula, f"calls '{called}'; functions are {', '.join(sorted(functions))}"
            )


def _bounded_power(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        check_size(a, b)
        return a**b
    if abs(b) > MAX_EXPONENT:
        raise FormulaError(f"exponent {b} is above {MAX_EXPONENT}")
    return _bounded(a**b)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise FormulaError("a number grew too large")
    return value


def _within_bounds(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Bound the result of an operator: the bits of a number, the elements of an array."""

    def called(a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            check_size(a, b)
        return _bounded(operation(a, b))

    return called


def _bounded_matmul(a: Any, b: Any) -> Any:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        raise FormulaError("'@' takes two arrays")
    rows = a.shape[0] if a.ndim > 1 else 1
    columns = b.shape[-1] if b.ndim > 1 else 1
    if 2.0 * rows * columns * a.shape[-1] > MAX_MATMUL_FLOP:
        raise FormulaError("the reference product is too large to compute in float64")
    if rows * columns > MAX_ELEMENTS:
        raise FormulaError("the reference result has too many elements")
    return a @ b


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _within_bounds(operator.add),
    ast.Sub: _within_bounds(operator.sub),
    ast.Mult: _within_bounds(operator.mul),
    ast.Div: _within_bounds(operator.truediv),
    ast.FloorDiv: _within_bounds(operator.floordiv),
    ast.Mod: _within_bounds(operator.mod),
    ast.Pow: _bounded_power,
    ast.MatMult: _bounded_matmul,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: _within_bounds(operator.eq),
    ast.NotEq: _within_bounds(operator.ne),
    ast.Lt: _within_bounds(operator.lt),
    ast.LtE: _within_bounds(operator.le),
    ast.Gt: _within_bounds(operator.gt),
    ast.GtE: _within_bounds(operator.ge),
}


class _Evaluators(threading.local):
    """One evaluator a thread and table of functions: making one takes longer than a formula."""

    def __init__(self) -> None:
        self.made: dict[int, simpleeval.SimpleEval] = {}


_evaluators = _Evaluators()


def _evaluator(functions: dict[str, Any]) -> simpleeval.SimpleEval:
    made = _evaluators.made
    if id(functions) not in made:
        made[id(functions)] = simpleeval.SimpleEval(
            operators=_OPERATORS, functions=functions, names={}
        )
    return made[id(functions)]


def _evaluate(formula: str, names: Mapping[str, Any], functions: dict[str, Any]) -> Any:
    tree = _read(formula).tree
    evaluator = _evaluator(functions)
    evaluator.names = dict(names)
    try:
        return evaluator.eval(formula, previously_parsed=tree)
    except FormulaError as error:
        raise _refuse(formula, f"failed: {error.what}") from None
    except ZeroDivisionError:
        raise _refuse(formula, "divides by zero") from None
    except simpleeval.InvalidExpression as error:
        raise _refuse(formula, f"failed: {error}") from None
    except (ArithmeticError, LookupError, ValueError, TypeError, MemoryError) as error:
        raise _refuse(formula, f"failed: {error}") from None
    finally:
        evaluator.names = {}  # which may hold arrays


def number(formula: str | int | float, names: Mapping[str, Number]) -> Number:
    """Evaluate an arithmetic formula over named numbers.

    Raises FormulaError when it is not a formula, uses an unknown name, or fails.
    """
    value: Any = formula
    if isinstance(formula, str):
        value = _number_of(formula, names)
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise _refuse(str(formula), "did not give a finite number")
    return value


def _number_of(formula: str, names: Mapping[str, Number]) -> Any:
    """Evaluate a formula once for the same whole numbers: sizes and blocks come again and again."""
    values = tuple([names.get(name) for name in names_in(formula)])
    if all(type(value) is int for value in values):
        return _of_whole_numbers(formula, values)
    return _evaluate(formula, names, NUMBER_FUNCTIONS)


@lru_cache(maxsize=1024)
def _of_whole_numbers(formula: str, values: tuple[int, ...]) -> Any:
    names = dict(zip(names_in(formula), values, strict=True))
    return _evaluate(formula, names, NUMBER_FUNCTIONS)


def whole(formula: str | int | float, names: Mapping[str, Number]) -> int:
    """Evaluate a formula that must give a whole number."""
    value = number(formula, names)
    if value != int(value):
        raise _refuse(str(formula), f"gave {value}, not a whole number")
    return int(value)


def array(formula: str, names: Mapping[str, Array | Number]) -> Array:
    """Evaluate an array expression in float64 (scalars come back as arrays of shape ``()``)."""
    with np.errstate(all="ignore"):
        value = _evaluate(formula, names, ARRAY_FUNCTIONS)
    return np.asarray(value, dtype=np.float64)


def product_factors(formula: str) -> tuple[str, str] | None:
    """Return the two factors of a formula of the form ``P @ Q``, else None."""
    tree = _read(formula).tree
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult):
        return ast.unparse(tree.left), ast.unparse(tree.right)
    return None


def tiling(formula: str) -> tuple[str, str] | None:
    """Return the two names of a formula of the form ``ceil_div(SIZE, LENGTH)``, else None."""
    tree = _read(formula).tree
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != "ceil_div":
        return None
    names = [argument.id for argument in tree.args if isinstance(argument, ast.Name)]
    return (names[0], names[1]) if len(names) == len(tree.args) == 2 else None
