"""The recipe is followed in order: nothing is timed that was not predicted and verified."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec
import numpy as np
import pytest

from gpuexplorer.backends.base import (
    BUILD_DEADLINE_S,
    Batch,
    HostArray,
    Runner,
    TimingChoice,
    TimingLost,
)
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.device import DeviceInfo, DeviceLimits
from gpuexplorer.core.errors import DeviceLost, InputError, WorkFailed, WrongResult
from gpuexplorer.core.memory import MemoryParts, MemoryUse
from gpuexplorer.core.result import Phases, Verification
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.measure import recipe
from gpuexplorer.measure.job import WARM_UP_S, Job, Ready, Stopped, TooLong, batch_size
from gpuexplorer.measure.problems import ProblemCache
from gpuexplorer.measure.recipe import run_job
from gpuexplorer.measure.stop import Enough, Slower, TimeUp
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan

WORKLOAD = load()["matmul"]
DEVICE = DeviceInfo(
    id="test:0", hardware_id="test", name="Test", backend="test", kind="cpu", driver="1",
    compute_units=1, precisions=("fp32",), runs_kernels=True,
)  # fmt: skip


class Arithmetic(Runner):
    """A runner that computes with NumPy and keeps a diary of what it was asked."""

    def __init__(self, plan: Plan, launch_s: float = 1e-4, wrong: bool = False) -> None:
        super().__init__(plan, DEVICE)
        self.launch_s = launch_s
        self.wrong = wrong
        self.spent_s = 0.0
        self.diary: list[str] = []
        self.arrays: dict[str, HostArray] = {}

    def build(self) -> None:
        self.diary.append("build")

    def allocate(self) -> None:
        self.diary.append("allocate")
        self.arrays = {a.name: np.empty(a.shape, np.float32) for a in self.plan.arrays}

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        self.diary.append("upload")
        for name, values in inputs.items():
            self.arrays[name][...] = values

    def clear_indices(self) -> None:
        self.diary.append("clear indices")

    def poison(self) -> None:
        self.diary.append("poison")
        self.arrays["C"].fill(np.nan)

    def predict_s(self) -> float | None:
        self.diary.append("predict")
        return self.launch_s

    def launch(self, count: int) -> Batch:
        self.diary.append(f"launch {count}")
        self.spent_s += count * self.launch_s
        start_ns = self.now_ns()
        self.arrays["C"][...] = self.arrays["A"] @ self.arrays["B"]
        if self.wrong:
            self.arrays["C"][0, 0] += 1
        return Batch(start_ns=start_ns, seconds=np.full(count, self.launch_s))

    def launch_plain(self) -> None:
        super().launch_plain()
        self.diary[-1] = "plain launch"

    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        self.diary.append("download" if "C" in names else f"look at {', '.join(names)}")
        return {name: self.arrays[name].copy() for name in names}

    def check_guards(self) -> None:
        self.diary.append("guards")

    def free(self) -> None:
        self.diary.append("free")
        self.arrays = {}

    def adopt(self, other: Runner) -> bool:
        if not isinstance(other, Arithmetic) or not other.arrays:
            return False
        self.diary.append("adopt")
        self.arrays, other.arrays = other.arrays, {}
        return True


class Diary:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.deadlines_s: list[tuple[str, float | None]] = []
        self.ready: Ready | None = None
        self.batches: list[SampleBatch] = []
        self.uses: list[MemoryUse] = []

    def stage(self, name: str, deadline_s: float | None) -> None:
        self.stages.append(name)
        self.deadlines_s.append((name, deadline_s))

    def prepared(self, ready: Ready) -> None:
        self.ready = ready

    def samples(self, batch: SampleBatch) -> None:
        assert self.ready is not None, "samples came before the run was verified"
        self.batches.append(batch)

    def memory(self, use: MemoryUse) -> None:
        assert self.batches, "memory was counted before the first sample"
        self.uses.append(use)


def plan(**switches: bool) -> Plan:
    config = RunConfig(
        workload="matmul", variant="naive", size={"N": 24}, precision="fp32", device="test:0",
        block=(8, 8, 1), switches=dict(switches),
    )  # fmt: skip
    return make_plan(WORKLOAD, config, DEVICE)


def job(runner: Runner, **changes: object) -> Job:
    one = Job(
        runner=runner,
        problem=ProblemCache().get(WORKLOAD, runner.plan),
        stop_rules=[TimeUp(0.02)],
        cancelled=lambda: False,
        allow_s=2.0,
    )
    for name, value in changes.items():
        setattr(one, name, value)
    return one


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Arithmetic], None]:
    """Return what has the recipe's clock show the time that a runner's launches took."""

    def follow(runner: Arithmetic) -> None:
        monkeypatch.setattr(time, "perf_counter", lambda: runner.spent_s)

    return follow


def test_the_textbook_order(clock: Callable[[Arithmetic], None]) -> None:
    runner, sink = Arithmetic(plan()), Diary()
    clock(runner)
    assert run_job(job(runner), sink) == "time"
    assert runner.diary[:10] == [
        "build", "allocate", "upload", "predict", "poison", "launch 1", "guards",
        "look at A", "look at B", "download",
    ]  # fmt: skip
    batch = int(runner.diary[10].removeprefix("launch "))
    assert 1 <= batch <= 20, "2 ms of launches that take 0.1 ms, or less if they were seen to last"
    assert sink.ready is not None
    assert sink.ready.verification is not None and sink.ready.verification.ok
    assert sink.ready.phases_s.host_to_device is not None
    assert sum(sum(b.counts) for b in sink.batches) >= 100


class Vanishing(Arithmetic):
    """The first ``times`` ways of timing stop working after some batches each."""

    def __init__(self, plan: Plan, times: int) -> None:
        super().__init__(plan)
        self.times = times
        self.settled = 0
        self.left = 0

    def settle(self, first_s: float, earlier: TimingChoice | None = None) -> TimingChoice:
        self.settled += 1
        self.left = 3
        return TimingChoice(group=self.settled)

    @property
    def method(self) -> str:
        return f"way {self.settled}"

    def launch(self, count: int) -> Batch:
        if 1 <= self.settled <= self.times:
            self.left -= 1
            if self.left < 0:
                raise TimingLost("the records vanished", remedy="do without")
        return super().launch(count)


class Methods(Diary):
    """Remembers how many batches came in which way."""

    def __init__(self) -> None:
        super().__init__()
        self.ways: list[tuple[str, int]] = []

    def prepared(self, ready: Ready) -> None:
        super().prepared(ready)
        self.ways.append((ready.runner.method, 0))

    def samples(self, batch: SampleBatch) -> None:
        super().samples(batch)
        way, count = self.ways[-1]
        self.ways[-1] = (way, count + 1)


@pytest.mark.parametrize("times", [1, 2])
def test_a_run_whose_timing_vanishes_is_sampled_anew_in_another_way(times: int) -> None:
    """A profiler's records may be lost, and what holds launches back after them."""
    runner, sink = Vanishing(plan(), times), Methods()
    rule = Enough(500)
    one = job(runner, stop_rules=[rule], samples=500, warm_up_s=0.0)
    assert run_job(one, sink) == "samples"
    *lost, (last, _) = sink.ways
    assert lost == [(f"way {way + 1}", 3) for way in range(times)]
    assert last == f"way {times + 1}"
    assert one.timing == TimingChoice(group=times + 1)
    later = sink.batches[3 * times :]
    assert sum(sum(b.counts) for b in later) == 500
    assert runner.diary.count("build") == 1


