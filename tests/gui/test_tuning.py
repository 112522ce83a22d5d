"""Tune in the window: its view, its progress, and the knobs set to what was found."""

from __future__ import annotations

import csv
import importlib.util
import shlex
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.tuning import best_so_far, evaluation_words
from gpuexplorer.cli.parser import build_parser
from gpuexplorer.cli.tune import options_of
from gpuexplorer.core.tuning import Budget, Evaluation, Tuning, tuning_json
from gpuexplorer.gui.export import CHARTS
from gpuexplorer.gui.export_dialog import ExportDialog
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.job import JobModel
from gpuexplorer.gui.model.tried import Tried, decode
from gpuexplorer.gui.views.tune import TuneView, TuningJob, picture_of, progress_of
from gpuexplorer.gui.views.tune_form import TITLES, TuneForm
from gpuexplorer.history.store import Store
from gpuexplorer.search.finalists import MOST_FINAL_S
from gpuexplorer.search.tune import TuningProgress
from gpuexplorer.search.tune_sampler import NEEDS, SAMPLERS
from tests.gui.conftest import OpenWindow
from tests.gui.driver import export_to, find, until, wait_measured
from tests.results.test_results_tuning import TUNING
from tests.support.results import made_config

LASTING = 320
"""A size at which a tuning lasts, so that a test can stop it before it has tried everything."""


def opened(qtbot: QtBot, open_window: OpenWindow, size: int = 64) -> tuple[MainWindow, TuneView]:
    """Return the window, measuring a small problem, and its view that tunes."""
    window = open_window()
    window.show()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", size)
    wait_measured(qtbot, window)
    window.panels.places.show_view(window.panels.tune)
    view = find(window, "tuneView", TuneView)
    until(qtbot, view.isVisible)
    return window, view


def start(qtbot: QtBot, view: TuneView, evaluations: int) -> None:
    form, button = view.form, view.head.start
    form.unit_box.setCurrentIndex(form.unit_box.findData("evaluations"))
    form.amount_box.setValue(evaluations)
    until(qtbot, button.isEnabled)  # once it is known what can be launched
    click(button)
    assert view.running


def ended(qtbot: QtBot, view: TuneView) -> Tuning | None:
    """Wait until the tuning has ended and is drawn, and return what it found."""
    until(qtbot, lambda: not view.running)
    tuning = view.tuning
    rows = len(tuning.finalists) if tuning is not None else None
    waits = "not decided in turns"  # of the leaders, which may be as many
    until(
        qtbot,
        lambda: rows is None or (len(texts(view, 0)) == rows and waits not in texts(view, 3)),
    )
    return tuning


def keys(view: TuneView) -> list[str]:
    return view.result.chart.keys


def click(button: QAbstractButton) -> None:
    assert button.isVisible() and button.isEnabled()
    button.click()


def texts(view: TuneView, column: int) -> list[str]:
    model = view.result.table.model()
    return [str(model.index(row, column).data()) for row in range(model.rowCount())]


