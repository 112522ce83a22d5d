"""Model files in the real engine: measured and checked; whatever they do, the next run works."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gpuexplorer
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.own_model import read_model
from gpuexplorer.workloads.workload import Workload
from tests.support.own_models import (
    CONVOLVES,
    DEPENDS_ON_PRECISION,
    ENDS_THE_PROCESS,
    FAULTS,
    FINDS_FLAGS,
    GOOD,
    HANGS,
    NO_ELEMENTS,
    ONLY_FLOAT32,
    OVERWRITES,
    RANDOM,
    SETS_FLAGS,
    TRAINS_ON_ITS_INPUTS,
    VARIED,
    workload_of,
    write,
)

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def config_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's list of trusted files out of it."""
    monkeypatch.setenv(trust.ENVIRONMENT_VARIABLE, str(tmp_path / "config"))


@pytest.fixture(scope="module")
def session() -> Iterator[EngineSession]:
    with EngineSession(threads=1) as made:
        yield made


class Bench:
    """Runs model files of a folder through one session."""

    def __init__(self, session: EngineSession, folder: Path) -> None:
        self.session, self.folder = session, folder
        self.log: list[str] = []

    def workload(self, text: str, name: str = "model.py") -> Workload:
        workload = workload_of(self.folder, text, name)
        trust.trust(read_model(self.folder / name), remember=False)
        return workload

    def config(self, workload: Workload, **request: Any) -> RunConfig:
        wanted = RunRequest(workload=workload.name, device="torch:cpu", **request)
        return complete(wanted, workload, self.session.devices())

    def run(self, text: str, name: str = "model.py", **request: Any) -> RunResult:
        workload = self.workload(text, name)
        record = self.session.measure(
            self.config(workload, **request),
            workload,
            RunOptions(seconds=1.0, samples=3, warm_up_s=0.0),
        )
        return record.result()

    def fails(self, text: str) -> ExplorerError:
        with pytest.raises(ExplorerError) as caught:
            self.run(text)
        return caught.value

    def works(self) -> None:
        """The next run works."""
        result = self.run(GOOD, "good.py")
        assert result.verified
        assert result.timing.samples >= 3


@pytest.fixture
def bench(session: EngineSession, tmp_path: Path) -> Bench:
    return Bench(session, tmp_path)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "fp16", "autocast_bf16"])
def test_a_model_is_measured_and_checked_in_each_precision(bench: Bench, precision: str) -> None:
    result = bench.run(GOOD, precision=precision, size={"batch": 4})
    assert result.verified and result.verification is not None
    assert "the same module in float64" in result.verification.method
    assert result.config.size == {"batch": 4, "width": 32}
    assert result.environment.source_sha256
    if precision != "fp64":
        assert result.verification.max_rel_error > 0
    products = 2 * 4 * 32 * 128 * 2
    assert result.throughput.flop_per_s == pytest.approx(products / result.timing.median_s)
    weights = 32 * 128 + 128 + 128 * 32 + 32
    each = {"fp64": 8, "bf16": 2, "fp16": 2}.get(precision, 4)
    least = next(t for t in result.traffic if t.kind == "compulsory")
    assert least.read_B == (weights + 4 * 32) * each
    assert result.arithmetic is not None and result.arithmetic.asked == precision


@pytest.mark.parametrize("text", [CONVOLVES, GOOD], ids=["convolution", "products"])
def test_only_a_convolution_may_do_fewer_operations_than_are_counted(
    bench: Bench, text: str
) -> None:
    workload = bench.workload(text)
    quick = RunOptions(seconds=1.0, samples=1, warm_up_s=0.0)
    record = bench.session.measure(bench.config(workload), workload, quick)
    assert record.prepared.fewer_flops is (text == CONVOLVES)


