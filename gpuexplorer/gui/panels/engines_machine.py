"""Add a machine: where it is, what it is called here, and what is set up on it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.engine.interpreters import checked_name
from gpuexplorer.engine.machine import SCHEME, Machine
from gpuexplorer.environments.kinds import RECIPES
from gpuexplorer.gui.model.engine_setup import sentence
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.list_box import ListBox

ABOUT = (
    "Your own ssh goes there, with its settings, keys and agent; no password is kept here. "
    "Everything is put below ~/.local/share/gpuexplorer in your home folder there."
)
BEST = "What its GPU's driver serves best"


class FarRequest(msgspec.Struct, frozen=True):
    """What to set up on another machine; ``kind`` None: what serves its GPU best."""

    name: str
    machine: Machine
    kind: str | None
    wheels: Path | None


class MachinePage(QWidget):
    """Asks for a machine; ``chosen`` carries a ``FarRequest``."""

    chosen = Signal(object)
    back_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("machinePage")
        title = QLabel(tr("Add a machine"))
        title.setProperty("role", "title")
        about = QLabel(tr(ABOUT))
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.address = _line("machineAddress", "Its address, as ssh takes it", "me@gpubox")
        self.address.setToolTip(
            tr("USER@HOST, or ssh://USER@HOST:PORT; names of ssh's settings do")
        )
        self.name = _line("machineName", "What it is called here", "gpubox")
        self.name.setToolTip(tr("A word for it, such as gpu: it stands in each run's document"))
        self.kind = ListBox("machineKind", "The environment that is made there")
        self.kind.setAccessibleName(tr("What is set up there"))
        self.kind.addItem(tr(BEST), None)
        for recipe in RECIPES:
            self.kind.addItem(tr(recipe.title), recipe.name)
        self.wheels = _line("machineWheels", "A folder of wheels here", "")
        self.wheels.setPlaceholderText(tr("empty: fetched there, as pip is set up there"))
        self.wheels.setToolTip(
            tr(
                "Copied over, so that the machine needs no internet; 'gpuexplorer engines fetch' "
                "fills such a folder"
            )
        )
        folder = button("&Folder…", "machineWheelsFolder", "Choose it", self.pick_folder)
        wheels = QHBoxLayout()
        wheels.addWidget(self.wheels, 1)
        wheels.addWidget(folder)
        form = QFormLayout()
        form.addRow(tr("&Address"), self.address)
        form.addRow(tr("&Name"), self.name)
        form.addRow(tr("&Kind"), self.kind)
        label = QLabel(tr("&Wheels"))
        label.setBuddy(self.wheels)
        form.addRow(label, wheels)
        self.words = QLabel()
        self.words.setObjectName("machineWords")
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setProperty("role", "bad")
        back = button("&Back", "machineBack", "Back to the list of engines", self.back_asked.emit)
        self.go_button = button(
            "&Set it up", "setUpMachine",
            "Copy GPU Explorer there, make the environment and test it", self._choose, leads=True,
        )  # fmt: skip
        foot = QHBoxLayout()
        foot.addWidget(back)
        foot.addStretch(1)
        foot.addWidget(self.go_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        for widget in (title, about):
            column.addWidget(widget)
        column.addLayout(form)
        column.addWidget(self.words)
        column.addStretch(1)
        column.addLayout(foot)
        self.address.textEdited.connect(self._address_edited)
        self.name.textEdited.connect(self._name_edited)
        for line in (self.address, self.name, self.wheels):
            line.returnPressed.connect(self._choose)
        self._named_by_hand = False
        self._show_state()

    def open(self) -> None:
        """Ask anew; what was typed stays."""
        self.words.setText("")
        self.address.setFocus()

    def refuse(self, error: ExplorerError) -> None:
        """Say why it cannot be."""
        self.words.setText(tr(sentence(error)))

    def pick_folder(self) -> None:
        """Ask for a folder of wheels."""
        name = QFileDialog.getExistingDirectory(self, tr("A folder of wheels"), str(Path.home()))
        if name:
            self.wheels.setText(as_is(name))

    def _address_edited(self, text: str) -> None:
        if not self._named_by_hand:
            host = text.strip().removeprefix(SCHEME).rpartition("@")[2]
            self.name.setText(as_is(re.split(r"[.:/]", host)[0]))
        self._show_state()

    def _name_edited(self, text: str) -> None:
        self._named_by_hand = bool(text.strip())
        self._show_state()

    def _show_state(self) -> None:
        self.go_button.setEnabled(bool(self.address.text().strip() and self.name.text().strip()))

    def _choose(self) -> None:
        if not self.go_button.isEnabled():
            return
        address, wheels = self.address.text().strip(), self.wheels.text().strip()
        try:
            name = checked_name(self.name.text().strip())
            machine = Machine.read(address if address.startswith(SCHEME) else SCHEME + address)
        except ExplorerError as error:
            self.refuse(error)
            return
        self.words.setText("")
        folder = Path(os.path.expanduser(wheels)) if wheels else None
        self.chosen.emit(FarRequest(name, machine, self.kind.currentData(), folder))


def _line(name: str, title: str, example: str) -> QLineEdit:
    line = QLineEdit()
    line.setObjectName(name)
    line.setAccessibleName(tr(title))
    line.setPlaceholderText(tr(example))
    return line
