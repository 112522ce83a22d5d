"""Formulas count, compare and call what is listed; nothing else can be said in them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.formulas import FormulaError
from gpuexplorer.workloads.references import verify
from tests.support.problems import made, plan_of

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


# ---- functions of references

NUMBERS = np.random.default_rng(3).standard_normal((4, 6))
LABELS = np.array([3.0, 0.0, 3.0, 1.0, 4.0, 3.0])


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("cumsum(A)", NUMBERS.cumsum()),
        ("cumsum(A, 1)", NUMBERS.cumsum(axis=1)),
        ("sort(A)", np.sort(NUMBERS, axis=1)),
        ("sort(A, 0)", np.sort(NUMBERS, axis=0)),
        ("roll(A, 2, 1)", np.roll(NUMBERS, 2, axis=1)),
        ("roll(A, -1)", np.roll(NUMBERS, -1)),
        ("take(A, L, 1)", NUMBERS[:, LABELS.astype(int)]),
        ("take(A, L)", NUMBERS.reshape(-1)[LABELS.astype(int)]),
        ("bincount(L, 6)", [1, 1, 0, 3, 1, 0]),
        ("bincount(L, 5, sum(A, 0))", np.bincount(LABELS.astype(int), NUMBERS.sum(axis=0), 5)),
        ("reshape(A, 3, 4 + 4)", NUMBERS.reshape(3, 8)),
        ("arange(N / 2)", [0, 1, 2]),
        ("argmax(A, 1) + argmin(A)", NUMBERS.argmax(axis=1) + NUMBERS.argmin()),
        ("floor(A) + sin(A) * cos(A)", np.floor(NUMBERS) + np.sin(NUMBERS) * np.cos(NUMBERS)),
    ],
)
def test_references_shift_sum_sort_index_and_count(text: str, right: object) -> None:
    names: dict[str, Any] = {"A": NUMBERS, "L": LABELS, "N": 6}
    formulas.check_names(text, {"A", "L", "N"}, arrays=True)
    np.testing.assert_array_equal(formulas.array(text, names), right)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("take(A, L, 0)", "an index lies outside 0 to 3"),
        ("take(A, 0 - L, 1)", "an index lies outside 0 to 5"),
        ("take(A, A)", "indices must be whole numbers"),
        ("take(A, L, 7)", "out of range"),
        ("bincount(L, 4)", "a number to count lies outside 0 to 3"),
        ("bincount(L, 2**40)", "too many elements"),
        ("bincount(L, 6, A)", "length"),
        ("arange(2**40)", "too many elements"),
        ("arange(1.5)", "a count must be a whole number"),
        ("arange(A)", "failed"),
        ("roll(A, 0.5)", "a shift must be a whole number"),
        ("roll(A, 1, 5)", "out of bounds"),
        ("sort(A, 9)", "out of bounds"),
        ("reshape(A, 5, 5)", "cannot reshape"),
        ("take(A, arange(2**20), 1)", "lies outside"),
        ("take(reshape(arange(2**20), 1, 2**20), arange(2**20) * 0, 0)", "too many elements"),
    ],
)
def test_a_function_used_wrongly_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(FormulaError, match=why):
        formulas.array(text, {"A": NUMBERS, "L": LABELS})


@pytest.mark.parametrize(
    ("expression", "right"),
    [
        ("cumsum(A)", lambda a: np.cumsum(a)),
        ("sort(A)", lambda a: np.sort(a)),
        (
            "where((arange(N) > 0) * (arange(N) < N - 1), roll(A, 1) - 2*A + roll(A, -1), A)",
            lambda a: np.concatenate([a[:1], a[:-2] - 2 * a[1:-1] + a[2:], a[-1:]]),
        ),
        ("bincount(floor(abs(A)), N)", lambda a: np.bincount(np.abs(a).astype(int), minlength=100)),
    ],
)
def test_a_scan_a_sort_a_stencil_and_a_histogram_are_references(
    expression: str, right: Callable[[Any], Any]
) -> None:
    workload = made(("2 * A", expression))
    plan = plan_of(workload, precision="fp64")
    inputs = make_inputs(plan)
    outputs = {"B": np.asarray(right(inputs["A"]), np.float64)}
    assert verify(workload, plan, inputs, outputs).ok
    outputs["B"][50] += 1
    assert not verify(workload, plan, inputs, outputs).ok


@pytest.mark.parametrize(
    ("formula", "parts"),
    [("ceil_div(N, block_x)", ("N", "block_x")), ("ceil_div(in, TILE)", ("in", "TILE")),
     ("ceil_div(N, 128)", None), ("ceil_div(B * S, block_y)", None), ("ceil_div(N)", None),
     ("ceil_div(N, TILE) * B", None), ("min(N, TILE)", None), ("N", None)],
)  # fmt: skip
def test_a_size_over_a_tile_is_told_from_other_formulas(
    formula: str, parts: tuple[str, str] | None
) -> None:
    assert formulas.tiling(formula) == parts
