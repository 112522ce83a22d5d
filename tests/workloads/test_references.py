"""A right result passes and a wrong one does not, however little of it is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core import bfloat
from gpuexplorer.core.errors import InputError
from gpuexplorer.measure.problems import ProblemCache
from gpuexplorer.workloads import comparison, references
from gpuexplorer.workloads.comparison import ByElement, sample_rows
from gpuexplorer.workloads.expected import Expected
from gpuexplorer.workloads.fills import dtype_of, make_inputs, poison_byte
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.references import Reference, verify
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import made, plan_of

Arrays = dict[str, npt.NDArray[Any]]
SHIPPED = load()


def problem(workload: Workload, **request: Any) -> tuple[Plan, Arrays, Reference]:
    plan = plan_of(workload, **request)
    inputs = make_inputs(plan)
    return plan, inputs, Reference(workload, plan, inputs)


def product(plan: Plan, inputs: Arrays) -> Arrays:
    """The product with float32 sums, as a right kernel in half or float gives it."""
    with np.errstate(over="ignore"):
        wide = [inputs[name].astype(np.float32) for name in "AB"]
        return {"C": (wide[0] @ wide[1]).astype(dtype_of(plan.array("C"), plan.config.precision))}


def test_outputs_that_a_trusted_variant_leaves_alone_are_named() -> None:
    """Whatever other variants write: they are another problem, though the inputs are the same."""
    both = made(
        ('B = { shape = ["N"], role = "out" }',
         'B = { shape = ["N"], role = "out" }\nD = { shape = ["N"], role = "out" }'),
        ('outputs = { B = "2 * A" }', 'variant = "only"'),
        ("[variants.only]", f"{_one_launch('one', 'B')}{_one_launch('two', 'B', 'D')}"
         "[variants.only]"),
    )  # fmt: skip
    plan = plan_of(both, variant="two")
    inputs = make_inputs(plan)
    right = {"B": 2 * inputs["A"], "D": inputs["A"]}
    found = Reference(both, plan, inputs, {"B": right["B"]}).verify(right)
    assert found.ok and found.not_compared == ("D",)
    assert (found.whole, found.words) == (None, "verified except D")
    assert Reference(both, plan, inputs, right).verify(right).whole is True
    problems = ProblemCache()
    problems.get(both, plan_of(both, variant="one")).trust({"B": right["B"]})
    assert problems.get(both, plan).wanted_variant == "only"


def _one_launch(name: str, *outputs: str) -> str:
    arguments = ", ".join(f'"{name}"' for name in ("A", *outputs, "N"))
    return (
        f'[variants.{name}]\ntitle = "Another"\nteaches = "Nothing."\n'
        f'launch = [{{ source = "made.cu", entry = "made", block = [64], grid = [1], '
        f"args = [{arguments}] }}]\n"
    )


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf, 0.5, 65504])
def test_one_wrong_element_of_a_million_halves_is_found(wrong: float) -> None:
    workload = made()
    _, inputs, reference = problem(workload, size={"N": 1_000_000}, precision="fp16")
    right = {"B": (2 * inputs["A"].astype(np.float32)).astype(np.float16)}
    assert reference.verify(right).ok
    right["B"][777_777] += np.float16(wrong)
    found = reference.verify(right)
    assert not found.ok
    assert math.isinf(found.max_rel_error) == (not math.isfinite(wrong))
    assert reference.explain(right).startswith("B[777777] is ")


def test_an_element_left_poisoned_is_found() -> None:
    _, inputs, reference = problem(SHIPPED["matmul"], size={"N": 100})
    outputs = {"C": np.frombuffer(b"\xff" * 40_000, np.float32).reshape(100, 100).copy()}
    outputs["C"][:, :99] = (inputs["A"] @ inputs["B"])[:, :99]
    found = reference.verify(outputs)
    assert not found.ok and math.isinf(found.max_rel_error)
    assert reference.explain(outputs).startswith(
        "C[0, 99] holds what was there before the launch and should be "
    )


def test_the_error_is_measured_against_magnitude_and_root_mean_square() -> None:
    _, inputs, reference = problem(made(), size={"N": 1000})
    right = 2 * inputs["A"].astype(np.float64)
    outputs = {"B": right.astype(np.float32)}
    outputs["B"][10] += 0.25
    expected = 0.25 / (abs(right[10]) + math.sqrt(np.mean(right**2)))
    assert reference.verify(outputs).max_rel_error == pytest.approx(expected, rel=1e-5)


def test_inputs_count_as_stored() -> None:
    """A half holds less than a float; what rounding the input lost is not the kernel's error."""
    _, inputs, reference = problem(made(), size={"N": 1000}, precision="fp16")
    assert reference.verify({"B": inputs["A"] * np.float16(2)}).max_rel_error == 0.0


