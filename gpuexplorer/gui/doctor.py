"""Help > Doctor: what is installed, what is missing and what to do, in a dialog."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

import msgspec
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from gpuexplorer.cli.checks import Check
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.language import about, tr
from gpuexplorer.core.private import without_private
from gpuexplorer.gui.child import Child
from gpuexplorer.gui.info_dialog import InfoDialog
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.screen import open_size
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.worker import EngineWorker

MARKS = {"ok": ("✓", "good"), "warn": ("!", "warning"), "fail": ("✗", "bad")}
"""Of each status the mark and its colour."""
CHECKING = (
    "The installation is being checked. An engine is started for it, and Live waits meanwhile."
)
CAN_RUN = "Kernels can run here."
CANNOT_RUN = "Nothing here can run kernels: see the remedies."


class Report(msgspec.Struct, frozen=True):
    """What ``gpuexplorer doctor --json`` tells."""

    can_run_kernels: bool
    checks: tuple[Check, ...]


class DoctorJob(EngineJob):
    """Runs the doctor of the command line; its outcome is a ``Report``."""

    doing = "checking the installation"
    done = "the installation is checked"
    not_done = "the check of the installation was stopped"

    def __init__(self, worker: EngineWorker, python: str | None) -> None:
        super().__init__(worker)
        self.setObjectName("doctor")
        self._python = python
        self._child = Child()

    def cancel(self) -> None:
        """End the doctor."""
        super().cancel()
        self._child.end()

    def work(self) -> Report:
        """Ask the doctor; raises WorkFailed where it does not answer."""
        engine = ("--python", self._python) if self._python else ()
        _, output, errors = self._child.run("doctor", "--json", "-", *engine)
        try:
            return msgspec.json.decode(output, type=Report)
        except msgspec.DecodeError:
            told = errors[0] if errors else "it gave no report"
            raise WorkFailed(f"the installation cannot be checked: {told}") from None


class DoctorDialog(InfoDialog):
    """Shows the report, with nothing private in it, as it is shown it may be given away."""

    def __init__(self, parent: QWidget, session: Session) -> None:
        super().__init__(parent, "doctor", "Doctor")
        self._session = session
        self._job: DoctorJob | None = None
        self.report: Report | None = None
        self._words = ""
        self.copy_button.setText(tr("&Copy report"))
        self.copy_button.setToolTip(
            tr("Copy the report as text. Home folder, user name and machine name are left out")
        )
        self.again_button = self.add_button(
            "Check &again", "Again", "Look once more, with what was installed meanwhile"
        )
        self.foot.removeWidget(self.again_button)
        self.foot.insertWidget(1, self.again_button)
        self.again_button.clicked.connect(lambda _=False: self.check())
        self.resize(open_size(self, 760, 560))

    def check(self) -> bool:
        """Start a check; False where something else has the engine, which is said."""
        job = DoctorJob(self._session.worker, self._session.options.python)
        job.ended.connect(self._take)
        if not self._session.jobs.begin(job):
            return False
        self._job, self.report, self._words = job, None, CHECKING
        self.refresh()
        return True

    def reject(self) -> None:
        """Close, and stop a check that is going on."""
        if self._job is not None:
            self._job.cancel()
        super().reject()

    @Slot(object)
    def _take(self, outcome: object) -> None:
        self._job = None
        if isinstance(outcome, ExplorerError):
            self._words = without_private(f"{capital(str(outcome))}.")
        elif isinstance(outcome, Report):
            checks = [
                msgspec.structs.replace(
                    check, found=without_private(check.found), remedy=without_private(check.remedy)
                )
                for check in outcome.checks
            ]
            self.report = msgspec.structs.replace(outcome, checks=tuple(checks))
            self._words = CAN_RUN if outcome.can_run_kernels else CANNOT_RUN
        else:
            self._words = "The check was stopped."
        self.refresh()

    def refresh(self) -> None:
        """Show what was found, and offer what can be done with it."""
        super().refresh()
        self.copy_button.setEnabled(self.report is not None)
        self.again_button.setEnabled(self._job is None)

    def plain(self) -> str:
        """Return the report as lines of text."""
        return report_text(self.report.checks, self._words) if self.report is not None else ""

    def html(self) -> str:
        """Return the report with marks and colours."""
        if self.report is None:
            return f"<p>{escape(tr(self._words))}</p>"
        colours, parts = theme(), [f"<p><b>{escape(tr(self._words))}</b></p>"]
        for area, checks in groupby(self.report.checks, lambda check: check.area):
            parts.append(f"<p><b>{escape(tr(capital(area)))}</b></p><table>")
            for check in checks:
                mark, colour = MARKS[check.status]
                parts.append(
                    f'<tr><td width="18" style="color: {colours.colour(colour)}">{mark}</td>'
                    f"<td>{escape(about(check.name, check.found))}"
                )
                if check.remedy:
                    muted = colours.colour("muted")
                    parts.append(
                        f'<br><span style="color: {muted}">→ {escape(tr(check.remedy))}</span>'
                    )
                parts.append("</td></tr>")
            parts.append("</table>")
        return "".join(parts)


def report_text(checks: Sequence[Check], verdict: str) -> str:
    """Return checks as lines, those of an area below its name, and the verdict at the end."""
    lines = []
    for area, found in groupby(checks, lambda check: check.area):
        lines.append(f"\n{area}")
        for check in found:
            lines.append(f"  {MARKS[check.status][0]} {check.name}: {check.found}")
            if check.remedy:
                lines.append(f"      → {check.remedy}")
    return "\n".join([*lines, "", verdict]).strip()
