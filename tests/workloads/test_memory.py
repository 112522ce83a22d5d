"""Memory by formula: what is held adds up, and what cannot fit is refused with what would."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceLimits
from gpuexplorer.core.errors import InputError, MemoryTaken
from gpuexplorer.core.memory import PARTS
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.memory.fits import MEMORY_SHARE, largest_fit, need
from gpuexplorer.workloads.memory.ledger import Ledger
from gpuexplorer.workloads.memory.models import WALKS
from gpuexplorer.workloads.memory.predict import held_parts, predict
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import check_memory, make_plan

WORKLOADS = load()
MODEL_WORKLOADS = [name for name in MODELS if name in WORKLOADS]


def device(memory_B: int | None = None, kind: str = "cpu") -> DeviceInfo:
    return DeviceInfo(
        id="torch:cpu" if kind == "cpu" else "torch:cuda:0", hardware_id="x", name="X",
        backend="torch", kind=kind, driver="1", compute_units=1,
        limits=DeviceLimits(memory_B=memory_B), precisions=tuple(PRECISIONS),
        libraries=tuple(f"torch.{name}" for name in MODELS), threads=1 if kind == "cpu" else None,
    )  # fmt: skip


def plan(
    name: str, size: dict[str, int] | None = None, precision: str = "fp32", **switches: bool | str
) -> Plan:
    workload = WORKLOADS[name]
    sizes = {s: spec.default for s, spec in workload.manifest.sizes.items()} | (size or {})
    config = RunConfig(
        workload=name, variant="torch", size=sizes, precision=precision, device="torch:cpu",
        threads=1, switches=dict(switches),
    )  # fmt: skip
    return make_plan(workload, config, device())


def total(made: Plan) -> float:
    parts = predict(made)
    assert parts is not None
    return parts.total_B


# ---- the ledger

steps = st.lists(
    st.tuples(st.sampled_from(list(PARTS)), st.integers(0, 1000), st.booleans()), max_size=30
)


@given(steps)
def test_the_peak_is_the_largest_moment(taken: list[tuple[str, int, bool]]) -> None:
    ledger, held, largest = Ledger(), 0, 0
    for number, (part, nbytes, given_back) in enumerate(taken):
        ledger.take(str(number), nbytes, part)
        held += nbytes
        largest = max(largest, held)
        if given_back:
            ledger.give(str(number))
            held -= nbytes
    assert ledger.now_B == held
    assert ledger.peak.total_B == largest


def test_a_name_is_held_once() -> None:
    ledger = Ledger()
    ledger.take("a", 1.0)
    with pytest.raises(ValueError, match="'a'"):
        ledger.take("a", 1.0)


# ---- predictions


def test_a_kernel_takes_its_arrays() -> None:
    workload = WORKLOADS["vector_add"]
    config = RunConfig(
        workload="vector_add", variant="direct", size={"N": 1000}, precision="fp32",
        device="x:0", block=(128, 1, 1), threads=1,
    )  # fmt: skip
    kernels = DeviceInfo(
        id="x:0", hardware_id="x", name="X", backend="opencl", kind="cpu", driver="1",
        compute_units=1, runs_kernels=True,
    )  # fmt: skip
    parts = predict(make_plan(workload, config, kernels))
    assert parts is not None
    assert (parts.inputs_B, parts.outputs_B, parts.total_B) == (8000.0, 4000.0, 12000.0)


def test_a_training_step_with_a_large_batch_is_its_activations() -> None:
    batch, width, hidden, classes = 4096, 16, 64, 2
    parts = predict(plan("mlp_training", {"B": batch, "D": width, "H": hidden, "C": classes}))
    assert parts is not None
    weights = width * hidden + hidden + hidden**2 + hidden + hidden * classes + classes
    assert parts.weights_B == 4 * weights
    assert parts.optimizer_B == 4 * weights
    assert parts.inputs_B == batch * (4 * width + 8)
    # At the peak backward is at the last layer: both hidden layers still have what GELU reads and
    # what it gives, and there is the gradient for the last of these.
    layer = 4 * batch * hidden
    assert parts.activations_B == 4 * layer
    assert parts.gradients_B == pytest.approx(layer, rel=0.1)


def test_a_training_step_with_large_weights_is_those_three_times_over() -> None:
    parts = predict(plan("mlp_training", {"B": 1, "D": 1024, "H": 2048, "C": 1024}))
    assert parts is not None
    assert parts.gradients_B == pytest.approx(parts.weights_B, rel=0.01)
    assert parts.total_B == pytest.approx(3 * parts.weights_B, rel=0.01)


def test_checkpointing_takes_less_for_large_batches() -> None:
    size = {"B": 8192, "D": 64, "H": 256, "C": 10}
    assert total(plan("mlp_training", size, checkpointing=True)) < 0.9 * total(
        plan("mlp_training", size)
    )


@pytest.mark.parametrize("name", MODEL_WORKLOADS)
def test_every_model_has_a_formula(name: str) -> None:
    assert name in WALKS
    made = plan(name)
    parts, held = predict(made), held_parts(made)
    assert parts is not None
    assert parts.total_B > held.total_B
    assert parts.total_B == pytest.approx(sum(nbytes for _, nbytes in parts.named()))


@pytest.mark.parametrize("name", MODEL_WORKLOADS)
def test_half_precision_halves_it(name: str) -> None:
    half, full = total(plan(name, precision="bf16")), total(plan(name))
    assert 0.45 * full < half < 0.75 * full  # labels, statistics and places keep their size


def test_recording_gradients_keeps_what_inference_lets_go() -> None:
    recorded = plan("transformer_block", grad_mode="grad")
    assert total(recorded) > 1.2 * total(plan("transformer_block"))


def test_the_math_back_end_writes_the_scores() -> None:
    size = {"B": 1, "H": 2, "S": 1024, "D": 64}
    more = total(plan("attention", size, sdpa="math")) - total(plan("attention", size))
    assert more > 2 * 2 * 4 * 1024 * 1024


# ---- what fits


@given(st.integers(1, 50), st.integers(0, 200), st.integers(0, 300))
def test_the_largest_that_fits(least: int, span: int, limit: int) -> None:
    most = least + span
    found = largest_fit(least, most, lambda n: n <= limit)
    expected = [n for n in range(least, most) if n <= limit]
    assert found == (expected[-1] if expected else None)


def test_what_cannot_fit_is_refused_with_its_parts_and_the_batch_that_would() -> None:
    room = 2_000_000_000
    wanted = plan("mlp_training", {"B": 65536, "D": 1024, "H": 1024, "C": 1000})
    with pytest.raises(InputError) as refused:
        check_memory(WORKLOADS["mlp_training"], wanted, device(room))
    said = refused.value
    assert "2.00 GB" in said.what
    for part in ("weights", "gradients", "optimiser", "activations", "inputs"):
        assert part in said.what
    found = re.search(r"B = (\d+) is the largest", said.remedy)
    assert found is not None
    best = int(found[1])
    limit = room * MEMORY_SHARE
    for batch, fits in ((best, True), (best + 1, False)):
        size = {**wanted.config.size, "B": batch}
        assert (need(plan("mlp_training", size), device()).total_B <= limit) is fits


def test_where_no_batch_fits_another_size_is_named() -> None:
    wanted = plan("mlp_training", {"B": 64, "D": 16384, "H": 16384, "C": 10})
    with pytest.raises(InputError) as refused:
        check_memory(WORKLOADS["mlp_training"], wanted, device(1_000_000_000))
    assert re.search(r"\b[DHC] = \d+ is the largest", refused.value.remedy)


def test_what_is_free_now_counts_where_it_is_known() -> None:
    wanted = plan("mlp_training")
    check_memory(WORKLOADS["mlp_training"], wanted, device(), free_B=4e9)
    with pytest.raises(MemoryTaken, match=r"now has free 1\.00 MB"):
        check_memory(WORKLOADS["mlp_training"], wanted, device(), free_B=1e6)


def test_a_gpu_needs_no_room_for_the_host() -> None:
    wanted = plan("mlp_training")
    assert need(wanted, device(kind="gpu")).host_B == 0.0
    assert need(wanted, device()).host_B > 0.0
