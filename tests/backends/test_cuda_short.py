"""Launches too short for two events of their own: groups, CUPTI's records, and the clock held."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpuexplorer.backends.base import TimingLost
from gpuexplorer.backends.cuda import activity, gate, timing
from gpuexplorer.backends.cuda.activity import KernelRecords
from gpuexplorer.backends.cuda.kernels import KernelRunner
from gpuexplorer.backends.cuda.session import CudaSession
from gpuexplorer.backends.cuda.timing import GROUP_S, Work, group_size, time_launches
from tests.backends.fake_cuda import FakeCuda
from tests.backends.fake_cupti import FakeCupti
from tests.backends.test_cuda_runner import make_plan, open_fake, ready

LAUNCH_S = 4e-6
LONG_S = 25e-6
SIZE = round(GROUP_S / LAUNCH_S)
"""Launches of a group; measured times may give one more."""


@pytest.fixture(autouse=True)
def no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CUPTI, whatever is installed here."""
    monkeypatch.setattr(activity, "open_records", lambda: "")


def settled(launch_s: float = LAUNCH_S, **plan: Any) -> tuple[FakeCuda, CudaSession, KernelRunner]:
    """Return a runner whose kernel takes ``launch_s``, after its first launch and ``settle``."""
    fake, session = open_fake()
    fake.seconds = lambda call: launch_s
    runner = ready(session, make_plan(**plan))
    runner.settle(float(runner.launch(1).seconds[0]))
    fake.ran.clear()
    return fake, session, runner


@pytest.mark.parametrize("operations", [1, 2, 8, 190, 1000])
@pytest.mark.parametrize("launch_s", [0.0, 1e-7, 1e-6, 4e-6, 19.9e-6])
def test_a_group_fits_behind_one_gate_with_its_events_and_the_end(
    launch_s: float, operations: int
) -> None:
    size = group_size(launch_s, operations)
    assert size >= 1
    assert size == 1 or size * operations + 3 <= gate.MAX_OPERATIONS
    assert (size - 1) * launch_s <= GROUP_S


def test_long_launches_stand_between_events_of_their_own() -> None:
    fake, _, runner = settled(LONG_S)
    batch = runner.launch(4)
    assert (batch.launches, len(batch.seconds)) == (1, 4)
    assert timing.GATED in runner.method
    assert runner.resolution_s == timing.RESOLUTION_S
    assert fake.ran.count("axpy") == 4


def test_a_first_launch_that_waited_for_its_code_is_tried_again() -> None:
    fake, session = open_fake()
    fake.seconds = lambda call: LAUNCH_S
    runner = ready(session, make_plan())
    runner.launch(1)
    runner.settle(0.1)
    assert runner.launch(1).launches > 1
    fake.ran.clear()
    runner.settle(0.5)
    assert not fake.ran
    fake.seconds = lambda call: 0.1
    runner.settle(0.1)
    assert fake.ran.count("axpy") == 1


def test_a_short_launch_is_the_mean_of_a_group_and_a_group_is_one_sample() -> None:
    fake, session, runner = settled()
    size = runner.launch(1).launches
    assert size in (SIZE, SIZE + 1)
    fake.ran.clear()
    batch = runner.launch(8 * size)
    assert batch.launches == size
    assert batch.seconds == pytest.approx(np.full(8, LAUNCH_S))
    assert fake.ran.count("axpy") == 8 * size
    assert fake.most_behind_gate <= gate.MAX_OPERATIONS
    assert f"around {size} launches at a time" in runner.method
    assert runner.resolution_s == pytest.approx(timing.RESOLUTION_S / size)
    assert session.gate is not None and not session.gate.took_late


def test_a_count_is_rounded_up_to_whole_groups_and_bounded() -> None:
    fake, _, runner = settled()
    size = runner.launch(1).launches
    assert fake.ran.count("axpy") == size
    assert len(runner.launch(size + 1).seconds) == 2
    assert len(runner.launch(512).seconds) == 512 // size


def test_a_first_launch_runs_once_whatever_comes_later() -> None:
    fake, session = open_fake()
    fake.seconds = lambda call: LAUNCH_S
    runner = ready(session, make_plan())
    fake.ran.clear()
    runner.launch(1)
    assert fake.ran.count("axpy") == 1