def test_a_run_whose_timing_vanishes_each_time_fails_with_the_reason() -> None:
    runner = Vanishing(plan(), times=9)
    with pytest.raises(TimingLost, match="the records vanished"):
        run_job(job(runner, stop_rules=[Enough(500)], samples=500, warm_up_s=0.0), Methods())
    assert runner.settled == 3


def test_what_was_verified_before_is_launched_but_not_compared_again() -> None:
    first = job(Arithmetic(plan()))
    run_job(first, Diary())
    assert first.verification is not None and first.verification.ok
    runner, sink = Arithmetic(plan()), Diary()
    again = job(
        runner,
        previous=first.runner,
        phases_s=first.phases_s,
        known_prediction_s=first.predicted_s,
        known_verification=first.verification,
    )
    run_job(again, sink)
    assert runner.diary == ["build", "adopt", "launch 1", *runner.diary[3:]]
    assert not {"poison", "guards", "download"} & set(runner.diary)
    assert "compare" not in sink.stages
    assert sink.ready is not None
    assert sink.ready.verification == first.verification
    assert sink.ready.phases_s.device_to_host == first.phases_s.device_to_host is not None


def test_in_a_search_batches_are_as_long_as_may_be_queued(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner = Arithmetic(plan(), launch_s=2e-3)
    one = job(runner, in_search=True, samples=20, stop_rules=[Enough(20)], warm_up_s=0.0)
    with monkeypatch.context() as patch:
        patch.setattr(time, "perf_counter", partial(next, itertools.count(step=1e-6)))
        run_job(one, Diary())
    assert [word for word in runner.diary if word.startswith("launch")] == [
        "launch 1", "launch 15", "launch 5",
    ]  # fmt: skip


def test_the_launch_that_is_verified_is_the_only_one_of_what_is_slower_by_far() -> None:
    runner, diary = Arithmetic(plan(), launch_s=6e-3), Diary()
    assert run_job(job(runner, slower=Slower(1e-3), in_search=True), diary) == "slower"
    assert [entry for entry in runner.diary if "launch" in entry] == ["launch 1"]
    assert diary.ready is not None and diary.ready.verified
    assert [batch.durations_s.tolist() for batch in diary.batches] == [[6e-3]]


@pytest.mark.parametrize(("launch_s", "samples"), [(6e-3, 3), (12e-3, 1)])
def test_a_gpus_short_first_launch_alone_does_not_say_that_it_is_slower(
    launch_s: float, samples: int
) -> None:
    runner, diary = on_device(Arithmetic(plan(), launch_s=launch_s), kind="gpu"), Diary()
    found = job(runner, slower=Slower(1e-3), stop_rules=[Enough(20)], in_search=True)
    assert run_job(found, diary) == "slower"
    assert sum(sum(batch.counts) for batch in diary.batches) == samples


class Loading(Arithmetic):
    """A library whose first call loads or compiles what it runs."""

    def launch(self, count: int) -> Batch:
        batch = super().launch(count)
        if self.diary.count("launch 1") == 1 and self.diary[-1] == "launch 1":
            return msgspec.structs.replace(batch, seconds=np.full(1, 0.3))
        return batch


def test_what_a_gpus_library_loads_first_does_not_make_it_slower_by_far() -> None:
    called = msgspec.structs.replace(plan(), steps=(), library="cublas.gemm")
    runner, diary = on_device(Loading(called, launch_s=0.5e-3), kind="gpu"), Diary()
    found = job(runner, slower=Slower(1e-3), samples=20, stop_rules=[Enough(20)], in_search=True)
    assert run_job(found, diary) == "samples"
    assert sum(sum(batch.counts) for batch in diary.batches) == 20


def test_three_launches_say_that_a_configuration_is_slower() -> None:
    rules, diary = [Enough(20)], Diary()
    runner = Arithmetic(plan(), launch_s=1.5e-3)
    found = job(runner, slower=Slower(1e-3), samples=20, stop_rules=rules, in_search=True)
    assert run_job(found, diary) == "slower"
    assert sum(sum(batch.counts) for batch in diary.batches) == 3
    diary = Diary()
    runner = Arithmetic(plan(), launch_s=0.9e-3)
    found = job(runner, slower=Slower(1e-3), samples=20, stop_rules=rules, in_search=True)
    assert run_job(found, diary) == "samples"
    assert sum(sum(batch.counts) for batch in diary.batches) == 20


@pytest.mark.parametrize(
    ("kind", "in_search", "beside"),
    [("gpu", True, True), ("gpu", False, False), ("cpu", True, False)],
)
def test_a_gpu_of_a_search_warms_up_while_the_result_is_compared(
    kind: str, in_search: bool, beside: bool
) -> None:
    runner = on_device(Arithmetic(plan()), kind=kind)
    found = job(runner, in_search=in_search, warm_up_s=0.02)
    launched_meanwhile = threading.Event()
    verify = found.problem.reference.verify

    def waits(outputs: Mapping[str, HostArray]) -> Verification:
        before = len(runner.diary)
        until = time.monotonic() + (5.0 if beside else 0.0)
        while time.monotonic() < until and len(runner.diary) == before:
            launched_meanwhile.wait(0.001)
        if len(runner.diary) > before:
            launched_meanwhile.set()
        return verify(outputs)

    diary = Diary()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found.problem.reference, "verify", waits)
        run_job(found, diary)
    assert launched_meanwhile.is_set() == beside
    assert diary.ready is not None and diary.ready.verified
    assert found.warmed_up_s > 0 if beside else found.warmed_up_s == 0


