"""Settings > Engines: added, asked, chosen, removed and brought back, in the real window."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import BUILT_IN, Interpreters
from gpuexplorer.gui.engine import ENGINES_ITEM, engine_at_start
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.engines import EnginesModel
from gpuexplorer.gui.panels.engines import EnginesDialog
from gpuexplorer.gui.panels.engines_table import EnginesTable
from gpuexplorer.gui.settings import Settings
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.pythons import make_python, pretend


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python of another environment that has what an engine needs."""
    return make_python(tmp_path_factory.mktemp("other") / "mine")


def opened(window: MainWindow) -> EnginesDialog:
    window.commands.engines.trigger()
    dialog = find(window, "enginesDialog", EnginesDialog)
    assert dialog.isVisible()
    assert isinstance(dialog, EnginesDialog)
    return dialog


def words(dialog: EnginesDialog) -> str:
    label = dialog.findChild(QLabel, "engineWords")
    assert label is not None
    return label.text()


def names(dialog: EnginesDialog) -> list[str]:
    return [row.name for row in dialog.list.table.rows]


def present(window: MainWindow) -> str | None:
    return window.session.options.python


def press(dialog: EnginesDialog, name: str) -> None:
    button = dialog.findChild(QPushButton, name)
    assert button is not None and button.isEnabled()
    button.click()


def test_an_engine_is_added_asked_chosen_removed_and_brought_back(
    qtbot: QtBot, open_window: OpenWindow, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    session = window.session
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_size("N", 64)
    wait_measured(qtbot, window)
    window.pin()
    kept = len(session.history)
    label = find(window, "engineLabel", QLabel)
    assert label.text() == "engine ready"
    dialog = opened(window)
    assert names(dialog) == [BUILT_IN]
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(other.parent.parent))
    dialog.list.ways.pick_folder()
    assert names(dialog) == [BUILT_IN, "mine"]
    assert dialog.list.checking
    assert not session.live, "nothing is measured while an engine is asked"
    until(qtbot, lambda: not dialog.list.checking)
    until(qtbot, lambda: session.live)
    row = dialog.list.table.rows[1]
    assert row.report is not None and row.report.ok
    assert row.report.python is not None
    assert "'mine': answered in" in words(dialog)
    assert "numpy:cpu" in dialog.list.details.toPlainText()
    assert not row.in_use

    press(dialog, "useEngineButton")
    assert present(window) == "mine"
    until(qtbot, lambda: session.engine_state == "ready")
    assert label.text() == "engine mine ready"
    assert dialog.list.table.rows[1].in_use
    assert Interpreters().default == "mine"
    assert len(session.history) >= kept
    assert len(session.live_model.pins) == 1
    until(qtbot, lambda: session.experiment.devices is not None)
    run = session.live_model.current
    until(qtbot, lambda: session.live_model.current is not run)
    wait_measured(qtbot, window)
    current = session.live_model.current
    assert current is not None and current.prepared is not None
    assert current.prepared.environment.engine == "mine"
    window.insight.copy_command()
    assert QApplication.clipboard().text().endswith("--python mine")

    dialog.list.table.setCurrentCell(1, 1)
    press(dialog, "removeEngineButton")
    assert names(dialog) == [BUILT_IN]
    assert present(window) is None
    assert Interpreters().default is None
    press(dialog, "undoEngineButton")
    assert names(dialog) == [BUILT_IN, "mine"]
    assert Interpreters().default == "mine"
    assert present(window) == "mine"
    assert not dialog.list.undo_button.isEnabled()


