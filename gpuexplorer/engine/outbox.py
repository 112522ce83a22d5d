"""The engine's writer: messages in order, samples coalesced, and measuring never waits for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import BinaryIO

from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.protocol import Message, Samples, Telemetry, frame

SAMPLE_FRAMES_PER_S = 60
MAX_PENDING_SAMPLES = 500_000
"""Samples that wait while the client does not read; beyond, the oldest go and are counted."""
MAX_PENDING_BATCHES = 100_000
"""The same for batches; both together stay below one frame's limit."""
MAX_PENDING_READINGS = 100
"""Readings that wait while the client does not read; beyond, new ones are left out."""


class Outbox:
    """A queue with a writing thread of its own."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._messages: deque[bytes | Samples] = deque()
        """What waits: frames, and samples that are made into one when they are written."""
        self._generation = 0
        self._pending: deque[SampleBatch] = deque()
        self._pending_samples = 0
        self._dropped = 0
        self._closing = False
        self._thread = threading.Thread(target=self._write_all, name="outbox", daemon=True)
        self._thread.start()

    def put(self, message: Message) -> None:
        """Queue a message behind everything queued before it.

        Raises what encoding raises, here rather than in the writing thread, which must live on.
        A reading carries its own time: it neither waits for samples nor is it worth keeping long.
        """
        data = frame(message)
        with self._changed:
            if not isinstance(message, Telemetry):
                self._flush_samples()
            elif len(self._messages) >= MAX_PENDING_READINGS:
                return
            self._messages.append(data)
            self._changed.notify()

    def put_samples(self, generation: int, batch: SampleBatch) -> None:
        """Queue samples; they travel with others of the same run, 60 frames a second at most."""
        with self._changed:
            if generation != self._generation:
                self._flush_samples()
                self._generation = generation
            self._pending.append(batch)
            self._pending_samples += sum(batch.counts)
            while len(self._pending) > 1 and (
                self._pending_samples > MAX_PENDING_SAMPLES
                or len(self._pending) > MAX_PENDING_BATCHES
            ):
                gone = sum(self._pending.popleft().counts)
                self._pending_samples -= gone
                self._dropped += gone
            if len(self._pending) == 1:
                self._changed.notify()

    def close(self, timeout_s: float = 1.0) -> None:
        """Write what is queued, as long as the other side reads, and end the thread."""
        with self._changed:
            self._flush_samples()
            self._closing = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _flush_samples(self) -> None:
        """Turn the pending samples into one message (the lock is held)."""
        if not self._pending:
            return
        batch = merge(self._pending)
        self._messages.append(
            Samples(generation=self._generation, batch=batch, dropped=self._dropped)
        )
        self._pending.clear()
        self._pending_samples = self._dropped = 0

    def _write_all(self) -> None:
        last_samples = 0.0
        while True:
            with self._changed:
                while not self._messages:
                    if self._closing:
                        return
                    wait = None
                    if self._pending:
                        wait = last_samples + 1 / SAMPLE_FRAMES_PER_S - time.monotonic()
                        if wait <= 0:
                            self._flush_samples()
                            break
                    self._changed.wait(wait)
                message = self._messages.popleft()
            if isinstance(message, Samples):
                last_samples = time.monotonic()
                message = frame(message)
            try:
                self._stream.write(message)
            except (OSError, ValueError):
                return  # the client is gone; the reader sees the end of its input


def merge(batches: deque[SampleBatch]) -> SampleBatch:
    """Join batches of one run, in order."""
    if len(batches) == 1:
        return batches[0]
    return SampleBatch(
        seconds=b"".join(b.seconds for b in batches),
        counts=tuple(c for b in batches for c in b.counts),
        starts_ns=tuple(t for b in batches for t in b.starts_ns),
        phases_s=tuple(row for b in batches for row in b.phases_s),
        launches=tuple(n for b in batches for n in b.launches),
        clocks_Hz=tuple(c for b in batches for c in b.clocks_Hz),
    )