def test_on_a_gpu_too_nothing_of_a_wrong_result_is_sampled() -> None:
    runner, diary = on_device(Arithmetic(plan(), wrong=True), kind="gpu"), Diary()
    with pytest.raises(WrongResult):
        run_job(job(runner, in_search=True), diary)
    assert diary.ready is None and diary.batches == []


def test_a_wrong_result_is_never_timed() -> None:
    runner, sink = Arithmetic(plan(), wrong=True), Diary()
    with pytest.raises(WrongResult, match="relative error"):
        run_job(job(runner), sink)
    assert not sink.batches
    assert [e for e in runner.diary if "launch" in e] == ["launch 1", "plain launch"]


class Changing(Arithmetic):
    """A runner whose result is right in some launches."""

    def __init__(self, plan: Plan, right: Sequence[int]) -> None:
        super().__init__(plan)
        self.right = right
        self.launches = 0

    def launch(self, count: int) -> Batch:
        self.wrong = self.launches not in self.right
        self.launches += 1
        return super().launch(count)


@pytest.mark.parametrize("right", [range(1, 100), range(3), range(1)])
def test_a_result_that_changes_from_launch_to_launch_is_called_that(right: Sequence[int]) -> None:
    with pytest.raises(WrongResult, match=r"changes from launch to launch: .*C\[0, 0\]") as caught:
        run_job(job(Changing(plan(), right)), Diary())
    assert "__syncwarp()" in caught.value.remedy


