"""What is to be set up: the kind of engine, where its packages come from, and which Python."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QApplication,
    QButtonGroup,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.environments import pythons
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.plan import Source
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.gui.model.engine_setup import Around, SetUpRequest, look_around, sentence
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.task import Tasks
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.layouts import empty
from gpuexplorer.gui.widgets.list_box import ListBox
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.scroll_room import ScrollArea

LOOKING = "Looking at this machine…"
INDENT = 22
"""Pixels that what belongs to a choice stands further in."""


class EngineChoicePage(QWidget):
    """Three questions on one page; ``chosen`` carries what is ``SetUpRequest``."""

    chosen = Signal(object)
    back_asked = Signal()

    def __init__(self, tasks: Tasks) -> None:
        super().__init__()
        self.setObjectName("engineChoice")
        self._tasks = tasks
        self.around: Around | None = None
        """What this machine offers; None before that was looked up."""
        self._looking = False
        self._named_by_hand = False
        self._detail = ""
        self._put_together()
        self._show_state()

    # ---- construction

    def _put_together(self) -> None:
        kinds, others = QVBoxLayout(), QVBoxLayout()
        self._build_kinds(kinds)
        self._build_source(others)
        self._build_python(others)
        self._build_name(others)
        content = QWidget()
        content.setObjectName("engineChoiceContent")
        columns = QHBoxLayout(content)
        columns.setContentsMargins(4, 4, 12, 4)
        columns.setSpacing(28)
        for column in (kinds, others):
            column.setSpacing(6)
            column.addStretch(1)
            columns.addLayout(column, 1)
        scroll = ScrollArea()
        scroll.setObjectName("engineChoiceScroll")
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(content)
        self.words = QLabel()
        self.words.setObjectName("engineChoiceWords")
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        back = button(
            "&Back", "setUpBack", "Back to the list of engines; nothing was changed",
            self.back_asked.emit,
        )  # fmt: skip
        self.next_button = button(
            "&Next", "setUpContinue",
            "See which packages it would have and how large they are; nothing is fetched yet",
            self._choose, leads=True,
        )  # fmt: skip
        foot = QHBoxLayout()
        self.copy_button = button(
            "Co&py details", "copyChoiceDetails", "Put the details on the clipboard", self._copy
        )
        self.copy_button.hide()
        foot.addWidget(back)
        foot.addWidget(self.words, 1)
        foot.addWidget(self.copy_button)
        foot.addWidget(self.next_button)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.addWidget(scroll, 1)
        page.addLayout(foot)

    def _build_kinds(self, column: QVBoxLayout) -> None:
        column.addWidget(_section("What do you want?"))
        self.driver_words = _muted("driverWords", "Looking for your GPU's driver and for Pythons…")
        column.addWidget(self.driver_words)
        self._kinds = QButtonGroup(self)
        self._kinds.idClicked.connect(lambda _: self._kind_chosen())
        self._kinds_column = QVBoxLayout()
        self._kinds_column.setSpacing(3)
        column.addLayout(self._kinds_column)

    def _build_source(self, column: QVBoxLayout) -> None:
        column.addWidget(_section("Where do its packages come from?"))
        self.from_index = QRadioButton(tr("The &internet"))
        self.from_index.setObjectName("fromIndex")
        self.from_index.setToolTip(tr("The package index that pip is set up for on this machine"))
        self.from_index.setChecked(True)
        self.from_folder = QRadioButton(tr("A folder of &wheels, where there is no internet"))
        self.from_folder.setObjectName("fromFolder")
        self._sources = QButtonGroup(self)
        for one in (self.from_index, self.from_folder):
            self._sources.addButton(one)
            one.toggled.connect(self._show_state)
        self.folder = QLineEdit()
        self.folder.setObjectName("wheelsFolder")
        self.folder.setAccessibleName(tr("Folder of wheels"))
        self.folder.setPlaceholderText(tr("the folder's path"))
        self.folder.setToolTip(
            tr(
                "It holds a .whl file of every package; each is held against GPU Explorer's own "
                "list of hashes, or against the folder's file SHA256SUMS"
            )
        )
        self.folder.textEdited.connect(lambda text: self.from_folder.setChecked(bool(text)))
        self.folder.textChanged.connect(self._show_state)
        pick = button("C&hoose…", "chooseWheels", "Choose the folder", self.pick_folder)
        line = QHBoxLayout()
        line.setContentsMargins(INDENT, 0, 0, 0)
        line.addWidget(self.folder, 1)
        line.addWidget(pick)
        column.addWidget(self.from_index)
        column.addWidget(self.from_folder)
        column.addLayout(line)
        column.addSpacing(14)

    def _build_python(self, column: QVBoxLayout) -> None:
        column.addWidget(_section("Which Python is it made with?"))
        self.python_box = ListBox("pythonBox", "The Python that the new environment is made with")
        self.python_box.setAccessibleName(tr("Python"))
        self.other_button = button(
            "&Other…", "otherPython", "Choose an interpreter that is not in the list",
            self.pick_python,
        )  # fmt: skip
        line = QHBoxLayout()
        line.addWidget(self.python_box, 1)
        line.addWidget(self.other_button)
        column.addLayout(line)
        self.python_words = _muted("pythonWords", "")
        self.python_words.setProperty("role", "warning")
        self.python_words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.again_button = button(
            "&Look again", "lookAgain", "Look for Pythons once more, after one was installed",
            self.open,
        )  # fmt: skip
        column.addWidget(self.python_words)
        column.addWidget(self.again_button, 0, Qt.AlignmentFlag.AlignLeft)
        for widget in (self.python_words, self.again_button):
            widget.hide()
        column.addSpacing(14)

    def _build_name(self, column: QVBoxLayout) -> None:
        column.addWidget(_section("What shall it be called?"))
        self.name = QLineEdit()
        self.name.setObjectName("engineName")
        self.name.setAccessibleName(tr("Name of the engine"))
        self.name.setToolTip(tr("Its name in the list, and after --python on the command line"))
        self.name.textEdited.connect(self._name_edited)
        self.name.textChanged.connect(self._show_state)
        for field in (self.name, self.folder):
            field.returnPressed.connect(self._choose)
        column.addWidget(self.name)

    # ---- what this machine offers

    def open(self) -> None:
        """Look what this machine offers, each time anew: drivers and Pythons come and go."""
        if not self._looking:
            self._looking, self._named_by_hand = True, False
            self._say(LOOKING)
            self._show_state()
            self._tasks.do("engine-offers", look_around, self._take)

    def _take(self, around: Around | ExplorerError | None) -> None:
        self._looking = False
        if self.words.text() == tr(LOOKING):  # and not why something else was refused
            self._say("")
        if isinstance(around, ExplorerError):
            self.refuse(around)
        elif around is not None:
            self.show_around(around)
        self._show_state()

    def show_around(self, around: Around) -> None:
        """Offer these; what was chosen before stays chosen where it is still there."""
        before = self.kind
        self.around = around
        self.driver_words.setText(tr(around.driver_words))
        self._fill_kinds(around, before.name if before is not None else "")
        self._fill_pythons(list(around.pythons))
        self._kind_chosen()

    def _fill_kinds(self, around: Around, chosen: str) -> None:
        for one in self._kinds.buttons():
            self._kinds.removeButton(one)
        empty(self._kinds_column)
        names = [offer.kind.name for offer in around.useful]
        for number, offer in enumerate(around.useful):
            kind = offer.kind
            choice = QRadioButton(tr(kind.title if number else f"{kind.title}  (recommended)"))
            choice.setObjectName(f"kind-{kind.name}")
            choice.setToolTip(tr(f"pip installs {', '.join(kind.requirements)}"))
            choice.setChecked(number == (names.index(chosen) if chosen in names else 0))
            self._kinds.addButton(choice, number)
            self._kinds_column.addWidget(choice)
            left_out = [f"{capital(offer.left_out)}."] if offer.left_out else []
            self._add_words(f"teaches-{kind.name}", " ".join([kind.teaches, *left_out]))
        for offer in around.useless:
            words = f"Not here: {offer.kind.title}. {capital(offer.trouble)}."
            self._add_words(f"kind-{offer.kind.name}", words)

    def _add_words(self, name: str, words: str) -> None:
        label = _muted(name, words)
        label.setContentsMargins(INDENT, 0, 0, 4)
        self._kinds_column.addWidget(label)

    def _fill_pythons(self, found: list[FoundPython], choose: str | None = None) -> None:
        choose = choose or self.python_box.currentData()
        model = QStandardItemModel(self.python_box)
        for one in found:
            version = f"Python {one.version}" if one.version else "a Python"
            words = f"{version}: {one.path}"
            item = QStandardItem(tr(words if one.ok else f"{words} (cannot be used)"))
            item.setData(one.path, Qt.ItemDataRole.UserRole)
            item.setEnabled(one.ok)
            item.setToolTip(tr(one.problem or one.path))
            model.appendRow(item)
        self.python_box.setModel(model)
        able = [place for place, one in enumerate(found) if one.ok]
        wanted = self.python_box.findData(choose) if choose else -1
        self.python_box.setCurrentIndex(wanted if wanted in able else (able or [-1])[0])
        trouble = self.around.no_python if self.around is not None else ""
        self.python_words.setText(tr(f"{capital(trouble)}." if trouble else ""))
        for widget in (self.python_words, self.again_button):
            widget.setVisible(bool(trouble))

    # ---- what was chosen

    @property
    def kind(self) -> Kind | None:
        """The kind that is chosen."""
        number = self._kinds.checkedId()
        if self.around is None or number < 0:
            return None
        return self.around.useful[number].kind

    @property
    def python(self) -> FoundPython | None:
        """The Python that is chosen; None where none can be used."""
        path = self.python_box.currentData()
        offered = self.around.pythons if self.around is not None else ()
        return next((one for one in offered if one.path == path and one.ok), None)

    @property
    def source(self) -> Source | None:
        """Where wheels come from; None while no folder is named."""
        if self.from_index.isChecked():
            return Source()
        text = self.folder.text().strip()
        return Source(folder=Path(os.path.expanduser(text))) if text else None

    @property
    def wanted(self) -> SetUpRequest | None:
        """Everything that was chosen; None while something is missing."""
        kind, python, source, name = self.kind, self.python, self.source, self.name.text().strip()
        if kind is None or python is None or source is None or not name:
            return None
        return SetUpRequest(kind, source, python, name)

    def pick_folder(self) -> None:
        """Ask for a folder of wheels."""
        begin = self.folder.text() or str(Path.home())
        name = QFileDialog.getExistingDirectory(self, tr("A folder of wheels"), begin)
        if name:
            self.folder.setText(as_is(name))
            self.from_folder.setChecked(True)

    def pick_python(self) -> None:
        """Ask for an interpreter, and look whether it can be used."""
        name, _ = QFileDialog.getOpenFileName(self, tr("A Python interpreter"), str(Path.home()))
        if name:
            self._say(f"Asking {name}…")
            self._tasks.do("engine-python", partial(_look_at, name), self._take_python)

    def _take_python(self, found: FoundPython | ExplorerError | None) -> None:
        if isinstance(found, ExplorerError):
            self.refuse(found)
        elif found is not None and not found.ok:
            self._say(f"{capital(found.problem or '')}.", bad=True)
        elif found is not None and self.around is not None:
            others = [one for one in self.around.pythons if one.path != found.path]
            self.around = replace(self.around, pythons=(found, *others))
            self._fill_pythons([found, *others], found.path)
            self._say("")
        self._show_state()

    def _kind_chosen(self) -> None:
        kind = self.kind
        if kind is not None and self.around is not None and not self._named_by_hand:
            self.name.setText(as_is(self.around.names.get(kind.name, kind.name)))
        self._show_state()

    def _name_edited(self, text: str) -> None:
        self._named_by_hand = bool(text.strip())

    def _choose(self) -> None:
        wanted = self.wanted
        if wanted is not None and self.next_button.isEnabled():
            self._say("")
            self.chosen.emit(wanted)

    # ---- showing

    def refuse(self, error: ExplorerError) -> None:
        """Say why what was chosen cannot be; another choice may."""
        self._say(sentence(error), bad=True)
        self._detail = error.detail
        self.copy_button.setVisible(bool(error.detail))

    def _copy(self) -> None:
        QApplication.clipboard().setText(f"{self.words.text()}\n\n{self._detail}")

    def _say(self, words: str, *, bad: bool = False) -> None:
        self.words.setText(tr(words))
        self.copy_button.hide()
        set_look(self.words, role="bad" if bad else "muted")

    def _show_state(self) -> None:
        self.next_button.setEnabled(self.wanted is not None and not self._looking)
        ready = self.around is not None
        self.again_button.setEnabled(not self._looking)
        for widget in (self.python_box, self.other_button, self.name):
            widget.setEnabled(ready)


def _look_at(word: str, cancel: threading.Event) -> FoundPython:
    return pythons.look_at(word, cancel=cancel)


def _section(words: str) -> QLabel:
    label = QLabel(tr(words))
    label.setProperty("role", "section")
    return label


def _muted(name: str, words: str) -> QLabel:
    label = QLabel(tr(words))
    label.setObjectName(name)
    label.setProperty("role", "muted")
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label
