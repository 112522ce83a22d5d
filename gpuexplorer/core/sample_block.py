"""Messages of samples joined into one, with each column packed.

A whole number in a tuple takes 40 bytes and more, in a column 8: of a run that goes on for hours
the record keeps hundreds of thousands of batches.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.sample import SampleBatch


class SampleBlock(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``SampleBatch`` holds, with the same meaning of each column."""

    seconds: bytes
    counts: array[int]
    starts_ns: array[int]
    phases_s: bytes
    launches: array[int]
    known_Hz: array[float]
    """The clock during each batch, NaN where it cannot be told; empty: of none."""

    @property
    def durations_s(self) -> npt.NDArray[np.float64]:
        """The durations as an array."""
        return np.frombuffer(self.seconds, dtype="<f8")

    @property
    def phases(self) -> npt.NDArray[np.float64]:
        """The phases in seconds, shape (samples that have them, 5)."""
        return np.frombuffer(self.phases_s, "<f8").reshape(-1, 5)

    @property
    def clocks_Hz(self) -> tuple[float | None, ...]:
        """The clock the device held during each batch; empty or None: it cannot be told."""
        return tuple(None if math.isnan(clock) else clock for clock in self.known_Hz)


Samples = SampleBatch | SampleBlock
"""Consecutive batches of launches, as they travelled or packed."""


def packed(messages: Sequence[Samples]) -> SampleBlock:
    """Return consecutive messages of samples as one block."""
    counts, starts_ns, launches = array("q"), array("q"), array("q")
    known_Hz = array("d")
    for one in messages:
        counts.extend(one.counts)
        starts_ns.extend(one.starts_ns)
    if any(n != 1 for one in messages for n in one.launches):
        for one in messages:
            launches.extend(one.launches or (1,) * len(one.counts))
    clocks_Hz = [_known_Hz(one) for one in messages]
    if any(map(len, clocks_Hz)):
        for one, clock_Hz in zip(messages, clocks_Hz, strict=True):
            known_Hz.extend(clock_Hz or (math.nan,) * len(one.counts))
    return SampleBlock(
        seconds=b"".join(one.seconds for one in messages),
        counts=counts,
        starts_ns=starts_ns,
        phases_s=b"".join(one.phases.tobytes() for one in messages),
        launches=launches,
        known_Hz=known_Hz,
    )


def unpacked(samples: Samples) -> SampleBatch:
    """Return samples as they travel and are stored."""
    if isinstance(samples, SampleBatch):
        return samples
    return SampleBatch(
        seconds=samples.seconds,
        counts=tuple(samples.counts),
        starts_ns=tuple(samples.starts_ns),
        phases_s=samples.phases_s,
        launches=tuple(samples.launches),
        clocks_Hz=samples.clocks_Hz,
    )


def _known_Hz(samples: Samples) -> Sequence[float]:
    """Return a number for each batch's clock; empty where none is known."""
    if isinstance(samples, SampleBlock):
        return samples.known_Hz
    if all(clock is None for clock in samples.clocks_Hz):
        return ()
    return [math.nan if clock is None else clock for clock in samples.clocks_Hz]
