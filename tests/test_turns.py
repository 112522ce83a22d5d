"""Tests side by side: one that keeps time runs alone, and everybody has a turn."""

from __future__ import annotations

import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.turns import Turns

PATIENCE_S = 30.0
pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="tests run one by one where files have no POSIX locks"
)


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    return Turns(tmp_path)


def test_many_are_there_together(turns: Turns) -> None:
    everybody = threading.Barrier(3, timeout=PATIENCE_S)

    def come() -> None:
        with turns.together():
            everybody.wait()  # nobody gets past this unless all three are in

    with ThreadPoolExecutor(3) as threads:
        for work in [threads.submit(come) for _ in range(3)]:
            work.result()


def test_one_that_wants_to_be_alone_is_with_nobody(turns: Turns) -> None:
    inside: deque[bool] = deque()
    met: list[list[bool]] = []
    guard = threading.Lock()

    def come(alone: bool) -> None:
        with turns.alone() if alone else turns.together():
            with guard:
                inside.append(alone)
                met.append(list(inside))
            with guard:
                inside.remove(alone)

    with ThreadPoolExecutor(8) as threads:
        for work in [threads.submit(come, number % 3 == 0) for number in range(120)]:
            work.result()
    assert len(met) == 120
    assert all(len(those) == 1 for those in met if True in those)


def test_whoever_comes_later_waits_behind_one_that_waits_to_be_alone(turns: Turns) -> None:
    order: list[str] = []
    waiting, leave = threading.Event(), threading.Event()

    def first() -> None:
        with turns.together():
            waiting.set()
            assert leave.wait(PATIENCE_S)
            order.append("first")

    def second() -> None:
        with turns.alone():
            order.append("alone")

    def third() -> None:
        with turns.together():
            order.append("third")

    with ThreadPoolExecutor(3) as threads:
        works = [threads.submit(first)]
        assert waiting.wait(PATIENCE_S)
        works.append(threads.submit(second))
        while not is_taken(turns):
            assert not works[1].done()
        works.append(threads.submit(third))
        leave.set()
        for work in works:
            work.result()
    assert order == ["first", "alone", "third"]


def is_taken(turns: Turns) -> bool:
    """Return whether somebody stands in the gate."""
    import fcntl

    with turns.gate.open("a") as gate:
        try:
            fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_it_is_given_back_when_a_test_fails(turns: Turns) -> None:
    with pytest.raises(ZeroDivisionError), turns.alone():
        1 / 0  # noqa: B018
    with turns.alone():
        pass