def test_scalars_count_as_stored() -> None:
    workload = made(
        ("[work]", '[scalars]\nfactor = { type = "float", value = 0.1 }\n[work]'),
        ('B = "2 * A"', 'B = "factor * A"'),
    )
    _, inputs, reference = problem(workload, precision="fp64")
    assert reference.verify({"B": float(np.float32(0.1)) * inputs["A"]}).max_rel_error == 0.0
    assert not reference.verify({"B": 0.1 * inputs["A"]}).ok


def test_beyond_the_largest_half_only_infinity_of_the_same_sign_is_right() -> None:
    _, inputs, reference = problem(made(("2 * A", "1000 * A")), fill="large", precision="fp16")
    with np.errstate(over="ignore"):
        right = inputs["A"] * np.float16(1000)
    assert np.isinf(right).all()
    assert reference.verify({"B": right}).ok
    assert not reference.verify({"B": -right}).ok
    saturated = np.clip(right, np.float16(-65504), np.float16(65504))
    assert not reference.verify({"B": saturated}).ok
    assert not reference.verify({"B": np.full_like(right, np.nan)}).ok


@pytest.mark.parametrize("n", [64, 65])
def test_a_product_summed_in_half_is_found_at_large_magnitudes(n: int) -> None:
    plan, inputs, reference = problem(
        SHIPPED["matmul"], size={"N": n}, precision="fp16", fill="large"
    )
    assert reference.verify(product(plan, inputs)).ok
    with np.errstate(all="ignore"):
        overflowed = np.zeros((n, n), np.float16)
        for k in range(n):
            overflowed += np.outer(inputs["A"][:, k], inputs["B"][k])
    assert not reference.verify({"C": overflowed}).ok


# ---- a check that cannot fail

OUTPUTS = 'outputs = { B = "2 * A" }'


@pytest.mark.parametrize(
    "scale", ["1 / (0 * A)", "-1 - abs(A)", "log(-1 - abs(A))", "where(A > 0, 1, -1e-30)"]
)
def test_a_scale_that_would_accept_anything_is_refused(scale: str) -> None:
    workload = made((OUTPUTS, f'{OUTPUTS}\nscale = "{scale}"'))
    _, _, reference = problem(workload)
    with pytest.raises(InputError, match=r"check of 'B' says nothing: its scale '.*' is "):
        reference.verify({"B": np.full(100, 999, np.float32)})


def test_a_scale_of_zero_asks_for_the_very_value() -> None:
    workload = made((OUTPUTS, f'{OUTPUTS}\nscale = "0 * A"'))
    _, _, reference = problem(workload, fill="zeros")
    zeros = np.zeros(100, np.float32)
    assert reference.verify({"B": zeros}).ok
    zeros[7] = 1e-30
    assert not reference.verify({"B": zeros}).ok


@pytest.mark.parametrize("written", [999.0, np.nan])
def test_a_reference_without_a_number_is_refused(written: float) -> None:
    _, _, reference = problem(made((OUTPUTS, 'outputs = { B = "log(-1 - abs(A))" }')))
    with pytest.raises(InputError, match="no element of its reference is a finite number"):
        reference.verify({"B": np.full(100, written, np.float32)})


def test_a_product_that_is_not_finite_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "FULL_FLOP", 0)
    plan, inputs, _ = problem(SHIPPED["matmul"], size={"N": 64})
    inputs["A"][3, 5] = np.inf
    reference = Reference(SHIPPED["matmul"], plan, inputs)
    with pytest.raises(InputError, match="check of 'C' says nothing"):
        reference.verify(product(plan, inputs))