@pytest.mark.parametrize(
    ("declared", "inside", "words"),
    [
        ("__device__ unsigned int count = 0;", "if (atomicAdd(&count, 1) == 3) C[0] = 1;",
         "'count' keeps its value from the launch before"),
        ("__device__ volatile int turn = 1;\n__device__ float sums[4] = {};",
         "sums[turn] += A[0]; ++turn;",
         "'turn' and 'sums' keep their values from the launch before"),
        ("__device__ const int last = 3;\n__device__ int first, other;", "C[first] = last;", None),
    ],
)  # fmt: skip
def test_what_a_launch_leaves_to_the_next_one_is_named(
    declared: str, inside: str, words: str | None
) -> None:
    made = plan()
    (step,) = made.steps
    text = f"{declared}\n__global__ void {step.entry}(float *A, float *C) {{ {inside} }}\n"
    made = msgspec.structs.replace(made, files={step.source: text})
    with pytest.raises(WrongResult, match="changes from launch to launch") as caught:
        run_job(job(Changing(made, range(1))), Diary())
    assert "look for values that one thread writes" in caught.value.remedy
    if words is None:
        assert "from the launch before" not in caught.value.remedy
    else:
        assert caught.value.remedy.startswith(words)


class Misaligned(Arithmetic):
    """A runner whose right result a GPU would not come to."""

    def check_alignment(self) -> None:
        raise WrongResult("made.cu:4: misaligned")


def test_what_only_this_device_takes_is_no_verified_result() -> None:
    with pytest.raises(WrongResult, match="misaligned"):
        run_job(job(Misaligned(plan())), Diary())


def test_accesses_are_not_followed_in_a_search_nor_in_a_long_launch() -> None:
    for runner, in_search in ((Misaligned(plan()), True), (Misaligned(plan(), 0.2), False)):
        diary = Diary()
        run_job(job(runner, in_search=in_search), diary)
        assert diary.ready is not None and diary.ready.verified


class Stale(Arithmetic):
    """A runner whose result is that of the launch before, as of shared memory read too early."""

    before: HostArray | None = None

    def launch(self, count: int) -> Batch:
        batch = super().launch(count)
        result = self.arrays["C"].copy()
        if self.before is not None:
            self.arrays["C"][...] = self.before
        self.before = result
        return batch


@pytest.mark.parametrize("include_transfers", [False, True])
def test_a_result_left_by_the_launch_before_is_found(include_transfers: bool) -> None:
    runner = Stale(plan(include_transfers=include_transfers))
    with pytest.raises(WrongResult, match="changes from launch to launch"):
        run_job(job(runner, include_transfers=include_transfers), Diary())


