"""Work in threads of the window: outcomes come back, and no bug ends in silence."""

from __future__ import annotations

import gc
import threading
import weakref
from functools import partial
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from gpuexplorer.core.errors import Cancelled, ExplorerError, InputError, WorkFailed
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.task import Background, Tasks
from tests.gui.driver import until

if TYPE_CHECKING:
    from tests.gui.conftest import OpenWindow


def broken(_: threading.Event) -> object:
    raise KeyError("a bug")


def refused(_: threading.Event) -> object:
    raise InputError("no such thing")


def given_up(cancel: threading.Event) -> object:
    assert cancel.wait(30)
    raise Cancelled


def test_what_comes_of_a_task_is_told_in_the_main_thread(qtbot: QtBot) -> None:
    tasks = Tasks()
    outcomes: list[object] = []

    def take(outcome: object) -> None:
        outcomes.append(outcome)
        assert QThread.isMainThread()

    for work in (lambda _: 7, refused, broken, given_up):
        task = tasks.do("counting", work, take)
        if work is given_up:
            task.cancel()
        until(qtbot, lambda: not tasks.busy)
    value, error, bug, nothing = outcomes
    assert (value, nothing) == (7, None)
    assert isinstance(error, InputError)
    assert isinstance(bug, WorkFailed)
    assert str(bug) == "counting failed: KeyError('a bug')"
    assert "in broken" in bug.detail


def test_an_error_that_is_kept_keeps_nothing_of_what_was_worked_on(qtbot: QtBot) -> None:
    held: list[weakref.ref[set[int]]] = []

    def refuses(_: threading.Event) -> object:
        large = set(range(9))
        held.append(weakref.ref(large))
        try:
            raise KeyError(large.pop())
        except KeyError as error:
            raise InputError("no such thing") from error

    tasks = Tasks()
    outcomes: list[object] = []
    tasks.do("looking", refuses, outcomes.append)
    until(qtbot, lambda: bool(outcomes) and not tasks.busy)
    gc.collect()
    assert isinstance(outcomes[0], InputError) and isinstance(outcomes[0].__cause__, KeyError)
    assert held[0]() is None


def test_nobody_is_told_once_tasks_are_closed_down(qtbot: QtBot) -> None:
    tasks = Tasks()
    outcomes: list[object] = []
    later: list[object] = []
    task = tasks.do("waiting", given_up, outcomes.append)
    tasks.close_down()
    assert task.isFinished()
    tasks.do("counting", lambda _: 7, later.append)
    until(qtbot, lambda: later == [7])
    assert outcomes == []


def test_only_the_latest_of_a_kind_is_done_and_a_bug_in_one_does_not_end_the_rest(
    qtbot: QtBot,
) -> None:
    background = Background("drawing")
    ended: list[tuple[str, object]] = []
    background.ended.connect(lambda kind, outcome: ended.append((kind, outcome)))
    began, gate = threading.Event(), threading.Event()

    def first() -> int:
        began.set()
        gate.wait(30)
        return 1

    background.ask("picture", first)
    assert began.wait(30)
    for number in (2, 3, 4):
        background.ask("picture", partial(int, number))
    background.ask("words", lambda: broken(threading.Event()))
    background.ask("words too", lambda: "fine")
    gate.set()
    until(qtbot, lambda: len(ended) == 4)
    assert [one for one in ended if not isinstance(one[1], ExplorerError)] == [
        ("picture", 1),
        ("picture", 4),
        ("words too", "fine"),
    ]
    assert "KeyError" in str(ended[2][1])
    background.close()
    background.ask("picture", lambda: 5)
    assert not background.isRunning()


def test_an_outcome_that_was_told_is_not_kept(qtbot: QtBot) -> None:
    background = Background("drawing")
    gone: list[weakref.ref[set[int]]] = []
    background.ended.connect(lambda _, outcome: gone.append(weakref.ref(outcome)))
    background.ask("picture", lambda: set(range(9)))
    until(qtbot, lambda: bool(gone) and gone[0]() is None)
    background.close()


def test_a_bug_in_the_thread_of_the_store_is_said(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(_: StoreWorker) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(StoreWorker, "_serve", serve)
    window = open_window()
    until(qtbot, lambda: "KeyError" in window.banner.text)
    assert window.banner.text == "Store failed: KeyError('a bug')."