def test_a_tuning_is_watched_and_used(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = opened(qtbot, open_window)
    session = window.session
    assert "naive · N = 64 · fp32" in view.form.subject.text()
    assert not view.use_button.isVisible()
    start(qtbot, view, 6)
    assert not session.live
    assert not view.form.sampler_box.isEnabled()
    tuning = ended(qtbot, view)
    assert tuning is not None and tuning.chosen is not None
    assert sorted(map(int, keys(view))) == [e.number for e in tuning.evaluations]
    assert len(texts(view, 0)) == len(tuning.finalists)
    assert texts(view, 2)[0] == ""
    known = ("as fast", "can't tell")
    assert all("×" in words or words.startswith(known) for words in texts(view, 2)[1:])
    assert any("chosen" in words for words in texts(view, 3))
    assert "Use " in view.result.finding.text()
    assert "Tried 6 of 66" in view.head.words.text()
    until(qtbot, lambda: session.live)

    session.experiment.set_block((1, 1, 1))
    click(view.use_button)
    assert session.experiment.knobs.block == tuning.chosen.block
    assert session.experiment.knobs.device == "auto", "only the block and the tunables are set"
    wait_measured(qtbot, window)
    session.experiment.set_size("N", 128)
    click(view.use_button)
    assert session.experiment.knobs.size == {"N": 64}, "the problem is set with them"


def test_what_was_tuned_is_one_click_away_later(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = opened(qtbot, open_window)
    button = find(window, "useTunedButton", QToolButton)
    nothing = "Nothing is tuned yet for matmul · naive · N = 64"
    until(qtbot, lambda: nothing in button.toolTip())
    assert not button.isEnabled()
    start(qtbot, view, 4)
    tuning = ended(qtbot, view)
    assert tuning is not None and tuning.chosen is not None
    window.panels.places.show_view(window.panels.live)
    window.session.experiment.set_block((2, 2, 1))
    until(qtbot, button.isEnabled)
    button.click()
    chosen = tuning.chosen.block
    until(qtbot, lambda: window.session.experiment.knobs.block == chosen)
    with Store.open(read_only=True) as store:
        (group,) = store.groups("tuning")
        assert group.finished and group.runs > 0
        assert msgspec.convert(group.document, Tuning).id == tuning.id


def test_what_was_tuned_is_looked_up_for_another_machine_s_device_of_the_same_id(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, _ = opened(qtbot, open_window)
    session, tuning = window.session, window.tuning
    session.set_live(False)
    until(qtbot, lambda: tuning.nothing_tuned.startswith("Nothing is tuned yet"))
    devices = session.experiment.devices
    assert devices is not None
    asked: list[str] = []

    def find_tuned(*of: Any) -> None:
        asked.append(of[-1])

    def do(work: Any, then: Any) -> None:
        then(work(SimpleNamespace(find_tuned=find_tuned)))

    monkeypatch.setattr(session.runs, "do", do)
    there = msgspec.structs.replace(
        devices,
        devices=tuple(
            msgspec.structs.replace(d, hardware_id=f"{d.hardware_id} B") for d in devices.devices
        ),
    )
    session.experiment.set_devices(there, "bench")
    until(qtbot, lambda: bool(asked))
    device = session.experiment.device
    assert device is not None and asked == [device.hardware_id]
    asked.clear()
    session.experiment.set_size("N", 128)
    session.experiment.devices = None  # as while another engine starts
    until(qtbot, lambda: not tuning._later.isActive())
    assert not asked
    session.experiment.set_devices(there, "bench")
    until(qtbot, lambda: asked == [device.hardware_id])


def test_stopping_lets_the_leaders_decide(qtbot: QtBot, open_window: OpenWindow) -> None:
    _, view = opened(qtbot, open_window, LASTING)
    start(qtbot, view, 1000)
    until(qtbot, lambda: len(keys(view)) >= 3)
    assert texts(view, 3)[0] == "not decided in turns"
    assert "configurations tried" in view.head.words.text()
    click(view.head.stop)
    tuning = ended(qtbot, view)
    assert tuning is not None
    assert tuning.stopped_by == "user"
    assert tuning.chosen is not None


def test_a_tuning_is_paused_and_that_is_no_part_of_its_budget(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = opened(qtbot, open_window, LASTING)
    head, began = view.head, time.monotonic()
    start(qtbot, view, 1000)
    job = window.session.jobs.current
    assert isinstance(job, TuningJob)
    until(qtbot, lambda: len(keys(view)) >= 2)
    click(head.pause)
    wait_measured(qtbot, window)
    assert head.words.text().startswith("Paused at ") and head.pause.text() == "Continue"
    click(head.stop)  # which continues, and ends the search
    tuning = ended(qtbot, view)
    took_s = time.monotonic() - began
    assert tuning is not None and tuning.chosen is not None and job.waited_s > 0
    assert tuning.search_s + tuning.final_s <= took_s - job.waited_s


def test_a_paused_tuning_stays_paused_while_something_else_would_disturb_it(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = opened(qtbot, open_window, LASTING)
    head, jobs = view.head, window.session.jobs
    start(qtbot, view, 1000)
    until(qtbot, lambda: len(keys(view)) >= 2)
    click(head.pause)
    wait_measured(qtbot, window)
    jobs.disturbed_by = "setting up an engine"
    for press in (head.pause, head.stop):
        click(press)
        assert "Setting up an engine would disturb this" in window.banner.text
        assert view.model.state == "paused" and head.pause.text() == "Continue"
        assert head.words.text().startswith("Paused at ")
        window.show_notice(None)
    jobs.disturbed_by = ""
    click(head.pause)
    tuning = ended(qtbot, view)
    assert tuning is not None and tuning.stopped_by == "user", "Stop was not lost"


def test_cancelling_names_nothing_and_goes_live_again(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view = opened(qtbot, open_window, LASTING)
    start(qtbot, view, 1000)
    until(qtbot, lambda: len(keys(view)) >= 2)
    click(view.cancel_button)
    until(qtbot, lambda: not view.running)
    assert view.tuning is None
    assert not view.use_button.isVisible() and window.panels.tune.held() is None
    assert "Nothing is named" in view.head.words.text()
    assert len(keys(view)) >= 2, "what was tried is still to be seen"
    wait_measured(qtbot, window)


def test_the_window_can_be_closed_meanwhile(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = opened(qtbot, open_window, LASTING)
    start(qtbot, view, 1000)
    until(qtbot, lambda: len(keys(view)) >= 1)
    window.close()
    assert window.session.jobs.current is None or not window.session.jobs.current.isRunning()


def test_a_library_call_has_nothing_to_tune(qtbot: QtBot, open_window: OpenWindow) -> None:
    window, view = opened(qtbot, open_window)
    window.session.experiment.set_variant("numpy")
    until(qtbot, lambda: "there is nothing to tune" in view.form.total.text())
    assert not view.head.start.isEnabled()


def test_it_says_before_what_it_comes_to_and_which_command_does_it(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    _, view = opened(qtbot, open_window)
    form = view.form
    until(qtbot, lambda: form.total.text() == "66 configurations can be launched.")
    assert form.estimate.text() == (
        "Takes 60 s or less, unless eight turns of two finalists take longer."
    )
    form.sampler_box.setCurrentIndex(form.sampler_box.findData("grid"))
    form.racing_box.setChecked(False)
    until(qtbot, lambda: form.estimate.text().startswith("Tries 66 of them, which takes about"))
    assert form.estimate.text().endswith(
        ", and up to 15 s for the final, unless eight turns of each finalist take longer."
    )
    for sampler, unit in (("grid", "all"), ("tpe", "seconds"), ("random", "evaluations")):
        form.sampler_box.setCurrentIndex(form.sampler_box.findData(sampler))
        form.unit_box.setCurrentIndex(form.unit_box.findData(unit))
        QApplication.clipboard().clear()
        assert view.head.copy.isEnabled()
        click(view.head.copy)
        until(qtbot, lambda: bool(QApplication.clipboard().text()))
        words = shlex.split(QApplication.clipboard().text())
        options = build_parser().parse_args(words[1:])
        assert words[:3] == ["gpuexplorer", "tune", "matmul"] and options.size == {"N": 64}
        assert options_of(options) == form.options


def test_the_time_that_is_left_holds_the_final() -> None:
    def left_s(phase: Literal["search", "final"], budget: Budget, total: int | None) -> Any:
        return progress_of(TuningProgress(phase, 10, total, 5.0, None, None), budget).left_s

    assert left_s("search", Budget(evaluations=30), 30) == 10.0 + MOST_FINAL_S
    assert left_s("search", Budget(seconds=60), None) == 55.0, "of which the final is a part"
    assert left_s("search", Budget(seconds=2), None) == 0.0
    assert left_s("final", Budget(evaluations=30), 40) is None


def test_chart_table_and_document_are_exported(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, view = opened(qtbot, open_window)
    start(qtbot, view, 3)
    tuning = ended(qtbot, view)
    assert tuning is not None
    window.session.set_live(False)
    for suffix in (*CHARTS, "csv", "json"):
        target = tmp_path / f"tuning.{suffix}"
        window.export(suffix)
        export_to(window, target)
        until(qtbot, lambda: not window.exporter.busy)
        assert target.exists(), window.banner.text
    assert msgspec.json.decode((tmp_path / "tuning.json").read_bytes(), type=Tuning) == tuning
    with (tmp_path / "tuning.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [(r["number"], r["outcome"], r["block_x"]) for r in rows] == [
        (str(e.number), e.outcome, str(e.config.block[0] if e.config.block else ""))
        for e in tuning.evaluations
    ]
    drawn = (tmp_path / "tuning.svg").read_text()
    assert "the best so far" in drawn and "Use " in drawn
    folder = tmp_path / "folder.json"
    folder.mkdir()
    window.export("json")
    export_to(window, folder)
    (dialog,) = [d for d in window.findChildren(ExportDialog) if d.isVisible()]
    assert not dialog.export_button.isEnabled()
    assert dialog.words.text() == "This is a folder: give the file a name."
    dialog.reject()


def test_a_tuning_of_the_history_that_named_nothing_is_no_whole_one() -> None:
    broken = msgspec.structs.replace(
        TUNING, finalists=(), best=None, chosen=None, why=None, stopped_by="error"
    )
    for tuning, state in ((TUNING, "done"), (broken, "stopped")):
        model: JobModel[Tried] = JobModel()
        model.show(decode(tuning_json(tuning), "the history"))
        assert model.state == state
        assert model.result is not None and picture_of(model.result).sheet.rows


def test_samplers_that_lack_a_package_cannot_be_chosen(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in NEEDS.values() else real(name)
    )
    choices = TuneForm()
    qtbot.addWidget(choices)
    assert set(TITLES) == set(SAMPLERS)
    box = choices.sampler_box
    for name in SAMPLERS:
        index = box.model().index(box.findData(name), 0)
        enabled = bool(index.flags() & Qt.ItemFlag.ItemIsEnabled)
        assert enabled == (name not in NEEDS)


def test_the_grid_tries_everything_unless_told(qtbot: QtBot) -> None:
    choices = TuneForm()
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
