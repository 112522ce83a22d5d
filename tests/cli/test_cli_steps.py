"""The progress of work in steps: counted, with what is under way, of a total that comes later."""

from __future__ import annotations

import pytest

from gpuexplorer.cli import progress


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