@pytest.mark.parametrize("plan", [{"cache": "cold"}, {"reset": ("y",)}])
def test_what_lies_between_launches_keeps_them_apart(plan: dict[str, Any]) -> None:
    fake, _, runner = settled(**plan)
    batch = runner.launch(5)
    assert (batch.launches, len(batch.seconds)) == (1, 5)
    assert batch.seconds == pytest.approx(np.full(5, LAUNCH_S))
    assert runner.resolution_s == timing.RESOLUTION_S
    assert fake.ran.count("axpy") == 5


def test_a_group_with_something_between_its_launches_is_refused() -> None:
    _, session = open_fake()
    work = Work(lambda: None, lambda: None, 2)
    with pytest.raises(ValueError, match="something between"):
        time_launches(session, work, 4, gated=True, group=2)


def test_a_gate_that_opens_by_itself_ends_the_search_for_a_group() -> None:
    fake, session = open_fake()
    fake.seconds = lambda call: LAUNCH_S
    runner = ready(session, make_plan())
    first_s = float(runner.launch(1).seconds[0])
    fake.gate_opens_late = True
    runner.settle(first_s)
    assert timing.PLAIN in runner.method
    assert runner.launch(3).launches == 1


@pytest.mark.parametrize("launch_s", [LAUNCH_S, LONG_S])
@pytest.mark.parametrize("count", [1, 60])
def test_what_is_not_held_back_any_more_is_no_sample_of_what_was(
    launch_s: float, count: int
) -> None:
    """Neither the late batch nor a later one stands in a series with another method."""
    fake, _, runner = settled(launch_s)
    announced = runner.method
    fake.gate_opens_late = True
    with pytest.raises(TimingLost, match="axpy/direct makes the host wait"):
        runner.launch(count)
    assert timing.PLAIN not in announced
    runner.settle(launch_s)
    assert timing.PLAIN in runner.method and "CUPTI" not in runner.method
    assert runner.launch(3).launches == 1


@pytest.mark.parametrize("launch_s", [LAUNCH_S, LONG_S])
@pytest.mark.parametrize("count", [1, 60])
def test_a_gate_that_opens_by_itself_once_costs_that_batch_alone(
    launch_s: float, count: int
) -> None:
    fake, _, runner = settled(launch_s)
    announced = runner.method
    fake.gate_opens_late = True

    def wait() -> None:
        drain()
        fake.gate_opens_late = False

    drain, fake._drain = fake._drain, wait  # type: ignore[method-assign]
    batch = runner.launch(count)
    assert batch.seconds == pytest.approx(np.full(len(batch.seconds), launch_s))
    assert fake.ran.count("axpy") == timing.ATTEMPTS * len(batch.seconds) * batch.launches
    assert runner.method == announced


def test_without_a_gate_there_are_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    _, _, runner = settled()
    assert runner.launch(5).launches == 1
    assert timing.PLAIN in runner.method


# ---- the clock


def test_the_clock_held_is_cycles_over_time_of_all_gates_of_a_batch() -> None:
    fake, _, runner = settled(50e-6)
    fake.clock_Hz = 1.2345e9
    batch = runner.launch(200)
    assert fake.ran.count("gate") == fake.ran.count("end") > 1
    assert batch.clock_Hz == pytest.approx(1.2345e9, rel=1e-4)
    fake.clock_Hz = 9e8
    assert runner.launch(20).clock_Hz != pytest.approx(1.2345e9, rel=0.1)


def test_a_clock_of_too_short_a_time_is_not_told() -> None:
    _, _, runner = settled(30e-6)
    assert runner.launch(2).clock_Hz is None
    assert runner.launch(20).clock_Hz == pytest.approx(1.5e9, rel=1e-3)


def test_clocks_of_two_multiprocessors_are_not_compared() -> None:
    fake, _, runner = settled(50e-6)
    fake.same_multiprocessor = False
    assert runner.launch(200).clock_Hz is None


def test_a_clock_that_cannot_be_is_not_told() -> None:
    fake, _, runner = settled(50e-6)
    fake.clock_Hz = 1e12
    assert runner.launch(200).clock_Hz is None


# ---- CUPTI's records


def use_cupti(
    monkeypatch: pytest.MonkeyPatch,
    launch_s: float = LAUNCH_S,
    *,
    share: float = 0.5,
    **plan: Any,
) -> tuple[FakeCuda, FakeCupti, KernelRunner]:
    fake, session = open_fake()
    fake.seconds = lambda call: launch_s
    cupti = FakeCupti(fake, share=share)
    records = KernelRecords(cupti)
    monkeypatch.setattr(activity, "open_records", lambda: records)
    runner = ready(session, make_plan(**plan))
    runner.launch(1)
    return fake, cupti, runner


