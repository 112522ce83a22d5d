"""Every workload in every framework runs, and computes what float64 says, in every precision."""

from __future__ import annotations

from typing import Any

import pytest

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.render import render
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.search.compare import Comparing
from gpuexplorer.search.contestants import contestants_of, read_words
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load

SHIPPED = load()
FRAMEWORKS = ("torch", "tensorflow", "keras", "jax")
SMALL: dict[str, dict[str, int]] = {
    "matmul": {"N": 48},
    "mlp": {"B": 5, "D": 24, "H": 40, "C": 7},
    "mlp_training": {"B": 6, "D": 24, "H": 40, "C": 7},
    "conv2d": {"B": 2, "C": 3, "K": 8, "H": 9, "R": 5},
    "attention": {"B": 2, "H": 3, "S": 20, "D": 24},
    "softmax": {"B": 7, "D": 33},
    "layer_norm": {"B": 2, "S": 5, "D": 48},
    "transformer_block": {"B": 2, "S": 12, "D": 48, "H": 2},
    "cnn": {"B": 3, "C": 2, "K": 6, "H": 11, "N": 5},
}
"""Sizes that fit no tile, and widths whose square root no type holds exactly."""
PRECISIONS = ("fp64", "fp32", "bf16", "fp16")
ONLY_FP32 = {"torch": tuple(SMALL), "jax": tuple(w for w in SMALL if w != "attention")}
"""PyTorch has tests of its own, and XLA compiles anew for each; the bench runs everything."""
USUAL: dict[str, dict[str, bool]] = {"jax": {"jit": True}}
"""How a framework is used: JAX compiles every operator alone otherwise, which takes long."""


def measured(session: EngineSession, workload: str, variant: str, **request: Any) -> RunResult:
    """Return a short run; it raises WrongResult where the result is not what float64 says."""
    wanted = RunRequest(
        workload=workload, variant=variant, size=SMALL[workload], device=f"{variant}:cpu", **request
    )
    chosen = SHIPPED[workload]
    config = complete(wanted, chosen, session.devices())
    record = session.measure(config, chosen, RunOptions(seconds=1.0, samples=3, warm_up_s=0.0))
    return record.result()


def test_every_framework_is_there_with_its_version(session: EngineSession) -> None:
    devices = {d.id: d for d in session.devices().devices}
    assert {f"{name}:cpu" for name in FRAMEWORKS} <= set(devices)
    assert "on TensorFlow" in devices["keras:cpu"].driver
    run = measured(session, "softmax", "keras")
    assert run.environment.keras is not None and "on tensorflow" in run.environment.keras
    assert run.environment.tensorflow is not None
    assert "Keras on TensorFlow" in run.timing.method
    assert "turned" not in run.timing.method
    images = measured(session, "conv2d", "tensorflow").timing.method
    assert "X, W, Y turned to TensorFlow's layout when copied, untimed" in images


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("workload", SMALL)
def test_each_computes_what_float64_says(
    session: EngineSession, workload: str, framework: str
) -> None:
    errors = {}
    alone = workload in ONLY_FP32.get(framework, ())
    for precision in ("fp32",) if alone else PRECISIONS:
        if precision in SHIPPED[workload].precisions_of(framework):
            switches = USUAL.get(framework, {})
            run = measured(session, workload, framework, precision=precision, switches=switches)
            assert run.verification is not None and run.verification.ok
            assert run.config.device == f"{framework}:cpu"
            assert all(seconds > 0 for seconds in run.samples_s)
            errors[precision] = run.verification.rms_rel_error
    # What is rounded to fewer bits is further off: each precision is really another one.
    assert all(error is not None for error in errors.values())
    ordered = [errors[name] or 0.0 for name in ("fp64", "fp32", "fp16", "bf16") if name in errors]
    assert ordered == sorted(ordered) and len(set(ordered)) == len(ordered)


@pytest.mark.parametrize(("framework", "switch"), [("tensorflow", "xla"), ("keras", "tf_function")])
def test_a_compiled_model_computes_the_same(
    session: EngineSession, framework: str, switch: str
) -> None:
    for workload in ("attention", "mlp_training"):
        run = measured(session, workload, framework, switches={switch: True})
        assert run.verified
        assert run.config.switches == {switch: True}


def test_jax_computes_the_same_without_jit_and_its_compiler_tells_what_it_adds_in(
    session: EngineSession,
) -> None:
    for workload in ("matmul", "layer_norm"):
        assert measured(session, workload, "jax").verified
    run = measured(session, "matmul", "jax", precision="bf16", switches={"jit": True})
    assert run.arithmetic is not None
    assert (run.arithmetic.ran, run.arithmetic.accumulates_in) == ("bf16", "fp32")


@pytest.mark.parametrize("framework", ["tensorflow", "keras", "jax"])
def test_samples_one_by_one_compute_the_same(session: EngineSession, framework: str) -> None:
    for workload in ("mlp", "attention"):
        switches = {"one_by_one": True, **USUAL.get(framework, {})}
        run = measured(session, workload, framework, switches=switches)
        assert run.verification is not None and run.verification.ok


@pytest.mark.parametrize("below", ["jax", "torch"])
def test_keras_computes_the_same_on_another_framework(
    python: str, below: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", below)
    title = {"jax": "JAX", "torch": "PyTorch"}[below]
    switches = {"xla": True} if below == "jax" else {}
    with EngineSession(python=python, threads=1) as session:
        for workload in ("attention", "mlp_training"):
            run = measured(session, workload, "keras", switches=switches)
            assert run.verification is not None and run.verification.ok
            assert f"Keras on {title}" in run.timing.method
            assert run.environment.keras is not None
            assert run.environment.keras.endswith(f" on {below}")
        with pytest.raises(CannotRunHere, match="does not offer fp64"):
            measured(session, "matmul", "keras", precision="fp64")
        with pytest.raises(InputError, match=f"Keras runs on {title} here"):
            measured(session, "mlp", "keras", switches={"tf_function": True})


def test_what_only_a_gpu_has_is_refused(session: EngineSession) -> None:
    for request in ({"precision": "tf32"}, {"switches": {"memory_growth": False}}):
        with pytest.raises(CannotRunHere) as caught:
            measured(session, "matmul", "tensorflow", **request)
        assert isinstance(caught.value, ExplorerError) and caught.value.remedy


def test_all_of_them_appear_in_one_comparison(session: EngineSession, tmp_path: Any) -> None:
    shared = RunRequest(workload="softmax", size=SMALL["softmax"], device="cpu")
    contestants = contestants_of(read_words(FRAMEWORKS, shared, []), session.devices())
    comparing = Comparing(contestants, rounds=2, turn_s=0.01)
    comparing.measure(session)
    result = comparing.result()
    assert [one.run.config.variant for one in result.contestants] == list(FRAMEWORKS)
    assert all(one.run.verified for one in result.contestants)
    chart = comparison_chart(result)
    (row,) = chart.rows
    assert row[0].y.categories == FRAMEWORKS
    target = tmp_path / "frameworks.svg"
    render(chart, target)
    drawn = target.read_text(encoding="utf-8")
    assert all(name in drawn for name in FRAMEWORKS)
