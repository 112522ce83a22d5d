"""Faults made on purpose are noticed, on the real engine; a fault that nobody notices fails."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.selftest import faulty, recovery
from gpuexplorer.selftest.bench import Bench, Options
from gpuexplorer.selftest.task import Found, Interrupted
from tests.selftest.bench_support import MadeBench, timed

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench(Options(device="cpu", quick=True)) as made:
        yield made


def check(bench: Bench, name: str) -> Found:
    (task,) = [t for t in recovery.plan(bench) if name in t.name]
    return task.do()


def test_a_wrong_result_is_refused(bench: Bench) -> None:
    assert "y[2048]" in check(bench, "wrong result").words


def test_a_write_outside_is_told(bench: Bench) -> None:
    assert "outside" in check(bench, "just outside").words


def test_a_write_far_outside_ends_no_more_than_its_engine(bench: Bench) -> None:
    words = check(bench, "far outside").words
    assert "memory" in words or "outside" in words


def test_a_launch_can_be_cancelled_in_the_middle(bench: Bench) -> None:
    figures = check(bench, "cancelled").figures
    assert figures.keys() == {"cancel_s", "handshake_s"}


def test_a_killed_engine_is_replaced(bench: Bench) -> None:
    assert "SIGKILL" in check(bench, "killed").words


def test_a_user_need_not_wait_for_a_deadline(bench: Bench) -> None:
    looks = count()
    hurried = Bench(Options(device="cpu", quick=True), lambda: next(looks) > 40)
    with hurried, pytest.raises(Interrupted):
        check(hurried, "without an end")


def test_a_fault_that_nobody_notices_fails() -> None:
    blind = MadeBench(lambda c: timed(c, 1e-4)).bench
    for name in ("wrong result", "just outside", "far outside"):
        with pytest.raises(WorkFailed, match="nobody noticed"):
            check(blind, name)


def test_a_fault_told_as_another_one_fails() -> None:
    made = MadeBench(lambda c: timed(c, 1e-4))

    def answer(config: object) -> object:
        if len(made.asked) % 2:
            raise WorkFailed("out of memory")
        return timed(config, 1e-4)  # type: ignore[arg-type]

    made.answer = answer  # type: ignore[assignment]
    with pytest.raises(WorkFailed, match="told as another fault: out of memory"):
        check(made.bench, "wrong result")


def test_an_engine_that_does_not_recover_fails() -> None:
    def answer(config: object) -> object:
        raise WorkFailed("it is all over")

    made = MadeBench(answer)  # type: ignore[arg-type]
    with pytest.raises(WorkFailed, match="the next run failed: it is all over"):
        check(made.bench, "far outside")


def test_faulty_kernels_differ_in_their_fault_alone() -> None:
    made = [
        faulty.right(), faulty.wrong(), faulty.endless(), faulty.just_outside(),
        faulty.far_outside(),
    ]  # fmt: skip
    assert len({w.sha256 for w in made}) == len(made)
    assert len({w.name for w in made}) == len(made)
