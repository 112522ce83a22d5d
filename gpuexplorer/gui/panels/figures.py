"""The figures of a run below its headline: name at the left, value at the right."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QLabel, QWidget

from gpuexplorer.analysis.advice.roofs import Roof, nearest_roof
from gpuexplorer.analysis.rates import items_per_s
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.language import tr
from gpuexplorer.core.result import Arithmetic, TelemetrySummary
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import percent, quantity, ratio
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.gui.widgets.words import Words

PEAK_TIP = (
    "Throughput or effective bandwidth, whichever is nearer to its limit, over the most that the\n"
    "device can do"
)


class Figures(QWidget):
    """Rate, throughput, bandwidth, intensity, arithmetic, occupancy and energy, as far as known."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._form = QFormLayout(self)
        self._form.setContentsMargins(0, 0, 0, 0)
        self._form.setVerticalSpacing(4)
        self._form.setHorizontalSpacing(6)
        self.items = self._figure(
            "Rate",
            "itemsFigure",
            "Samples of the batch, or tokens of its sequences, over the median",
        )
        self.flops = self._figure(
            "Throughput", "flopFigure", "Useful operations over the median, FLOP/s"
        )
        self.bandwidth = self._figure(
            "Eff. bandwidth",
            "bandwidthFigure",
            "Effective bandwidth: bytes needed over the median, B/s. Each operand counts once\n"
            "(compulsory traffic): what a perfect cache would have moved.",
        )
        self.of_peak = self._figure("of the peak", "peakFigure", PEAK_TIP)
        self.intensity = self._figure(
            "Intensity",
            "intensityFigure",
            "Arithmetic intensity: useful operations for each byte needed, FLOP/B",
        )
        self.arithmetic = self._figure(
            "Arithmetic", "arithmeticFigure", "What the framework really computed in"
        )
        self.sums = self._figure(
            "Sums in", "accumulationFigure", "The type that products are added in"
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
        self._arithmetic_tip = self.arithmetic.toolTip()
        self.clear()

    def _figure(self, title: str, name: str, tooltip: str) -> Words:
        head, label = QLabel(tr(title)), Words("–")
        head.setProperty("role", "muted")
        label.setObjectName(name)
        label.setProperty("role", "figure")
        label.setAlignment(Qt.AlignmentFlag.AlignRight)
        for widget in (head, label):
            widget.setToolTip(tr(tooltip))
        self._form.addRow(head, label)
        return label

    def clear(self) -> None:
        """Show that nothing is known."""
        for label in (self.flops, self.bandwidth, self.of_peak, self.intensity):
            label.setText("–")
        for label in (
            self.items, self.arithmetic, self.sums, self.occupancy, self.registers, self.energy,
        ):  # fmt: skip
            self._form.setRowVisible(label, False)

    def show_figures(
        self, prepared: Prepared, summary: Summary | None, ceilings: Ceilings | None
    ) -> None:
        """Show what follows from the median, from what was built, and from a calibration."""
        median = summary.median_s if summary is not None else None
        least_B = sum(t.total_B for t in prepared.traffic if t.kind == "compulsory")
        flops = prepared.flops / median if median and prepared.flops else None
        bandwidth = least_B / median if median and least_B else None
        rate = items_per_s(prepared.config, median)
        self._form.setRowVisible(self.items, rate is not None)
        if rate is not None:
            value, unit = rate
            self.items.setText(tr(f"{quantity(value, '')} {unit}"))
        self._show_arithmetic(prepared.arithmetic)
        self.flops.setText(tr(quantity(flops, "FLOP/s")))
        self.bandwidth.setText(tr(quantity(bandwidth, "B/s")))
        roof = nearest_roof(
            prepared.config, prepared.device, ceilings, least_B, prepared.flops,
            prepared.computed_in,
        )  # fmt: skip
        self._show_share(bandwidth if roof is None or roof.unit == "B/s" else flops, roof)
        intensity = prepared.flops / least_B if prepared.flops and least_B else None
        self.intensity.setText(tr(ratio(intensity, "FLOP/B")))
        resources = prepared.resources
        occupancy, limiter = percent(resources.occupancy), resources.occupancy_limiter
        self._form.setRowVisible(self.occupancy, resources.occupancy is not None)
        self.occupancy.setText(tr(f"{occupancy}, limited by {limiter}" if limiter else occupancy))
        self._form.setRowVisible(self.registers, resources.registers_per_thread is not None)
        self.registers.setText(tr(f"{resources.registers_per_thread} a thread"))

    def _show_share(self, rate: float | None, roof: Roof | None) -> None:
        """Show which share of the roof that bounds a run its rate is."""
        if roof is None:
            self.of_peak.setText(tr("not calibrated yet"))
            self.of_peak.setToolTip(tr(f"{PEAK_TIP}; Calibrate in the roofline view measures it"))
            return
        most = quantity(roof.per_s, roof.unit)
        self.of_peak.setText(tr(f"{percent(rate / roof.per_s)} of {most}" if rate else "–"))
        self.of_peak.setToolTip(tr(f"{PEAK_TIP}: {roof.words}"))

    def _show_arithmetic(self, found: Arithmetic | None) -> None:
        """Show what a framework really computed in; nothing for a kernel or library call."""
        self._form.setRowVisible(self.arithmetic, found is not None)
        self._form.setRowVisible(self.sums, found is not None)
        if found is None:
            return
        mark = " ⚠" if found.fallback else ""
        self.arithmetic.setText(tr((found.ran or "cannot be told") + mark))
        self.sums.setText(tr(found.accumulates_in or "not known"))
        lines = (self._arithmetic_tip, found.how, found.fallback)
        self.arithmetic.setToolTip(tr("\n".join(line for line in lines if line)))

    def show_energy(self, state: TelemetrySummary | None) -> None:
        """Show the energy of one launch, or in its tooltip why it is not known.

        Nothing stands here for a device whose power cannot be read at all.
        """
        energy = state.energy_per_launch_J if state is not None else None
        offered = state is not None and (energy is not None or state.power_W is not None)
        self._form.setRowVisible(self.energy, offered)
        self.energy.setText(tr(quantity(energy, "J") if energy is not None else "not known yet"))
        reason = state.energy_reason if state is not None else None
        tip = f"{self._energy_tip}\nNot known: {reason}." if energy is None and reason else None
        self.energy.setToolTip(tr(tip or self._energy_tip))
