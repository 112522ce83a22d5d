"""Formulas count, compare and call what is listed; nothing else can be said in them."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.formulas import FormulaError

NAMES = {"N": 512, "block_x": 16, "itemsize": 4}


def expressions() -> st.SearchStrategy[str]:
    """Arithmetic over numbers and names, as Python writes it."""
    leaves = st.one_of(
        st.sampled_from(sorted(NAMES)),
        st.integers(0, 1000).map(str),
        st.floats(0.001, 1000, allow_nan=False).map(repr),
    )

    def combine(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">"])
        return st.one_of(
            st.tuples(parts, operators, parts).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            st.tuples(parts, parts).map(lambda t: f"min({t[0]}, {t[1]})"),
            st.tuples(parts, parts).map(lambda t: f"max({t[0]}, {t[1]})"),
            st.tuples(parts, parts, parts).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
            st.tuples(parts, parts).map(lambda t: f"({t[0]} and {t[1]})"),
            parts.map(lambda p: f"-{p}"),
            parts.map(lambda p: f"abs({p})"),
        )

    return st.recursive(leaves, combine, max_leaves=8)


@given(expressions())
def test_a_formula_gives_what_python_gives(text: str) -> None:
    try:
        expected = eval(text, {"min": min, "max": max, "abs": abs}, dict(NAMES))
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(FormulaError):
            formulas.number(text, NAMES)
        return
    assume(math.isfinite(expected))
    assert formulas.number(text, NAMES) == expected


@given(st.integers(1, 10**9), st.integers(1, 10**4))
def test_ceil_div_is_exact(a: int, b: int) -> None:
    blocks = formulas.whole("ceil_div(a, b)", {"a": a, "b": b})
    assert (blocks - 1) * b < a <= blocks * b


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "__import__",
        "N.__class__",
        "N.real",
        "(lambda: 1)()",
        "[x for x in (1, 2)]",
        "{1: 2}",
        "[1, 2]",
        "N[0]",
        "'text'",
        "f'{N}'",
        "b'bytes'",
        "(N := 3)",
        "open('/etc/passwd')",
        "eval('1')",
        "min(*N)",
        "min(a=1)",
        "print(N)",
        "N if",
        "",
        "import os",
        "N; N",
        "1j",
        "True",
        "None",
        "...",
        "N @ N",
        "unknown + 1",
        "~N",
        "N << 4",
        "N is N",
        "N in N",
        "sum(N)",
        "9 ** 9 ** 9",
        "10 ** 400 * 1.0",
        "2 ** 65",
        "((2 ** 64) ** 64) ** 64",
        "N / 0",
        "sqrt(0 - 1)",
        "log2(0)",
        "(0 - 8) ** 0.5",
        "1e308 * 10",
        "min()",
        "1" * 401,
        "+".join("N" * 150),
        "abs(" * 60 + "1" + ")" * 60,
        "-" * 390 + "1",
        "\0",
    ],
)
def test_anything_else_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    with pytest.raises(InputError):
        formulas.check_names(text, set(NAMES))
        formulas.number(text, NAMES)
    assert time.process_time() - started < 1.0


@given(st.text(max_size=60))
def test_any_text_is_a_number_or_a_formula_error(text: str) -> None:
    try:
        value = formulas.number(text, NAMES)
    except FormulaError:
        return
    assert math.isfinite(value)


def test_a_formula_that_is_not_whole_says_so() -> None:
    with pytest.raises(FormulaError, match="not a whole number"):
        formulas.whole("N / 3", NAMES)


def test_arrays_are_computed_in_float64() -> None:
    a = np.arange(6, dtype=np.float64).reshape(2, 3)
    b = np.ones((3, 2))
    found = formulas.array("2 * (a @ b) + transpose(b) @ transpose(a)", {"a": a, "b": b})
    assert found.dtype == np.float64
    assert np.array_equal(found, 2 * a @ b + b.T @ a.T)
    assert formulas.array("sum(a, 1)", {"a": a}).shape == (2,)
    assert formulas.array("where(a > 2, a, 0 - 1)", {"a": a}).min() == -1


@pytest.mark.parametrize("text", ["exp(a, b)", "abs(a, b)", "maximum(a, a, b)", "sum(a, 0, 0, b)"])
def test_an_expression_cannot_write_into_an_array(text: str) -> None:
    a, b = np.full(3, 2.0), np.zeros(3)
    with pytest.raises(FormulaError):
        formulas.array(text, {"a": a, "b": b})
    assert not b.any()


@pytest.mark.parametrize("text", ["a + b", "a * b", "a < b", "maximum(a, b)", "a ** b", "a @ b"])
def test_a_result_that_would_fill_the_memory_is_refused_before_it_is_made(text: str) -> None:
    long = np.zeros(1 << 20)
    names = {"a": long.reshape(-1, 1), "b": long.reshape(1, -1)}
    with pytest.raises(FormulaError, match="too many elements"):
        formulas.array(text, names)


def test_shapes_that_do_not_fit_are_an_error_of_the_formula() -> None:
    with pytest.raises(FormulaError):
        formulas.array("a + b", {"a": np.zeros(3), "b": np.zeros(4)})
    with pytest.raises(FormulaError):
        formulas.array("a @ b", {"a": np.zeros((2, 3)), "b": np.zeros((2, 3))})
