"""What a cluster's client and its workers tell each other, in bytes that Dask carries."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.protocol import Failed
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.sampled import Sampled
from gpuexplorer.workloads.workload import WorkloadSource


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration to measure, of a workload that its fingerprint names."""

    tag: int
    """Tells the answer from every other."""
    config: RunConfig
    sha256: str
    source: WorkloadSource | None = None
    """The workload, for a worker that may not have it yet."""
    agreed: bool = False
    """Whether the user agreed to run the workload's own code."""
    waits: bool = False
    """Whether it waits until nobody else uses the device; otherwise as the worker does."""
    deadline_s: float | None = None
    """How long building or a launch may take; None: as the worker says."""
    nice: int | None = None
    """How much the engine leaves the processor to others; None: as the worker says."""
    options: RunOptions
    topic: str
    """Where the answer goes."""
    record: bool = False
    """Whether the answer is a record, which others can extend, and not a result."""
    tell_every_s: float | None = None
    """How often it is told what was sampled by then; None: not before the answer."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="sampling"):
    """What was sampled by now of a run that goes on."""

    tag: int
    samples: int
    latest_s: float
    """The median of the samples that came last."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="answer"):
    """What came of it: a result or a record, as was asked, or why there is none."""

    tag: int
    result: RunResult | None = None
    sampled: Sampled | None = None
    failed: Failed | None = None
    gone: bool = False
    """Whether the worker cannot measure any more, so that another has to."""
    seconds: float = 0.0
    """How long it took there."""

    @classmethod
    def of(cls, asked: Asked, record: RunRecord, seconds: float) -> Answer:
        """Return the answer with what was measured."""
        if asked.record:
            return cls(tag=asked.tag, sampled=Sampled.of(record), seconds=seconds)
        return cls(tag=asked.tag, result=record.result(), seconds=seconds)


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is: its version, its machine, and its devices or why it has none."""

    version: str
    host: str
    devices: DeviceList = DeviceList()
    failed: Failed | None = None


encode = msgspec.msgpack.Encoder().encode
read_asked = msgspec.msgpack.Decoder(Asked).decode
read_told = msgspec.msgpack.Decoder(Answer | Sampling).decode
read_described = msgspec.msgpack.Decoder(Described).decode
