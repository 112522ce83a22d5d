"""The worker hands over what arrived in parts that the window takes in within a frame."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject
from pytestqt.qtbot import QtBot

from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.worker import MOST_SAMPLES, Chunk, EngineWorker, Update
from tests.gui.driver import until
from tests.support.prepared import prepared


def message(first: int, samples: int, dropped: int) -> protocol.Samples:
    """Samples that are told apart by their durations: 1, 2, 3, ... ns from ``first`` on."""
    seconds = np.arange(first + 1, first + samples + 1) * 1e-9
    batch = SampleBatch(
        seconds=seconds.astype("<f8").tobytes(), counts=(samples,), starts_ns=(first * 1000,)
    )
    return protocol.Samples(generation=1, batch=batch, dropped=dropped)


@given(sizes=st.lists(st.integers(1, 3 * MOST_SAMPLES), min_size=1, max_size=6))
def test_a_stall_is_made_up_for_in_parts_that_lose_nothing(sizes: list[int]) -> None:
    worker = EngineWorker(EngineOptions())
    worker._generation = worker._ticket = 1
    updates: list[Update] = []
    worker.updated.connect(updates.append)
    worker._on_event(prepared())
    sent, told = 0, 0
    for size in sizes:
        worker._on_event(message(sent, size, dropped=1))
        worker._finish_summary()  # stands between the samples of two messages
        sent, told = sent + size, told + 1
    while worker._pending.items:
        worker._taken, worker._emitted_at = True, 0.0
        worker._hand_over()
    chunks = [[item for _, item in u.items if isinstance(item, Chunk)] for u in updates]
    per_update = [sum(len(d) for chunk in part for d in chunk.durations_s) for part in chunks]
    assert max(per_update) <= MOST_SAMPLES
    assert len(updates) <= 2 * (-(-sent // MOST_SAMPLES)) + 1
    together = np.concatenate([d for part in chunks for c in part for d in c.durations_s])
    np.testing.assert_array_equal(together, np.arange(1, sent + 1) * 1e-9)
    batches = [batch for part in chunks for chunk in part for batch in chunk.batches]
    assert sum(sum(batch.counts) for batch in batches) == sent
    assert sum(chunk.dropped for part in chunks for chunk in part) == told


def test_the_rest_follows_before_the_next_frame() -> None:
    worker = EngineWorker(EngineOptions())
    worker._generation = worker._ticket = 1
    worker._on_event(prepared())
    worker._on_event(message(0, 3 * MOST_SAMPLES, dropped=0))
    worker._hand_over()
    worker.taken()
    assert worker._pending.items
    assert worker._patience_s() < 1 / 60


def test_the_worker_rests_while_an_update_is_drawn_unless_it_is_asked_for_something() -> None:
    worker = EngineWorker(EngineOptions())
    worker._generation = worker._ticket = 1
    worker._on_event(prepared())
    for ask in (worker.taken, worker.ask_cancel, worker.ask_devices):
        worker._on_event(message(0, 10, dropped=0))
        worker._emitted_at = 0.0
        worker._hand_over()
        assert not worker._may_go_on.is_set()
        ask()
        assert worker._may_go_on.is_set()
        worker.taken()


def test_the_next_update_comes_once_the_last_one_is_painted(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    taken = window.session.worker.taken

    def note() -> None:
        told.append("taken")
        taken()

    class Paints(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint:
                told.append("paint")
            return False

    paints = Paints()
    window.timing.plot.viewport().installEventFilter(paints)
    window.session.frame.connect(lambda _: told.append("frame"))
    monkeypatch.setattr(window.session.worker, "taken", note)
    until(qtbot, lambda: told.count("paint") > 20 and told.count("frame") > 20)
    whole = "".join(word[0] for word in told)
    drawn = re.findall("f(.*?)t", whole)
    assert "ff" not in whole, "an update is drawn before the next one comes"
    assert sum("p" in between for between in drawn) > len(drawn) // 2
    window.timing.plot.viewport().removeEventFilter(paints)
