"""Files of other programs from the window: in, out, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from gpuexplorer.exchange.document import runs_json
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.gui.child import CONVERTED
from gpuexplorer.gui.importer import imported_words
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.history.store import Store
from tests.gui.driver import export_to, find, until, wait_measured
from tests.support.exchange import cache_text, made_run


def test_what_is_shown_is_written_in_every_format(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    find(window, "sizeSlider", SnapSlider).setValue(64)
    wait_measured(qtbot, window, 20)
    window.pin()
    find(window, "blockYSlider", SnapSlider).setValue(4)
    wait_measured(qtbot, window, 20)
    window.session.set_live(False)
    for suffix in CONVERTED:
        window.banner.dismiss()
        window.export(suffix)
        path = tmp_path / f"run.{suffix}"
        export_to(window, path)
        until(qtbot, lambda: bool(window.banner.text), patience_ms=60_000)
        assert window.banner.text == f"Saved {path}"
        assert path.name.endswith(f".{suffix}") and path.stat().st_size > 1000
    for suffix in ("parquet", "nvbench.json"):
        assert {run.config.block for run in read_runs(tmp_path / f"run.{suffix}").runs} == {
            (16, 4, 1), (16, 16, 1),
        }  # fmt: skip


def test_runs_are_imported_into_the_history(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs.json").write_bytes(runs_json([made_run(i) for i in range(3)]))
    (tmp_path / "cache.json").write_text(cache_text())
    (tmp_path / "broken.json").write_text('{"schema": "gpuexplorer/run/9"}')
    names = [str(tmp_path / name) for name in ("runs.json", "cache.json", "broken.json")]
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (names, ""))
    window.session.live_at_start = False  # a run that goes on for long is kept too
    window.commands.import_runs.trigger()
    until(qtbot, lambda: bool(window.banner.text), patience_ms=60_000)
    assert "6 runs imported from 2 files. 2 had no result there." in window.banner.text
    assert "another version of GPU Explorer" in window.banner.text
    assert window.banner.kind == "warning"
    with Store.open() as store:
        assert store.count() == 6
    window.banner.dismiss()
    window.importer.take([tmp_path / "runs.json"])
    until(qtbot, lambda: bool(window.banner.text), patience_ms=60_000)
    assert "3 are in the history already" in window.banner.text
    assert window.banner.kind == "info"


def test_the_window_closes_while_an_import_goes_on(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    (tmp_path / "runs.json").write_bytes(runs_json([made_run(i) for i in range(3)]))
    window.importer.take([tmp_path / "runs.json"])
    assert window.importer.busy
    window.importer.take([tmp_path / "runs.json"])
    assert "still running" in window.banner.text
    window.close()


def test_nothing_to_export_is_said(qtbot: QtBot, window: MainWindow) -> None:
    window.session.set_live(False)
    if window.session.live_model.current is None:
        window.commands.report.trigger()
        assert window.banner.text == "There are no samples to export yet."


def test_words_of_an_import() -> None:
    one = {"file": "/a/b.json", "added": ["x"], "duplicates": [], "skipped": [], "notes": []}
    assert imported_words([one]) == "1 run imported from b.json."
    two = {**one, "added": [], "duplicates": ["x"], "skipped": [{}, {}]}
    assert imported_words([one, two]) == (
        "1 run imported from 2 files. 1 is in the history already and stayed as before. "
        "2 had no result there."
    )
