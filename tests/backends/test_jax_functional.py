"""Models as functions of arrays: layouts, steps that learn, samples one by one, groups on a GPU."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.backends.base import HostArray, TimingChoice
from gpuexplorer.backends.framework_model import MAX_KEPT, Kept
from gpuexplorer.backends.framework_runner import GroupedRunner
from gpuexplorer.backends.functional import Compiled, FunctionalModel, Written
from gpuexplorer.backends.layouts import FILTERS, HEADS, IMAGES, LINEAR, AfterImages, Layout
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import DeviceLost, WorkFailed
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.fills import make_inputs
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.models import MODELS as REFERENCES
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan

SHIPPED = load()
CPU = DeviceInfo(
    id="jax:cpu",
    hardware_id="cpu:Some CPU",
    name="Some CPU",
    backend="jax",
    kind="cpu",
    driver="JAX",
    compute_units=1,
    precisions=("fp64", "fp32"),
    libraries=tuple(f"jax.{name}" for name in REFERENCES),
    threads=1,
)


def plan_of(workload: str, **request: Any) -> Plan:
    wanted = RunRequest(workload=workload, variant="jax", device=CPU.id, **request)
    config = complete(wanted, SHIPPED[workload], DeviceList(devices=(CPU,)))
    return make_plan(SHIPPED[workload], config, CPU)


class OnNumPy(FunctionalModel):
    """A model whose framework is NumPy: the reference's own function, behind turned layouts."""

    def __init__(self, plan: Plan, family: str, layouts: dict[str, Layout] | None = None) -> None:
        held = layouts or {}
        self._kept = Kept()  # type: ignore[misc]

        def compute(arrays: dict[str, Any]) -> dict[str, Any]:
            as_stated = {
                name: held[name].back(array) if name in held else array
                for name, array in arrays.items()
            }
            results = REFERENCES[family].compute(as_stated, plan.config.size)
            return {n: held[n].to(v) if n in held else v for n, v in results.items()}

        super().__init__(plan, family, Written(compute, held))
        self.waits = 0

    def _compile(self) -> Compiled:
        return Compiled(self._written.compute)

    def _put(self, values: HostArray, type_name: str) -> HostArray:
        return values.astype(type_name)

    def _get(self, array: HostArray) -> HostArray:
        return array

    def wait(self, results: object) -> None:
        self.waits += 1

    def _product(self, left: HostArray, right: HostArray) -> npt.NDArray[Any]:
        return left @ right


# ---- layouts

SHAPES = st.tuples(*[st.integers(1, 4)] * 4)


@given(SHAPES, st.sampled_from([IMAGES, FILTERS, HEADS]))
def test_a_layout_turned_and_turned_back_is_the_same(
    shape: tuple[int, ...], layout: Layout
) -> None:
    values = np.arange(np.prod(shape)).reshape(shape)
    held = layout.to(values)
    assert held.shape == layout.shape(shape) and held.flags.c_contiguous
    assert np.array_equal(layout.back(held), values)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_a_layer_after_images_reads_what_it_read_before(
    outputs: int, channels: int, height: int, width: int
) -> None:
    generator = np.random.default_rng(0)
    images = generator.standard_normal((2, channels, height, width))
    weight = generator.standard_normal((outputs, channels * height * width))
    layout = AfterImages(channels)
    held = layout.to(weight)
    assert held.shape == layout.shape(weight.shape)
    assert np.array_equal(layout.back(held), weight)
    flat = IMAGES.to(images).reshape(2, -1)
    assert np.allclose(flat @ held, images.reshape(2, -1) @ weight.T)


# ---- steps


def test_results_come_back_in_the_manifests_layout_and_type() -> None:
    plan = plan_of("conv2d", size={"B": 2, "C": 3, "K": 4, "H": 5})
    inputs = make_inputs(plan)
    plain = OnNumPy(plan, "conv2d")
    turned = OnNumPy(plan, "conv2d", {"X": IMAGES, "Y": IMAGES, "W": FILTERS})
    for model in (plain, turned):
        model.write(inputs)
    expected = plain.read(plain.step(), ("Y",))["Y"]
    given_back = turned.read(turned.step(), ("Y",))["Y"]
    assert given_back.dtype == np.float32 and given_back.flags.c_contiguous
    assert np.array_equal(given_back, expected)


def test_weights_that_learn_are_those_of_the_step_before() -> None:
    plan = plan_of("mlp_training", size={"B": 4, "D": 16, "H": 16, "C": 4}, precision="fp64")
    inputs = make_inputs(plan)
    model = OnNumPy(plan, "mlp_training", {"W1": LINEAR, "vW1": LINEAR})
    model.write(inputs)
    outputs = tuple(a.name for a in plan.outputs)
    first = model.read(model.step(), outputs)
    second = model.read(model.step(), outputs)
    again = REFERENCES["mlp_training"].compute({**inputs, **first}, plan.config.size)
    assert np.allclose(second["W1"], again["W1"], rtol=1e-12)
    assert second["loss"] < first["loss"]
    model.write({name: inputs[name] for name in outputs if name in inputs})
    assert np.array_equal(model.read(model.step(), outputs)["W1"], first["W1"])


