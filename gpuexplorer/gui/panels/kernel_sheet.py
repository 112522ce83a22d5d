"""What a CUDA file does not say itself, asked in one sheet with what its text tells filled in."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.gui.help_here import PAGE
from gpuexplorer.gui.notice import capital
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_file import LARGEST, KernelFile
from gpuexplorer.workloads.kernel_manifest import kernel_manifest
from gpuexplorer.workloads.kernel_text import Use
from gpuexplorer.workloads.loader import kernel_workload
from gpuexplorer.workloads.own_kernel import manifest_path

USES: dict[Use, str] = {"in": "is read", "out": "is written", "inout": "is read and written"}
NOT_SAID = "?"
EXPECTED = "such as A @ B, or a function's name"


class KernelSheet(QDialog):
    """Asks what the result of a kernel should be; accepted, ``answers`` make its manifest.

    Raises InputError for a file without a kernel that can be run.
    """

    def __init__(self, parent: QWidget, text: str, path: Path, name: str) -> None:
        super().__init__(parent)
        self._text, self._path, self._name = text, path, name
        self.answers = Answers()
        """What is answered so far."""
        first = KernelFile(text, path, self.answers)
        self.setObjectName("kernelSheet")
        self.setProperty(PAGE, "your-own-kernels")
        self.setWindowTitle(tr(f"Open {path.name}"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.kernel_box = QComboBox()
        self.kernel_box.setObjectName("kernelSheetKernel")
        self.kernel_box.addItems([first.name, *first.others])
        self.unchecked_box = QCheckBox(tr("&Do not verify: nobody can say what is right"))
        self.unchecked_box.setObjectName("kernelSheetUnchecked")
        self.unchecked_box.setToolTip(tr("Every figure then says that its result was not verified"))
        self.words = QLabel()
        self.words.setObjectName("kernelSheetWords")
        self.words.setWordWrap(True)
        self.words.setProperty("role", "muted")
        buttons = QDialogButtonBox()
        buttons.addButton(tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        self.open_button = QPushButton(tr("&Open"))
        self.open_button.setObjectName("kernelSheetOpen")
        self.open_button.setDefault(True)
        self.open_button.setProperty("role", "leads")
        buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self._top = QFormLayout()
        self._top.addRow(tr("&Kernel"), self.kernel_box)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(16, 16, 16, 12)
        self._column.setSpacing(12)
        self._column.addLayout(self._top)
        self._questions = QWidget()
        self._column.addWidget(self._questions)
        self._column.addWidget(self.unchecked_box)
        self._column.addStretch(1)
        self._column.addWidget(self.words)
        self._column.addWidget(buttons)
        self.kernel_box.currentTextChanged.connect(self._show_kernel)
        self.unchecked_box.toggled.connect(self._judge)
        self._show_kernel(first.name)

    def _show_kernel(self, name: str) -> None:
        """Ask about another kernel of the file, with what its text tells."""
        found = KernelFile(self._text, self._path, Answers(kernel=name))
        questions = QWidget()
        grid = QGridLayout(questions)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        self._uses: dict[str, QComboBox] = {}
        self._shapes: dict[str, QLineEdit] = {}
        self._results: dict[str, tuple[QLabel, QLineEdit]] = {}
        self._sizes: dict[str, QLineEdit] = {}
        self._scalars: dict[str, QLineEdit] = {}
        for array, use in found.uses.items():
            self._add_array(grid, array, use, found.shapes[array])
        for size, default in found.sizes.items():
            box = self._sizes[size] = self._line(f"kernelSheetSize_{size}", str(default))
            self._add_row(grid, f"{size} is at first", box, "A whole number; a knob of the window")
        for scalar, value in found.scalars.items():
            box = self._scalars[scalar] = self._line(f"kernelSheetScalar_{scalar}", f"{value:g}")
            self._add_row(grid, f"value of {scalar}", box, "A number that the kernel is given")
        for output in found.outputs:
            self._add_result(grid, output, next(iter(found.host_functions), ""))
        grid.setColumnStretch(2, 1)
        self._column.replaceWidget(self._questions, questions)
        self._questions.deleteLater()
        self._questions = questions
        for _, box in self._results.values():
            box.setFocus()
            break
        self._judge()

    def _line(self, name: str, text: str = "") -> QLineEdit:
        box = QLineEdit(text)
        box.setObjectName(name)
        box.textEdited.connect(self._judge)
        return box

    def _add_row(self, grid: QGridLayout, words: str, box: QWidget, tip: str) -> QLabel:
        label, row = QLabel(tr(words)), grid.rowCount()
        label.setBuddy(box)
        box.setToolTip(tr(tip))
        box.setAccessibleName(tr(words))
        grid.addWidget(label, row, 0)
        grid.addWidget(box, row, 1, 1, 2)
        return label

    def _add_array(
        self, grid: QGridLayout, name: str, use: Use | None, shape: tuple[str, ...] | None
    ) -> None:
        uses = self._uses[name] = QComboBox()
        uses.setObjectName(f"kernelSheetUse_{name}")
        uses.setAccessibleName(tr(f"What is done to {name}"))
        if use is None:
            uses.addItem(tr(NOT_SAID), None)
        for one, words in USES.items():
            uses.addItem(tr(words), one)
        uses.setCurrentIndex(max(0, uses.findData(use)))
        uses.currentIndexChanged.connect(self._ask_results)
        sides = self._shapes[name] = self._line(f"kernelSheetShape_{name}", ", ".join(shape or ()))
        sides.setAccessibleName(tr(f"Shape of {name}"))
        sides.setPlaceholderText(tr("rows, columns"))
        sides.setToolTip(tr("Its sides from the slowest to the fastest, in sizes or numbers"))
        row = grid.rowCount()
        grid.addWidget(QLabel(as_is(name)), row, 0)
        grid.addWidget(uses, row, 1)
        grid.addWidget(sides, row, 2)

    def _add_result(self, grid: QGridLayout, output: str, guess: str = "") -> None:
        box = self._line(f"kernelSheetResult_{output}", guess)
        box.setPlaceholderText(tr(EXPECTED))
        label = self._add_row(
            grid, f"{output} should be", box,
            "An expression over the inputs, the sizes and the numbers, computed in float64 and "
            "held against what the kernel wrote; @ is the product of matrices. Or the name of a "
            "function for the CPU, or of another kernel in the file, whose results are right; or "
            "check.py:product, a function of a Python file beside it that returns them; or none, "
            "which every figure then says",
        )  # fmt: skip
        self._results[output] = (label, box)

    def _ask_results(self) -> None:
        """Ask what the result should be of what is written now."""
        grid = self._questions.layout()
        assert isinstance(grid, QGridLayout)
        for name, uses in self._uses.items():
            written = uses.currentData() in ("out", "inout")
            if written and name not in self._results:
                self._add_result(grid, name)
            for widget in self._results.get(name, ()):
                widget.setVisible(written)
        self._judge()

    def _read(self) -> Answers:
        """Return what is answered; InputError for a number that is none."""
        unchecked = self.unchecked_box.isChecked()
        written = {n for n, box in self._uses.items() if box.currentData() in ("out", "inout")}
        results = {n: b.text().strip() for n, (_, b) in self._results.items() if n in written}
        for name, uses in self._uses.items():
            if uses.currentData() is None:
                raise InputError(
                    f"what is done to {name} is not said yet",
                    remedy="choose whether it is read or written",
                )
            if not self._shapes[name].text().strip():
                raise InputError(
                    f"how large {name} is, is not said yet",
                    remedy="write its sides, in sizes or numbers",
                )
        if not results:
            raise InputError("no array is written", remedy="choose which of them holds the result")
        missing = [n for n, text in results.items() if not text]
        if missing and not unchecked:
            raise InputError(
                f"what {missing[0]} should be is not said yet",
                remedy="write an expression over the inputs, or none where nobody can say",
            )
        return Answers(
            reference={} if unchecked else results,
            unchecked=unchecked,
            kernel=self.kernel_box.currentText(),
            uses={n: box.currentData() for n, box in self._uses.items()},
            shapes={
                n: tuple(side.strip() for side in box.text().split(","))
                for n, box in self._shapes.items()
            },
            sizes={n: int(_number(n, box.text())) for n, box in self._sizes.items()},
            scalars={n: _number(n, box.text()) for n, box in self._scalars.items()},
        )

    def _judge(self) -> None:
        """Say what is still missing, and open only what fits together."""
        for _, box in self._results.values():
            box.setEnabled(not self.unchecked_box.isChecked())
        try:
            answers = self._read()
            text = kernel_manifest(self._text, self._path, self._name, answers)
            kernel_workload(self._path, text)
        except InputError as error:
            self.words.setText(tr(f"{capital(str(error))}."))
            self.open_button.setEnabled(False)
            return
        self.answers = answers
        kept = manifest_path(self._path)
        if kept.parent == self._path.parent:
            words = f"The answers are kept in {kept.name}, beside the file."
        else:
            words = f"The answers are kept in {kept}: nothing can be written beside it."
        self.words.setText(tr(words))
        self.open_button.setEnabled(True)


def _number(name: str, text: str) -> float:
    try:
        found = float(text.replace("_", ""))
    except ValueError:
        raise InputError(f"{name} is '{text}'", remedy="write a number") from None
    if not abs(found) <= LARGEST:
        raise InputError(f"{name} is {text}, out of range", remedy=f"use up to {LARGEST}")
    return found
