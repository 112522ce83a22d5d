"""An engine on another machine, added, used and removed in the window as a user does it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.interpreters import Interpreters
from gpuexplorer.engine.machine import Machine
from gpuexplorer.environments import far
from gpuexplorer.gui.panels.engines import EnginesDialog
from gpuexplorer.gui.panels.engines_machine import MachinePage
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.views.sweep import SweepView
from gpuexplorer.gui.widgets.snap_slider import SnapSlider
from gpuexplorer.history.store import Query, Store
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.bad_link import BadLink
from tests.support.engine_wheels import SMALL, make_engine_wheels
from tests.support.sshd import Sshd

SET_UP_MS = 200_000
"""How long set-up may take on a machine that is busy."""


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    monkeypatch.setattr(far, "find_kind", lambda name: SMALL)
    made = Sshd(tmp_path / "box", monkeypatch)
    yield made
    made.close()


@pytest.fixture
def dialog(qtbot: QtBot, qapp: QApplication) -> Iterator[EnginesDialog]:
    make_theme(qapp, "dark")
    parent = QWidget()
    qtbot.addWidget(parent)
    made = EnginesDialog(parent, lambda: None, lambda: "")
    made.show()
    yield made
    made.close_down()


W = TypeVar("W", bound=QWidget)


def part(dialog: EnginesDialog, name: str, kind: type[W]) -> W:
    found = dialog.findChild(kind, name)
    assert isinstance(found, kind), name
    return found


def write(dialog: EnginesDialog, name: str, text: str) -> None:
    line = part(dialog, name, QLineEdit)
    line.clear()
    QTest.keyClicks(line, text)


def press(dialog: EnginesDialog, name: str) -> None:
    QTest.mouseClick(part(dialog, name, QPushButton), Qt.MouseButton.LeftButton)


def test_a_machine_is_added_used_and_removed(
    qtbot: QtBot,
    sshd: Sshd,
    dialog: EnginesDialog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wheels = make_engine_wheels(tmp_path / "wheels here")
    used: list[str] = []
    dialog.use_asked.connect(used.append)
    press(dialog, "addMachineButton")
    page = dialog.setup.machine
    assert not page.go_button.isEnabled()
    write(dialog, "machineAddress", "not a machine!")
    write(dialog, "machineName", "gpu")
    press(dialog, "setUpMachine")
    assert "is no address of a machine" in part(dialog, "machineWords", QLabel).text()
    write(dialog, "machineAddress", sshd.address.removeprefix("ssh://"))
    write(dialog, "machineWheels", str(wheels))

    sshd.know("other-host")
    press(dialog, "setUpMachine")
    making = dialog.setup.making
    until(qtbot, lambda: making.state == "failed", SET_UP_MS)
    said = part(dialog, "makingOutcome", QLabel).text()
    assert said.startswith("The key of 127.0.0.1 is not the one that was known"), said
    assert not making.remove_button.isVisible()

    sshd.know()
    press(dialog, "makingGoOn")
    until(qtbot, lambda: making.state == "ready", SET_UP_MS)
    assert part(dialog, "makingOutcome", QLabel).text().startswith("'gpu' is ready.")
    press(dialog, "makingUse")
    assert used == ["gpu"]
    (row,) = [one for one in dialog.list.table.rows if one.name == "gpu"]
    assert row.origin_words == "the machine 127.0.0.1"
    there = Path(Interpreters().all()[0].path)
    assert there.is_relative_to(sshd.home)

    programs = sshd.home / ".local/share/gpuexplorer/program"
    (program,) = programs.iterdir()
    program.rename(programs / "0.0.1-other")
    dialog.list.refresh(choose="gpu")
    press(dialog, "updateEngineButton")
    until(qtbot, lambda: making.state == "ready", SET_UP_MS)
    assert program.exists()
    press(dialog, "makingBack")

    asked: list[str] = []

    def answer(*words: object) -> QMessageBox.StandardButton:
        asked.append(str(words[2]))
        return QMessageBox.StandardButton.Yes

    monkeypatch.setattr(QMessageBox, "question", answer)
    dialog.list.remove("gpu")
    assert "on 127.0.0.1 as well?" in asked[0]
    until(qtbot, lambda: not there.exists(), SET_UP_MS)
    until(qtbot, lambda: "on 127.0.0.1" in part(dialog, "engineWords", QLabel).text(), SET_UP_MS)
    assert "gpu" not in Interpreters().read().engines


def test_what_another_name_uses_stays_on_its_machine(
    qtbot: QtBot, dialog: EnginesDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was deleted there, and the other engine was gone with it."""
    python = "/home/me/.local/share/gpuexplorer/far/cpu/bin/python"
    for name in ("first", "second"):
        far.add(name, Machine.read(f"ssh://box{python}"))
    dialog.list.refresh(choose="first")
    monkeypatch.setattr(QMessageBox, "question", lambda *_: QMessageBox.StandardButton.Yes)
    dialog.list.remove("first")
    words = "'first' is forgotten; what was set up on box stays for 'second'."
    until(qtbot, lambda: part(dialog, "engineWords", QLabel).text() == words)
    assert set(Interpreters().read().engines) == {"second"}