def test_what_is_reset_is_set_back() -> None:
    plan = plan_of("mlp_training", size={"B": 4, "D": 16, "H": 16, "C": 4})
    model = OnNumPy(plan, "mlp_training")
    model.write(make_inputs(plan))
    first = model.read(model.step(), ("loss",))["loss"]
    model._plan = _with_reset(plan)
    model.reset()
    assert model.read(model.step(), ("loss",))["loss"] == first


def _with_reset(plan: Plan) -> Plan:
    names = tuple(a.name for a in plan.arrays if a.role == "inout")
    return msgspec.structs.replace(plan, reset=names)


@pytest.mark.parametrize("workload", ["mlp", "conv2d", "attention", "transformer_block", "cnn"])
def test_samples_one_by_one_give_what_the_batch_gives(workload: str) -> None:
    small = {"B": 3, **{"attention": {"S": 8}, "transformer_block": {"S": 8}}.get(workload, {})}
    together = plan_of(workload, size=small, precision="fp64")
    alone = plan_of(workload, size=small, precision="fp64", switches={"one_by_one": True})
    results = []
    for plan in (together, alone):
        model = OnNumPy(plan, workload)
        model.write(make_inputs(plan))
        result = model.step()
        assert isinstance(result, list) == (plan is alone)
        results.append(model.read(result, tuple(a.name for a in plan.outputs)))
    for name, expected in results[0].items():
        assert results[1][name].shape == expected.shape
        assert np.allclose(results[1][name], expected, rtol=1e-9, atol=1e-12)


def test_only_a_long_step_is_estimated() -> None:
    model = OnNumPy(plan_of("matmul", size={"N": 64}), "matmul")
    assert model.estimate_s() is None
    model = OnNumPy(plan_of("matmul", size={"N": 16384}), "matmul")
    estimate_s = model.estimate_s()
    assert estimate_s is not None and 1 < estimate_s < 1e5


# ---- groups on a GPU


class OnPretendedGpu(GroupedRunner):
    """A runner whose model counts steps and waits."""

    title = "NumPy"

    def _make(self) -> Any:
        return OnNumPy(self.plan, "matmul")

    def _out_of_memory(self, error: Exception) -> bool:
        return "no room" in str(error)


def test_short_steps_are_timed_in_groups_with_one_wait() -> None:
    plan = plan_of("matmul", size={"N": 8})
    runner = OnPretendedGpu(plan, CPU)
    runner.build()
    runner.allocate()
    runner.upload(make_inputs(plan))
    model = runner.model
    assert isinstance(model, OnNumPy)
    first_s = float(runner.launch(1).seconds[0])
    assert "each step" in runner.method
    runner.settle(first_s)
    assert runner._group > 1
    model.waits = 0
    batch = runner.launch(runner._group * 3 - 1)
    assert (len(batch.seconds), batch.launches) == (3, runner._group)
    assert model.waits == 3
    assert f"{runner._group} steps at a time" in runner.method
    assert runner.resolution_s == pytest.approx(1e-7 / runner._group)
    assert runner.download(("C",))["C"].shape == (8, 8)
    assert runner.settle(1.0, TimingChoice(group=7, short=True)) is not None
    assert runner._group == 7
    assert runner.settle(1.0) is None
    assert runner.launch(2).launches == 1
    assert "turned" not in runner.method
    runner.free()


def test_whatever_a_framework_raises_is_a_sentence() -> None:
    plan = plan_of("matmul", size={"N": 8})
    runner = OnPretendedGpu(plan, CPU)
    runner.build()
    runner.upload(make_inputs(plan))

    def fail(results: object) -> None:
        raise ValueError("shapes differ\nmore")

    runner.model.wait = fail  # type: ignore[attr-defined]
    with pytest.raises(WorkFailed) as caught:
        runner.launch(1)
    assert caught.value.what == "NumPy failed on jax:cpu while running: shapes differ"
    assert "more" in caught.value.detail
    gpu = msgspec.structs.replace(CPU, id="jax:cuda:0", kind="gpu")
    runner.device = gpu
    with pytest.raises(DeviceLost, match="the engine starts afresh"):
        runner.launch(1)


def test_what_was_compiled_is_kept_for_runs_in_turns() -> None:
    kept: Kept[object] = Kept()
    plan = plan_of("matmul", size={"N": 8})
    first = kept.get(plan, object)
    assert kept.get(plan_of("matmul", size={"N": 8}, seed=7), object) is first
    assert kept.get(plan_of("matmul", size={"N": 9}), object) is not first
    assert kept.get(plan_of("matmul", size={"N": 10}), object, keep=False) is not kept.get(
        plan_of("matmul", size={"N": 10}), object, keep=False
    )
    for size in range(20, 20 + MAX_KEPT):
        kept.get(plan_of("matmul", size={"N": size}), object)
    assert kept.get(plan, object) is not first
