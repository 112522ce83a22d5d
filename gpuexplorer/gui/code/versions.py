"""Versions of a source that is edited: measured in turns with the one before, shown in a strip."""

from __future__ import annotations

import difflib
from pathlib import Path

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt, Signal, SignalInstance
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QListWidgetItem, QPushButton, QWidget

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.units import quantity, speed
from gpuexplorer.engine.receiver import CeilingsOf
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.search.versions import Version, Versions
from gpuexplorer.workloads.workload import Workload

HEIGHT = 46
NUMBER = Qt.ItemDataRole.UserRole


class VersionJob(EngineJob):
    """Measures one version in turns with the one before; ``ended`` carries it."""

    doing = "measuring this version in turns with the one before"
    done = "version measured"
    not_done = "the version was edited on"

    def __init__(
        self,
        worker: EngineWorker,
        versions: Versions,
        workload: Workload,
        devices: DeviceList,
        request: RunRequest,
        ceilings: CeilingsOf | None,
    ) -> None:
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("versions")
        self._versions, self._workload = versions, workload
        self._devices, self._request = devices, request

    def work(self) -> object:
        """Take the version."""
        return self._versions.take(self, self._workload, self._devices, self._request)


class VersionBench(QObject):
    """Has each version of a source measured, if Live is on; ``changed`` says that there are more.

    The run of a version goes into the history.
    """

    changed = Signal()

    def __init__(self, parent: QObject, session: Session) -> None:
        super().__init__(parent)
        self._session = session
        self._by_origin: dict[str, Versions] = {}
        self._job: VersionJob | None = None
        self._waiting: tuple[Workload, Workload] | None = None
        """A version, and the one before it, that come after the present one."""

    def of(self, workload: Workload) -> list[Version]:
        """Return the versions of a workload so far."""
        found = self._by_origin.get(workload.source.origin)
        return found.all if found is not None else []

    def take(self, before: Workload, workload: Workload) -> None:
        """Measure a version in turns with the last one that ran; live measuring goes on after it.

        A version that is being measured gives way: it was edited on.
        """
        session = self._session
        if self._job is not None:
            self._waiting = (before, workload)
            self._job.cancel()
            return
        devices = session.experiment.devices
        if not session.live or devices is None or session.jobs.current is not None:
            session.kernels_reloaded()
            return
        versions = self._by_origin.setdefault(workload.source.origin, Versions())
        if not versions.all:
            self._begin(versions, before)
        self._job = VersionJob(
            session.worker, versions, workload, devices, session.experiment.knobs.request(),
            session.store.find,
        )  # fmt: skip
        self._job.ended.connect(self._ended)
        if not session.jobs.begin(self._job):
            self._job = None
            session.kernels_reloaded()

    def _begin(self, versions: Versions, workload: Workload) -> None:
        """Take in what live measuring knows of the source before it was edited."""
        run = self._session.live_model.current
        record = run.record if run is not None and run.trace.total else None
        if record is None or record.prepared.environment.source_sha256 != workload.sha256:
            return
        if record.prepared.verified:
            versions.begin(workload, record.result(listed=False))

    def _ended(self, outcome: object) -> None:
        self._job = None
        waiting, self._waiting = self._waiting, None
        if isinstance(outcome, Version):
            if outcome.run is not None:
                self._session.runs.end(outcome.run)
            self.changed.emit()
        if waiting is not None:
            self.take(*waiting)


class VersionStrip(QWidget):
    """The versions of a source, the latest at the right; one of them can be taken up again.

    ``restored`` carries the version to go back to, ``compared`` the one to hold against the text.
    """

    restored = Signal(object)
    compared = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._versions: list[Version] = []
        self.list = QListWidget()
        self.list.setObjectName("versionList")
        self.list.setAccessibleName("Versions of this source")
        self.list.setFlow(QListWidget.Flow.LeftToRight)
        self.list.setWrapping(False)
        self.list.setFixedHeight(HEIGHT + 14)
        self.list.setFrameShape(QListWidget.Shape.NoFrame)
        self.list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setHorizontalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.currentRowChanged.connect(lambda _: self._offer())
        self.list.itemActivated.connect(lambda _: self._send(self.restored))
        self.restore_button = self._button("Res&tore", "versionRestore", self.restored)
        self.restore_button.setToolTip("Take up this version again; Ctrl+Z goes back")
        self.compare_button = self._button("&Differences", "versionDifferences", self.compared)
        self.compare_button.setToolTip("What changed from this version to the present text")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        row.addWidget(self.list, 1)
        row.addWidget(self.restore_button)
        row.addWidget(self.compare_button)
        self.hide()

    def _button(self, words: str, name: str, signal: SignalInstance) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.clicked.connect(lambda _=False: self._send(signal))
        return button

    def show_versions(self, versions: list[Version]) -> None:
        """Show these, and scroll to the latest if there are more than before."""
        if [v.number for v in versions] != [v.number for v in self._versions]:
            self._versions = list(versions)
            with QSignalBlocker(self.list):
                self.list.clear()
                for version in versions:
                    self.list.addItem(_item(version, self.list))
            self.list.scrollToBottom()
            self.list.setCurrentRow(self.list.count() - 1)
        self.setVisible(len(versions) > 1)
        self._offer()

    def _offer(self) -> None:
        chosen = 0 <= self.list.currentRow() < len(self._versions)
        for button in (self.restore_button, self.compare_button):
            button.setEnabled(chosen)

    def _send(self, signal: SignalInstance) -> None:
        row = self.list.currentRow()
        if 0 <= row < len(self._versions):
            signal.emit(self._versions[row])


def _item(version: Version, parent: QListWidget) -> QListWidgetItem:
    run, found = version.run, version.comparison
    if run is None:
        lines, tip = [f"{version.number}", "did not run"], str(version.error)
    else:
        median = quantity(run.timing.median_s, "s")
        beside = {"same": "as fast", "can't tell": "can't tell"}
        told = "" if found is None else beside.get(found.verdict) or speed(found.ratio)
        lines = [f"{version.number}  {median}", told if version.before else "as it was"]
        check = "Verified" if run.verification is not None else "Not verified"
        tip = "; ".join(filter(None, [check, version.beside]))
    item = QListWidgetItem("\n".join(lines))
    item.setToolTip(tip)
    item.setData(NUMBER, version.number)
    metrics = parent.fontMetrics()
    width = max(metrics.horizontalAdvance(line) for line in lines) + 24
    item.setSizeHint(QSize(width, HEIGHT))
    return item


def differences(path: Path, version: Version, text: str) -> str:
    """Return what changed from a version to a text, as ``diff -u`` writes it."""
    before = version.workload.source.files.get(path.name, "")
    lines = difflib.unified_diff(
        before.splitlines(), text.splitlines(), f"version {version.number}", "the present text",
        lineterm="",
    )  # fmt: skip
    return "\n".join(lines) or "There is no difference."
