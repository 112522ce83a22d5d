"""The figures of this session's runs, newest first.

What they are compared with while measuring: the roofline's trail, the advice. Every run for ever is
in the store, which the history table shows; samples stay here until it holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import Environment
from gpuexplorer.core.statistics import Summary
from gpuexplorer.engine.record import RunRecord

MAX_ROWS = 500


class Entry(msgspec.Struct):
    """One run that ended, or that still goes on."""

    ticket: int
    id: str
    time_utc: str
    config: RunConfig
    device: str
    hardware_id: str
    environment: Environment
    summary: Summary
    flop_per_s: float | None
    bandwidth_B_per_s: float | None
    verified: bool | None
    suspect: str | None
    """Why the figure cannot be true."""
    record: RunRecord | None
    """None once the store holds all of it."""
    running: bool = True
    sampled: int = 0
    """Samples that were received of it."""

    @property
    def samples(self) -> int:
        """Number of samples the figures rest on."""
        return self.summary.samples


class History:
    """Runs of this session."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __getitem__(self, index: int) -> Entry:
        return self._entries[index]

    def find(self, ticket: int) -> int | None:
        """Return the position of a run."""
        for index, entry in enumerate(self._entries):
            if entry.ticket == ticket:
                return index
        return None

    def update(self, ticket: int, record: RunRecord, summary: Summary, *, running: bool) -> Entry:
        """Add a run, in place of the oldest of too many, or bring its figures up to date."""
        prepared = record.prepared
        throughput = record.throughput(summary.median_s)
        entry = Entry(
            ticket=ticket,
            id=record.id,
            time_utc=record.time_utc,
            config=prepared.config,
            device=prepared.device.name,
            hardware_id=prepared.device.hardware_id,
            environment=prepared.environment,
            summary=summary,
            flop_per_s=throughput.flop_per_s,
            bandwidth_B_per_s=throughput.bandwidth_B_per_s,
            verified=prepared.verification.whole if prepared.verification else None,
            suspect=record.suspect(summary),
            record=record,
            running=running,
            sampled=record.samples,
        )
        at = self.find(ticket)
        if at is not None:
            self._entries[at] = entry
        else:
            self._entries.insert(0, entry)
            del self._entries[MAX_ROWS:]
        return entry

    def finish(self, ticket: int) -> None:
        """Note that a run is over."""
        at = self.find(ticket)
        if at is not None:
            entry = self._entries[at]
            entry.running = False
            if entry.record is not None:
                entry.sampled = entry.record.samples

    def let_go(self, kept: Callable[[str], bool]) -> None:
        """Keep nothing but the figures of runs that are over and that ``kept`` says are stored."""
        for entry in self._entries:
            if entry.record is not None and not entry.running and kept(entry.id):
                entry.record = None
