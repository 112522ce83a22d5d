"""Versions of a source that is edited: measured in turns with the one before, shown in a strip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, QSignalBlocker, QSize, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.language import tr
from gpuexplorer.core.text import differing
from gpuexplorer.core.units import plural, quantity
from gpuexplorer.engine.receiver import CeilingsOf
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.versions_file import HeldVersions, Registers
from gpuexplorer.gui.plain import plain_tip
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.search.versions import Version, Versions
from gpuexplorer.workloads.workload import Workload

HEIGHT = 46
BESIDE_PX = 330
"""From this width on the buttons stand beside the versions."""
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
        self._opened: dict[str, Versions] = {}
        """By name, what a session file brought of workloads that were not looked at since."""
        self._registers: dict[tuple[str, str], Registers] = {}
        """Of each source's hash and variant, as it was compiled last."""
        self._job: VersionJob | None = None
        self._waiting: tuple[Workload, Workload, RunRequest] | None = None
        """The one before a version and it, which comes after the present one, and its knobs."""

    def of(self, workload: Workload) -> list[Version]:
        """Return the versions of a workload so far."""
        found = self._known(workload)
        return found.all if found is not None else []

    def _known(self, workload: Workload) -> Versions | None:
        origin = workload.source.origin
        if origin not in self._by_origin and workload.name in self._opened:
            self._by_origin[origin] = self._opened.pop(workload.name)
        return self._by_origin.get(origin)

    def registers_of(self, version: Version) -> Registers | None:
        """Return what a version that ran was compiled to, if the Kernel view has seen it."""
        if version.run is None:
            return None
        return self._registers.get((version.workload.sha256, version.run.config.variant))

    def tell_registers(self, sha256: str, variant: str, arch: str, count: int) -> None:
        """Take what a source's variant was compiled to."""
        told = Registers(arch, count)
        if self._registers.get((sha256, variant)) != told:
            self._registers[sha256, variant] = told
            self.changed.emit()

    # ---- in a session file

    def held(self) -> tuple[HeldVersions, ...] | None:
        """Return the versions of every source that was edited; None without any."""
        found = [("", v) for v in self._opened.values()] + list(self._by_origin.items())
        held = tuple(
            HeldVersions(
                v.all[0].workload.name, tuple(v.all), tuple(map(self.registers_of, v.all)), origin
            )
            for origin, v in found
            if v.all
        )
        return held or None

    def show_held(self, held: Sequence[HeldVersions] | None) -> None:
        """Show these versions instead; those of a file when their workload is chosen."""
        self._by_origin, self._opened = {}, {}
        for one in held or ():
            versions = Versions(one.versions)
            if one.origin:
                self._by_origin[one.origin] = versions
            else:
                self._opened[one.name] = versions
            for version, registers in zip(one.versions, one.registers, strict=True):
                if registers is not None and version.run is not None:
                    key = version.workload.sha256, version.run.config.variant
                    self._registers[key] = registers
        self.changed.emit()

    def take(self, before: Workload, workload: Workload, request: RunRequest | None = None) -> None:
        """Measure a version in turns with the last one that ran; live measuring goes on after it.

        A version that is being measured gives way: it was edited on. ``request`` is of the knobs
        when this was asked for; without it they are those of now.
        """
        session = self._session
        request = request or session.experiment.knobs.request()
        if self._job is not None:
            self._waiting = (before, workload, request)
            self._job.cancel()
            return
        devices = session.experiment.devices
        if not session.live or devices is None or session.jobs.current is not None:
            session.kernels_reloaded()
            return
        versions = self._known(workload)
        if versions is None:
            versions = self._by_origin[workload.source.origin] = Versions()
        if versions.last_good is None:
            self._begin(versions, before)
        self._job = VersionJob(
            session.worker, versions, workload, devices, request, session.store.find
        )
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
        check = record.prepared.verification
        if check is None or check.ok:
            versions.begin(workload, record.result(listed=False))

    @Slot(object)
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
        self._rows: list[tuple[Version, Registers | None]] = []
        self.list = QListWidget()
        self.list.setObjectName("versionList")
        self.list.setAccessibleName(tr("Versions of this source"))
        self.list.setFlow(QListWidget.Flow.LeftToRight)
        self.list.setWrapping(False)
        self.list.setFixedHeight(HEIGHT + 14)
        self.list.setFrameShape(QListWidget.Shape.NoFrame)
        self.list.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setHorizontalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.currentRowChanged.connect(lambda _: self._offer())
        self.list.itemActivated.connect(lambda _: self._send(self.restored))
        self.restore_button = self._button("Res&tore", "versionRestore", self.restored)
        self.restore_button.setToolTip(tr("Take up this version again; Ctrl+Z goes back"))
        self.compare_button = self._button("&Differences", "versionDifferences", self.compared)
        self.compare_button.setToolTip(tr("What changed from this version to the present text"))
        self._lines = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._lines.setContentsMargins(12, 0, 12, 0)
        self._lines.setSpacing(8)
        self._lines.addWidget(self.list, 1)
        self._buttons = QHBoxLayout()
        self._buttons.addWidget(self.restore_button)
        self._buttons.addWidget(self.compare_button)
        self._lines.addLayout(self._buttons)
        self.hide()

    def minimumSizeHint(self) -> QSize:
        """Return the size with the buttons below the versions, or beside them."""
        least, margins = super().minimumSizeHint(), self._lines.contentsMargins()
        buttons = self._buttons.minimumSize().width()
        return QSize(buttons + margins.left() + margins.right(), least.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the buttons below the versions where there is little room beside them."""
        super().resizeEvent(event)
        directions, narrow = QBoxLayout.Direction, self.width() < for_text(BESIDE_PX)
        self._lines.setDirection(directions.TopToBottom if narrow else directions.LeftToRight)
        self._lines.setContentsMargins(12, 0, 12, 4 if narrow else 0)
        self.list.scrollTo(self.list.currentIndex())

    def _button(self, words: str, name: str, signal: SignalInstance) -> QPushButton:
        button = QPushButton(tr(words))
        button.setObjectName(name)
        button.clicked.connect(lambda _=False: self._send(signal))
        return button

    def show_versions(
        self, versions: Sequence[Version], registers: Sequence[Registers | None] = ()
    ) -> None:
        """Show these, and choose the latest if others were shown."""
        known = list(registers) or [None] * len(versions)
        rows = list(zip(versions, known, strict=True))
        if [(id(v), r) for v, r in rows] != [(id(v), r) for v, r in self._rows]:
            same = list(map(id, versions)) == list(map(id, self._versions))
            chosen = self.list.currentRow() if same else len(rows) - 1
            self._rows, self._versions = rows, list(versions)
            with QSignalBlocker(self.list):
                self.list.clear()
                for version, one in rows:
                    self.list.addItem(_item(version, one, self.list))
            self.list.setCurrentRow(chosen)
            self.list.scrollTo(self.list.currentIndex())
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


def _item(version: Version, registers: Registers | None, parent: QListWidget) -> QListWidgetItem:
    run, found = version.run, version.comparison
    if run is None:
        lines, tip = [f"{version.number}", "did not run"], str(version.error)
    else:
        median = quantity(run.timing.median_s, "s")
        told = found.words if found is not None else ""
        lines = [f"{version.number}  {median}", told if version.before else "as it was"]
        check = run.verification.words if run.verification is not None else "not verified"
        check = check[0].upper() + check[1:]
        takes, on = run.resources.registers_per_thread, run.device.name
        if takes is None and registers is not None:
            takes, on = registers.count, registers.arch
        counted = "" if takes is None else plural(takes, "{number} register", "{number} registers")
        lines[1] = " · ".join(filter(None, [lines[1], counted]))
        if counted:
            counted = f"{counted} a thread on {on}"
        tip = "; ".join(filter(None, [check, version.beside, counted]))
    item = QListWidgetItem(tr("\n".join(lines)))
    item.setToolTip(plain_tip(tr(tip)))
    item.setData(NUMBER, version.number)
    metrics = parent.fontMetrics()
    width = max(metrics.horizontalAdvance(line) for line in lines) + 24
    item.setSizeHint(QSize(width, HEIGHT))
    return item


def differences(version: Version, texts: Mapping[str, str]) -> str:
    """Return what changed from a version to the texts of its sources, as ``diff -u`` writes it."""
    found, number = [], version.number
    for name, text in texts.items():
        before = version.workload.source.files.get(name, "")
        names = tr(f"version {number}"), tr("the present text")
        if len(texts) > 1:
            names = tr(f"version {number}: {name}"), tr(f"the present text: {name}")
        found.append(differing(before, text, *names))
    return "\n".join(filter(None, found)) or tr("There is no difference.")