def test_a_check_can_be_cancelled_and_what_is_no_engine_says_why(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    hangs = pretend(tmp_path / "hangs", f": > '{began}'\nexec sleep 600")
    dies = pretend(tmp_path / "dies", "echo 'out of luck' >&2; exit 4")
    Interpreters().add("hangs", str(hangs))
    Interpreters().add("dies", str(dies))
    window = open_window()
    assert window.device_box.findData(ENGINES_ITEM) > 0, "before there is any device"
    window.session.live_at_start = False
    until(qtbot, lambda: window.session.experiment.devices is not None)
    before = window.device_box.currentData()
    window.device_box.setCurrentIndex(window.device_box.findData(ENGINES_ITEM))
    assert window.device_box.currentData() == window.session.experiment.knobs.device == before
    dialog = find(window, "enginesDialog", EnginesDialog)
    assert dialog.isVisible()
    assert names(dialog) == [BUILT_IN, "hangs", "dies"]
    dialog.list.table.setCurrentCell(1, 1)
    press(dialog, "checkEngineButton")
    assert dialog.list.check_button.text() == "&Cancel"
    until(qtbot, began.exists)
    press(dialog, "checkEngineButton")
    until(qtbot, lambda: not dialog.list.checking)
    assert words(dialog) == "Cancelled; nothing was found out."
    dialog.list.table.setCurrentCell(2, 1)
    press(dialog, "checkEngineButton")
    until(qtbot, lambda: not dialog.list.checking)
    report = dialog.list.table.rows[2].report
    assert report is not None and not report.ok
    text = dialog.list.details.toPlainText()
    assert "did not run as a Python: it ended with status 4" in text
    assert "Its last words:\nout of luck" in text
    press(dialog, "useEngineButton")
    until(qtbot, lambda: window.session.engine_state == "lost")
    assert "out of luck" in window.banner.text
    dialog.close()
    buttons = [b for b in window.banner.findChildren(QPushButton) if b.text() == "Engines…"]
    buttons[0].click()
    assert dialog.isVisible()
    dialog.list.table.setCurrentCell(0, 1)
    press(dialog, "useEngineButton")
    until(qtbot, lambda: window.session.engine_state == "ready")


def test_knobs_are_compared_in_two_engines_and_one_that_does_not_start_ends_it(
    qtbot: QtBot, open_window: OpenWindow, other: Path, tmp_path: Path
) -> None:
    Interpreters().add("other", str(other))
    window = open_window()
    session = window.session
    session.live_at_start = False
    until(qtbot, lambda: session.experiment.devices is not None)
    session.experiment.set_variant("numpy")
    session.experiment.set_size("N", 64)
    tab = window.panels.compare
    window.panels.places.show_view(tab)
    until(qtbot, lambda: tab.comparing is not None)
    view = tab.comparing
    assert view is not None
    view.bar.elsewhere.aboutToShow.emit()
    (action,) = view.bar.elsewhere.actions()
    assert action.text() == "other"
    view.add_present()
    action.trigger()
    assert view.model.labels == ["numpy · built-in", "numpy · other"]
    view.add_in("other")
    assert view.head.words.text() == "That configuration is here already."
    view.start()
    comparing = view.model.comparing
    assert comparing is not None
    until(qtbot, lambda: not view.running or comparing.rounds >= 6)
    view.stop()
    until(qtbot, lambda: not view.running)
    result = view.model.result
    assert result is not None
    assert [c.run.environment.engine for c in result.contestants] == [None, "other"]
    assert view.model.command()[0].endswith(",engine=built-in")
    assert view.model.command()[1].endswith(",engine=other")
    Interpreters().add("dies", str(pretend(tmp_path / "dies", "exit 4")))
    view.add_in("dies")
    view.start()
    until(qtbot, lambda: not view.running)
    assert view.head.words.text().startswith("Engine 'dies': ")
    assert session.engine_state == "ready"


# ---- without a window


def test_an_interpreter_of_an_older_version_gets_a_name(tmp_path: Path, qapp: QApplication) -> None:
    python = pretend(tmp_path / "envs" / "mine" / "bin", ":")
    settings = Settings(tmp_path / "window.ini")
    settings._store.setValue("engine/python", str(python))
    assert engine_at_start(None, settings) == ("mine", [])
    assert Interpreters().read().engines == {"mine": str(python)}
    assert engine_at_start(None, settings) == ("mine", []), "and keeps it"
    assert engine_at_start("built-in", settings) == (None, [])
    assert engine_at_start("/some/python", settings) == ("/some/python", [])


def test_a_broken_file_of_names_is_said_and_the_window_opens(
    qtbot: QtBot, open_window: OpenWindow, config_dir: Path
) -> None:
    config_dir.mkdir(exist_ok=True)
    (config_dir / "engines.json").write_text("{")
    window = open_window()
    window.session.live_at_start = False
    assert "engines.json" in window.banner.text
    until(qtbot, lambda: window.session.engine_state == "ready")
    dialog = opened(window)
    assert names(dialog) == [BUILT_IN]
    assert "engines.json" in words(dialog)


def test_the_model_lists_a_present_engine_without_a_name(tmp_path: Path) -> None:
    python = pretend(tmp_path / "bin", ":")
    model = EnginesModel(Interpreters(tmp_path / "engines.json"))
    assert [row.name for row in model.rows(str(python))] == [BUILT_IN, str(python)]
    assert [row.in_use for row in model.rows(str(python))] == [False, True]
    report = EngineReport(name="x", path=str(python), problem=f"{python} (Python 3.9.1) is too old")
    model.take(str(python), report)
    assert model.rows(str(python))[1].state == "is too old", "its path stands beside"
    assert model.add(python) == tmp_path.name
    assert model.undo() is None
    table_names = [row.name for row in model.rows(None)]
    assert table_names == [BUILT_IN, tmp_path.name]


def test_the_table_goes_by_keyboard(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> None:
    from gpuexplorer.gui.theme import make_theme

    make_theme(qapp, "dark")
    model = EnginesModel(Interpreters(tmp_path / "engines.json"))
    model.add(pretend(tmp_path / "a" / "bin", ":"))
    table = EnginesTable()
    qtbot.addWidget(table)
    used: list[str] = []
    removed: list[str] = []
    table.use_asked.connect(used.append)
    table.remove_asked.connect(removed.append)
    table.show_rows(model.rows(None), choose="a")
    for action in table.actions():
        action.trigger()
    assert (used, removed) == (["a"], ["a"])
