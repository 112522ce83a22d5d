"""Files written from the window."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QDesktopServices, QImage
from PySide6.QtWidgets import QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.core.config import RunConfig
from gpuexplorer.gui.export import default_name
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from tests.gui.driver import find, until, wait_measured


def test_a_name_says_what_was_run() -> None:
    config = RunConfig(
        workload="matmul", variant="naive", size={"N": 512}, precision="fp32",
        device="cuda:0", block=(16, 16, 1),
    )  # fmt: skip
    assert default_name(config, "png") == "matmul-naive-N512-16x16-fp32.png"


def test_each_format_is_written_and_said(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window, 20)
    window.pin()
    find(window, "blockYSlider", SnapSlider).setValue(4)
    wait_measured(qtbot, window, 20)
    asked: list[str] = []

    def choose(parent: object, title: str, offered: str, *rest: object) -> tuple[str, str]:
        asked.append(offered)
        return str(tmp_path / Path(offered).name), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    for suffix in ("png", "svg", "pdf", "csv", "json"):
        window.banner.dismiss()
        window.export(suffix)
        until(qtbot, lambda: bool(window.banner.text))
        path = tmp_path / Path(asked[-1]).name
        assert window.banner.text == f"Saved {path}"
        assert path.suffix == f".{suffix}"
        assert path.stat().st_size > 500
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    for words in ("Open", "Show in folder"):
        offered = [b for b in window.banner.findChildren(QPushButton) if b.text() == words]
        until(qtbot, offered[-1].isVisible)
        offered[-1].click()
    assert opened == [str(path), str(tmp_path)]
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schema"] == "gpuexplorer/run/1"
    assert document["config"]["block"] == [16, 4, 1]
    assert document["timing"]["samples"] == len(document["samples_s"])
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
    window.exporter.write(tmp_path / "missing" / "x.png", run.record, [])
    until(qtbot, lambda: window.banner.kind == "bad")
    assert "no such folder" in window.banner.text
    assert not list(tmp_path.glob("**/*.png"))


def test_pictures_are_light_unless_the_windows_colours_are_wanted(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    wait_measured(qtbot, window, 20)
    window.choose_theme("dark")

    def ground(name: str) -> int:
        run = window.session.live_model.current
        assert run is not None and run.record is not None
        window.banner.dismiss()
        window.exporter.write(tmp_path / name, run.record)
        until(qtbot, lambda: window.banner.text.startswith("Saved"))
        return QColor(QImage(str(tmp_path / name)).pixel(2, 2)).lightness()

    assert ground("light.png") > 200
    window.commands.pictures_as_window.trigger()
    assert ground("dark.png") < 80
    assert window.settings.pictures_as_window
