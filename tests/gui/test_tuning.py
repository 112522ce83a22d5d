"""Tune in the window: the dialog, its progress, and the knobs set to what was found."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.tuning import best_so_far, evaluation_words
from gpuexplorer.core.tuning import Budget, Evaluation, Tuning
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.panels.tune import TuneDialog
from gpuexplorer.gui.panels.tune_choices import TITLES, TuneChoices
from gpuexplorer.history.store import Store
from gpuexplorer.search.tune_sampler import NEEDS, SAMPLERS
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.results import made_config


def opened(qtbot: QtBot, open_window: OpenWindow) -> tuple[MainWindow, TuneDialog]:
    """Return the window, measuring a small problem, and the dialog that its button opens."""
    window = open_window()
    window.show()
    wait_measured(qtbot, window)
    window.session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    find(window, "tuneButton", QToolButton).click()
    dialog = find(window, "tuneDialog", TuneDialog)
    assert dialog.isVisible() and not dialog.isModal()
    return window, dialog


def start(qtbot: QtBot, dialog: TuneDialog, evaluations: int) -> None:
    dialog.choices.unit_box.setCurrentIndex(dialog.choices.unit_box.findData("evaluations"))
    dialog.choices.amount_box.setValue(evaluations)
    click(dialog.start_button)
    until(qtbot, lambda: dialog.running)


def click(button: QPushButton) -> None:
    assert button.isVisible() and button.isEnabled()
    button.click()


def texts(dialog: TuneDialog, column: int) -> list[str]:
    model = dialog.table.model()
    return [str(model.index(row, column).data()) for row in range(model.rowCount())]


def test_a_tuning_is_watched_and_used(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, dialog = opened(qtbot, open_window)
    session = window.session
    assert "naive · N = 64 · fp32" in dialog.problem_words.text()
    assert not dialog.use_button.isEnabled()
    start(qtbot, dialog, 6)
    assert not session.live
    assert not dialog.choices.sampler_box.isEnabled()
    until(qtbot, lambda: not dialog.running)
    tuning = dialog.tuning
    assert tuning is not None and tuning.chosen is not None
    assert sorted(map(int, dialog.plot.keys)) == [e.number for e in tuning.evaluations]
    assert len(texts(dialog, 0)) == len(tuning.finalists)
    assert texts(dialog, 2)[0] == "1.000"
    assert any("chosen" in words for words in texts(dialog, 4))
    assert "Use " in dialog.conclusion.text()
    assert "Tried 6 of 66" in dialog.words.text()
    until(qtbot, lambda: session.live)

    session.experiment.set_block((1, 1, 1))
    click(dialog.use_button)
    assert session.experiment.knobs.block == tuning.chosen.block
    assert session.experiment.knobs.device == "auto", "only the block and the tunables are set"
    wait_measured(qtbot, window)
    session.experiment.set_size("N", 128)
    click(dialog.use_button)
    assert session.experiment.knobs.size == {"N": 64}, "the problem is set with them"


def test_what_was_tuned_is_one_click_away_later(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, dialog = opened(qtbot, open_window)
    button = find(window, "useTunedButton", QToolButton)
    button.click()
    until(qtbot, lambda: window.banner.isVisible())
    assert "Nothing is tuned yet for matmul · naive · N = 64" in window.banner.text
    start(qtbot, dialog, 4)
    until(qtbot, lambda: not dialog.running)
    tuning = dialog.tuning
    assert tuning is not None and tuning.chosen is not None
    dialog.reject()
    window.session.experiment.set_block((2, 2, 1))
    button.click()
    chosen = tuning.chosen.block
    until(qtbot, lambda: window.session.experiment.knobs.block == chosen)
    with Store.open(read_only=True) as store:
        (group,) = store.groups("tuning")
        assert group.finished and group.runs > 0
        assert msgspec.convert(group.document, Tuning).id == tuning.id


def test_stopping_lets_the_leaders_decide(qtbot: QtBot, open_window: OpenWindow) -> None:
    _, dialog = opened(qtbot, open_window)
    start(qtbot, dialog, 1000)
    until(qtbot, lambda: len(dialog.plot.keys) >= 3)
    assert texts(dialog, 4)[0] == "not measured in turns yet"
    assert "configurations tried" in dialog.words.text()
    click(dialog.start_button)
    until(qtbot, lambda: not dialog.running)
    assert dialog.tuning is not None
    assert dialog.tuning.stopped_by == "user"
    assert dialog.tuning.chosen is not None


def test_cancelling_names_nothing_and_goes_live_again(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, dialog = opened(qtbot, open_window)
    start(qtbot, dialog, 1000)
    until(qtbot, lambda: len(dialog.plot.keys) >= 2)
    click(dialog.cancel_button)
    until(qtbot, lambda: not dialog.running)
    assert dialog.tuning is None
    assert not dialog.use_button.isEnabled()
    assert "nothing is named" in dialog.words.text()
    assert len(dialog.plot.keys) >= 2, "what was tried is still to be seen"
    wait_measured(qtbot, window)


def test_the_window_can_be_closed_meanwhile(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, dialog = opened(qtbot, open_window)
    start(qtbot, dialog, 1000)
    until(qtbot, lambda: len(dialog.plot.keys) >= 1)
    window.close()
    assert window.session.jobs.current is None or not window.session.jobs.current.isRunning()


def test_a_library_call_has_nothing_to_tune(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, dialog = opened(qtbot, open_window)
    window.session.experiment.set_variant("numpy")
    start(qtbot, dialog, 5)
    until(qtbot, lambda: not dialog.running)
    assert "there is nothing to tune" in dialog.words.text()


def test_the_document_is_exported(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, dialog = opened(qtbot, open_window)
    start(qtbot, dialog, 3)
    until(qtbot, lambda: not dialog.running)
    target = tmp_path / "tuning.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    click(dialog.export_button)
    assert msgspec.json.decode(target.read_bytes(), type=Tuning) == dialog.tuning
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path), ""))
    click(dialog.export_button)
    assert "was not saved" in dialog.words.text()


def test_samplers_that_lack_a_package_cannot_be_chosen(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    choices = TuneChoices()
    qtbot.addWidget(choices)
    assert set(TITLES) == set(SAMPLERS)
    box = choices.sampler_box
    for name in SAMPLERS:
        index = box.model().index(box.findData(name), 0)
        enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        assert enabled == (name not in NEEDS)


def test_the_grid_tries_everything_unless_told(qtbot: QtBot) -> None:
    choices = TuneChoices()
    qtbot.addWidget(choices)
    budgets = [choices.options.budget]
    choices.sampler_box.setCurrentIndex(choices.sampler_box.findData("grid"))
    budgets.append(choices.options.budget)
    assert not choices.amount_box.isEnabled()
    choices.unit_box.setCurrentIndex(choices.unit_box.findData("evaluations"))
    budgets.append(choices.options.budget)
    assert budgets == [Budget(seconds=60), Budget(), Budget(evaluations=100)]


def evaluation(number: int, **fields: Any) -> Evaluation:
    return Evaluation(number=number, config=made_config(), time_s=0.0, samples=7, **fields)


def test_the_line_of_the_best_goes_down_in_steps() -> None:
    tried = [
        evaluation(1, outcome="measured", median_s=3.0),
        evaluation(2, outcome="pruned", median_s=1.0, reason="given up: 2 times"),
        evaluation(3, outcome="failed", reason="wrong"),
        evaluation(4, outcome="measured", median_s=2.0),
        evaluation(5, outcome="measured", median_s=4.0),
    ]
    assert best_so_far(tried) == ([1.0, 4.0, 4.0, 5.0], [3.0, 3.0, 2.0, 2.0])
    assert best_so_far(tried[1:3]) == ([], [])
    assert "given up: 2 times" in evaluation_words(tried[1])
    assert "1: 16×16" in evaluation_words(tried[0])
