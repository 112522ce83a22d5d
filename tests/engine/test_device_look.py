"""Looking for devices has a deadline, and so has a run that waits for it."""

from __future__ import annotations

import pytest

from gpuexplorer.core import deadline
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost, EngineReady, Event
from tests.support.watched import MATMUL, Watched, config


def test_devices_are_asked_for_again_after_looking_for_them_failed(watched: Watched) -> None:
    watched.wait(EngineReady)
    engine, process = watched.engine, watched.engine._process
    assert process is not None
    engine._look.want(telemetry=False, packages=False)
    assert engine._look.question(after_run=False) is not None  # as while the engine looks
    failed = protocol.Failed(generation=0, kind="failed", what="looking for devices failed")
    engine._deliver(process, failed)
    assert watched.wait(protocol.Failed) == failed
    assert watched.devices().devices


def test_an_engine_whose_devices_never_answer_is_given_up(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a GPU is lost and its driver waits for it: a fresh engine would wait as well."""
    monkeypatch.setattr(deadline, "DEVICES_DEADLINE_S", 0.0)
    watched.engine.list_devices()
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert (lost.kind, lost.restarting) == ("hang", False)
    assert "looking for devices did not end within 0 s" in lost.reason
    monkeypatch.undo()
    watched.engine.start()
    assert watched.devices().devices


def test_a_run_that_an_engine_does_not_begin_is_asked_of_a_fresh_one(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it opens its device meanwhile and the driver waits: the run waited without end."""
    chosen = config(watched.devices(), size={"N": 64})
    process = watched.engine._process
    assert process is not None
    monkeypatch.setattr(deadline, "DEVICES_DEADLINE_S", 0.1)
    monkeypatch.setattr(process, "send", lambda message: None)
    generation = watched.engine.run(chosen, MATMUL, RunOptions(seconds=0.1))
    lost = watched.wait(EngineLost)
    assert isinstance(lost, EngineLost)
    assert (lost.kind, lost.restarting, lost.generation) == ("hang", True, 0)
    assert "a GPU or its driver may hang" in lost.reason
    monkeypatch.undo()
    finished = watched.wait(protocol.Finished)
    assert isinstance(finished, protocol.Finished) and finished.generation == generation


def test_a_run_that_waits_behind_a_look_for_devices_has_a_deadline_too(watched: Watched) -> None:
    chosen = config(watched.devices(), size={"N": 64})
    watched.engine.list_devices()
    watched.engine.run(chosen, MATMUL, RunOptions(seconds=0.1))
    deadlines, due = watched.engine._deadlines, list[bool]()
    take = watched.engine._on_event

    def look(event: Event) -> None:
        if isinstance(event, protocol.Devices):
            due.append(deadlines.overdue_at is not None)
        take(event)

    watched.engine._on_event = look
    watched.wait(protocol.Finished)
    assert due == [True]


def test_a_look_for_devices_that_waits_for_a_run_has_its_time_afterwards(watched: Watched) -> None:
    watched.engine.run(config(watched.devices(), size={"N": 128}), MATMUL)
    watched.wait(protocol.Samples)
    deadlines = watched.engine._deadlines
    before = (deadlines.stage, deadlines.overdue_at)
    assert before[0] != "check"
    watched.engine.list_devices()
    assert (deadlines.stage, deadlines.overdue_at) == before
    handled: list[tuple[str, bool]] = []
    take = watched.engine._on_event

    def look(event: Event) -> None:
        if isinstance(event, protocol.Finished | protocol.Devices):
            handled.append((deadlines.stage, deadlines.overdue_at is not None))
        take(event)

    watched.engine._on_event = look
    watched.engine.cancel()
    watched.wait(protocol.Devices, more_than=1)
    assert handled == [("check", True), ("check", False)]