def test_a_run_without_an_end_is_checked_again_in_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "LATER_S", 0.0)
    runner, sink = Arithmetic(plan()), Diary()
    run_job(job(runner, stop_rules=[], cancelled=lambda: len(sink.batches) >= 5), sink)
    assert runner.diary.count("guards") == 2
    assert runner.diary.index("plain launch") > runner.diary.index("download") + 1, "batches first"


def test_who_waits_for_the_device_does_not_wait_for_a_second_check() -> None:
    runner, sink = Arithmetic(plan()), Diary()
    run_job(job(runner, stop_rules=[], cancelled=lambda: len(sink.batches) >= 1), sink)
    assert runner.diary.count("guards") == 1


def test_a_long_launch_does_not_run_without_consent() -> None:
    runner = Arithmetic(plan(), launch_s=45.0)
    with pytest.raises(TooLong) as caught:
        run_job(job(runner), Diary())
    assert caught.value.predicted_s == 45.0
    assert not any("launch" in entry for entry in runner.diary)


@pytest.mark.parametrize(("launch_s", "times"), [(1.0, 1), (3.0, 3), (45.0, 1)])
def test_a_prediction_that_would_stop_the_run_is_made_again_where_load_may_be_the_reason(
    launch_s: float, times: int
) -> None:
    """Each with a deadline of its own: three parts of 6 s each are no launch without an end."""
    runner, sink = Arithmetic(plan(), launch_s=launch_s), Diary()
    with contextlib.suppress(TooLong):
        run_job(job(runner), sink)
    assert runner.diary.count("predict") == times
    assert [d for d in sink.deadlines_s if d[0] == "predict"] == [("predict", 10.0)] * times


@pytest.mark.parametrize(
    ("agreed", "said", "expected_s"),
    [
        (False, None, 10.0),
        (True, None, 120.0),
        (True, "600", 600.0),
        (False, "30", 30.0),
        (True, "30", 30.0),
        (False, "2", 10.0),
        (False, "nonsense", 10.0),
    ],
)
def test_a_launch_is_given_what_was_agreed_to(
    agreed: bool, said: str | None, expected_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BUILD_DEADLINE_VARIABLE, raising=False)
    if said is not None:
        monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, said)
    sink = Diary()
    run_job(job(Arithmetic(plan()), allow_s=math.inf if agreed else 2.0), sink)
    found = dict(reversed(sink.deadlines_s))  # the first of each
    assert (found["predict"], found["verify"]) == (expected_s, expected_s)