@pytest.fixture
def link(sshd: Sshd) -> Iterator[BadLink]:
    """The way to an engine ``gpu``, which is there already."""
    made = BadLink(sshd.port)
    sshd.know(ports=(made.port,))
    far.send_program(replace(Machine.read(sshd.address), python=sys.executable), sys.executable)
    far.add("gpu", replace(Machine.read(sshd.address_at(made.port)), python=sys.executable))
    yield made
    made.close()


def test_live_goes_on_there_over_a_changed_block_and_a_cut_link_and_no_sample_is_lost(
    qtbot: QtBot, link: BadLink, open_window: OpenWindow
) -> None:
    window = open_window("--engine", "gpu")
    said: list[str] = []
    window.session.notice.connect(lambda one: said.extend([one.text] if one is not None else []))
    find(window, "sizeSlider", SnapSlider).setValue(64)
    first = wait_measured(qtbot, window)
    assert first.prepared is not None
    assert first.prepared.environment.engine == "gpu"

    find(window, "blockXSlider", SnapSlider).setValue(8)
    second = wait_measured(qtbot, window)
    assert (first.over, second.config.block) == (True, (8, 16, 1))

    link.stall()
    link.drop()
    until(qtbot, lambda: second.over)
    kept = second.trace.total
    assert said == [window.banner.text]
    assert said[0].startswith("The link to 127.0.0.1 is lost.")
    assert said[0].endswith("it delivered are kept. It is tried again until it answers.")
    until(qtbot, lambda: link.tried)
    link.drop()
    until(qtbot, lambda: link.tried)
    link.flow()
    third = wait_measured(qtbot, window)
    assert (third.ticket > second.ticket, third.config.block) == (True, (8, 16, 1))
    assert len(said) == 1, "tries that fail are no further sentences"
    third_had = third.trace.total
    until(qtbot, lambda: third.trace.total > third_had)

    window.session.set_live(False)
    until(qtbot, lambda: third.over)
    with Store.open_to_read() as store:
        for run in (first, second, third):
            assert run.record is not None
            until(qtbot, lambda run=run: samples(store, run.record.id) == run.trace.total)  # type: ignore[misc]
    assert second.trace.total == kept >= 10


def test_a_sweep_there_measures_every_point_once_over_a_lost_link(
    qtbot: QtBot, link: BadLink, open_window: OpenWindow
) -> None:
    window = open_window("--engine", "gpu")
    find(window, "sizeSlider", SnapSlider).setValue(256)  # some seconds in all
    wait_measured(qtbot, window)
    window.panels.places.show_view(window.panels.sweep)
    until(qtbot, lambda: window.panels.sweep.sweeping is not None)
    view = window.panels.sweep.sweeping
    assert view is not None
    until(qtbot, lambda: view.preview is not None)
    for name, row in view.form.rows.items():
        row.tick.setChecked(name == "block.x")
    text = view.form.rows["block.x"].text
    text.clear()
    QTest.keyClicks(text, "1:12")
    until(qtbot, lambda: view.preview is not None and view.preview.wanted.space.count == 12)
    until(qtbot, view.head.start.isEnabled)
    view.start()

    def measured() -> int:
        held = view.model.snapshot()
        return 0 if held is None else sum(cell.result is not None for cell in held.cells)

    until(qtbot, lambda: measured() >= 2)
    link.drop()
    until(qtbot, lambda: not view.model.running, SET_UP_MS)
    assert window.banner.text.startswith("The link to 127.0.0.1 is lost."), view.model.words
    if view.model.state == "stopped":  # else the point had not begun, and was asked for again
        assert measured() == len(before := kept(view)) == 11, view.model.words
        assert "1 lost with the engine" in view.model.words
        again = view.head.pause
        until(qtbot, lambda: again.isVisible() and again.isEnabled())
        assert again.text() == "Continue"
        QTest.mouseClick(again, Qt.MouseButton.LeftButton)
        until(qtbot, lambda: view.model.state == "done", SET_UP_MS)
        assert before < kept(view)
    assert measured() == len(kept(view)) == 12


def kept(view: SweepView) -> set[str]:
    """Return the runs of the sweep that the history has."""
    held = view.model.held
    assert held is not None and held.group is not None
    with Store.open_to_read() as store:
        return {run.id for run in store.find(Query(group=held.group))}


def samples(store: Store, run_id: str) -> int:
    """Return how many samples of a run the history has; 0 before it has the run."""
    try:
        return len(store.get(run_id).samples_s)
    except InputError:
        return 0


UNKNOWN_HOME = "~nobody-is-called-this/wheels"


def test_a_folder_in_the_home_of_a_user_who_is_not_there_is_taken_as_it_is(
    qtbot: QtBot, dialog: EnginesDialog
) -> None:
    """That there is none is found, and told, when it is read."""
    choice = dialog.setup.choice
    choice.folder.setText(UNKNOWN_HOME)
    choice.from_folder.setChecked(True)
    assert choice.source is not None and choice.source.folder == Path(UNKNOWN_HOME)
    page = MachinePage()
    qtbot.addWidget(page)
    page.address.insert("somewhere")
    page.name.insert("gpu")
    page.wheels.setText(UNKNOWN_HOME)
    with qtbot.waitSignal(page.chosen) as chosen:
        page.wheels.returnPressed.emit()
    assert chosen.args[0].wheels == Path(UNKNOWN_HOME)
