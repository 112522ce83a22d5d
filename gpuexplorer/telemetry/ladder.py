"""All sources of a device as one: each field of a reading comes from the best that has it."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import FIELD_TITLES, SourceState
from gpuexplorer.telemetry import ncu
from gpuexplorer.telemetry.base import Refusal, TelemetrySource
from gpuexplorer.telemetry.cpu import CpuSource
from gpuexplorer.telemetry.cupti import CuptiSource
from gpuexplorer.telemetry.gpm import GpmSource
from gpuexplorer.telemetry.nvml import NvmlSource
from gpuexplorer.telemetry.rapl import RaplSource

_log = logging.getLogger(__name__)

SOURCES: tuple[type[TelemetrySource], ...] = (
    CuptiSource,
    GpmSource,
    NvmlSource,
    RaplSource,
    CpuSource,
)
"""Best first; a new source is a file and a line here."""

Kind = type[TelemetrySource]


class Ladder(TelemetrySource):
    """Several sources of one device; the last is the broadest and names the reading."""

    name: ClassVar[str] = "ladder"
    title: ClassVar[str] = "all sources"

    def __init__(
        self, rungs: Sequence[TelemetrySource], refused: dict[Kind, Refusal] | None = None
    ) -> None:
        """``refused`` are the sources that are meant for such a device and do not work."""
        self._rungs = list(rungs)
        self._refused = dict(refused or {})
        self._unsaid = True

    @classmethod
    def open(cls, device: DeviceInfo) -> Ladder | None:
        """Return what reads this device; None when nothing does."""
        rungs, refused = climb(device)
        return cls(rungs, refused) if rungs else None

    @property
    def rungs(self) -> tuple[TelemetrySource, ...]:
        """The sources that work, best first."""
        return tuple(self._rungs)

    def read(self) -> Reading:
        """Read every source once and keep the best word on each field.

        A source that fails is closed and left out from then on; the error of the last one is
        raised.
        """
        parts = self._read_rungs()
        base_rung, base = parts[-1]
        fields: dict[str, Any] = {}
        sources: dict[str, str] = {}
        missing: dict[str, str] = {}
        for rung, part in reversed(parts):  # the better one overwrites
            missing.update(part.missing)
            for field in FIELD_TITLES:
                value = getattr(part, field)
                if value is None:
                    continue
                fields[field] = value
                sources.pop(field, None)
                whose = part.sources.get(field, rung.name)
                if whose != base_rung.name:
                    sources[field] = whose
            if part.interval_s is not None:
                fields["interval_s"] = part.interval_s
        if self._unsaid:
            self._unsaid = False
            missing = {**self._refusals(fields), **missing}
        return Reading(
            t_ns=base.t_ns,
            source=base_rung.name,
            sources=sources,
            missing={f: why for f, why in missing.items() if f not in fields},
            **fields,
        )

    def close(self) -> None:
        """Close every source."""
        for rung in self._rungs:
            rung.close()
        self._rungs.clear()

    def _read_rungs(self) -> list[tuple[TelemetrySource, Reading]]:
        parts = []
        for rung in list(self._rungs):
            try:
                parts.append((rung, rung.read()))
            except Exception as error:
                self._rungs.remove(rung)
                _close(rung)
                if not self._rungs:
                    raise
                _log.warning("%s ended: %s", rung.name, error)
                self._refused[type(rung)] = Refusal(f"it failed: {error}")
                self._unsaid = True
        return parts

    def _refusals(self, fields: dict[str, Any]) -> dict[str, str]:
        """Return, for each field that a refused source could give, why it does not."""
        found: dict[str, list[str]] = {}
        offered = {field for rung in self._rungs for field in rung.offers}
        for kind, refusal in self._refused.items():
            for field in kind.offers:
                if field not in fields and field not in offered:
                    why = "; ".join(filter(None, (refusal.reason, refusal.remedy)))
                    found.setdefault(field, []).append(f"{kind.title}: {why}")
        return {field: ". ".join(reasons) for field, reasons in found.items()}


def climb(
    device: DeviceInfo, sources: Sequence[Kind] = SOURCES
) -> tuple[list[TelemetrySource], dict[Kind, Refusal]]:
    """Open every source of a device, best first; return also why others do not work."""
    rungs: list[TelemetrySource] = []
    refused: dict[Kind, Refusal] = {}
    for kind in sources:
        try:
            opened = kind.open(device)
        except Exception as error:  # noqa: BLE001 - one broken library must not hide the others
            _log.exception("%s does not open", kind.name)
            opened = Refusal(f"it failed: {error}")
        if isinstance(opened, Refusal):
            refused[kind] = opened
        elif opened is not None:
            rungs.append(opened)
    return rungs, refused


def open_source(device: DeviceInfo) -> TelemetrySource | None:
    """Return everything that reads a device, as one source; None when nothing can."""
    return Ladder.open(device)


def survey(device: DeviceInfo, sources: Sequence[Kind] = SOURCES) -> list[SourceState]:
    """Say of each source that is meant for such a device what it gives, or why nothing.

    Each source is read twice, since rates need two looks. Nsight Compute, which counts on demand
    alone, stands at the end.
    """
    rungs, refused = climb(device, sources)
    states = {
        kind: SourceState(
            source=kind.name, title=kind.title, reason=refusal.reason, remedy=refusal.remedy
        )
        for kind, refusal in refused.items()
    }
    for rung in rungs:
        states[type(rung)] = _state(rung)
    found = [states[kind] for kind in sources if kind in states]
    is_nvidia = device.hardware_id.startswith(("GPU-", "MIG-"))
    return [*found, ncu.state()] if is_nvidia else found


def _state(rung: TelemetrySource) -> SourceState:
    gives: set[str] = set()
    missing: dict[str, str] = {}
    reason, reading = "", None
    try:
        for wait_s in (max(SURVEY_GAP_S, rung.rests_s), 0.0):
            reading = rung.read()
            gives |= {f for f in FIELD_TITLES if getattr(reading, f) is not None}
            missing.update(reading.missing)
            time.sleep(wait_s)
    except Exception as error:  # noqa: BLE001 - its state is what was asked for
        reason = f"it failed: {error}"
    finally:
        _close(rung)
    return SourceState(
        source=rung.name,
        title=rung.title,
        gives=tuple(f for f in FIELD_TITLES if f in gives),
        reason=reason,
        missing={f: why for f, why in missing.items() if f not in gives},
        users=reading.users if reading is not None else None,
        other_cores=reading.other_cores if reading is not None else None,
        stolen=reading.stolen if reading is not None else None,
    )


SURVEY_GAP_S = 0.25
"""Between a survey's two looks, where a source does not want more."""


def _close(rung: TelemetrySource) -> None:
    try:
        rung.close()
    except Exception:  # noqa: BLE001 - it is given up anyway
        _log.exception("closing %s", rung.name)
