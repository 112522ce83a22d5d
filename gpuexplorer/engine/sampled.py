"""A run's record in a form that travels to another process, or stands in a file."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.sample_block import unpacked
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.engine.record import RunRecord


class Sampled(msgspec.Struct, frozen=True, kw_only=True):
    """A record as it travels."""

    prepared: Prepared
    batches: list[SampleBatch]
    readings: list[Reading]
    stopped_by: str
    ceilings: Ceilings | None
    idle_power_W: float | None = None
    dropped: int = 0
    lost_until_ns: int | None = None

    @classmethod
    def of(cls, record: RunRecord) -> Sampled:
        """Return what travels of a record."""
        return cls(
            prepared=record.prepared,
            batches=[unpacked(batch) for batch in record.batches],
            readings=record.readings,
            stopped_by=record.stopped_by,
            ceilings=record.ceilings,
            idle_power_W=record.idle_power_W,
            dropped=record.dropped,
            lost_until_ns=record.lost_until_ns,
        )

    def record(self) -> RunRecord:
        """Return the record again, with an id of its own."""
        made = RunRecord(self.prepared)
        made.ceilings, made.idle_power_W = self.ceilings, self.idle_power_W
        for batch in self.batches:
            made.add(batch)
        for reading in self.readings:
            made.add_reading(reading)
        made.dropped, made.lost_until_ns = self.dropped, self.lost_until_ns
        made.end(self.stopped_by)
        return made
