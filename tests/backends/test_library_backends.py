"""NumPy and PyTorch: what they offer, that their results are right, and the runner's contract."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from gpuexplorer.backends import host, registry
from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.workloads.check import check_plan
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import dtype_of, make_inputs
from gpuexplorer.workloads.library import CALLS
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.references import Reference
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import made, plan_of

SHIPPED = load()


def backend_and_device(name: str) -> tuple[Backend, DeviceInfo]:
    """Return a backend and its CPU; the test is skipped where the library is not installed."""
    backend = registry.create(name, 1)
    found = backend.discover()
    if isinstance(found, Unavailable):
        pytest.skip(found.reason)
    return backend, found[0]


def started(plan: Plan, name: str) -> Runner:
    """Return a runner with its arrays filled."""
    backend, device = backend_and_device(name)
    runner = backend.runner(plan, device)
    runner.build()
    runner.allocate()
    runner.upload(make_inputs(plan))
    runner.poison()
    return runner


def outputs_of(runner: Runner) -> dict[str, Any]:
    return runner.download(tuple(a.name for a in runner.plan.outputs))


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_the_device_says_what_it_is(name: str) -> None:
    backend, device = backend_and_device(name)
    assert device.id == f"{name}:cpu" and device.backend == name
    assert device.kind == "cpu" and not device.runs_kernels
    assert device.hardware_id == backend_and_device("numpy")[1].hardware_id
    assert device.threads == device.compute_units == 1
    assert device.limits.memory_B is not None and device.limits.memory_B > 2**20
    calls = {n for n, c in CALLS.items() if c.backend == name}
    assert calls == {n for n in device.libraries if n in CALLS}
    assert backend.versions()[name] in device.driver


@pytest.mark.parametrize(
    ("workload", "name"),
    [
        pytest.param(workload, name, id=f"{workload.name}-{name}")
        for workload in SHIPPED.values()
        for name in ("numpy", "torch")
        if any(
            (v.library or "").startswith(f"{name}.") for v in workload.manifest.variants.values()
        )
    ],
)
def test_every_shipped_call_is_right_in_every_precision_and_size(
    workload: Workload, name: str
) -> None:
    backend, device = backend_and_device(name)
    devices = DeviceList(devices=(device,))
    found, _ = check_plan(workload, devices, device)
    cases = [c for c in found if workload.variant(c.request.variant or "").library is not None]
    assert cases
    for case in cases:
        plan = make_plan(workload, complete(case.request, workload, devices), device)
        runner = backend.runner(plan, device)
        inputs = make_inputs(plan)
        runner.build()
        runner.allocate()
        runner.upload(inputs)
        runner.poison()
        runner.launch(2)
        reference = Reference(workload, plan, inputs)
        outputs = outputs_of(runner)
        assert reference.verify(outputs).ok, f"{case.request}: {reference.explain(outputs)}"
        for array in plan.outputs:
            assert outputs[array.name].shape == array.shape
            assert outputs[array.name].dtype == dtype_of(array, plan.config.precision)
        runner.free()


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_batch_has_one_positive_duration_a_launch(name: str) -> None:
    plan = library_plan(name, "matmul", size={"N": 64})
    runner = started(plan, name)
    before = runner.now_ns()
    batch = runner.launch(17)
    after = runner.now_ns()
    assert before <= batch.start_ns <= after
    assert batch.seconds.shape == (17,) and (batch.seconds > 0).all()
    assert batch.seconds.sum() <= (after - before) * 1e-9


def library_plan(name: str, workload: str, **request: Any) -> Plan:
    _, device = backend_and_device(name)
    variant = {"stream": "triad_torch" if name == "torch" else "copy_numpy"}.get(workload, name)
    return plan_of(SHIPPED[workload], device, variant=variant, **request)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "fp16"])
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_poison_shows_as_nan(name: str, precision: str) -> None:
    runner = started(library_plan(name, "transpose", size={"N": 9}, precision=precision), name)
    assert np.isnan(outputs_of(runner)["B"]).all()


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_download_is_a_copy(name: str) -> None:
    runner = started(library_plan(name, "vector_add", size={"N": 10}), name)
    runner.launch(1)
    first = outputs_of(runner)["C"]
    kept = first.copy()
    runner.poison()
    assert np.array_equal(first, kept)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_arrays_are_taken_over_by_a_runner_with_the_same_arrays_only(name: str) -> None:
    plan = library_plan(name, "vector_add", size={"N": 100})
    first = started(plan, name)
    first.launch(1)
    expected = outputs_of(first)["C"]
    backend, device = backend_and_device(name)
    other_size = backend.runner(library_plan(name, "vector_add", size={"N": 101}), device)
    other_size.build()
    assert not other_size.adopt(first)
    second = backend.runner(plan, device)
    second.build()
    assert second.adopt(first)
    assert np.array_equal(outputs_of(second)["C"], expected)
    second.poison()
    second.launch(1)
    assert np.array_equal(outputs_of(second)["C"], expected)
    assert not backend.runner(plan, device).adopt(first)  # it owns nothing any more
    first.free()
    second.free()
    second.free()


@pytest.mark.parametrize("role", ["out", "inout"])
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_what_is_reset_is_set_back_before_each_launch(name: str, role: str) -> None:
    workload = made(
        (
            "[variants.only]",
            f'[variants.lib]\ntitle = "L"\nteaches = "L"\nlibrary = "{name}.add"\n'
            'args = ["A", "B", "B"]\nreset = ["B"]\n\n[variants.only]',
        ),
        ('B = { shape = ["N"], role = "out" }', f'B = {{ shape = ["N"], role = "{role}" }}'),
    )
    _, device = backend_and_device(name)
    plan = plan_of(workload, device, variant="lib", size={"N": 5})
    runner = started(plan, name)
    runner.launch(3)
    inputs = make_inputs(plan)
    assert np.array_equal(outputs_of(runner)["B"], inputs["A"] + inputs.get("B", 0))


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_long_product_is_estimated_from_a_few_rows(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Processor time: a neighbour takes the cores from a product of many rows, hardly from a few.
    monkeypatch.setattr(host, "perf_counter_ns", time.process_time_ns)
    assert started(library_plan(name, "matmul", size={"N": 64}), name).predict_s() is None
    assert started(library_plan(name, "vector_add", size={"N": 64}), name).predict_s() is None
    runner = started(library_plan(name, "matmul", size={"N": 900}), name)
    predicted_s = runner.predict_s()
    took_s = float(runner.launch(3).seconds.min())
    assert predicted_s is not None
    assert took_s / 10 < predicted_s < took_s * 30


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_memory_that_is_not_there_is_an_error_of_the_work(name: str) -> None:
    _, device = backend_and_device(name)
    workload = made(
        (
            "[variants.only]",
            f'[variants.lib]\ntitle = "L"\nteaches = "L"\nlibrary = "{name}.copy"\n'
            'args = ["A", "B"]\n\n[variants.only]',
        ),
        ("max = 67108864", "max = 72057594037927936"),
    )
    without_limits = DeviceInfo(
        **{f: getattr(device, f) for f in device.__struct_fields__ if f != "limits"}
    )
    plan = plan_of(workload, without_limits, variant="lib", size={"N": 2**56})
    runner = registry.create(name, 1).runner(plan, device)
    runner.build()
    with pytest.raises(WorkFailed, match="choose a smaller size"):
        runner.allocate()
    runner.free()


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_another_backends_call_is_refused(name: str) -> None:
    other = "torch" if name == "numpy" else "numpy"
    backend, device = backend_and_device(name)
    runner = backend.runner(library_plan(other, "transpose"), device)
    with pytest.raises(CannotRunHere, match=f"not a library call of {name}"):
        runner.build()


def test_finding_devices_imports_no_framework() -> None:
    program = (
        "import sys\n"
        "from gpuexplorer.backends import registry\n"
        "registry.create('torch', 1).discover()\n"
        "registry.create('torch', 1).versions()\n"
        "print(sorted({'torch', 'cupy', 'pyopencl'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
