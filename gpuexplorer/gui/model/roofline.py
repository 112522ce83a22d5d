"""What the roofline shows: the current run, where it came from, the ghosts, and the roofs."""

from __future__ import annotations

from gpuexplorer.charts.roofline import Picture, Spot, picture
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import percent, quantity, ratio
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.live import Live, Run, ghost_label, short_label

MAX_TRAIL = 24
"""Earlier runs that are drawn."""
CLOCK_STEP_Hz = 1e7


class RooflineModel:
    """Makes the picture of a moment from the live view and the history."""

    def __init__(self, live: Live, history: History) -> None:
        self._live, self._history = live, history

    def picture(
        self, device: DeviceInfo | None, ceilings: Ceilings | None, precision: str
    ) -> Picture:
        """Return what there is to see now; ``precision`` is the knobs', for want of a run."""
        run = self._live.current
        if run is not None and run.prepared is not None:
            precision = run.prepared.computed_in
        spots = [*self._trail(run, device), *self._ghosts(run)]
        now = self.current_spot()
        if now is not None:
            spots.append(now)
        return picture(
            ceilings,
            precision,
            spots,
            device=device.name if device is not None else "",
            peak_B_per_s=device.peak_bandwidth_B_per_s if device is not None else None,
            peak_source=device.peak_source if device is not None else None,
            clock_held_Hz=self._clock_Hz(),
        )

    def current_spot(self) -> Spot | None:
        """Return the current run's place; None without samples or without counted operations."""
        run = self._live.current
        if run is None or run.record is None or run.summary is None:
            return None
        return _spot(run.record, run.summary)

    def words(self, shown: Picture, spot: Spot | None = None) -> str:
        """Say in a line where a run stands; the current one by default."""
        run = self._live.current
        spot = spot or self.current_spot()
        if spot is not None:
            return spot_words(shown, spot)
        if run is None or run.summary is None or run.record is None:
            return "No samples yet."
        rate = run.record.throughput(run.summary.median_s).bandwidth_B_per_s
        return (
            f"{ghost_label(run.config)} counts no operations, so it has no place here; it moves "
            f"the bytes it needs at {quantity(rate, 'B/s')}"
        )

    def _trail(self, run: Run | None, device: DeviceInfo | None) -> list[Spot]:
        """Return the runs before, the oldest first, back to where another workload was chosen."""
        found: list[Spot] = []
        pinned = [pin.record.prepared.config for pin in self._live.pins]  # named there
        first = shown = run.config if run is not None else None
        for entry in self._history:
            if run is not None and entry.ticket == run.ticket:
                continue
            if device is not None and entry.device != device.name:
                continue
            first = first or entry.config
            if entry.config.workload != first.workload:
                break
            if entry.config == shown:  # measured once more: no step of the way here
                continue
            shown = entry.config
            if entry.flop_per_s and entry.bandwidth_B_per_s:
                found.append(
                    Spot(
                        name=ghost_label(entry.config),
                        label="" if entry.config in pinned else short_label(entry.config, first),
                        intensity=entry.flop_per_s / entry.bandwidth_B_per_s,
                        flop_per_s=entry.flop_per_s,
                        kind="past",
                        suspect=entry.suspect,
                    )
                )
            if len(found) == MAX_TRAIL:
                break
        return found[::-1]

    def _ghosts(self, run: Run | None) -> list[Spot]:
        found = []
        for pin in self._live.pins:
            rates = pin.record.throughput(pin.median_s)
            if rates.flop_per_s and rates.bandwidth_B_per_s:
                intensity = rates.flop_per_s / rates.bandwidth_B_per_s
                slot = 1 + (pin.number - 1) % 5  # as the ghosts of the trace are coloured
                label = short_label(pin.record.prepared.config, run.config if run else None)
                found.append(
                    Spot(pin.label, intensity, rates.flop_per_s, "pinned", slot, label=label)
                )
        return found

    def _clock_Hz(self) -> float | None:
        """Return the latest clock read, in steps, so that the picture does not tremble."""
        for reading in reversed(self._live.readings):
            if reading.sm_clock_Hz is not None:
                return round(reading.sm_clock_Hz / CLOCK_STEP_Hz) * CLOCK_STEP_Hz
        return None


def _spot(record: RunRecord, summary: Summary) -> Spot | None:
    rates = record.throughput(summary.median_s)
    if not rates.flop_per_s or not rates.bandwidth_B_per_s:
        return None
    return Spot(
        name=ghost_label(record.prepared.config),
        label=record.prepared.config.variant,
        intensity=rates.flop_per_s / rates.bandwidth_B_per_s,
        flop_per_s=rates.flop_per_s,
        kind="current",
        suspect=record.suspect(summary),
    )


def spot_words(shown: Picture, spot: Spot) -> str:
    """Say in a line where a run stands under the measured roofs."""
    if spot.suspect:
        return f"SUSPECT: {spot.suspect}"
    rate, intensity = quantity(spot.flop_per_s, "FLOP/s"), ratio(spot.intensity, "FLOP/B")
    bound = shown.bound(spot)
    if bound is None:
        where = f"{rate} at an intensity of {intensity}"
        return f"{spot.name} · {where}"
    share = percent(spot.flop_per_s / bound)
    compute = max((r.level for r in shown.roofs if r.kind == "compute" and not r.stated), default=0)
    if compute and bound >= compute:
        return f"{spot.name}: {rate} at {intensity}, {share} of what arithmetic allows there"
    return f"{spot.name}: {rate} at {intensity}, {share} of what memory allows there"
