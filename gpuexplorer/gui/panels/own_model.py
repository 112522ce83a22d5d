"""The question before a Python file runs: where it is, its fingerprint, and how it begins."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import plural
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.typeface import fixed
from gpuexplorer.workloads.own_model import look_over
from gpuexplorer.workloads.programs import Program

SHOWN_LINES = 200
WARNING = (
    "This file is a program. It will run in the engine's process with your rights: it can read, "
    "write and send whatever you can. Run it only if you know where it comes from."
)


class TrustDialog(QDialog):
    """Asks whether a program may run; accepted means yes, and is remembered for this text."""

    def __init__(self, parent: QWidget, program: Program) -> None:
        super().__init__(parent)
        self.program = program
        self.setObjectName("trustDialog")
        self.setWindowTitle(tr(f"Run {program.path.name}?"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(open_size(self, 760, 540))
        column = QVBoxLayout(self)
        column.setSpacing(10)
        warning = QLabel(tr(WARNING))
        warning.setWordWrap(True)
        column.addWidget(warning)
        column.addLayout(self._facts())
        column.addWidget(self._beginning(), 1)
        column.addLayout(self._buttons())

    def _facts(self) -> QGridLayout:
        program = self.program
        facts = (
            ("File", str(program.path), "trustPath"),
            ("SHA-256", program.sha256, "trustHash"),
            *_of_model(program),
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(4)
        for row, (name, words, object_name) in enumerate(facts):
            label = QLabel(tr(name))
            label.setProperty("role", "muted")
            value = QLabel(tr(words))
            value.setObjectName(object_name)
            value.setTextFormat(Qt.TextFormat.PlainText)
            value.setWordWrap(True)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(value, row, 1)
        grid.setColumnStretch(1, 1)
        return grid

    def _beginning(self) -> QPlainTextEdit:
        lines = self.program.text.splitlines()
        shown, more = lines[:SHOWN_LINES], len(lines) - SHOWN_LINES
        if more > 0:
            shown.append(plural(more, "… {number} more line", "… {number} more lines"))
        text = QPlainTextEdit()
        text.setObjectName("trustText")
        text.setAccessibleName(tr("The file's beginning"))
        text.setReadOnly(True)
        text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        text.setTabChangesFocus(True)
        text.setFont(fixed())
        text.setPlainText(as_is("\n".join(shown)))
        return text

    def _buttons(self) -> QHBoxLayout:
        said = QLabel(tr("Asked once for this very text; a changed file is asked about again."))
        said.setProperty("role", "muted")
        said.setWordWrap(True)
        self.run_button = QPushButton(tr("Run it"))
        self.run_button.setObjectName("trustRunButton")
        self.run_button.setAutoDefault(False)
        self.run_button.clicked.connect(self.accept)
        self.cancel_button = QPushButton(tr("Do not run it"))
        self.cancel_button.setObjectName("trustCancelButton")
        self.cancel_button.setDefault(True)
        self.cancel_button.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.addWidget(said, 1)
        row.addWidget(self.run_button)
        row.addWidget(self.cancel_button)
        return row


def _of_model(program: Program) -> tuple[tuple[str, str, str], ...]:
    """Return what a model's file says of itself; of another what it is run for."""
    try:
        model = look_over(program.text, program.path)
    except InputError:
        return (("Says", "what a right result of the kernel is", "trustUse"),)
    sizes = ", ".join(f"{name} = {value}" for name, value in model.sizes.items())
    loss = "yes, with its loss()" if model.has_loss else "no: it has no loss()"
    return (
        ("Sizes", sizes or "none: build() takes no whole numbers", "trustSizes"),
        ("Training step", loss, "trustLoss"),
    )
