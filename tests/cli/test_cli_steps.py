"""The progress of work in steps: counted, with what is under way, of a total that comes later."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from gpuexplorer.cli import progress, tune
from gpuexplorer.cluster.agenda import Lane, Now
from gpuexplorer.core.tuning import Budget
from gpuexplorer.search.tune import TuningProgress
from tests.support.results import made_config


def test_steps_are_counted_with_what_is_under_way() -> None:
    told: list[tuple[int, int, str]] = []
    steps = progress.Steps(lambda *step: told.append(step))
    steps.total = 5
    steps.running("one")
    steps.done()
    steps.done(3)
    steps.running("last")
    assert told == [(0, 5, "one"), (1, 5, "one"), (4, 5, "one"), (4, 5, "last")]


def test_a_log_has_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "is_terminal", lambda: False)
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.0)
    with progress.steps_progress("checking the cases") as sink:
        progress.Steps(sink, 9).running("matmul/naive fp32")
    assert capsys.readouterr().err == "checking the cases: 0 of 9, matmul/naive fp32\n"


def test_how_much_of_a_tuning_is_done_is_said_in_the_number_that_it_has() -> None:
    said = [
        tune.done_words(TuningProgress(phase, done, total, 0.1, None, None))
        for phase in ("search", "final")
        for done, total in ((1, None), (12, None), (1, 9))
    ]
    assert said == [
        "1 configuration", "12 configurations", "1 of 9 configurations",
        "1 round of the final", "12 rounds of the final", "1 of 9 rounds of the final",
    ]  # fmt: skip


def test_a_tuning_on_a_cluster_says_what_its_workers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    monkeypatch.setattr(tune, "is_terminal", lambda: True)
    monkeypatch.setattr(tune, "error_console", lambda: console)
    lane = Lane("a", "gpubox", {})
    cluster: Any = SimpleNamespace(workers=[lane], on_live=None)
    with tune.tune_progress("matmul", Budget(), cluster) as sink:
        lane.measured = 3
        sink(TuningProgress("search", 3, 9, 0.1, None, None))
        console.print("then")
        lane.now = Now(made_config(block=(16, 8, 1)), 40, 1.5e-3)
        cluster.on_live()
    assert "gpubox: 3 measured" in shown.getvalue()
    assert "gpubox: 3 measured; now 16×8, 40 samples, 1.50 ms" in shown.getvalue()