@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp16"])
def test_where_a_nan_is_right_the_one_that_was_there_before_is_not(precision: str) -> None:
    workload = made((OUTPUTS, 'outputs = { B = "where(A > 0, A, log(-1 - abs(A)))" }'))
    plan, inputs, reference = problem(workload, precision=precision)
    dtype = dtype_of(plan.array("B"), precision)
    right = np.where(inputs["A"] > 0, inputs["A"], np.nan).astype(dtype)
    assert reference.verify({"B": right}).ok
    unwritten = right.copy()
    at = int(np.flatnonzero(np.isnan(right))[4])
    unwritten.view(np.uint8).reshape(100, -1)[at] = poison_byte("real")
    assert math.isinf(reference.verify({"B": unwritten}).max_rel_error)
    assert reference.explain({"B": unwritten}).startswith(
        f"B[{at}] holds what was there before the launch"
    )


def test_a_whole_number_that_was_never_written_is_found() -> None:
    shape = 'B = { shape = ["N"], role = "out" }'
    workload = made(
        (shape, 'B = { shape = ["N"], role = "out", type = "int" }'),
        (OUTPUTS, 'outputs = { B = "0 * A - 1" }'),
    )
    _, _, reference = problem(workload)
    right = np.full(100, -1, np.int32)
    assert reference.verify({"B": right}).ok
    right.view(np.uint8).reshape(100, 4)[42] = poison_byte("int")
    assert not reference.verify({"B": right}).ok
    assert reference.explain({"B": right}).startswith(
        "B[42] holds what was there before the launch"
    )


@pytest.mark.parametrize("type_", ["int", "int8", "uint8", "int64", "uint64"])
def test_a_whole_number_is_right_or_wrong(type_: str) -> None:
    source, result = 'A = { shape = ["N"], role = "in" }', 'B = { shape = ["N"], role = "out" }'
    workload = made(
        (source, source.replace(" }", f', type = "{type_}", fill = "integers" }}')),
        (result, result.replace(" }", f', type = "{type_}" }}')),
    )
    workload_plan = plan_of(workload)
    inputs = make_inputs(workload_plan)
    dtype = dtype_of(workload_plan.array("B"), "fp32")
    assert inputs["A"].dtype == dtype and len(np.unique(inputs["A"])) == 9
    largest = np.iinfo(dtype).max
    right = {"B": np.full(100, largest - 3, dtype)}
    expected = Expected(right["B"], dtype, 1e-4)
    assert expected.judge(right["B"]).worst == 0 and expected.finds(right["B"])
    wrong = right["B"].copy()
    wrong[7] += 1
    judged = expected.judge(wrong)
    assert judged.worst >= 1 and judged.where == 7
    assert expected.words(7) == str(largest - 3)
    if type_ == "uint64":  # which NumPy would hold against whole numbers with signs as float64
        signed = Expected(np.full(9, 2**62 + 1), dtype, 1e-4)
        assert signed.judge(np.full(9, 2**62 + 1, dtype)).worst == 0
        assert signed.judge(np.full(9, 2**62, dtype)).worst >= 1


@given(
    st.sampled_from(["fp64", "fp32", "fp16"]),
    st.sampled_from(["normal", "uniform", "integers", "zeros"]),
    st.sampled_from(["matmul", "vector_add", "transpose", "reduction"]),
    st.integers(1, 90),
)
def test_every_shipped_check_finds_an_element_moved_beyond_its_tolerance(
    precision: str, fill: Any, name: str, n: int
) -> None:
    workload = SHIPPED[name]
    _, _, reference = problem(workload, size={"N": n}, precision=precision, fill=fill)
    outputs = {
        key: c._expected._values.reshape(c._expected.shape)  # type: ignore[attr-defined]
        for key, c in reference._comparisons.items()
    }
    for key, compared in reference._comparisons.items():
        dtype = dtype_of(reference._plan.array(key), precision)
        assert compared.finds(outputs[key].astype(dtype))


