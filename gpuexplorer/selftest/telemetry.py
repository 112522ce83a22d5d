"""Section: which telemetry there is, whose word it is, and whether its figures can be true.

A source that is not there is no failure: its reason is reported. An impossible figure is one.
"""

from __future__ import annotations

from functools import cached_property
from statistics import median

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import FIELD_TITLES, SourceState
from gpuexplorer.core.units import quantity
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task
from gpuexplorer.selftest.watched import WatchedEngine

NAME = "telemetry"
TITLE = "Telemetry sources and their state"

WATCH_S = 1.5
FIELDS: dict[str, tuple[str, float, float]] = {
    # field: its unit, least and most that can be true
    "sm_clock_Hz": ("Hz", 1e7, 1e10),
    "memory_clock_Hz": ("Hz", 1e7, 2e10),
    "power_W": ("W", 0.0, 5e3),
    "temperature_C": ("°C", -30.0, 130.0),
    "memory_used_B": ("B", 0.0, 1e14),
    "load": ("", 0.0, 1.0),
    "other_cores": ("", 0.0, 1e4),
    "stolen": ("", 0.0, 1.0),
    "energy_J": ("J", 0.0, 1e15),
    "dram_read_B_per_s": ("B/s", 0.0, 1e14),
    "dram_write_B_per_s": ("B/s", 0.0, 1e14),
    "dram_B_per_s": ("B/s", 0.0, 1e14),
    "pcie_rx_B_per_s": ("B/s", 0.0, 1e12),
    "pcie_tx_B_per_s": ("B/s", 0.0, 1e12),
    "occupancy": ("", 0.0, 1.0),
    "sm_active": ("", 0.0, 1.0),
}
_ROUNDING = 1e-3


class _Watch:
    """The readings of a run, made once for all checks of this section."""

    def __init__(self, context: SelfTestContext) -> None:
        self._context = context

    @cached_property
    def readings(self) -> list[Reading]:
        """Every reading that came during a run of ``WATCH_S``."""
        context = self._context
        workload = context.shipped["stream"]
        config = context.config(workload, variant="triad", size={"N": 1 << 21}, precision="fp32")
        with WatchedEngine(context) as watched:
            watched.end_of(watched.begin(config, workload, WATCH_S))
            return watched.readings()


def plan(context: SelfTestContext) -> list[Task]:
    """Return a check for each source, one of the readings' order, and one for each field."""
    watch = _Watch(context)
    command = context.options.command(NAME)
    sources = context.session.telemetry().get(context.device.hardware_id, ())
    return [
        *(
            Task(state.title, lambda state=state: _source(state), command)  # type: ignore[misc]
            for state in sources
        ),
        Task("readings arrive in order", lambda: _order(watch), command),
        Task("throttle reasons", lambda: _throttle(watch), command),
        Task(FIELD_TITLES["users"], lambda: _users(watch), command),
        *(
            Task(FIELD_TITLES[field], lambda field=field: _field(watch, field), command)  # type: ignore[misc]
            for field in FIELDS
        ),
    ]


def _source(state: SourceState) -> Found:
    """Report what a source gives; one that gives nothing is no failure."""
    if not state.gives:
        why = f"{state.title}: {state.reason}"
        raise Skipped(f"{why}; {state.remedy}" if state.remedy else why)
    lacks = "; ".join(f"{FIELD_TITLES[f]}: {why}" for f, why in state.missing.items())
    gives = ", ".join(FIELD_TITLES[f] for f in state.gives)
    words = f"gives {gives} (not {lacks})" if lacks else f"gives {gives}"
    return Found(words, {"source": state.source})


def _order(watch: _Watch) -> Found:
    readings = watch.readings
    if not readings:
        raise Skipped("no source reads this device")
    times = [r.t_ns for r in readings]
    if times != sorted(set(times)):
        raise WorkFailed("the readings' times do not rise")
    sources = ", ".join(dict.fromkeys(r.source for r in readings))
    span_s = (times[-1] - times[0]) * 1e-9
    return Found(
        f"{len(readings)} readings of {sources} in {quantity(span_s, 's')}",
        {"readings": float(len(readings)), "source": sources},
    )


def _reason(readings: list[Reading], field: str) -> str:
    for reading in readings:
        if field in reading.missing:
            return reading.missing[field]
    sources = ", ".join(dict.fromkeys(r.source for r in readings))
    return f"{sources} does not give it" if sources else "no source reads this device"


def _throttle(watch: _Watch) -> Found:
    readings = watch.readings
    known = [r.throttle_reasons for r in readings if r.throttle_reasons is not None]
    if not known:
        raise Skipped(f"throttle reasons: {_reason(readings, 'throttle_reasons')}")
    reasons = sorted({reason for group in known for reason in group})
    return Found(", ".join(reasons) or "none", {"reasons": ", ".join(reasons)})


def _users(watch: _Watch) -> Found:
    known = [r.users for r in watch.readings if r.users is not None]
    if not known:
        raise Skipped(f"{FIELD_TITLES['users']}: {_reason(watch.readings, 'users')}")
    for one in known[-1]:
        if not 0.0 <= (one.load or 0.0) <= 1.0 or (one.memory_B or 0.0) < 0.0:
            raise WorkFailed(f"what {one.program} takes of the device cannot be true")
    names = ", ".join(one.program for one in known[-1])
    return Found(names or "none", {"programs": float(len(known[-1]))})


def _field(watch: _Watch, field: str) -> Found:
    title, (unit, least, most) = FIELD_TITLES[field], FIELDS[field]
    readings = watch.readings
    pairs = [(r, v) for r in readings if (v := getattr(r, field)) is not None]
    if not pairs:
        raise Skipped(f"{title}: {_reason(readings, field)}")
    values = [value for _, value in pairs]
    source = pairs[-1][0].sources.get(field, pairs[-1][0].source)
    for value in values:
        if not least * (1 - _ROUNDING) <= value <= most * (1 + _ROUNDING):
            raise WorkFailed(f"{title} of {quantity(value, unit)} from {source} cannot be true")
    if field == "energy_J":
        if values != sorted(values):
            raise WorkFailed(f"the energy counter of {source} runs backwards")
        grown_J = values[-1] - values[0]
        return Found(f"grew by {quantity(grown_J, 'J')}, from {source}", {"grown_J": grown_J})
    middle = median(values)
    words = f"{middle:.0f} °C" if unit == "°C" else quantity(middle, unit)
    return Found(f"{words}, from {source}", {field: middle, "source": source})