def test_a_training_step_is_checked_by_its_loss_and_gradients(bench: Bench) -> None:
    result = bench.run(GOOD, variant="torch_training")
    assert result.verified and result.verification is not None
    assert "loss and gradients" in result.verification.method
    forward = 2 * 8 * 32 * 128 * 2
    # Backward costs two products for each of forward's, but for the gradient of the inputs.
    flops = (result.throughput.flop_per_s or 0) * result.timing.median_s
    assert flops == pytest.approx(forward + 2 * forward - 2 * 8 * 32 * 128)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (RANDOM, "it draws random numbers"),
        (ONLY_FLOAT32, "it cannot run in float64"),
        (NO_ELEMENTS, "its output holds no elements"),
    ],
)
def test_what_cannot_be_checked_is_measured_and_says_why(bench: Bench, text: str, why: str) -> None:
    result = bench.run(text)
    assert result.verification is None and not result.verified
    assert result.not_verified is not None and why in result.not_verified
    assert result.timing.samples >= 3


@pytest.mark.parametrize("variant", ["torch", "torch_training"])
@pytest.mark.parametrize("switch", ["channels_last", "include_transfers"])
def test_named_inputs_several_outputs_and_buffers(bench: Bench, variant: str, switch: str) -> None:
    result = bench.run(VARIED, variant=variant, switches={switch: True})
    assert result.verified
    moved = next(t for t in result.traffic if t.kind == "pcie")
    convolution, norm, embedding = 3 * 8 * 9 + 8, 8 + 8, 10 * 8
    buffers_B = 4 * (8 + 8) + 8  # the norm's mean and variance, and how many batches it saw
    inputs_B = 4 * (4 * 3 * 64) + 8 * 4
    assert moved.read_B == 4 * (convolution + norm + embedding) + buffers_B + inputs_B
    outputs = 4 if variant == "torch_training" else 4 * 8 * 4 * 2 + 4 * 8
    assert moved.write_B == outputs


def test_a_launch_may_be_several_iterations(bench: Bench) -> None:
    one = bench.run(VARIED, size={"iterations": 1})
    four = bench.run(VARIED, size={"iterations": 4})
    flops = [(r.throughput.flop_per_s or 0.0) * r.timing.median_s for r in (one, four)]
    assert flops[1] == pytest.approx(4 * flops[0])
    assert bench.run(VARIED, size={"iterations": 3}, variant="torch_training").verified


@pytest.mark.parametrize("asked", [{}, {"precision": "bf16"}, {"cache": "cold"}], ids=str)
def test_inputs_that_a_model_overwrites_are_set_back_before_each_step(
    bench: Bench, asked: dict[str, Any]
) -> None:
    """Each step but the first was measured on what the one before had left."""
    result = bench.run(OVERWRITES, **asked)
    assert result.verified and result.timing.samples >= 3
    said = "inputs that the model overwrites are set back before each step, outside the times"
    assert said in result.timing.method
    assert said not in bench.run(VARIED).timing.method


def test_each_iteration_of_a_launch_goes_on_with_what_a_model_made_of_its_inputs(
    bench: Bench,
) -> None:
    checks = OVERWRITES.replace("seen.abs().max() > 0", "seen.abs().max() > 2")
    assert bench.run(checks, size={"iterations": 3}).verified


def test_what_learns_its_shapes_from_its_inputs_leaves_them_as_they_were(bench: Bench) -> None:
    lazy = TRAINS_ON_ITS_INPUTS.replace("Linear(width, ", "LazyLinear(")
    assert bench.run(lazy).verified


@pytest.mark.parametrize("switches", [{}, {"include_transfers": True}], ids=str)
def test_a_training_step_that_overwrites_its_inputs_begins_with_them(
    bench: Bench, switches: dict[str, bool]
) -> None:
    result = bench.run(TRAINS_ON_ITS_INPUTS, variant="torch_training", switches=switches)
    assert result.verified and result.timing.samples >= 3


def test_a_result_that_float64_contradicts_is_wrong(bench: Bench) -> None:
    assert "is wrong: relative error" in str(bench.fails(DEPENDS_ON_PRECISION))
    bench.works()