def test_random_vectors_find_an_element_moved_beyond_the_tolerance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(references, "FULL_FLOP", 0)
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": 96})
    assert reference.verify(product(plan, inputs)).ok
    (vectors,) = reference._comparisons.values()
    assert vectors.method.startswith("freivalds")
    assert vectors.finds(product(plan, inputs)["C"])


def test_a_check_that_finds_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _, inputs, reference = problem(made())
    monkeypatch.setattr(ByElement, "finds", lambda self, output: False)
    with pytest.raises(InputError, match="ten times its tolerance is not found"):
        reference.verify({"B": 2 * inputs["A"]})


def test_zeros_must_be_zeros() -> None:
    _, _, reference = problem(SHIPPED["matmul"], size={"N": 50}, fill="zeros")
    zeros = np.zeros((50, 50), np.float32)
    assert reference.verify({"C": zeros}).max_rel_error == 0.0
    zeros[3, 4] = 1e-30
    assert not reference.verify({"C": zeros}).ok


def test_a_sum_is_judged_by_its_terms_not_by_what_cancellation_leaves() -> None:
    _, inputs, reference = problem(SHIPPED["reduction"], size={"N": 1 << 20})
    terms = inputs["X"].astype(np.float64)
    total = terms.sum()
    typical = math.sqrt((terms**2).sum())
    assert reference.verify({"total": np.array([total + 1e-6 * typical], np.float32)}).ok
    largest = np.abs(terms).max()
    assert not reference.verify({"total": np.array([total - largest], np.float32)}).ok


# ---- samples


@given(st.integers(1, 200_000), st.integers(1, 300_000), st.integers(0, 5))
def test_sampled_rows_are_distinct_and_hold_both_ends(rows: int, wanted: int, seed: int) -> None:
    chosen = sample_rows(rows, wanted, seed)
    assert chosen[0] == 0 and chosen[-1] == rows - 1
    assert (np.diff(chosen) > 0).all()
    assert len(chosen) >= min(rows, wanted) * 0.9
    assert len(chosen) <= wanted + 2 * max(1, wanted // 1024) + wanted // 1024


def test_large_vectors_are_sampled_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "FULL_ELEMENTS", 30_000)
    _, inputs, reference = problem(SHIPPED["vector_add"], size={"N": 1_000_000})
    outputs = {"C": inputs["A"] + inputs["B"]}
    found = reference.verify(outputs)
    assert found.ok and found.method.endswith(" of 1000000 rows, float64")
    outputs["C"][-100:] = np.nan
    assert not reference.verify(outputs).ok
    outputs = {"C": inputs["A"] + inputs["B"]}
    outputs["C"][:256] = 0
    assert not reference.verify(outputs).ok


def test_sampled_rows_of_a_transpose_are_columns_of_its_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(references, "FULL_ELEMENTS", 20_000)
    _, inputs, reference = problem(SHIPPED["transpose"], size={"N": 300})
    right = {"B": inputs["A"].T.copy()}
    found = reference.verify(right)
    assert found.ok and found.max_rel_error == 0.0
    assert found.method.endswith(" of 300 rows, float64")
    assert not reference.verify({"B": inputs["A"]}).ok
    right["B"][299, 7] += 1
    assert reference.explain(right).startswith("B[299, 7] is ")


def test_a_product_checked_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "FULL_FLOP", 1e3)
    monkeypatch.setattr(references, "SAMPLED_FLOP", 1e3)
    text = SHIPPED["matmul"].source.manifest
    changed = text.replace('check = "freivalds"', 'check = "rows"\nrow_arrays = ["A"]')
    workload = Workload(
        type(SHIPPED["matmul"].source)(manifest=changed, files=SHIPPED["matmul"].source.files)
    )
    plan, inputs, reference = problem(workload, size={"N": 500})
    right = product(plan, inputs)
    assert reference.verify(right).method.endswith(" of 500 rows, float64")
    assert reference.verify(right).ok
    for row in (0, 499):
        wrong = {"C": right["C"].copy()}
        wrong["C"][row, 250] = 0
        assert not reference.verify(wrong).ok


# ---- Freivalds


