"""The Roofline tab: the run under the roofs, and calibrating from the window with a real engine."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QProgressBar,
    QPushButton,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.calibration import calibrate
from gpuexplorer.calibration.plan import Stage, stages
from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE, CeilingStore
from gpuexplorer.cli.parser import parse
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.gui.export_dialog import ExportDialog
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.live import Run
from gpuexplorer.gui.views.roofline import RooflineView
from tests.gui.conftest import OpenWindow
from tests.gui.driver import export_to, find, move_pointer, until, wait_measured
from tests.support.ceilings import made_ceilings


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(folder))
    return folder


def few_stages(seconds: float) -> Callable[..., list[Stage]]:
    """Return what is calibrated in place of everything: two ceilings, a candidate each."""

    def chosen(devices: DeviceList, device: DeviceInfo, *, quick: bool = False) -> list[Stage]:
        every = stages(devices, device, quick=True)
        wanted = [s for s in every if (s.kind, s.precision) in (("fma", "fp32"), ("cache", None))]
        return [replace(s, seconds=seconds, candidates=s.candidates[:1]) for s in wanted[-2:]]

    return chosen


def open_roofline(qtbot: QtBot, open_window: OpenWindow) -> tuple[MainWindow, RooflineView, Run]:
    window = open_window()
    run = wait_measured(qtbot, window)
    window.panels.places.show_view(window.panels.roofline)
    until(qtbot, lambda: window.panels.roofline.shown is not None)
    return window, window.panels.roofline, run


def shows_current(view: RooflineView) -> bool:
    shown = view.shown
    return shown is not None and any(s.kind == "current" for s in shown.spots)


def test_before_a_calibration_the_run_is_shown_and_the_way_to_the_roofs(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view, _ = open_roofline(qtbot, open_window)
    until(qtbot, lambda: shows_current(view))
    shown = view.shown
    assert shown is not None and not shown.roofs and not shown.calibrated
    invitation = find(window, "rooflineInvitation", QLabel)
    assert invitation.isVisible() and "press Calibrate" in invitation.text()
    assert find(window, "calibrationStart", QPushButton).isVisible()
    assert "FLOP/s at" in view.head.words.text()


def test_calibrating_pauses_the_live_run_draws_the_roofs_and_goes_on(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(0.2))
    window, view, run = open_roofline(qtbot, open_window)
    find(window, "calibrationStart", QPushButton).click()
    assert (view.running, window.session.live) == (True, False)
    progress = find(window, "calibrationProgress", QProgressBar)
    until(qtbot, lambda: progress.isVisible() and "Calibrating" in view.head.words.text())
    until(qtbot, lambda: not view.running)
    assert window.session.live
    until(qtbot, lambda: view.shown is not None and view.shown.calibrated)
    later = wait_measured(qtbot, window)
    assert later.ticket != run.ticket
    (stored,) = CeilingStore(data_dir).all()
    assert {c.kind for c in stored.ceilings} == {"fma", "cache"}
    assert later.record is not None and later.record.ceilings == stored
    until(qtbot, lambda: shows_current(view))
    shown = view.shown
    assert shown is not None and {r.kind for r in shown.roofs} == {"memory", "compute"}
    until(qtbot, lambda: "of what" in view.head.words.text())
    assert not progress.isVisible()


def test_each_roof_is_drawn_as_it_is_found(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(0.2))
    monkeypatch.setattr(calibrate, "ROUNDS", 40)
    _, view, _ = open_roofline(qtbot, open_window)
    view.start()
    until(qtbot, lambda: view.shown is not None and view.shown.calibrated)
    assert view.running
    until(qtbot, lambda: " left: " in view.head.words.text())
    view.stop()
    until(qtbot, lambda: not view.running)
    until(qtbot, lambda: view.shown is not None and not view.shown.calibrated)


def test_a_calibration_pauses_for_live_measuring_and_is_copied_as_a_command(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(0.5))
    window, view, _ = open_roofline(qtbot, open_window)
    find(window, "calibrationCopy", QToolButton).click()
    options = parse(shlex.split(QApplication.clipboard().text())[1:])
    device = window.session.experiment.device
    assert device is not None and options.device == device.id
    view.start()
    until(qtbot, lambda: "Calibrating · 0 of " in view.head.words.text())
    pause = find(window, "calibrationPause", QPushButton)
    pause.click()
    until(qtbot, lambda: window.session.live)
    assert pause.text() == "Continue" and view.head.words.text().startswith("Paused at ")
    wait_measured(qtbot, window)
    pause.click()
    until(qtbot, lambda: not view.running)
    assert len(CeilingStore(data_dir).all()) == 1


def test_a_cancelled_calibration_stores_nothing_and_the_live_run_goes_on(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(60.0))
    window, view, run = open_roofline(qtbot, open_window)
    view.start()
    until(qtbot, lambda: "Calibrating" in view.head.words.text())
    find(window, "calibrationCancel", QPushButton).click()
    until(qtbot, lambda: not view.running)
    assert CeilingStore(data_dir).all() == []
    assert window.session.live
    assert wait_measured(qtbot, window).ticket != run.ticket


def test_going_live_ends_a_calibration_and_measures(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(60.0))
    window, view, _ = open_roofline(qtbot, open_window)
    window.session.set_live(False)
    view.start()
    until(qtbot, lambda: "Calibrating" in view.head.words.text())
    window.session.set_live(True)
    until(qtbot, lambda: not view.running)
    assert window.session.live
    wait_measured(qtbot, window)


def test_an_engine_that_dies_costs_one_run_of_a_calibration(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, data_dir: Path
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(1.0))
    window, view, _ = open_roofline(qtbot, open_window)
    view.start()
    until(qtbot, lambda: "Calibrating" in view.head.words.text())
    before = window.session.worker.engine_pid
    assert before is not None
    psutil.Process(before).kill()
    until(qtbot, lambda: not view.running)
    assert window.session.worker.engine_pid != before
    (stored,) = CeilingStore(data_dir).all()
    assert stored.ceilings


def test_closing_the_window_ends_a_calibration(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibrate, "stages", few_stages(60.0))
    window, view, _ = open_roofline(qtbot, open_window)
    view.start()
    until(qtbot, lambda: "Calibrating" in view.head.words.text())
    window.close()
    job = window.session.jobs.current
    assert job is None or job.isFinished()


def test_the_pointer_on_a_run_says_which_and_knobs_leave_a_trail(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view, _ = open_roofline(qtbot, open_window)
    window.pin()
    window.session.experiment.set_variant("uncoalesced")
    wait_measured(qtbot, window)

    def spots(kind: str) -> list[str]:
        shown = view.shown
        return [s.name for s in shown.spots if s.kind == kind] if shown is not None else []

    until(qtbot, lambda: any("uncoalesced" in name for name in spots("current")))
    assert any("naive" in name for name in spots("past"))
    assert any("naive" in name for name in spots("pinned"))
    shown = view.shown
    assert shown is not None
    labels = [s.label for s in shown.spots if "naive" in s.name]
    assert sum(map(bool, labels)) == 1, "a pin and the run before are one point with one label"
    key = next(str(i) for i, s in enumerate(shown.spots) if s.kind == "pinned")
    viewport, at = view.plot.place_of(key) or pytest.fail("the pinned run is not drawn")
    move_pointer(viewport, at)
    until(qtbot, lambda: view.head.words.text().startswith("naive"))
    move_pointer(viewport, QPoint(viewport.width() - at.x(), viewport.height() - at.y()))
    until(qtbot, lambda: view.head.words.text().startswith("uncoalesced"))


def test_points_are_named_and_another_workload_starts_another_trail(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window, view, _ = open_roofline(qtbot, open_window)
    window.session.experiment.set_variant("uncoalesced")
    wait_measured(qtbot, window)

    def past() -> list[str]:
        shown = view.shown
        return [s.label for s in shown.spots if s.kind == "past"] if shown is not None else []

    until(qtbot, lambda: len(past()) == 1)
    assert past()[0].startswith("naive")
    until(qtbot, lambda: {"uncoalesced", past()[0]} <= set(view.plot.panels[0].words()))
    window.session.experiment.set_workload("reduction")
    wait_measured(qtbot, window)
    until(qtbot, lambda: past() == [] and shows_current(view))
    window.session.experiment.set_workload("matmul")
    wait_measured(qtbot, window)
    until(qtbot, lambda: shows_current(view))
    assert past() == []


def test_the_tab_exports_the_roofline(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    window, view, run = open_roofline(qtbot, open_window)
    assert run.prepared is not None
    device = run.prepared.device
    window.session.store.save(
        made_ceilings(hardware_id=device.hardware_id, driver=device.driver, threads=device.threads)
    )
    view.refresh()
    window.export("svg")
    (dialog,) = window.findChildren(ExportDialog)
    assert dialog.path.name.endswith("-roofline.svg")
    path = tmp_path / dialog.path.name
    export_to(window, path)
    until(qtbot, path.exists)
    until(qtbot, lambda: not window.exporter.busy)
    text = path.read_text(encoding="utf-8")
    assert "roofline" in text and text.startswith("<?xml")


def test_a_suspect_run_is_marked_and_sorts_last(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    run = wait_measured(qtbot, window)
    assert run.prepared is not None
    device = run.prepared.device
    slow = tuple(
        msgspec.structs.replace(c, value=c.value * 1e-6, ci95_low=None, ci95_high=None)
        for c in made_ceilings().ceilings
    )  # lower than any processor reaches, whatever else it does
    window.session.store.save(
        made_ceilings(
            hardware_id=device.hardware_id,
            driver=device.driver,
            threads=device.threads,
            ceilings=slow,
        )
    )
    window.session.experiment.set_variant("uncoalesced")
    later = wait_measured(qtbot, window)
    assert later.record is not None and later.summary is not None
    assert later.record.suspect(later.summary) is not None
    until(qtbot, lambda: window.session.history[0].ticket == later.ticket)
    entry = window.session.history[0]
    assert entry.suspect is not None
    model = window.session.history_model
    words = [str(model.data(model.index(0, c))) for c in range(model.columnCount())]
    assert "⚠ suspect" in words
