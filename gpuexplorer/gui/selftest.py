"""Help > Self-test: what has to hold on this device, section by section, while it is tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFileDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer import exchange
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.selftest_worker import SelfTestWorker, State
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import CheckResult, SectionResult, SelfTestReport, sum_up
from gpuexplorer.selftest.run import SECTIONS

LOOK_MS = 100
COLUMNS = ("Section", "Checks", "Passed", "Failed", "Skipped", "Seconds")
ROWS = {section.name: row for row, section in enumerate(SECTIONS)}


class SelfTestDialog(QDialog):
    """Starts a self-test of a device, shows it going on, stops it, and exports the report.

    It is modal to the window: a live run beside it would disturb both.
    """

    def __init__(self, parent: QWidget, before_start: Callable[[], None]) -> None:
        super().__init__(parent)
        self.setObjectName("selfTestDialog")
        self.setWindowTitle("Self-test")
        self.setModal(True)
        self.resize(860, 600)
        self._before_start = before_start
        self._options = SelfTestOptions()
        self._worker: SelfTestWorker | None = None
        self.report: SelfTestReport | None = None
        """What the last self-test found."""
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._put_together()
        self._show_state(State(_nothing_done()))
        self._show_idle()

    def _put_together(self) -> None:
        self.device_words = Words()
        self.device_words.setProperty("role", "title")
        about = QLabel(
            "Every kernel against float64, leaks, occupancy, timing, ceilings, telemetry, and what "
            "happens when a run goes wrong. It uses an engine of its own."
        )
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.quick_box = QCheckBox("&Quick: under a minute, the most telling sizes only")
        self.quick_box.setObjectName("selfTestQuick")
        self.quick_box.setChecked(True)
        self.quick_box.setToolTip("Without it: every size, block and tunable, and a calibration")
        self.table = QTableWidget(len(SECTIONS), len(COLUMNS))
        self.table.setObjectName("selfTestTable")
        for column, words in enumerate(COLUMNS):
            heading = QTableWidgetItem(words)
            heading.setTextAlignment(_alignment(column))
            self.table.setHorizontalHeaderItem(column, heading)
        self.table.verticalHeader().hide()
        self.table.setShowGrid(False)
        self.table.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.table.setSelectionMode(QTableWidget.SelectionMode.NoSelection)
        self.table.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in range(1, len(COLUMNS)):
            self.table.setColumnWidth(column, 84)
        row_height = self.table.verticalHeader().defaultSectionSize()
        self.table.setFixedHeight(
            row_height * len(SECTIONS) + self.table.horizontalHeader().sizeHint().height() + 6
        )
        self.bar = QProgressBar()
        self.bar.setObjectName("selfTestProgress")
        self.bar.setTextVisible(False)
        self.bar.setFixedHeight(6)
        self.words = Words()
        self.words.setObjectName("selfTestWords")
        self.details = QPlainTextEdit()
        self.details.setObjectName("selfTestDetails")
        self.details.setReadOnly(True)
        self.details.setPlaceholderText("Failures and reasons for skipped checks stand here.")
        self.start_button = QPushButton("&Start")
        self.start_button.setObjectName("selfTestStart")
        self.start_button.setDefault(True)
        self.start_button.clicked.connect(self._start_or_stop)
        self.export_button = QPushButton("&Export report…")
        self.export_button.setObjectName("selfTestExport")
        self.export_button.setToolTip("Every check with its figures, as JSON")
        self.export_button.clicked.connect(self.export)
        close_button = QPushButton("&Close")
        close_button.clicked.connect(self.reject)
        buttons = QHBoxLayout()
        buttons.addWidget(self.quick_box)
        buttons.addStretch(1)
        for button in (self.start_button, self.export_button, close_button):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        for widget in (self.device_words, about, self.table, self.bar, self.words):
            layout.addWidget(widget)
        layout.addWidget(self.details, 1)
        layout.addLayout(buttons)

    # ---- asked by the window

    def offer(self, options: SelfTestOptions, device_name: str) -> None:
        """Show the dialog for a device; a self-test that is going on goes on."""
        if self._worker is None:
            self._options = options
            self.device_words.setText(device_name)
        self.open()

    def start(self) -> None:
        """Begin a self-test."""
        self._before_start()
        self.report = None
        self.details.clear()
        self._worker = SelfTestWorker(replace(self._options, quick=self.quick_box.isChecked()))
        self._worker.worked.connect(self._ended)
        self._show_state(State(_nothing_done()))
        self._worker.start()
        self._timer.start()
        self._show_idle()

    def stop(self) -> None:
        """Have the self-test stop; it ends within a moment."""
        if self._worker is not None:
            self._worker.cancel()
            self.start_button.setEnabled(False)
            self.words.setText("stopping")

    def close_down(self) -> None:
        """Stop and wait until nothing is left running."""
        self._timer.stop()
        if self._worker is not None:
            self._worker.worked.disconnect(self._ended)
            self._worker.cancel()
            self._worker.wait()
            self._worker = None

    @property
    def running(self) -> bool:
        """Whether a self-test is going on."""
        return self._worker is not None

    def export(self) -> None:
        """Ask for a file name and write the report as JSON."""
        if self.report is None:
            return
        offered = f"selftest-{self.report.device.id.replace(':', '-')}.json"
        name, _ = QFileDialog.getSaveFileName(self, "Export report", offered, "JSON (*.json)")
        if not name:
            return
        try:
            write_report(self.report, Path(name))
        except ExplorerError as error:
            self.words.setText(f"The report was not saved: {error}")
        else:
            self.words.setText(f"Saved {name}")

    # ---- showing

    def _start_or_stop(self) -> None:
        if self.running:
            self.stop()
        else:
            self.start()

    def _show_idle(self) -> None:
        self.start_button.setText("&Stop" if self.running else "&Start")
        self.start_button.setEnabled(True)
        self.quick_box.setEnabled(not self.running)
        self.export_button.setEnabled(self.report is not None)

    def _look(self) -> None:
        if self._worker is not None:
            self._show_state(self._worker.state)

    def _show_state(self, state: State) -> None:
        if state.planned == 0:
            self.bar.setRange(0, 0 if self.running else 1)
        else:
            self.bar.setRange(0, state.planned)
            self.bar.setValue(state.tried)
        if self.start_button.isEnabled():
            self.words.setText(state.words if self.running else "")
        for section in state.sections:
            self._show_section(ROWS[section.name], section)
        shown = "\n\n".join(_failure_words(c) for c in state.failures)
        if shown != self.details.toPlainText():
            self.details.setPlainText(shown)

    def _show_section(self, row: int, section: SectionResult) -> None:
        checks = (
            str(section.planned)
            if section.tried in (0, section.planned)
            else f"{section.tried} of {section.planned}"
        )
        texts = (
            section.title,
            checks if section.planned else "",
            str(section.passed or ""),
            str(section.failed or ""),
            str(section.skipped or ""),
            f"{section.time_s:.1f}" if section.tried else "",
        )
        colours = theme()
        for column, text in enumerate(texts):
            item = self.table.item(row, column)
            if item is None:
                item = QTableWidgetItem()
                item.setTextAlignment(_alignment(column))
                self.table.setItem(row, column, item)
            if item.text() != text:
                item.setText(text)
            if column in (2, 3):
                item.setForeground(QColor(colours.colour("good" if column == 2 else "bad")))
        first = self.table.item(row, 0)
        if first is not None:
            first.setToolTip("\n".join(section.why_skipped))

    def _ended(self, outcome: object) -> None:
        """Show what came out."""
        self._timer.stop()
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.wait()
        self._show_state(worker.state)
        self.bar.setRange(0, 1)
        self.bar.setValue(1)
        self._show_idle()
        if isinstance(outcome, SelfTestReport):
            self._show_report(outcome)
        else:
            self.words.setText(f"The self-test cannot run: {outcome}")

    def _show_report(self, report: SelfTestReport) -> None:
        self.report = report
        self.export_button.setEnabled(True)
        self.words.setText(report.verdict)
        parts = [_failure_words(c) for c in report.failures]
        parts += [
            f"Skipped in {section.name}: {reason}"
            for section in report.sections
            for reason in section.why_skipped
        ]
        self.details.setPlainText("\n\n".join(parts))

    def reject(self) -> None:
        """Close: by the button, the window's frame or Escape; what is going on stops."""
        self.stop()
        super().reject()


def write_report(report: SelfTestReport, path: Path) -> None:
    """Write a report as indented JSON, whole or not at all; raises ExplorerError."""
    exchange.check_target(path)
    with exchange.atomic_file(path) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


def _alignment(column: int) -> Qt.AlignmentFlag:
    """Return how a column stands: numbers at the right."""
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _nothing_done() -> list[SectionResult]:
    return [sum_up(s.name, s.title, 0, []) for s in SECTIONS]


def _failure_words(check: CheckResult) -> str:
    return f"FAILED {check.section}: {check.name}: {check.found}\n    {check.command}"