@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp16"])
def test_freivalds_sees_every_element_of_a_large_product(precision: str) -> None:
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": 512}, precision=precision)
    if precision == "fp64":
        right = {"C": inputs["A"] @ inputs["B"]}
    else:
        right = product(plan, inputs)
    found = reference.verify(right)
    assert found.ok and found.method.startswith("freivalds")
    for row, column in ((0, 0), (511, 511), (300, 17)):
        wrong = {"C": right["C"].copy()}
        wrong["C"][row, column] += 8  # a third of an element's usual size
        assert not reference.verify(wrong).ok
        assert reference.explain(wrong).startswith(f"C[{row}, {column}] is ")


def rounded(workload_plan: Plan, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an output as a right kernel stores it."""
    precision = workload_plan.config.precision
    with np.errstate(over="ignore"):
        stored = values.astype(dtype_of(workload_plan.array("C"), precision))
    return bfloat.rounded(stored) if precision == "bf16" else stored


@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp16", "bf16"])
@pytest.mark.parametrize("n", [513, 1100])
def test_freivalds_finds_one_element_that_is_off_by_ten_times_its_tolerance(
    n: int, precision: str
) -> None:
    """Whatever the sums allow that it is part of, and wherever it stands."""
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": n}, precision=precision)
    exact = inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)
    right = rounded(plan, exact)
    assert reference.verify({"C": right}).method.startswith("freivalds")
    tolerance = SHIPPED["matmul"].manifest.precisions[precision].tolerance
    size, generator = math.sqrt(np.mean(exact**2)), np.random.default_rng(n)
    for row, column in [(0, n - 1), (n - 1, 0), *generator.integers(0, n, (20, 2))]:
        wrong = right.copy()
        off = 10 * tolerance * (abs(exact[row, column]) + size)
        wrong[row, column] = rounded(plan, np.array(exact[row, column] + off))
        assert not reference.verify({"C": wrong}).ok, (row, column)


def test_a_check_that_loses_one_element_in_its_sums_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "GROUP", 1 << 20)
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": 1100}, precision="bf16")
    right = rounded(plan, product(plan, inputs)["C"])
    with pytest.raises(InputError, match="ten times its tolerance is not found"):
        reference.verify({"C": right})


@given(
    n=st.sampled_from([1, 2, 31, 32, 33, 100, 257]),
    precision=st.sampled_from(["fp32", "fp16", "bf16"]),
    fill=st.sampled_from(["normal", "uniform", "integers"]),
    seed=st.integers(0, 10_000),
    uneven=st.sampled_from(["", "A", "B", "AB"]),
)
def test_freivalds_accuses_no_rounding(
    n: int, precision: str, fill: Any, seed: int, uneven: str
) -> None:
    """Nor where columns are alike, so that signs cancel, or some rows or columns much larger."""
    plan = plan_of(SHIPPED["matmul"], size={"N": n}, precision=precision, fill=fill, seed=seed)
    inputs = make_inputs(plan)
    for name in uneven:
        factors = 2.0 ** np.random.default_rng(seed).integers(-3, 4, n)
        inputs[name] = rounded(plan, inputs[name] * (factors[:, None] if name == "A" else factors))
    exact = inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)
    right = rounded(plan, exact)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(references, "FULL_FLOP", 0)
        found = Reference(SHIPPED["matmul"], plan, inputs).verify({"C": right})
    assert found.ok and found.method.startswith("freivalds")


@pytest.mark.parametrize("seed", [3, 17, 32, 39])
def test_freivalds_accuses_no_half_product_of_numbers_from_0_to_1(seed: int) -> None:
    """All its columns are nearly alike: sums over random signs say little of their size."""
    plan, inputs, reference = problem(
        SHIPPED["matmul"], size={"N": 512}, precision="fp16", fill="uniform", seed=seed
    )
    assert reference.verify(product(plan, inputs)).ok


def test_freivalds_finds_a_wrong_row_a_swap_and_a_nan() -> None:
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": 512})
    right = product(plan, inputs)["C"]
    row = right.copy()
    row[100] = row[101]
    swapped = right.copy()
    swapped[:, [5, 6]] = swapped[:, [6, 5]]
    nan = right.copy()
    nan[511, 0] = np.nan
    for wrong in (row, swapped, nan, right.T.copy(), np.zeros_like(right)):
        assert not reference.verify({"C": wrong}).ok
    assert reference.explain({"C": nan}).startswith("C[511, 0] is nan")


@pytest.mark.parametrize("enormous", [1e40, 1e200, 1.7e308])
def test_freivalds_finds_a_number_whose_square_nothing_holds(enormous: float) -> None:
    _, inputs, reference = problem(SHIPPED["matmul"], size={"N": 512}, precision="fp64")
    wrong = {"C": inputs["A"] @ inputs["B"]}
    wrong["C"][300, 17] = enormous
    assert not reference.verify(wrong).ok
    assert reference.explain(wrong).startswith("C[300, 17] is ")


def test_freivalds_allows_infinities_where_a_half_must_overflow() -> None:
    plan, inputs, reference = problem(
        SHIPPED["matmul"], size={"N": 513}, precision="fp16", fill="large"
    )
    right = product(plan, inputs)
    assert np.isinf(right["C"]).any()
    assert reference.verify(right).ok
    right["C"][np.isinf(right["C"])] *= -1
    assert not reference.verify(right).ok


def test_freivalds_of_zeros() -> None:
    _, _, reference = problem(SHIPPED["matmul"], size={"N": 512}, fill="zeros")
    zeros = np.zeros((512, 512), np.float32)
    assert reference.verify({"C": zeros}).ok
    zeros[1, 1] = 1e-20
    assert not reference.verify({"C": zeros}).ok


# ---- the rest


def test_a_reference_of_the_wrong_shape_is_an_error_of_the_manifest() -> None:
    workload = made(('B = { shape = ["N"]', 'B = { shape = ["N + 1"]'))
    plan = plan_of(workload)
    with pytest.raises(InputError, match=r"gives the shape \(100,\), and the output has \(101,\)"):
        verify(workload, plan, make_inputs(plan), {"B": np.zeros(101, np.float32)})


def test_an_inout_arrays_reference_sees_its_first_contents() -> None:
    workload = made(
        ('B = { shape = ["N"], role = "out"', 'B = { shape = ["N"], role = "inout"'),
        ('B = "2 * A"', 'B = "A + B"'),
    )
    plan, inputs, reference = problem(workload)
    assert {a.name for a in plan.inputs} == {"A", "B"}
    assert reference.verify({"B": inputs["A"] + inputs["B"]}).ok
    assert not reference.verify({"B": inputs["A"] + 2 * inputs["B"]}).ok


def test_checking_again_computes_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": 64})
    right = product(plan, inputs)
    assert reference.nbytes == 0
    reference.verify(right)
    assert reference.nbytes >= 64 * 64 * 8
    monkeypatch.setattr("gpuexplorer.workloads.formulas.array", None)
    assert reference.verify(right).ok


# ---- the error as a whole


def test_random_vectors_tell_the_error_of_the_whole_product() -> None:
    """Against ‖C − A B‖ / ‖A B‖ computed from every element."""
    plan, inputs, reference = problem(SHIPPED["matmul"], size={"N": 512})
    assert plan.flops > references.FULL_FLOP
    right = inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)
    noise = np.random.default_rng(2).standard_normal(right.shape) * 1e-5
    found = reference.verify({"C": (right + noise).astype(np.float32)})
    assert found.method.startswith("freivalds")
    difference = (right + noise).astype(np.float32) - right
    exact = np.linalg.norm(difference) / np.linalg.norm(right)
    assert found.rms_rel_error == pytest.approx(exact, rel=0.15)


def test_what_has_no_size_has_no_error_as_a_whole() -> None:
    _, inputs, reference = problem(made(), fill="zeros")
    assert reference.verify({"B": 2 * inputs["A"]}).rms_rel_error is None
    _, inputs, reference = problem(SHIPPED["matmul"], size={"N": 9}, precision="fp16", fill="large")
    overflowed = np.full((9, 9), np.inf, np.float16)
    assert reference.verify({"C": overflowed}).rms_rel_error is None
    _, inputs, reference = problem(made())
    assert reference.verify({"B": 2 * inputs["A"]}).rms_rel_error == 0.0
