"""The insight panel: the headline figure, how well it is known, and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer import reproduce
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import count, percent, quantity, ratio
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.gui.model.live import Run
from gpuexplorer.gui.panels.advice import AdviceSection
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.phase_bar import PhaseBar
from gpuexplorer.gui.widgets.words import Words


class InsightPanel(QScrollArea):
    """Says in words what the plots show."""

    copied = Signal(str)

    def __init__(self, adviser: AdviceSection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.advice = adviser
        self.setObjectName("insightPanel")
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._config: RunConfig | None = None
        self.kernel_folders: Sequence[Path] = ()
        content = QWidget()
        content.setObjectName("insightContent")
        layout = QVBoxLayout(content)
        layout.setContentsMargins(14, 10, 14, 10)
        layout.setSpacing(5)
        self.setWidget(content)
        self.headline = Words("–")
        self.headline.setObjectName("headline")
        self.headline.setProperty("role", "headline")
        font = self.headline.font()
        font.setPointSizeF(font.pointSizeF() * 2.1)
        self.headline.setFont(font)
        self.headline.setToolTip("Median time of one launch, in seconds with an SI prefix")
        self.precision = self._quiet("precisionOfMedian")
        self.precision.setToolTip(
            "Half the 95 % confidence interval of the median, from time-separated batches"
        )
        layout.addWidget(self.headline)
        layout.addWidget(self.precision)
        layout.addWidget(self._rule())
        figures = QFormLayout()
        figures.setContentsMargins(0, 0, 0, 0)
        figures.setVerticalSpacing(4)
        self.flops = self._figure(
            figures, "Throughput", "flopFigure", "Useful operations over the median, FLOP/s"
        )
        self.bandwidth = self._figure(
            figures,
            "Effective bandwidth",
            "bandwidthFigure",
            "Compulsory bytes over the median, B/s: what a perfect cache would have moved",
        )
        self.of_peak = self._figure(
            figures, "of the peak", "peakFigure", "Effective bandwidth over the device's peak"
        )
        self.intensity = self._figure(
            figures,
            "Intensity",
            "intensityFigure",
            "Arithmetic intensity: useful operations for each compulsory byte, FLOP/B",
        )
        self.occupancy = self._figure(
            figures,
            "Occupancy",
            "occupancyFigure",
            "Resident warps over the most a multiprocessor can hold, and what limits them",
        )
        self.registers = self._figure(
            figures, "Registers", "registersFigure", "Registers of one thread"
        )
        self._figures = figures
        layout.addLayout(figures)
        layout.addWidget(self._rule())
        self.verified = QLabel()
        self.verified.setObjectName("verifiedLabel")
        self.verified.setWordWrap(True)
        self.verified.setToolTip(
            "The result of this very configuration against a float64 reference, before any timing"
        )
        layout.addWidget(self.verified)
        self.check = self._quiet("checkLabel")
        layout.addWidget(self.check)
        self.method = self._quiet("methodLabel")
        self.method.setToolTip("How one launch is timed, and the finest step of that clock")
        layout.addWidget(self.method)
        layout.addWidget(self._rule())
        layout.addWidget(self.advice)
        layout.addWidget(self._rule())
        self._phase_title = self._section("One textbook run, step by step")
        layout.addWidget(self._phase_title)
        self.phases = PhaseBar()
        layout.addWidget(self.phases)
        layout.addWidget(self._rule())
        self._teaches_title = self._section("What this teaches")
        layout.addWidget(self._teaches_title)
        self.teaches = QLabel()
        self.teaches.setObjectName("teachesLabel")
        self.teaches.setWordWrap(True)
        layout.addWidget(self.teaches)
        layout.addStretch(1)
        layout.addWidget(self._section("Copy this run as a"))
        buttons = QHBoxLayout()
        self.command_button = QPushButton("Command")
        self.command_button.setObjectName("copyCommandButton")
        self.command_button.clicked.connect(self.copy_command)
        self.script_button = QPushButton("Script")
        self.script_button.setObjectName("copyScriptButton")
        self.script_button.clicked.connect(self.copy_script)
        for button in (self.command_button, self.script_button):
            buttons.addWidget(button, 1)
        layout.addLayout(buttons)
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        self.show_run(None)

    def _repaint_theme(self) -> None:
        for button in (self.command_button, self.script_button):
            button.setIcon(theme().icon("copy"))

    @staticmethod
    def _rule() -> QFrame:
        rule = QFrame()
        rule.setFixedHeight(5)
        return rule

    @staticmethod
    def _section(words: str) -> QLabel:
        label = QLabel(words)
        label.setProperty("role", "section")
        return label

    @staticmethod
    def _quiet(name: str) -> QLabel:
        label = QLabel()
        label.setObjectName(name)
        label.setProperty("role", "muted")
        label.setWordWrap(True)
        return label

    @staticmethod
    def _figure(form: QFormLayout, title: str, name: str, tooltip: str) -> Words:
        head, label = QLabel(title), Words("–")
        head.setProperty("role", "muted")
        label.setObjectName(name)
        label.setProperty("role", "figure")
        label.setAlignment(Qt.AlignmentFlag.AlignRight)
        for widget in (head, label):
            widget.setToolTip(tooltip)
        form.addRow(head, label)
        return label

    def set_kernel_folders(self, folders: Sequence[Path]) -> None:
        """Note the user's kernel folders, which a copied command names."""
        self.kernel_folders = folders

    # ---- showing

    def show_config(self, config: RunConfig | None, teaches: str) -> None:
        """Show what the variant teaches, and what the copy buttons copy."""
        self._config = config
        self.advice.set_present(config)
        self.teaches.setText(teaches)
        for button, make in (
            (self.command_button, reproduce.command_line),
            (self.script_button, reproduce.python_script),
        ):
            button.setEnabled(config is not None)
            button.setToolTip(make(config, self.kernel_folders) if config is not None else "")

    def show_run(self, run: Run | None) -> None:
        """Show a run's figures as far as they are known."""
        summary = run.summary if run is not None else None
        prepared = run.prepared if run is not None else None
        self._show_summary(summary)
        self._show_prepared(prepared, summary)
        self.phases.show_phases(self._phases_of(run))

    def _show_summary(self, summary: Summary | None) -> None:
        if summary is None:
            self.headline.setText("–")
            self.precision.setText("no samples yet")
            return
        self.headline.setText(quantity(summary.median_s, "s"))
        error = summary.relative_error
        known = f"± {percent(error)} (95 %)" if error is not None else "interval needs more samples"
        self.precision.setText(f"{known} · {count(summary.samples)} launches")

    def _show_prepared(self, prepared: Prepared | None, summary: Summary | None) -> None:
        if prepared is None:
            for label in (self.flops, self.bandwidth, self.of_peak, self.intensity):
                label.setText("–")
            self.verified.setText("Not verified yet")
            self._role(self.verified, "muted")
            self.check.setText("")
            self.method.setText("")
            for label in (self.occupancy, self.registers):
                self._figures.setRowVisible(label, False)
            return
        median = summary.median_s if summary is not None else None
        bytes_least = sum(t.total_B for t in prepared.traffic if t.kind == "compulsory")
        flops = prepared.flops / median if median and prepared.flops else None
        bandwidth = bytes_least / median if median and bytes_least else None
        peak = prepared.device.peak_bandwidth_B_per_s
        self.flops.setText(quantity(flops, "FLOP/s"))
        self.bandwidth.setText(quantity(bandwidth, "B/s"))
        self.of_peak.setText(percent(bandwidth / peak) if bandwidth and peak else "not known")
        intensity = prepared.flops / bytes_least if prepared.flops and bytes_least else None
        self.intensity.setText(ratio(intensity, "FLOP/B"))
        resources = prepared.resources
        occupancy = resources.occupancy
        limiter = (
            f", limited by {resources.occupancy_limiter}" if resources.occupancy_limiter else ""
        )
        self._figures.setRowVisible(self.occupancy, occupancy is not None)
        self.occupancy.setText(f"{percent(occupancy)}{limiter}")
        registers = resources.registers_per_thread
        self._figures.setRowVisible(self.registers, registers is not None)
        self.registers.setText(f"{registers} a thread")
        check = prepared.verification
        self.verified.setText(
            f"{'✓ Verified' if check.ok else '✗ WRONG RESULT'}, error {check.max_rel_error:.1e}"
        )
        self.check.setText(f"tolerance {check.tolerance:.0e}, {check.method}")
        self._role(self.verified, "good" if check.ok else "bad")
        self.method.setText(
            f"{prepared.method}, resolution {quantity(prepared.resolution_s, 's', 2)}"
        )

    @staticmethod
    def _role(label: QLabel, role: str) -> None:
        if label.property("role") != role:
            label.setProperty("role", role)
            label.style().polish(label)

    @staticmethod
    def _phases_of(run: Run | None) -> dict[str, float]:
        if run is None:
            return {}
        if run.phases_s:
            return run.phases_s
        if run.record is None:
            return {}
        phases = run.record.phases_s
        kernel = run.summary.median_s if run.summary is not None else phases.kernel
        known = {
            "allocate": phases.allocate,
            "host_to_device": phases.host_to_device,
            "kernel": kernel,
            "device_to_host": phases.device_to_host,
            "free": phases.free,
        }
        return {name: value for name, value in known.items() if value is not None}

    # ---- copying

    def copy_command(self) -> None:
        """Put the run's command line on the clipboard."""
        if self._config is not None:
            QApplication.clipboard().setText(
                reproduce.command_line(self._config, self.kernel_folders)
            )
            self.copied.emit("The command line is on the clipboard.")

    def copy_script(self) -> None:
        """Put a Python script of the run on the clipboard."""
        if self._config is not None:
            QApplication.clipboard().setText(
                reproduce.python_script(self._config, self.kernel_folders)
            )
            self.copied.emit("The Python script is on the clipboard.")
