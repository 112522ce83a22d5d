"""Inputs are the same wherever they are made, and exactly of the plan's type and shape."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from gpuexplorer.core import bfloat
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import KERNEL_PRECISIONS
from gpuexplorer.workloads.fills import dtype_of, element_dtype, loaded, make_inputs, stored
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import made, plan_of

SHIPPED = load()


@pytest.mark.parametrize("precision", KERNEL_PRECISIONS)
@pytest.mark.parametrize("fill", ["normal", "uniform", "integers", "zeros", "large"])
def test_type_shape_and_range(fill: str, precision: str) -> None:
    plan = plan_of(SHIPPED["matmul"], size={"N": 65}, precision=precision, fill=fill)
    inputs = make_inputs(plan)
    assert set(inputs) == {"A", "B"}
    for name, values in inputs.items():
        assert values.dtype == dtype_of(plan.array(name), precision)
        assert values.shape == (65, 65) and values.flags.c_contiguous
        assert np.isfinite(values).all()
    a = inputs["A"].astype(np.float64)
    if fill == "normal":
        assert abs(a.mean()) < 0.1 and abs(a.std() - 1) < 0.1
    elif fill == "uniform":
        assert a.min() >= 0 and a.max() <= 1 and abs(a.mean() - 0.5) < 0.05
    elif fill == "integers":
        assert set(np.unique(a)) == set(range(-4, 5))
    elif fill == "zeros":
        assert not a.any()
    else:
        assert set(np.unique(a)) == {-256.0, 256.0}


def test_the_same_seed_gives_the_same_bytes_on_every_machine() -> None:
    plan = plan_of(SHIPPED["vector_add"], size={"N": 1000}, fill="integers", seed=7)
    found = hashlib.sha256(make_inputs(plan)["A"].astype("<f4").tobytes()).hexdigest()
    assert found == "310bb940a7b42fe64caf7c239eb4f511f53c838f2e428c7181bacf0c4550c497"


def test_arrays_and_seeds_differ_and_runs_do_not() -> None:
    first = make_inputs(plan_of(SHIPPED["matmul"], size={"N": 32}, seed=1))
    again = make_inputs(plan_of(SHIPPED["matmul"], size={"N": 32}, seed=1, block=(8, 8)))
    other = make_inputs(plan_of(SHIPPED["matmul"], size={"N": 32}, seed=2))
    assert np.array_equal(first["A"], again["A"])
    assert not np.array_equal(first["A"], first["B"])
    assert not np.array_equal(first["A"], other["A"])


def test_a_half_is_the_rounded_float() -> None:
    single = make_inputs(plan_of(SHIPPED["vector_add"], size={"N": 3000}, precision="fp32"))
    half = make_inputs(plan_of(SHIPPED["vector_add"], size={"N": 3000}, precision="fp16"))
    assert np.array_equal(single["A"].astype(np.float16), half["A"])


def test_a_bf16_is_the_rounded_float_and_has_two_bytes() -> None:
    single = make_inputs(plan_of(SHIPPED["vector_add"], size={"N": 3000}, precision="fp32"))
    plan = plan_of(SHIPPED["vector_add"], size={"N": 3000}, precision="bf16")
    values, array = make_inputs(plan)["A"], plan.array("A")
    assert np.array_equal(bfloat.rounded(single["A"]), values) and array.nbytes == 6000
    bits = stored(array, "bf16", values)
    assert bits.nbytes == array.nbytes
    assert np.array_equal(loaded(array, "bf16", bits), values)


def test_a_long_array_has_no_seam() -> None:
    values = make_inputs(plan_of(made(), size={"N": (1 << 20) + 5000}))["A"]
    assert len(np.unique(values)) > 0.9 * len(values)


def test_whole_number_arrays_hold_whole_numbers() -> None:
    workload = made(('A = { shape = ["N"]', 'A = { type = "int", shape = ["N"]'))
    for fill in ("normal", "uniform", "integers", "large"):
        values = make_inputs(plan_of(workload, fill=fill))["A"]
        assert values.dtype == np.int32 and values.any()


def test_types_of_elements() -> None:
    assert element_dtype("real", "fp16") == np.float16
    assert element_dtype("accum", "fp16") == np.float32
    assert element_dtype("accum", "fp64") == np.float64
    assert element_dtype("int", "fp64") == np.int32
    assert element_dtype("float", "fp64") == np.float32


def test_an_array_s_scale_multiplies_every_fill() -> None:
    scaled = made(('A = { shape = ["N"]', 'A = { scale = "1 / N**0.5", shape = ["N"]'))
    for fill in ("normal", "uniform", "integers", "large"):
        plain = make_inputs(plan_of(made(), fill=fill))["A"]
        values = make_inputs(plan_of(scaled, fill=fill))["A"]
        np.testing.assert_allclose(values, plain / 10, rtol=1e-6)


def with_values(expression: str, more: str = 'type = "int"') -> Workload:
    """Return a workload whose A holds what an expression gives."""
    return made(('A = { shape = ["N"]', f'A = {{ {more}, values = "{expression}", shape = ["N"]'))


def test_an_expression_gives_an_array_s_elements_whatever_the_fill_and_the_seed() -> None:
    workload = with_values("3 * arange(N) // 2")
    for fill in (None, "normal", "zeros", "large"):
        inputs = make_inputs(plan_of(workload, size={"N": 5}, fill=fill), seed=3)
        assert inputs["A"].dtype == np.int32 and inputs["A"].tolist() == [0, 1, 3, 4, 6]
    real = make_inputs(plan_of(with_values("arange(N) / itemsize", 'type = "real"')))
    assert real["A"].dtype == np.float32 and real["A"][1] == 0.25


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("arange(N + 1)", r"gives the shape \(6,\), and 'shape' says \(5,\)"),
        ("arange(N) / 2", "gives 0.5, which no int holds"),
        ("arange(N) * 4000000000", "gives 4e.09, which no int holds"),
        ("log(arange(N) - 1)", "which no int holds"),
    ],
)
def test_an_expression_that_does_not_fit_the_array_is_refused(expression: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        make_inputs(plan_of(with_values(expression), size={"N": 5}))


@pytest.mark.parametrize(
    ("expression", "more", "said"),
    [
        ("arange(M)", 'type = "int"', "'arrays.A.values': .*uses 'M'"),
        (
            "arange(N)",
            'type = "int", fill = "integers", below = "N"',
            "without 'scale' and 'below'",
        ),
        ("arange(N)", "scale = 2", "without 'scale' and 'below'"),
    ],
)
def test_an_expression_that_cannot_be_is_refused_when_the_manifest_is_read(
    expression: str, more: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        with_values(expression, more)


def test_labels_lie_below_their_number_whatever_the_fill() -> None:
    labels = 'A = { type = "int", fill = "integers", below = "N // 10", shape = ["N"]'
    workload = made(('A = { shape = ["N"]', labels))
    plans = [plan_of(workload, size={"N": 200}, fill=f) for f in (None, "normal", "large")]
    first, *others = (make_inputs(plan)["A"] for plan in plans)
    assert first.dtype == np.int32 and set(np.unique(first)) == set(range(20))
    assert all(np.array_equal(first, other) for other in others)
    assert not make_inputs(plan_of(workload, size={"N": 200}, fill="zeros"))["A"].any()
