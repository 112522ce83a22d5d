"""The figures of a run below its headline: name at the left, value at the right."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel, QWidget

from gpuexplorer.core.result import TelemetrySummary
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import percent, quantity, ratio
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.gui.widgets.words import Words


class Figures(QWidget):
    """Throughput, bandwidth, intensity, occupancy, registers and energy, as far as known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = QFormLayout(self)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(4)
        self._form.setHorizontalSpacing(6)
        self.flops = self._figure(
            "Throughput", "flopFigure", "Useful operations over the median, FLOP/s"
        )
        self.bandwidth = self._figure(
            "Eff. bandwidth",
            "bandwidthFigure",
            "Effective bandwidth: compulsory bytes over the median, B/s.\n"
            "What a perfect cache would have moved.",
        )
        self.of_peak = self._figure(
            "of the peak", "peakFigure", "Effective bandwidth over the device's peak"
        )
        self.intensity = self._figure(
            "Intensity",
            "intensityFigure",
            "Arithmetic intensity: useful operations for each compulsory byte, FLOP/B",
        )
        self.occupancy = self._figure(
            "Occupancy",
            "occupancyFigure",
            "Resident warps over the most a multiprocessor can hold, and what limits them",
        )
        self.registers = self._figure("Registers", "registersFigure", "Registers of one thread")
        self.energy = self._figure(
            "Energy", "energyFigure", "Energy of one launch, J, less what the device takes at rest"
        )
        self._energy_tip = self.energy.toolTip()
        self.clear()

    def _figure(self, title: str, name: str, tooltip: str) -> Words:
        head, label = QLabel(title), Words("–")
        head.setProperty("role", "muted")
        label.setObjectName(name)
        label.setProperty("role", "figure")
        label.setAlignment(Qt.AlignmentFlag.AlignRight)
        for widget in (head, label):
            widget.setToolTip(tooltip)
        self._form.addRow(head, label)
        return label

    def clear(self) -> None:
        """Show that nothing is known."""
        for label in (self.flops, self.bandwidth, self.of_peak, self.intensity):
            label.setText("–")
        for label in (self.occupancy, self.registers, self.energy):
            self._form.setRowVisible(label, False)

    def show_figures(self, prepared: Prepared, summary: Summary | None) -> None:
        """Show what follows from the median and from what was built."""
        median = summary.median_s if summary is not None else None
        least_B = sum(t.total_B for t in prepared.traffic if t.kind == "compulsory")
        flops = prepared.flops / median if median and prepared.flops else None
        bandwidth = least_B / median if median and least_B else None
        peak = prepared.device.peak_bandwidth_B_per_s
        self.flops.setText(quantity(flops, "FLOP/s"))
        self.bandwidth.setText(quantity(bandwidth, "B/s"))
        self.of_peak.setText(percent(bandwidth / peak) if bandwidth and peak else "not known")
        intensity = prepared.flops / least_B if prepared.flops and least_B else None
        self.intensity.setText(ratio(intensity, "FLOP/B"))
        resources = prepared.resources
        limiter = (
            f", limited by {resources.occupancy_limiter}" if resources.occupancy_limiter else ""
        )
        self._form.setRowVisible(self.occupancy, resources.occupancy is not None)
        self.occupancy.setText(f"{percent(resources.occupancy)}{limiter}")
        self._form.setRowVisible(self.registers, resources.registers_per_thread is not None)
        self.registers.setText(f"{resources.registers_per_thread} a thread")

    def show_energy(self, state: TelemetrySummary | None) -> None:
        """Show the energy of one launch, or in its tooltip why it is not known.

        Nothing stands here for a device whose power cannot be read at all.
        """
        energy = state.energy_per_launch_J if state is not None else None
        offered = state is not None and (energy is not None or state.power_W is not None)
        self._form.setRowVisible(self.energy, offered)
        self.energy.setText(quantity(energy, "J") if energy is not None else "not known yet")
        reason = state.energy_reason if state is not None else None
        tip = f"{self._energy_tip}\nNot known: {reason}." if energy is None and reason else None
        self.energy.setToolTip(tip or self._energy_tip)