def test_an_inaccurate_result_is_not_timed_unless_the_file_allows_it(bench: Bench) -> None:
    tight = f"TOLERANCE = {{'bf16': 1e-6}}\n{GOOD}"
    with pytest.raises(ExplorerError, match="is wrong: relative error") as caught:
        bench.run(tight, precision="bf16")
    assert "TOLERANCE" in caught.value.remedy
    assert bench.run(f"TOLERANCE = 0.9\n{GOOD}", precision="bf16").verified


def test_what_a_file_sets_for_the_process_changes_neither_its_run_nor_the_next(
    bench: Bench,
) -> None:
    assert bench.run(SETS_FLAGS).verification is not None
    assert bench.run(FINDS_FLAGS).verification is not None


def test_a_file_that_nobody_agreed_to_does_not_run(bench: Bench) -> None:
    mark = bench.folder / "ran"
    text = f"open({str(mark)!r}, 'w')\n{GOOD}"
    workload = workload_of(bench.folder, text)
    with pytest.raises(InputError, match="nobody agreed to run it"):
        bench.session.measure(bench.config(workload), workload, RunOptions(seconds=0.1)).result()
    assert not mark.exists()


def test_a_script_has_to_say_yes(tmp_path: Path) -> None:
    path = write(tmp_path, f"{GOOD}# asked by nobody\n")
    for call in (gpuexplorer.run, gpuexplorer.operators):
        with pytest.raises(trust.NotTrusted, match="nobody agreed to run it yet"):
            call(str(path))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_message_with_file_and_line(bench: Bench, fault: str) -> None:
    text, said, exit_code = FAULTS[fault]
    (bench.folder / "helper.py").write_text("", encoding="utf-8")
    error = bench.fails(text)
    assert said in str(error)
    assert error.exit_code == exit_code
    assert "\n" not in str(error)
    assert len(error.detail) < 8000
    if fault == "prints megabytes":
        assert "the last line" in error.detail and "letters before" in error.detail
    bench.works()


def test_a_file_that_ends_the_process_is_told_apart(bench: Bench) -> None:
    error = bench.fails(ENDS_THE_PROCESS)
    assert "model.py: it ended the engine's process with status 5" in str(error)
    assert "os._exit" in error.remedy
    bench.works()


def test_a_file_that_hangs_is_ended_and_its_line_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "2")
    bench.fails(ENDS_THE_PROCESS)  # the engine that follows has little patience
    monkeypatch.delenv(BUILD_DEADLINE_VARIABLE)
    error = bench.fails(HANGS)
    assert "(in function build): it did not come back within 2 s" in str(error)
    assert any(f"model.py:{line} " in str(error) for line in (2, 3))
    bench.works()


def test_operators_of_a_training_step_are_recorded(bench: Bench) -> None:
    workload = bench.workload(GOOD)
    config = bench.config(workload, variant="torch_training")
    profile = bench.session.operators(config, workload, shapes=True)
    names = {o.name for o in profile.operators}
    assert {"aten::addmm", "aten::gelu", "aten::gelu_backward"} <= names
    linear = next(o for o in profile.operators if o.name == "aten::addmm" and o.shapes)
    assert "8×32" in (linear.shapes or "")
    assert sum(o.share for o in profile.operators) == pytest.approx(1.0)
    assert profile.calls_total == len(profile.calls)
    assert profile.config == config
    shipped = bench.session.devices()
    assert any("torch.own" in d.libraries for d in shipped)


def test_operators_of_a_kernel_cannot_be_told(bench: Bench) -> None:
    from gpuexplorer.workloads.loader import load

    workload = load()["matmul"]
    request = RunRequest(workload="matmul", variant="numpy", size={"N": 32}, device="numpy:cpu")
    config = complete(request, workload, bench.session.devices())
    with pytest.raises(ExplorerError, match="nothing tells the operators"):
        bench.session.operators(config, workload)
