"""Help > Self-test: its job with an engine of its own, its view, and the dialog around that."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import count
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.gui.export import Exported, Exporter
from gpuexplorer.gui.help_here import PAGE
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.job import JobModel, Progress
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.show.table import ROW_HEIGHT, SheetTable
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.job_control import JobControl
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import (
    CheckResult,
    SectionResult,
    SelfTestReport,
    checks_sheet,
    sheet_of,
    sum_up,
)
from gpuexplorer.selftest.run import SECTIONS, run_selftest

TELL_EVERY_S = 0.1
"""Checks are told together, so that short ones do not flood the window."""
PARAGRAPH = "\n\n"
ABOUT = (
    "Every kernel against float64, leaks, occupancy, timing, ceilings, telemetry, and what "
    "happens when a run goes wrong. It uses an engine of its own."
)


class Tested(msgspec.Struct, frozen=True):
    """What a self-test has found so far, and its report once it has ended."""

    sections: Sequence[SectionResult]
    runs: Sequence[CheckResult]
    report: SelfTestReport | None = None

    @property
    def notes(self) -> Sequence[str]:
        """What came of it, in a sentence."""
        return (self.report.verdict,) if self.report is not None else ()

    @property
    def stopped_by(self) -> str:
        """``done`` at its end."""
        return "done" if self.report is not None and not self.report.interrupted else "user"

    @property
    def details(self) -> str:
        """What failed, each with the command that repeats it, and at the end what was skipped."""
        parts = [
            f"FAILED {c.section}: {c.name}: {c.found}\n    {c.command}"
            for c in self.runs
            if c.status == "failed"
        ]
        if self.report is not None:
            parts += [f"Skipped in {s.name}: {why}" for s in self.sections for why in s.why_skipped]
        return PARAGRAPH.join(parts)


class SelfTestJob(EngineJob):
    """Tests a device; ``stepped`` carries a ``Progress`` and what was ``Tested`` by now.

    ``tested`` is what there is of it, however the job ended.
    """

    doing = "testing the device"
    done = "the device is tested"
    not_done = "the self-test was stopped"

    def __init__(self, worker: EngineWorker, options: SelfTestOptions) -> None:
        super().__init__(worker)
        self.setObjectName("selftest")
        self._options = options
        self.tested: Tested | None = None

    def work(self) -> SelfTestReport:
        """Run the self-test; stopped, it reports what is done."""
        watch = SelfTestWatch(self.stepped.emit)
        report = run_selftest(self._options, watch, self.cancel_event.is_set)
        self.tested = Tested(report.sections, report.checks, report)
        return report


class SelfTestWatch:
    """Follows a self-test, and tells ``Progress`` and ``Tested`` of it."""

    def __init__(self, tell: Callable[[object], None]) -> None:
        self._tell = tell
        self._sections: Sequence[SectionResult] = ()
        self._checks: list[CheckResult] = []
        self._began = time.monotonic()
        self._tell_due = 0.0

    def planned(self, sections: Sequence[SectionResult]) -> None:
        """Take in the sections there will be."""
        self._sections, self._began = sections, time.monotonic()

    def done(self, result: CheckResult) -> None:
        """Take in what came of a check."""
        self._checks.append(result)

    def running(self, section: str, name: str) -> None:
        """Tell how far it is, and what is done now."""
        now, done = time.monotonic(), len(self._checks)
        if now < self._tell_due:
            return
        self._tell_due = now + TELL_EVERY_S
        total = sum(s.planned for s in self._sections)
        left_s = (now - self._began) / done * (total - done) if done else None
        sections = [
            sum_up(s.name, s.title, s.planned, [c for c in self._checks if c.section == s.name])
            for s in self._sections
        ]
        told = _how_far(count(done), count(total))
        progress = Progress(done, total, f"{section} · {name}", left_s, told)
        self._tell((progress, Tested(sections, tuple(self._checks))))


def told_apart(details: str) -> str:
    """Return paragraphs in the language, each of which is a sentence of its own."""
    return PARAGRAPH.join(map(tr, details.split(PARAGRAPH)))


def _how_far(done: str, total: str) -> str:
    return f"{done} of {total} checks done"


class SelfTestView(JobControl[Tested, SelfTestOptions]):
    """Sections with their sums, and beneath them what failed and why checks were skipped."""

    hint = "Press Start to test this device."

    def __init__(self, session: Session) -> None:
        self.model: JobModel[Tested] = JobModel()
        super().__init__(session, "selfTest", "Self-test", "self-test", self.model)
        self.options: SelfTestOptions | None = None
        """What would be tested; None while there is no device."""
        self.head.start.setToolTip(tr("Test the device; Live pauses meanwhile"))
        self.head.stop.setToolTip(tr("End it within a moment; what was checked is kept"))
        self.device_words = Words()
        self.device_words.setProperty("role", "title")
        about = QLabel(tr(ABOUT))
        about.setWordWrap(True)
        about.setProperty("role", "muted")
        self.quick_box = QCheckBox(tr("&Quick: about a minute, the most telling sizes only"))
        self.quick_box.setObjectName("selfTestQuick")
        self.quick_box.setChecked(True)
        self.quick_box.setToolTip(
            tr("Without it: every size, block and tunable, and a calibration")
        )
        self.table = SheetTable("selfTestTable", "The sections of the self-test in figures")
        self.details = QPlainTextEdit()
        self.details.setObjectName("selfTestDetails")
        self.details.setReadOnly(True)
        self.details.setAccessibleName(tr("Failures and reasons for skipped checks"))
        self.details.setPlaceholderText(tr("Failures and reasons for skipped checks stand here."))
        self.head.line.setContentsMargins(0, 0, 0, 0)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 0)
        column.setSpacing(8)
        for widget in (self.device_words, about, self.quick_box, self.head):
            column.addWidget(widget)
        column.addWidget(self.table, 3)
        column.addWidget(self.details, 1)
        self.refresh()
        height = self.table.horizontalHeader().sizeHint().height()
        self.table.setMinimumHeight(height + 2 * for_text(ROW_HEIGHT))
        self.table.setMaximumHeight(height + for_text(ROW_HEIGHT) * len(SECTIONS) + 6)
        self.details.setMinimumHeight(2 * for_text(ROW_HEIGHT))

    # ---- what is wanted

    def follow_knobs(self) -> None:
        """Test the chosen device."""
        session = self._session
        device = session.experiment.device
        self.device_words.setText(tr(f"{device.name} ({device.id})" if device is not None else ""))
        self.options = None
        if device is not None:
            self.options = SelfTestOptions(
                device.id, kernels=tuple(self.kernel_folders()),
                python=session.options.python, threads=session.options.threads,
            )  # fmt: skip
        self.show_state()

    def wanted(self) -> SelfTestOptions | None:
        """Return what would be tested."""
        if self.options is None:
            return None
        return replace(self.options, quick=self.quick_box.isChecked())

    # ---- the job

    def job(self, wanted: SelfTestOptions) -> SelfTestJob:
        """Return the job that tests."""
        return SelfTestJob(self._session.worker, wanted)

    def began(self, wanted: SelfTestOptions) -> None:
        """Note that it has begun."""
        self.model.begin()

    def take(self, step: tuple[Progress, Tested]) -> bool:
        """Take in what was tested by now."""
        self.model.take(*step)
        return True

    def end(self, job: SelfTestJob, error: str) -> None:
        """Note what came of it."""
        self.model.end(job.tested, error)

    @property
    def done(self) -> tuple[int, int]:
        """The checks that are made, of all."""
        at = self.model.progress
        return (at.done, at.total) if at is not None else (0, 1)

    # ---- showing

    def refresh(self, *, at_once: bool = False) -> None:
        """Show what is known."""
        result = self.model.result
        sections = [sum_up(s.name, s.title, 0, []) for s in SECTIONS]
        if result is not None:
            found = {section.name: section for section in result.sections}
            sections = [found.get(section.name, section) for section in sections]
        self.table.show_sheet(sheet_of(sections))
        details = result.details if result is not None else ""
        told = told_apart(details)
        if told != self.details.toPlainText():
            self.details.setPlainText(told)

    def show_state(self) -> None:
        """Show what can be done now; a pause would let Live disturb what is tested."""
        super().show_state()
        self.head.pause.hide()
        self.quick_box.setEnabled(not self.running)

    def head_words(self) -> str:
        """Return how far it is, what came of it, or why it could not be."""
        return self.model.error or super().head_words()

    def summary(self) -> str:
        """Return how many checks came to what."""
        result = self.model.result
        found = Counter(check.status for check in (result.runs if result is not None else ()))
        return (
            f"{count(found['passed'])} checks passed, {count(found['failed'])} failed, and "
            f"{count(found['skipped'])} were skipped."
        )

    # ---- keeping

    def command(self, wanted: SelfTestOptions) -> str:
        """Return the command line that does the same."""
        return wanted.command()

    def files(self, result: Tested) -> Exported:
        """Return how the report is written."""
        report = result.report
        if report is None:
            raise InputError("there is no report yet", remedy="let the self-test end, or stop it")
        return Exported(
            f"selftest-{report.device.id.replace(':', '-')}",
            lambda: pretty(report),
            lambda path: write_sheet(checks_sheet(report.checks), path),
            formats={"json": "JSON document of every check", "csv": "CSV table of every check"},
        )


class SelfTestDialog(QDialog):
    """Closing it stops the self-test. It is modal: Live beside it would disturb both."""

    def __init__(self, parent: QWidget, session: Session, settings: Settings) -> None:
        super().__init__(parent)
        self.setObjectName("selfTestDialog")
        self.setProperty(PAGE, "self-test")
        self.setWindowTitle(tr("Self-test"))
        self.setModal(True)
        self.resize(open_size(self, 860, 600))
        self.view = SelfTestView(session)
        self.exporter = Exporter(self, settings)
        self.words = Words()
        self.words.setObjectName("selfTestMessage")
        self.export_button = QPushButton(tr("&Export report…"))
        self.export_button.setObjectName("selfTestExport")
        self.export_button.setToolTip(tr("Every check with its figures, as JSON or CSV"))
        self.export_button.clicked.connect(lambda _=False: self.export())
        close_button = QPushButton(tr("C&lose"))
        close_button.setObjectName("selfTestClose")
        close_button.clicked.connect(lambda _=False: self.reject())
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 6, 12, 10)
        foot.setSpacing(8)
        foot.addWidget(self.words, 1)
        foot.addWidget(self.export_button)
        foot.addWidget(close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.view, 1)
        column.addLayout(foot)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)
        self.view.head.start.setDefault(True)
        self.exporter.notice.connect(lambda notice: self.words.setText(tr(notice.text)))
        self.view.changed.connect(self._show_found)
        self.view.message.connect(lambda words: self.words.setText(tr(words)))
        self._show_found()

    def export(self) -> None:
        """Ask for a file name and write the report."""
        self.exporter.ask(self.view.exported(), "json")

    def _show_found(self) -> None:
        result = self.view.model.result
        self.export_button.setEnabled(result is not None and result.report is not None)
        self.words.setText("")

    def reject(self) -> None:
        """Close: by the button, the window's frame or Escape; what is going on stops."""
        if self.view.running:
            self.view.stop()
        super().reject()

    def close_down(self) -> None:
        """Close, and end what the view has started; the session ends the job."""
        self.reject()
        self.view.close_down()
        self.exporter.wait()


def pretty(report: SelfTestReport) -> bytes:
    """Return a report as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
