"""Views are ready before they are opened."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.preload import MODULES, Preloader
from tests.gui.driver import until


def test_what_views_need_is_loaded_once_the_window_is_up(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.preloader.done)
    assert set(MODULES) <= set(sys.modules)
    assert "gpuexplorer.gui.calibration" in MODULES, (
        "one begins by itself, while the window is used"
    )


def test_a_module_that_cannot_be_loaded_keeps_none_of_the_others_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "preloaded_one.py").write_text("import no_such_module_here\n")
    (tmp_path / "preloaded_two.py").write_text("def loaded() -> None: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    preloader = Preloader(("preloaded_one", "preloaded_two"))
    preloader.start()
    preloader._thread.join()
    assert preloader.done and "preloaded_two" in sys.modules and "preloaded_one" not in sys.modules
    walked = {id(found) for found in gc.get_objects()}
    assert id(sys.modules["preloaded_two"].loaded) not in walked, "a collection would be a hitch"
    del sys.modules["preloaded_two"]


def test_nothing_is_loaded_after_it_was_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "preloaded_three.py").write_text("LOADED = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    preloader = Preloader(("preloaded_three",))
    preloader.stop()
    preloader.start()
    preloader.stop()
    assert preloader.done and "preloaded_three" not in sys.modules


def test_each_module_waits_until_the_window_has_nothing_else_to_do(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "preloaded_four.py").write_text("import preloaded_five\n")
    (tmp_path / "preloaded_five.py").write_text("LOADED = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("gpuexplorer.gui.preload.PATIENCE_S", 60.0)
    finders = list(sys.meta_path)
    preloader = Preloader(("preloaded_four",))
    busy = []
    for _ in range(20):  # what waits before it is handled before it
        QTimer.singleShot(0, lambda: busy.append("preloaded_four" in sys.modules))
    preloader.start()
    until(qtbot, lambda: preloader.done)
    assert preloader.turns.given == 2, "the module, and the one that it imports"
    assert busy == [False] * 20
    assert sys.meta_path == finders
    del sys.modules["preloaded_four"], sys.modules["preloaded_five"]


def test_a_window_that_waits_for_a_module_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (tmp_path / f"preloaded_no_{number}.py").write_text(f"import preloaded_no_{number + 1}\n")
    (tmp_path / "preloaded_no_50.py").write_text("LOADED = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("gpuexplorer.gui.preload.PATIENCE_S", 1.0)
    preloader = Preloader(("preloaded_no_0",))
    preloader.start()
    preloader._thread.join(10.0)  # 50 s if every module waited
    assert preloader.done and "preloaded_no_50" in sys.modules and preloader.turns.given == 0
    for number in range(51):
        del sys.modules[f"preloaded_no_{number}"]
