"""The Lab tab at work: started, paused, cancelled; kept in the history; knobs and files from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QCheckBox, QLabel
from pytestqt.qtbot import QtBot

from gpuexplorer.core.studies import STUDY_GROUP, SwitchesStudy
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.views.blockmap import BlockMapView
from gpuexplorer.gui.views.lab import LabView
from gpuexplorer.gui.views.study import StudyJob
from gpuexplorer.gui.views.study_form import Lists, Ticks
from gpuexplorer.history.store import Query, Store
from gpuexplorer.studies import KINDS
from gpuexplorer.studies.precision import PrecisionStudy
from gpuexplorer.studies.speedup import SpeedupStudy
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.gui.looks import settle
from tests.support.lab_studies import precision_study


def opened(qtbot: QtBot, window: MainWindow, kind: Any = "precision") -> LabView:
    """Return the Lab with small problems to measure, and a study of one kind in front."""
    experiment = window.session.experiment
    until(qtbot, lambda: experiment.devices is not None)
    if "N" in experiment.knobs.size:
        experiment.set_size("N", 64)
    window.show()
    window.panels.places.show_view(window.panels.lab)
    view = window.panels.lab.lab
    assert view is not None
    for each in KINDS:
        form = view.view_of(each).form
        form.turns.setValue(6)
        form.seconds.setValue(0.06)
    view.show_kind(kind)
    return view


def ready(qtbot: QtBot, view: LabView) -> None:
    until(qtbot, view.view.head.start.isEnabled)


def finished(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.jobs.current is None)


def groups(kind: str) -> list[Any]:
    with Store.open() as store:
        return [g for g in store.groups(STUDY_GROUP) if g.document["kind"] == kind]


def test_a_precision_study_fills_its_chart_and_is_kept(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    view = opened(qtbot, window)
    assert "How much accuracy" in view.view.result.empty.text
    ready(qtbot, view)
    assert "Takes about" in view.view.result.empty.text
    view.view.head.copy.click()
    text = QApplication.clipboard().text()
    assert text.startswith("gpuexplorer study precision matmul") and "--rounds 6" in text
    told: list[str] = []
    view.message.connect(told.append)
    view.view.start()
    until(
        qtbot, lambda: view.view.model.state == "running" and not view.view.head.start.isVisible()
    )
    finished(qtbot, window)
    study = view.view.model.result
    assert isinstance(study, PrecisionStudy) and study.stopped_by == "done"
    assert view.view.model.state == "done" and len(study.runs) >= 2
    assert told == [f"Precision: {KINDS['precision'].finding(study)}"]
    until(qtbot, lambda: set(view.view.result.chart.keys) == {run.id for run in study.runs})
    assert view.view.head.words.text() == "", "how it was measured stands beneath the chart"
    until(qtbot, lambda: "Measured in 6 turns" in view.view.result.notes.text())
    until(qtbot, lambda: len(groups("precision")) == 1)
    (group,) = groups("precision")
    assert group.runs == len(study.runs) and group.finished
    with Store.open() as store:
        found = store.find(Query(group=group.id))
        assert {row.id for row in found} == {run.id for run in study.runs}
    target = tmp_path / "lab.svg"
    view.exported().write(target, "svg", "light")
    assert "<svg" in target.read_text()
    other = next(r for r in study.runs if r.config.precision != "fp32")
    view.view.result.chart.chosen.emit(other.id)
    assert window.session.experiment.knobs.precision == other.config.precision
    window.session.experiment.undo()
    assert window.session.experiment.knobs.precision == "fp32"


def test_the_last_of_a_study_is_drawn_at_once_however_long_drawing_takes(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = opened(qtbot, open_window()).view
    asked: list[str] = []
    study = precision_study()
    view.show_held(Held(study))
    until(qtbot, lambda: set(view.result.chart.keys) == {run.id for run in study.runs})
    monkeypatch.setattr(view._background, "ask", lambda kind, work: asked.append(kind))
    picture, slow_s = view.picture(study)(), 60.0
    view.refresh(at_once=True)
    view.refresh()  # a step of the job, while that is drawn
    view._drawn((view._lineage, picture, slow_s))
    assert asked == ["picture"], "what is only a step waits, so that drawing takes a small share"
    view.refresh(at_once=True)
    view.refresh(at_once=True)  # the end of the job, while that is drawn
    view._drawn((view._lineage, picture, slow_s))
    assert asked == ["picture"] * 3, "what stands beside the answer is what it was read from"


def test_start_and_copy_stay_while_what_is_wanted_is_looked_at_anew(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    view = opened(qtbot, window, "scaling").view
    until(qtbot, view.head.start.isEnabled)
    asked: list[Callable[[], object]] = []
    monkeypatch.setattr(view, "in_background", lambda kind, work: asked.append(work))

    def sizes(words: str) -> None:
        assert view.form.sizes is not None
        view.form.sizes.text.setText(words)
        view.form.sizes.text.editingFinished.emit()

    sizes("16,32")
    until(qtbot, lambda: bool(asked))
    assert view.wanted() is None and view.head.start.isEnabled()
    view.head.copy.click()
    view._background_ended("preview", asked.pop()())
    assert "16,32" in QApplication.clipboard().text(), "copied once it was known"
    sizes("16,")
    until(qtbot, lambda: not view.head.start.isEnabled())
    sizes("16,64")
    assert not view.head.start.isEnabled(), "it was wrong, and is not known to be right yet"
    until(qtbot, lambda: bool(asked))
    view._background_ended("preview", asked.pop()())
    assert view.head.start.isEnabled()
    sizes("16")
    view.head.start.click()
    assert (view.starts_soon, view.running) == (True, False)
    until(qtbot, lambda: bool(asked))
    view._background_ended("preview", asked.pop()())
    assert (view.starts_soon, view.running) == (False, True)
    assert isinstance(view._job, StudyJob) and view._job.wanted.chosen["sizes"] == (16,)
    window.session.jobs.cancel()
    finished(qtbot, window)


def test_nothing_is_arranged_anew_when_a_study_begins_and_ends(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = opened(qtbot, window, "ladder")
    for width in (1000, 1280, 1920):
        window.resize(width, 800)
        ready(qtbot, view)
        settle()
        head, page = view.view.head, view.pages
        before = head.mapTo(view, QPoint()), page.geometry()
        view.view.start()
        until(qtbot, head.stop.isVisible)
        settle()
        assert (head.mapTo(view, QPoint()), page.geometry()) == before, width
        view.view.stop()
        finished(qtbot, window)
        settle()
        assert (head.mapTo(view, QPoint()), page.geometry()) == before, width


def test_a_study_pauses_for_live_and_is_cancelled_with_what_it_has(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    view = opened(qtbot, window, "speedup")
    form = view.view.form
    form.turns.setValue(60)
    form.seconds.setValue(6.0)
    devices, sizes = form.groups["names"], form.sizes
    assert isinstance(devices, Lists) and sizes is not None
    until(qtbot, lambda: len(devices.chosen) == 2)
    sizes.text.setText("16,32")
    sizes.text.editingFinished.emit()
    ready(qtbot, view)
    view.view.start()
    until(qtbot, lambda: view.view.model.result is not None)
    until(qtbot, lambda: bool(groups("speedup")))
    (begun,) = groups("speedup")
    assert not begun.finished and begun.runs, "a crash now would take the last seconds alone"
    view.view.head.pause.click()
    until(qtbot, lambda: window.session.live)
    wait_measured(qtbot, window, 5)
    assert view.view.model.words.startswith("Paused at ")
    assert view.view.head.pause.text() == "Continue"
    view.view.head.pause.click()
    assert view.view.model.state == "running"
    view.show_kind("precision")
    until(qtbot, lambda: "comparing two devices" in view.view.head.words.text())
    assert [name for name, button in view.buttons.items() if button.running] == ["speedup"]
    view.views["speedup"].head.stop.click()
    finished(qtbot, window)
    study = view.views["speedup"].model.result
    assert isinstance(study, SpeedupStudy) and study.stopped_by == "user"
    assert view.views["speedup"].model.state == "stopped"
    until(qtbot, lambda: [one.finished for one in groups("speedup")] == [True])
    (ended,) = groups("speedup")
    assert (ended.id, ended.runs) == (begun.id, len(study.runs))
    until(qtbot, lambda: window.session.live)


def test_what_cannot_be_studied_or_fails_says_why(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuexplorer.core.errors import WorkFailed
    from gpuexplorer.studies.precision import PrecisionLab

    def fails(*_: object) -> None:
        raise WorkFailed("nothing was measured: the device is gone")

    window = open_window()
    view = opened(qtbot, window, "switches")
    until(qtbot, lambda: "no switch is ticked" in view.view.form.total.text().lower())
    assert not view.view.head.start.isEnabled()
    missing = find(window, "study_switchesMissing", QLabel)
    assert "Switches belong to models" in missing.text()
    window.export("json")
    assert "no study to export" in window.banner.text
    view.show_kind("precision")
    ready(qtbot, view)
    monkeypatch.setattr(PrecisionLab, "_measure", fails)
    view.view.start()
    finished(qtbot, window)
    until(qtbot, lambda: "the device is gone" in window.banner.text)
    assert view.view.model.state == "empty"
    until(qtbot, lambda: "the device is gone" in view.view.result.empty.text)
    assert groups("precision") == []


def test_a_model_runs_live_and_its_switches_are_studied(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    pytest.importorskip("torch", reason="PyTorch is an extra")
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    knobs, live = window.session.experiment, window.session.live_model
    knobs.set_workload("mlp")
    knobs.set_size("H", 32)
    knobs.set_size("D", 32)
    run = wait_measured(qtbot, window)
    assert run.config.variant == "torch" and run.config.switches == {}
    window.show()
    window.pin()
    find(window, "switch_one_by_one", QCheckBox).click()
    until(qtbot, lambda: measured_with(window, {"one_by_one": True}))
    assert live.pins[0].label.startswith("torch · B = 64")
    until(qtbot, lambda: window.insight.figures.items.text().endswith("samples/s"))
    window.insight.copy_command()
    assert "--switch one_by_one=on" in QApplication.clipboard().text()
    places = window.panels.places
    places.show_view(window.panels.kernel)
    until(qtbot, lambda: "PyTorch" in find(window, "kernelMessage", QLabel).text())
    places.show_view(window.panels.block_map)
    block_map = window.panels.block_map.view
    assert isinstance(block_map, BlockMapView)
    until(qtbot, lambda: "chooses its own blocks" in block_map.model.reason)
    places.show_view(window.panels.roofline)
    until(qtbot, lambda: bool(window.session.roofline_picture().spots))
    study_the_switches(qtbot, window)


def measured_with(window: MainWindow, switches: dict[str, bool | str]) -> bool:
    run = window.session.live_model.current
    return run is not None and run.config.switches == switches and run.summary is not None


def study_the_switches(qtbot: QtBot, window: MainWindow) -> None:
    window.session.experiment.set_switch("one_by_one", False)
    view = opened(qtbot, window, "switches")
    ticks = view.view.form.groups["switches"]
    assert isinstance(ticks, Ticks)
    until(qtbot, lambda: "grad_mode" in ticks.boxes)
    for name, box in ticks.boxes.items():
        box.setChecked(name == "one_by_one")
    view.view.form.turns.setValue(2)
    ready(qtbot, view)
    view.view.start()
    finished(qtbot, window)
    study = view.view.model.result
    assert isinstance(study, SwitchesStudy) and study.baseline is not None
    assert {one.switch for one in study.alone} == {"one_by_one"}
    assert all(one.measured is not None for one in study.alone)
    until(qtbot, lambda: find(window, "study_switchesTable").model().rowCount() >= 2)