@pytest.mark.parametrize("plan", [{}, {"cache": "cold"}, {"reset": ("y",)}])
def test_records_give_the_kernels_alone_one_a_launch(
    monkeypatch: pytest.MonkeyPatch, plan: dict[str, Any]
) -> None:
    _, cupti, runner = use_cupti(monkeypatch, **plan)
    runner.settle(LAUNCH_S)
    batch = runner.launch(40)
    assert batch.launches == 1
    assert batch.seconds == pytest.approx(np.full(40, LAUNCH_S / 2), abs=2e-9)
    assert timing.RECORDED in runner.method
    assert runner.resolution_s == activity.RESOLUTION_S
    assert not cupti.enabled


def test_long_launches_need_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    _, cupti, runner = use_cupti(monkeypatch, LONG_S)
    cupti.refuse = 1
    runner.settle(LONG_S)
    assert timing.GATED in runner.method
    assert len(runner.launch(4).seconds) == 4


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (39, r"another profiler holds CUPTI in this process \(error 39\)"),
        (35, "may not profile the GPU"),
        (5, "ERROR"),
    ],
)
def test_a_refusal_is_one_clause_beside_the_method(
    monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    cupti.refuse = status
    runner.settle(LAUNCH_S)
    assert re.search(said, runner.method)
    assert runner.launch(50).launches > 1
    with pytest.raises(Exception, match=said):
        KernelRecords(cupti)


@pytest.mark.parametrize("share", [0.01, 3.0])
def test_records_that_contradict_the_events_are_not_believed(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    _, _, runner = use_cupti(monkeypatch, share=share)
    runner.settle(LAUNCH_S)
    assert "CUPTI recorded" in runner.method
    assert runner.launch(50).launches > 1


def test_a_gate_that_only_recording_opens_stays_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, cupti, runner = use_cupti(monkeypatch)
    enable, disable = cupti.activity_enable, cupti.activity_disable

    def recording(kind: int) -> None:
        enable(kind)
        fake.gate_opens_late = True

    def resting(kind: int) -> None:
        disable(kind)
        fake.gate_opens_late = False

    monkeypatch.setattr(cupti, "activity_enable", recording)
    monkeypatch.setattr(cupti, "activity_disable", resting)
    runner.settle(LAUNCH_S)
    assert "CUPTI makes the host wait" in runner.method
    assert runner.launch(50).launches > 1
    assert timing.PLAIN not in runner.method


def test_records_go_on_after_another_profiler_took_the_callbacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    theirs = cupti.taken_over()
    runner.settle(LAUNCH_S)
    assert timing.RECORDED in runner.method
    cupti.taken_over()
    batch = runner.launch(40)
    assert batch.seconds == pytest.approx(np.full(40, LAUNCH_S / 2), abs=2e-9)
    assert theirs == []


@pytest.mark.parametrize("stamped", [None, 1.0])
@pytest.mark.parametrize("ticks_per_ns", [1.9, 3.7])
def test_records_in_another_profilers_clock_are_not_taken_for_nanoseconds(
    monkeypatch: pytest.MonkeyPatch, ticks_per_ns: float, stamped: float | None
) -> None:
    """PyTorch's profiler has CUPTI count the processor's cycles, and leaves it so.

    Kernels that are a fourth of their launch by the events look as if they were less than all.
    """
    _, cupti, runner = use_cupti(monkeypatch, share=0.25)
    runner.settle(LAUNCH_S)
    assert timing.RECORDED in runner.method
    cupti.ticks_per_ns, cupti.stamped_ticks_per_ns = ticks_per_ns, stamped
    with pytest.raises(TimingLost, match="clock of CUPTI's records"):
        runner.launch(40)
    runner.settle(LAUNCH_S)
    assert "clock of CUPTI's records" in runner.method
    assert runner.launch(50).launches > 1
    assert not cupti.enabled


def test_a_batch_with_a_lost_record_is_taken_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    runner.settle(LAUNCH_S)
    cupti.lose, cupti.lose_in = 1, 1
    assert len(runner.launch(40).seconds) == 40
    runner.settle(LAUNCH_S)
    assert timing.RECORDED in runner.method


def test_a_gate_that_opens_by_itself_is_not_taken_for_lost_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake, cupti, runner = use_cupti(monkeypatch)
    runner.settle(LAUNCH_S)
    assert timing.RECORDED in runner.method
    fake.gate_opens_late = True
    with pytest.raises(TimingLost, match="makes the host wait"):
        runner.launch(40)
    runner.settle(LAUNCH_S)
    assert runner.method.startswith(timing.PLAIN + ";"), "no word of CUPTI"
    assert runner.resolution_s == timing.RESOLUTION_S
    assert len(runner.launch(40).seconds) == 40
    assert not cupti.enabled


def lose_records(cupti: FakeCupti) -> None:
    cupti.lose = 1


def refuse_records(cupti: FakeCupti) -> None:
    cupti.refuse = activity.MULTIPLE_SUBSCRIBERS


@pytest.mark.parametrize(
    ("vanish", "said"),
    [(lose_records, "did not record every kernel"), (refuse_records, "another profiler holds")],
)
def test_records_that_vanish_are_given_up_for_events_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, vanish: Callable[[FakeCupti], None], said: str
) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    runner.settle(LAUNCH_S)
    vanish(cupti)
    with pytest.raises(TimingLost, match=said):
        runner.launch(40)
    cupti.lose, cupti.refuse = 0, None
    runner.settle(LAUNCH_S)  # does not try what failed in this very run
    assert said in runner.method
    assert "launches at a time" in runner.method
    assert runner.launch(50).launches > 1
    assert not cupti.enabled


@pytest.mark.parametrize(
    ("first_s", "later_s", "method"),
    [(19e-6, 21e-6, timing.RECORDED), (21e-6, 19e-6, timing.GATED)],
)
def test_a_launch_near_the_border_is_timed_in_each_turn_as_in_the_first(
    monkeypatch: pytest.MonkeyPatch, first_s: float, later_s: float, method: str
) -> None:
    fake, _, runner = use_cupti(monkeypatch, first_s)
    kept = runner.settle(first_s)
    assert method in runner.method
    fake.seconds = lambda call: later_s
    for _ in range(2):
        turn = ready(runner.session, make_plan())
        turn.launch(1)
        assert turn.settle(later_s, kept) == kept
        assert (turn.method, turn.resolution_s) == (runner.method, runner.resolution_s)


def test_every_turn_has_groups_of_the_first_ones_size() -> None:
    fake, session, runner = settled()
    kept = runner.settle(LAUNCH_S)
    fake.seconds = lambda call: 1.1 * LAUNCH_S
    turn = ready(session, make_plan())
    turn.launch(1)
    turn.settle(1.1 * LAUNCH_S, kept)
    assert turn.method == runner.method
    assert turn.launch(1).launches == runner.launch(1).launches


def test_records_that_were_believed_are_not_doubted_for_a_slower_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    kept = runner.settle(LAUNCH_S)
    cupti.share = 1.5
    turn = ready(runner.session, make_plan())
    turn.launch(1)
    assert turn.settle(LAUNCH_S, kept) == kept
    assert turn.method == runner.method


def test_records_that_are_gone_in_a_later_turn_are_given_up_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    kept = runner.settle(LAUNCH_S)
    cupti.refuse = activity.MULTIPLE_SUBSCRIBERS
    turn = ready(runner.session, make_plan())
    turn.launch(1)
    changed = turn.settle(LAUNCH_S, kept)
    assert "another profiler holds" in turn.method and "launches at a time" in turn.method
    cupti.refuse = None
    turn = ready(runner.session, make_plan())
    turn.launch(1)
    assert turn.settle(LAUNCH_S, changed) == changed
    assert "another profiler holds" in turn.method and "launches at a time" in turn.method


def test_what_only_looked_long_at_first_is_not_timed_by_two_events_for_ever() -> None:
    """A GPU whose clock still rests takes several times as long, and more where code is loaded."""
    fake, session, runner = settled(LONG_S)
    assert runner.settle(0.5) is None
    kept = runner.settle(LONG_S)
    fake.seconds = lambda call: LAUNCH_S
    turn = ready(session, make_plan())
    turn.launch(1)
    assert turn.settle(LAUNCH_S, kept) != kept
    assert turn.launch(1).launches > 1


def test_records_that_a_kernel_defeats_from_the_start_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, cupti, runner = use_cupti(monkeypatch)
    cupti.lose = 1
    runner.settle(LAUNCH_S)
    assert "did not record every kernel" in runner.method
    assert runner.launch(50).launches > 1


def test_what_went_wrong_first_is_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fake, cupti, runner = use_cupti(monkeypatch)
    runner.settle(LAUNCH_S)
    fake.fail_wait = 700
    with pytest.raises(Exception, match="outside its arrays"):
        runner.launch(4)
    assert not cupti.enabled
