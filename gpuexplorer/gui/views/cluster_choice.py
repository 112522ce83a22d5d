"""Where a search is measured: on this machine, or on the workers of a cluster."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.errors import Cancelled, ExplorerError, InputError
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import plural
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.task import Background
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.list_box import ListBox

if TYPE_CHECKING:
    from gpuexplorer.gui.cluster_job import FoundCluster, WantedCluster

MOST_WORKERS = 4096
TIP = (
    "A cluster that 'gpuexplorer cluster up' has started: its cluster.toml, that one's folder,\n"
    "or tls://HOST:PORT. Empty: this machine."
)


class ClusterChoice(QWidget):
    """``changed`` says that something else is wanted; ``wanted`` is what was chosen."""

    changed = Signal()

    def __init__(self, name: str) -> None:
        """``name`` begins the names of its parts."""
        super().__init__()
        self._found: FoundCluster | None = None
        self._background = Background(f"{name}-cluster")
        self._background.ended.connect(self._looked)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(5)
        self.where = QLineEdit()
        self.where.setObjectName(f"{name}Cluster")
        self.where.setAccessibleName(tr("Cluster"))
        self.where.setPlaceholderText(tr("This machine"))
        self.where.setToolTip(tr(TIP))
        self.where.setClearButtonEnabled(True)
        self.where.textEdited.connect(lambda _: self._edited())
        self.where.textChanged.connect(lambda text: self._edited() if not text else None)
        self.where.returnPressed.connect(self.look)
        browse = QToolButton()
        browse.setObjectName(f"{name}ClusterBrowse")
        browse.setText("…")
        browse.setProperty("role", "small")
        browse.setAccessibleName(tr("Choose a cluster.toml"))
        browse.setToolTip(tr("Choose a cluster.toml"))
        browse.clicked.connect(lambda _=False: self._browse())
        line = QHBoxLayout()
        line.addWidget(self.where, 1)
        line.addWidget(browse)
        column.addLayout(line)
        self.look_button = button(
            "Find its workers",
            f"{name}ClusterFind",
            "Connect to the cluster and list what its workers have",
            self.look,
        )
        column.addWidget(self.look_button)
        self.device = ListBox(f"{name}ClusterDevice", "On which hardware of the cluster")
        self.device.setAccessibleName(tr("Hardware of the cluster"))
        self.device.setSizeAdjustPolicy(
            ListBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.device.currentIndexChanged.connect(lambda _: self._device_chosen())
        column.addWidget(self.device)
        self.workers = QSpinBox()
        self.workers.setObjectName(f"{name}ClusterWorkers")
        self.workers.setAccessibleName(tr("Workers at the most"))
        self.workers.setToolTip(tr("How many of its workers measure at a time, at the most"))
        self.workers.setRange(0, MOST_WORKERS)
        self.workers.setSpecialValueText(tr("all"))
        self.workers.valueChanged.connect(lambda _: self.changed.emit())
        self._workers_label = QLabel(tr("Workers at the most"))
        self._workers_label.setBuddy(self.workers)
        line = QHBoxLayout()
        line.addWidget(self._workers_label)
        line.addWidget(self.workers)
        line.addStretch(1)
        column.addLayout(line)
        self.words = QLabel()
        self.words.setObjectName(f"{name}ClusterWords")
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        column.addWidget(self.words)
        self._show()

    def close_down(self) -> None:
        """End what it has started."""
        self._background.close()

    @property
    def wanted(self) -> WantedCluster | None:
        """Where is measured; None: on this machine. InputError while the workers are not known."""
        where = self.where.text().strip()
        if not where:
            return None
        if self._found is None:
            raise InputError(
                "the workers of the cluster are not known yet", remedy="press Find its workers"
            )
        from gpuexplorer.gui.cluster_job import WantedCluster

        return WantedCluster(
            where, str(self.device.currentData()), self._found.devices, self.workers.value() or None
        )

    def look(self) -> None:
        """Find out what the workers of the cluster have."""
        where = self.where.text().strip()
        if where and self.look_button.isEnabled():
            self.look_button.setEnabled(False)
            self.words.setText(tr("Connecting…"))
            self.words.show()
            self._background.ask(where, partial(_look_at, where, self._background))

    @Slot(object)
    def show_standing(self, lines: list[str]) -> None:
        """Show what each worker has done."""
        if lines:
            self.words.setText(tr("\n".join(lines)))
            self.words.show()

    def _browse(self) -> None:
        path, _ = QFileDialog.getOpenFileName(
            self, tr("Choose a cluster"), "", tr("Clusters (cluster.toml);;All files (*)")
        )
        if path:
            self.where.setText(as_is(path))
            self._edited()
            self.look()

    def _edited(self) -> None:
        self._found = None
        self.look_button.setEnabled(True)
        self._show()
        self.changed.emit()

    @Slot(str, object)
    def _looked(self, where: str, outcome: object) -> None:
        if where != self.where.text().strip():
            return
        self.look_button.setEnabled(True)
        if isinstance(outcome, ExplorerError):
            self._found = None
            self._show()
            self.words.setText(tr(f"{capital(str(outcome))}."))
            self.words.show()
        else:
            self._take(outcome)
        self.changed.emit()

    def _take(self, found: FoundCluster | object) -> None:
        from gpuexplorer.gui.cluster_job import FoundCluster

        if not isinstance(found, FoundCluster):
            return
        self._found = found
        self.device.clear()
        for device in found.devices:
            self.device.addItem(tr(f"{device.id} · {device.name}"), device.id)
        best = max(found.devices, key=lambda one: (one.kind == "gpu", one.runs_kernels))
        self.device.setCurrentIndex(self.device.findData(best.id))
        self._show()

    def _device_chosen(self) -> None:
        if self._found is not None:
            many = self._found.workers.get(str(self.device.currentData()), 0)
            self.words.setText(
                tr(
                    plural(
                        many,
                        "{number} worker has this hardware.",
                        "{number} workers have this hardware.",
                    )
                )
            )
            self.changed.emit()

    def _show(self) -> None:
        known = self._found is not None
        self.look_button.setVisible(bool(self.where.text().strip()) and not known)
        for widget in (self.device, self._workers_label, self.workers, self.words):
            widget.setVisible(known)


def _look_at(where: str, background: Background) -> FoundCluster:
    from gpuexplorer.gui.cluster_job import look_at

    def on_wait() -> None:
        if background.cancelled:
            raise Cancelled

    return look_at(where, on_wait)
