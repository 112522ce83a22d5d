"""``gpuexplorer-window``: the window or a reason, where there may be no console to read it in."""

from __future__ import annotations

import sys

import pytest

from gpuexplorer.cli import window, windowed


def test_it_opens_the_window_with_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[list[str]] = []

    def opened(arguments: list[str]) -> int:
        given.append(arguments)
        return 0

    monkeypatch.setattr(windowed, "open_window", opened)
    assert windowed.main(["bench.gpux"]) == 0
    assert given == [["bench.gpux"]]


def test_without_a_display_it_says_why_and_explores_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(window, "why_no_window", lambda: "there is no display")
    assert windowed.main([]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "gpuexplorer: error: no window can open here: there is no display; "
        "'gpuexplorer doctor' in a terminal says what is missing\n"
    )


def test_without_a_console_the_reason_is_shown_in_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[str] = []
    monkeypatch.setattr(windowed, "show_box", boxes.append)
    monkeypatch.setattr(window, "why_no_window", lambda: "PySide6 is not installed")
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert windowed.main([]) == 3
    (said,) = boxes
    assert said.startswith("gpuexplorer: error: no window can open here: PySide6 is not installed")


def test_a_window_that_closes_well_shows_no_box(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes: list[str] = []
    monkeypatch.setattr(windowed, "show_box", boxes.append)
    monkeypatch.setattr(windowed, "open_window", lambda arguments: 0)
    monkeypatch.setattr(sys, "stderr", None)
    assert windowed.main([]) == 0
    assert boxes == []
