"""Faults made on purpose are noticed, on the real engine; a fault that nobody notices fails."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.selftest import faulty, recovery, watched
from gpuexplorer.selftest.context import SelfTestContext, SelfTestOptions
from gpuexplorer.selftest.task import Found, Interrupted
from tests.selftest.context_support import MadeContext, timed


@pytest.fixture(scope="module")
def context() -> Iterator[SelfTestContext]:
    with SelfTestContext(SelfTestOptions(device="cpu", quick=True)) as made:
        yield made


def check(context: SelfTestContext, name: str) -> Found:
    (task,) = [t for t in recovery.plan(context) if name in t.name]
    return task.do()


def test_a_wrong_result_is_refused(context: SelfTestContext) -> None:
    assert "y[2048]" in check(context, "wrong result").words


def test_a_write_outside_is_told(context: SelfTestContext) -> None:
    assert "outside" in check(context, "just outside").words


def test_a_write_far_outside_ends_no_more_than_its_engine(context: SelfTestContext) -> None:
    words = check(context, "far outside").words
    assert "memory" in words or "outside" in words


@pytest.mark.alone
def test_a_launch_can_be_cancelled_in_the_middle(context: SelfTestContext) -> None:
    figures = check(context, "stopped in the middle").figures
    assert figures.keys() == {"cancel_s", "handshake_s"}


@pytest.mark.alone
def test_a_killed_engine_is_replaced(context: SelfTestContext) -> None:
    assert "SIGKILL" in check(context, "killed").words


def test_a_user_need_not_wait_for_a_deadline(context: SelfTestContext) -> None:
    looks = count()
    hurried = SelfTestContext(SelfTestOptions(device="cpu", quick=True), lambda: next(looks) > 40)
    with hurried, pytest.raises(Interrupted):
        check(hurried, "without an end")


@pytest.mark.alone
def test_a_deadline_that_the_user_said_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that kept the longer deadline of --deadline failed the self-test by that."""
    monkeypatch.setattr(recovery, "HANG_S", 6.0)
    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "12")
    with SelfTestContext(SelfTestOptions(device="cpu", quick=True)) as context:
        found = check(context, "without an end")
    assert "12 s" in found.words


@pytest.mark.alone
def test_a_machine_that_builds_slowly_has_the_time_that_the_user_said(
    context: SelfTestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "PATIENCE_S", 0.01)
    with pytest.raises(WorkFailed, match="the first sample of a run did not come"):
        check(context, "killed")
    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "60")
    assert "SIGKILL" in check(context, "killed").words


def test_a_fault_that_nobody_notices_fails() -> None:
    blind = MadeContext(lambda c: timed(c, 1e-4)).context
    for name in ("wrong result", "just outside", "far outside"):
        with pytest.raises(WorkFailed, match="nobody noticed"):
            check(blind, name)


def test_a_fault_told_as_another_one_fails() -> None:
    made = MadeContext(lambda c: timed(c, 1e-4))

    def answer(config: object) -> object:
        if len(made.measured) % 2:
            raise WorkFailed("out of memory")
        return timed(config, 1e-4)  # type: ignore[arg-type]

    made.answer = answer  # type: ignore[assignment]
    with pytest.raises(WorkFailed, match="told as another fault: out of memory"):
        check(made.context, "wrong result")


def test_an_engine_that_does_not_recover_fails() -> None:
    def answer(config: object) -> object:
        raise WorkFailed("it is all over")

    made = MadeContext(answer)  # type: ignore[arg-type]
    with pytest.raises(WorkFailed, match="the next run failed: it is all over"):
        check(made.context, "far outside")


def test_faulty_kernels_differ_in_their_fault_alone() -> None:
    made = [
        faulty.right(), faulty.wrong(), faulty.endless(), faulty.just_outside(),
        faulty.far_outside(),
    ]  # fmt: skip
    assert len({w.sha256 for w in made}) == len(made)
    assert len({w.name for w in made}) == len(made)