def test_the_trial_of_a_library_call_may_take_as_long_as_building(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A library compiles what it needs, or loads it, when it is first called."""
    monkeypatch.delenv(BUILD_DEADLINE_VARIABLE, raising=False)
    sink, called = Diary(), msgspec.structs.replace(plan(), library="cupy.add")
    run_job(job(Arithmetic(called)), sink)
    found = dict(sink.deadlines_s)
    assert found["predict"] == BUILD_DEADLINE_S
    assert found["verify"] is not None and found["verify"] < BUILD_DEADLINE_S


def test_large_inputs_are_not_made_for_a_launch_that_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recipe, "LARGE_INPUTS_B", 0)
    refused = Arithmetic(plan(), launch_s=45.0)
    with pytest.raises(TooLong):
        run_job(job(refused), Diary())
    assert "upload" not in refused.diary
    welcome = Arithmetic(plan())
    run_job(job(welcome), Diary())
    assert welcome.diary[:6] == [
        "build", "allocate", "clear indices", "predict", "upload", "predict",
    ]  # fmt: skip


def test_a_cancelled_run_stops_at_the_next_step() -> None:
    runner = Arithmetic(plan())
    with pytest.raises(Stopped):
        run_job(job(runner, cancelled=lambda: True), Diary())
    assert runner.diary == ["build"]


def test_a_live_run_goes_on_until_it_is_cancelled() -> None:
    runner, sink = Arithmetic(plan()), Diary()
    ended = run_job(job(runner, stop_rules=[], cancelled=lambda: len(sink.batches) >= 5), sink)
    assert ended == "user"
    assert len(sink.batches) == 5


def test_another_block_of_the_same_problem_takes_the_arrays_over() -> None:
    first = Arithmetic(plan())
    first_job = job(first)
    run_job(first_job, Diary())
    second, sink = Arithmetic(plan()), Diary()
    run_job(job(second, previous=first, phases_s=first_job.phases_s), sink)
    assert second.diary[:3] == ["build", "adopt", "predict"]
    assert "free" not in first.diary
    assert sink.ready is not None
    assert sink.ready.phases_s.allocate == first_job.phases_s.allocate


def test_with_transfers_each_sample_is_the_whole_sequence() -> None:
    runner, sink = Arithmetic(plan(include_transfers=True)), Diary()
    run_job(job(runner, include_transfers=True), sink)
    (row,) = sink.batches[0].phases.tolist()
    assert len(row) == 5
    assert sink.batches[0].durations_s[0] == pytest.approx(sum(row))
    start = runner.diary.index("free")
    assert runner.diary[start : start + 6] == [
        "free", "allocate", "upload", "plain launch", "download", "free",
    ]  # fmt: skip
    assert runner.arrays == {}


@pytest.mark.parametrize("cancelled", [False, True])
def test_with_transfers_samples_of_ten_milliseconds_are_a_batch(
    clock: Callable[[Arithmetic], None], cancelled: bool
) -> None:
    runner, sink = Arithmetic(plan(include_transfers=True), launch_s=1e-3), Diary()
    clock(runner)
    one = job(runner, include_transfers=True, stop_rules=[] if cancelled else [Enough(25)])
    if cancelled:
        one.cancelled = lambda: runner.diary.count("plain launch") >= 25
    assert run_job(one, sink) == ("user" if cancelled else "samples")
    counts = [batch.counts[0] for batch in sink.batches]
    sampled = runner.diary[runner.diary.index("free") :].count("plain launch")
    assert counts[0] == 1 and sum(counts) == sampled and (cancelled or sampled == 25)
    assert all(9 <= count <= 11 for count in counts[1:-1])
    for batch in sink.batches:
        assert batch.is_whole and batch.durations_s.tolist() == pytest.approx(
            [1e-3] * len(batch.phases)
        )
        assert batch.phases.sum(axis=1).tolist() == batch.durations_s.tolist()


@pytest.mark.parametrize("in_search", [False, True])
def test_the_last_batch_is_no_longer_than_what_is_left_of_the_seconds(
    clock: Callable[[Arithmetic], None], in_search: bool
) -> None:
    """Two versions in turns of 10 ms each would else take turns of a batch's 30."""
    runner, sink = Arithmetic(plan(), launch_s=1e-3), Diary()
    clock(runner)
    one = job(runner, in_search=in_search, stop_rules=[TimeUp(0.0105)], warm_up_s=0.0)
    assert run_job(one, sink) == "time"
    assert sum(sum(batch.counts) for batch in sink.batches) == 11


def test_batches_are_ten_milliseconds_and_bounded() -> None:
    assert batch_size(1e-3) == 10
    assert batch_size(5.0) == 1
    assert batch_size(1e-7) == 512
    assert batch_size(0.0) == 512


def test_arrays_kept_of_a_cancelled_run_come_with_their_own_phases() -> None:
    asked = iter([False, False, True])  # after build, after predict, after upload
    first = Arithmetic(plan())
    one = job(first, cancelled=lambda: next(asked), phases_s=Phases(host_to_device=99.0))
    with pytest.raises(Stopped):
        run_job(one, Diary())
    assert one.arrays == "filled"
    assert one.phases_s.host_to_device is not None
    assert one.phases_s.host_to_device < 99.0


def test_what_is_not_timed_counts_for_the_size_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Emptying a cache may take a hundred times the launch: a knob must still act at once."""
    now = [0.0]
    monkeypatch.setattr("gpuexplorer.measure.recipe.time.perf_counter", lambda: now[0])
    runner, sink = Arithmetic(plan()), Diary()
    launch = runner.launch

    def slow(count: int) -> Batch:
        now[0] += 0.040 * count
        return launch(count)

    monkeypatch.setattr(runner, "launch", slow)
    assert run_job(job(runner, stop_rules=[TimeUp(0.5)]), sink) == "time"
    launches = [entry for entry in runner.diary if entry.startswith("launch")]
    assert set(launches) == {"launch 1"}
    assert len(launches) >= 12


def test_a_batch_tells_how_many_launches_a_sample_is_and_the_clock_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner, sink = Arithmetic(plan()), Diary()
    settled: list[float] = []
    launch = runner.launch

    def grouped(count: int) -> Batch:
        batch = launch(count)
        if not settled:
            return batch
        return Batch(batch.start_ns, batch.seconds[::10], launches=10, clock_Hz=1.5e9)

    monkeypatch.setattr(runner, "launch", grouped)
    monkeypatch.setattr(runner, "settle", lambda first_s, _: settled.append(first_s))
    run_job(job(runner), sink)
    assert settled == [runner.launch_s]
    assert {n for b in sink.batches for n in b.launches} == {10}
    assert {c for b in sink.batches for c in b.clocks_Hz} == {1.5e9}


def test_with_transfers_nothing_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Arithmetic(plan(include_transfers=True))
    monkeypatch.setattr(runner, "settle", lambda *_: pytest.fail("settled"))
    run_job(job(runner, include_transfers=True), Diary())


# ---- devices with a limit, and with a clock


def on_device(runner: Arithmetic, **changes: object) -> Arithmetic:
    runner.device = msgspec.structs.replace(DEVICE, **changes)
    return runner


def test_a_launch_that_the_system_would_end_does_not_run_whoever_allows_it() -> None:
    limits = DeviceLimits(max_launch_s=1.5)
    runner, sink = on_device(Arithmetic(plan(), launch_s=1.6), limits=limits), Diary()
    with pytest.raises(
        InputError, match=r"would take about 1\.6 s.* test:0, which drives a display"
    ):
        run_job(job(runner, allow_s=math.inf), sink)
    assert not any(entry.startswith("launch") for entry in runner.diary)
    run_job(job(on_device(Arithmetic(plan(), launch_s=1.4), limits=limits)), Diary())


class Climbing(Arithmetic):
    """A GPU whose clock climbs from idle, a step every 30 ms of its time, up to a highest one."""

    def __init__(self, plan: Plan, highest_Hz: float, launch_s: float = 1e-3) -> None:
        super().__init__(plan, launch_s)
        self.highest_Hz = highest_Hz
        on_device(self, kind="gpu")

    def launch(self, count: int) -> Batch:
        batch = super().launch(count)
        clock_Hz = min(self.highest_Hz, 0.3e9 * (1 + self.spent_s // 0.030))
        return msgspec.structs.replace(batch, clock_Hz=clock_Hz)


@pytest.mark.parametrize(("warm_up_s", "sampled_at_Hz"), [(WARM_UP_S, 1.8e9), (0.005, 0.3e9)])
def test_a_whole_warm_up_lasts_until_the_clock_has_settled(
    warm_up_s: float, sampled_at_Hz: float, clock: Callable[[Arithmetic], None]
) -> None:
    runner, sink = Climbing(plan(), highest_Hz=1.8e9), Diary()
    clock(runner)
    run_job(job(runner, warm_up_s=warm_up_s), sink)
    assert sink.batches[0].clocks_Hz == (sampled_at_Hz,)


def test_a_clock_that_never_settles_is_not_waited_for_longer_than_a_second(
    clock: Callable[[Arithmetic], None],
) -> None:
    runner, sink = Climbing(plan(), highest_Hz=math.inf, launch_s=0.06), Diary()
    clock(runner)
    run_job(job(runner), sink)
    (clock_Hz,) = sink.batches[0].clocks_Hz
    assert clock_Hz is not None
    assert 0.5 < clock_Hz / 0.3e9 * 0.03 < 1.2


@pytest.mark.parametrize(
    ("kind", "in_search", "least_s", "most_s"),
    [("cpu", True, 0.02, 0.03), ("cpu", False, 0.25, 0.30), ("gpu", True, 0.25, 1.1)],
)
def test_a_cpu_of_a_search_warms_up_briefly(
    kind: str,
    in_search: bool,
    least_s: float,
    most_s: float,
    clock: Callable[[Arithmetic], None],
) -> None:
    runner, sink = Climbing(plan(), highest_Hz=1.8e9), Diary()
    on_device(runner, kind=kind)
    clock(runner)
    launches_before: list[int] = []
    """Launches until measuring begins: the one that is verified, on a GPU more while it is."""

    def launches() -> int:
        return sum(
            int(entry.removeprefix("launch ")) for entry in runner.diary if entry[:6] == "launch"
        )

    def stage(name: str, deadline_s: float | None) -> None:
        if name == "measure":
            launches_before.append(launches())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sink, "stage", stage)
        run_job(
            job(runner, in_search=in_search, warm_up_s=0.25, samples=7, stop_rules=[Enough(7)]),
            sink,
        )
    sampled = sum(sum(batch.counts) for batch in sink.batches)
    assert sampled == 7
    assert least_s <= (launches() - sampled - 1) * runner.launch_s
    assert (launches() - sampled - launches_before[0]) * runner.launch_s <= most_s


# ---- memory


class Counting(Arithmetic):
    """A runner whose backend counts memory."""

    counts_memory = True

    def __init__(self, plan: Plan, error: Exception | None = None) -> None:
        super().__init__(plan)
        self.error = error

    def peak_memory(self, inputs: Mapping[str, HostArray]) -> tuple[float, str] | None:
        self.diary.append("count")
        assert set(inputs) == {"A", "B"}
        if self.error is not None:
            self.arrays = {}
            raise self.error
        return 1000.0, "a counter"


PREDICTED = MemoryUse(predicted=MemoryParts.of({"inputs": 900.0}), reason="not yet")


def test_memory_is_counted_once_after_the_last_sample() -> None:
    runner, sink = Counting(plan()), Diary()
    one = job(runner, memory=PREDICTED)
    run_job(one, sink)
    assert runner.diary[-1] == "count"
    assert sink.ready is not None
    assert sink.ready.memory == PREDICTED
    counted = MemoryUse(predicted=PREDICTED.predicted, peak_B=1000.0, counter="a counter")
    assert sink.uses == [counted]
    assert one.memory == counted


@pytest.mark.parametrize(
    ("launch_s", "said", "least_s"), [(30.0, None, 90.0), (0.001, "600", 600.0)]
)
def test_counting_memory_may_take_as_long_as_its_launches(
    launch_s: float,
    said: str | None,
    least_s: float,
    clock: Callable[[Arithmetic], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(BUILD_DEADLINE_VARIABLE, raising=False)
    if said is not None:
        monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, said)
    runner, sink = Counting(plan()), Diary()
    runner.launch_s = launch_s
    clock(runner)
    run_job(job(runner, memory=PREDICTED, allow_s=math.inf), sink)
    found = dict(sink.deadlines_s)
    for stage in ("memory", "compare"):
        allowed_s = found[stage]
        assert allowed_s is not None and allowed_s > least_s


def test_what_was_counted_before_is_told_and_not_counted_again() -> None:
    known = MemoryUse(predicted=PREDICTED.predicted, peak_B=1.0, counter="a counter")
    runner, sink = Counting(plan()), Diary()
    run_job(job(runner, memory=known), sink)
    assert "count" not in runner.diary
    assert sink.uses == [known]


def test_a_run_without_an_end_counts_in_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "LATER_S", 0.0)
    runner, sink = Counting(plan()), Diary()
    one = job(runner, memory=PREDICTED, stop_rules=[], cancelled=lambda: len(sink.batches) > 5)
    run_job(one, sink)
    assert runner.diary.count("count") == 1
    place = runner.diary.index("count")
    assert any(word.startswith("launch") for word in runner.diary[place:])
    assert len(sink.uses) == 1


def test_a_backend_that_counts_nothing_is_not_asked() -> None:
    runner, sink = Arithmetic(plan()), Diary()
    run_job(job(runner, memory=PREDICTED), sink)
    assert "memory" not in sink.stages
    assert sink.uses == []


def test_who_waits_for_the_device_does_not_wait_for_a_count() -> None:
    runner, sink = Counting(plan()), Diary()
    run_job(job(runner, stop_rules=[], cancelled=lambda: len(sink.batches) > 2), sink)
    assert "count" not in runner.diary


def test_a_count_that_fails_leaves_the_run_and_its_arrays() -> None:
    runner, sink = Counting(plan(), WorkFailed("no counter today")), Diary()
    one = job(runner, memory=PREDICTED)
    assert run_job(one, sink) == "time"
    (use,) = sink.uses
    assert use.peak_B is None
    assert use.reason is not None and "no counter today" in use.reason
    assert one.arrays == "filled"
    assert np.isfinite(runner.arrays["A"]).all()


def test_a_device_that_is_lost_while_counting_is_lost() -> None:
    with pytest.raises(DeviceLost):
        run_job(job(Counting(plan(), DeviceLost("gone"))), Diary())
