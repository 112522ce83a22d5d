"""Files written from the window."""

from __future__ import annotations

import csv
import errno
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.core.config import RunConfig
from gpuexplorer.gui.export import exported_runs, run_stem
from gpuexplorer.gui.export_dialog import ExportDialog
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from tests.gui.driver import export_to, find, until, wait_measured
from tests.support.history import numbered_run


def test_a_name_says_what_was_run() -> None:
    config = RunConfig(
        workload="matmul", variant="naive", size={"N": 512}, precision="fp32",
        device="cuda:0", block=(16, 16, 1),
    )  # fmt: skip
    assert run_stem(config) == "matmul-naive-N512-16x16-fp32"


def test_each_format_is_written_and_said(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window, 20)
    window.pin()
    find(window, "blockYSlider", SnapSlider).setValue(4)
    wait_measured(qtbot, window, 20)
    window.session.set_live(False)
    for suffix in ("png", "svg", "pdf", "csv", "json"):
        window.banner.dismiss()
        window.export(suffix)
        path = tmp_path / f"run.{suffix}"
        export_to(window, path)
        until(qtbot, lambda: bool(window.banner.text))
        assert window.banner.text == f"Saved {path}"
        assert path.suffix == f".{suffix}"
        assert path.stat().st_size > 500
    opened: list[str] = []

    def opens(url: QUrl) -> bool:
        opened.append(url.toLocalFile())
        return len(opened) < 2

    monkeypatch.setattr(QDesktopServices, "openUrl", opens)
    for words in ("Open", "Show in folder"):
        offered = [b for b in window.banner.findChildren(QPushButton) if b.text() == words]
        until(qtbot, offered[-1].isVisible)
        offered[-1].click()
    assert opened == [str(path), str(tmp_path)]
    assert window.banner.text == f"No program is set up here that opens {tmp_path}."
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schema"] == "gpuexplorer/runs/1"
    assert [run["config"]["block"] for run in document["runs"]] == [[16, 4, 1], [16, 16, 1]]
    for run in document["runs"]:
        assert run["timing"]["samples"] == len(run["samples_s"])
    with path.with_suffix(".csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["block"] for row in rows} == {"16x4x1", "16x16x1"} or {
        row["block"] for row in rows
    } == {"16x4", "16x16"}


def test_a_file_that_cannot_be_written_is_one_sentence(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    run = wait_measured(qtbot, window, 5)
    assert run.record is not None
    window.exporter.write(exported_runs([run.record]), tmp_path / "missing" / "x.png")
    until(qtbot, lambda: window.banner.kind == "bad")
    assert "no such folder" in window.banner.text
    assert not list(tmp_path.glob("**/*.png"))


def test_of_a_stored_run_without_samples_the_document_is_written(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    run = msgspec.structs.replace(numbered_run(1), samples_s=[])
    model, table = window.session.history_model, window.history_table
    window.session.runs.do(lambda store: store.add(run), lambda _: None)
    until(qtbot, lambda: model.find(run.id) is not None)
    table.choose([model.find(run.id) or 0])
    window.panels.history.acts.ask("export")
    until(qtbot, lambda: any(d.isVisible() for d in window.findChildren(ExportDialog)))
    (dialog,) = [d for d in window.findChildren(ExportDialog) if d.isVisible()]
    assert [dialog.format_box.itemData(i) for i in range(dialog.format_box.count())] == ["json"]
    assert window.banner.text.startswith("This run has no samples")
    export_to(window, tmp_path / "run.json")
    until(qtbot, lambda: window.banner.text.startswith("Saved"))
    document = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert (document["id"], document["samples_s"]) == (run.id, [])
    assert document["timing"]["median_s"] == run.timing.median_s


def test_pictures_are_light_unless_the_windows_colours_are_wanted(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    wait_measured(qtbot, window, 20)
    window.session.set_live(False)
    window.choices.choose_theme("dark")

    def ground(name: str, colours: int) -> int:
        window.banner.dismiss()
        window.export("png")
        (dialog,) = [d for d in window.findChildren(ExportDialog) if d.isVisible()]
        dialog.colours_box.setCurrentIndex(colours)
        export_to(window, tmp_path / name)
        until(qtbot, lambda: window.banner.text.startswith("Saved"))
        return QColor(QImage(str(tmp_path / name)).pixel(2, 2)).lightness()

    assert ground("light.png", 0) > 200
    assert ground("dark.png", 1) < 80
    assert window.settings.pictures_as_window


def test_one_dialog_offers_every_format_and_says_what_it_will_do(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    run = wait_measured(qtbot, window, 20)
    assert run.record is not None
    window.settings.export_folder = tmp_path
    find(window, "exportButton", QToolButton).click()
    (dialog,) = window.findChildren(ExportDialog)
    stem = run_stem(run.record.prepared.config)
    assert dialog.path == tmp_path / f"{stem}.png"
    assert [dialog.format_box.itemData(i) for i in range(dialog.format_box.count())] == [
        "png", "svg", "pdf", "csv", "json", "html", "parquet", "nvbench.json", "trace.json",
    ]  # fmt: skip
    assert dialog.colours_box.isEnabled()
    assert dialog.path_box.selectedText() == stem  # typing names the file, and its ending stays
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("nvbench.json"))
    assert dialog.path.name == f"{stem}.nvbench.json"
    assert not dialog.colours_box.isEnabled()
    dialog.path_box.selectAll()
    QTest.keyClicks(dialog.path_box, str(tmp_path / "mine.csv"))
    assert dialog.suffix == "csv" and dialog.words.text() == "Writes mine.csv."
    dialog.path_box.setText(str(tmp_path / "mine"))
    assert dialog.path.name == "mine.csv"
    (tmp_path / "mine.csv").write_text("old")
    dialog.path_box.setText(str(tmp_path / "mine.csv"))
    assert dialog.words.text() == "mine.csv exists: Export replaces it."
    dialog.path_box.setText(str(tmp_path / "no" / "mine.csv"))
    assert not dialog.export_button.isEnabled() and "no such folder" in dialog.words.text()
    dialog.path_box.setText(str(tmp_path / "mine.csv"))
    QTest.keyClick(dialog.path_box, Qt.Key.Key_Return)
    until(qtbot, lambda: window.banner.text == f"Saved {tmp_path / 'mine.csv'}")
    assert "old" not in (tmp_path / "mine.csv").read_text()
    window.export()
    (dialog,) = [d for d in window.findChildren(ExportDialog) if d.isVisible()]
    assert dialog.suffix == "csv"  # as last time
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()


def test_a_name_that_no_file_can_have_is_told_and_not_exported(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings()
    settings.export_folder = tmp_path
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = ExportDialog(parent, "run", {"csv": "Samples"}, (), settings)
    box, words, button = dialog.path_box, dialog.words, dialog.export_button
    assert button.isEnabled()
    box.setText(str(tmp_path / ("a" * 300)))
    assert words.text() == "This file cannot be written: the name is too long."
    assert not button.isEnabled()
    box.setText("~nobody-is-called-this/run.csv")
    assert "no such folder" in words.text() and not button.isEnabled()
    box.setText(str(tmp_path / "run.csv"))
    assert words.text() == "Writes run.csv." and button.isEnabled()
    closed = tmp_path / "closed"
    stat = os.stat

    def refused(path: Any, **how: Any) -> os.stat_result:
        if str(path).startswith(str(closed)):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **how)

    monkeypatch.setattr(os, "stat", refused)  # the tests may run as one who may do everything
    box.setText(str(closed / "run.csv"))
    assert words.text() == "This file cannot be written: permission denied."
    assert not button.isEnabled()
