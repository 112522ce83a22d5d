"""The engine's writer: messages in order, samples coalesced, and measuring never waits for it."""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from typing import BinaryIO

from gpuexplorer.core.pipes import write_all
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.protocol import (
    Message,
    Samples,
    Stage,
    Telemetry,
    frame,
    write_at_once,
)

SAMPLE_FRAMES_PER_S = 60
SOON_S = 0.02
"""A step that ends within so short a time need not be told, and what may wait for what follows
waits so long: of a configuration in a search there are a dozen messages in 5 ms."""
MAX_PENDING_B = 8 << 20
"""Bytes of samples that wait while the client does not read; beyond, the oldest go and are counted:
a million of them, or a sixth of that where each has its phases."""
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
        self._pending_B = 0
        self._dropped = 0
        self._soon: tuple[float, str, bytes] | None = None
        """A step that is told unless it ends before: when, its name and its frame."""
        self._last_samples = 0.0
        self._waits = self._sleeps = False
        """Whether the thread has nothing to write, and whether it looks again only when called."""
        self.told = ""
        """The step that was told last."""
        self._closing = False
        self._thread = threading.Thread(target=self._write_all, name="outbox", daemon=True)
        self._thread.start()

    def put(self, message: Message, *, soon: bool = False) -> None:
        """Queue a message behind everything queued before it; ``soon``: it may wait for the next.

        Raises what encoding raises, here rather than in the writing thread, which must live on.
        A reading carries its own time: it neither waits for samples nor is it worth keeping long.
        """
        data = frame(message)
        with self._changed:
            if not isinstance(message, Telemetry):
                self._flush_samples()
                self._soon = None  # that step is over
                if isinstance(message, Stage):
                    self.told = message.name
            elif len(self._messages) >= MAX_PENDING_READINGS:
                return
            self._messages.append(data)
            if self._sleeps if soon else not self._write_now():
                self._changed.notify()

    def put_soon(self, stage: Stage) -> None:
        """Queue a step after ``SOON_S``, unless something else but samples is told until then."""
        data = frame(stage)
        with self._changed:
            self._soon = (time.monotonic() + SOON_S, stage.name, data)
            if self._sleeps:
                self._changed.notify()

    def put_samples(self, generation: int, batch: SampleBatch, *, soon: bool = False) -> None:
        """Queue samples; they travel with others of the same run, 60 frames a second at most.

        ``soon``: they may wait for what follows.
        """
        with self._changed:
            if generation != self._generation:
                self._flush_samples()
                self._generation = generation
                self._last_samples = 0.0  # a knob's answer waits for no frame
            self._pending.append(batch)
            self._pending_B += size_B(batch)
            while len(self._pending) > 1 and (
                self._pending_B > MAX_PENDING_B or len(self._pending) > MAX_PENDING_BATCHES
            ):
                gone = self._pending.popleft()
                self._pending_B -= size_B(gone)
                self._dropped += sum(gone.counts)
            if len(self._pending) == 1 and (self._sleeps or not soon):
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
        self._pending_B = self._dropped = 0

    def _take_frames(self) -> bytes:
        """Take everything queued, as it is written (the lock is held)."""
        messages, self._messages = self._messages, deque()
        if any(isinstance(message, Samples) for message in messages):
            self._last_samples = time.monotonic()
        return b"".join(m if isinstance(m, bytes) else frame(m) for m in messages)

    def _write_now(self) -> bool:
        """Write what is queued without the thread, and return whether it was (the lock is held)."""
        if not self._waits:
            return False
        data = self._take_frames()
        if write_at_once(self._stream, data):
            return True
        self._messages.append(data)
        return False

    def _write_all(self) -> None:
        """Write until the end; an engine that cannot tell anything any more ends its stream."""
        try:
            self._write_queued()
        except Exception:  # noqa: BLE001 - whatever it is, the client is not to wait for it
            traceback.print_exc()
            with suppress(OSError):
                self._stream.close()

    def _write_queued(self) -> None:
        while True:
            with self._changed:
                called = True
                while not self._messages:
                    if self._closing:
                        return
                    now = time.monotonic()
                    due = self._last_samples + 1 / SAMPLE_FRAMES_PER_S
                    if self._pending and now >= due:
                        self._flush_samples()
                        break
                    if self._soon is not None and now >= self._soon[0]:
                        _, self.told, data = self._soon
                        self._messages.append(data)
                        self._soon = None
                        break
                    wait: float | None = SOON_S  # so that what may wait calls nobody
                    if self._pending:
                        wait = due - now
                    elif self._soon is None and not called:
                        wait = None
                    self._waits, self._sleeps = True, wait is None
                    called = self._changed.wait(wait)
                    self._waits = self._sleeps = False
                data = self._take_frames()
            try:
                write_all(self._stream, data)
            except (OSError, ValueError):
                return  # the client is gone; the reader sees the end of its input


def size_B(batch: SampleBatch) -> int:
    """Return the bytes that grow with the samples of a batch."""
    return len(batch.seconds) + batch.phases.nbytes


def merge(batches: deque[SampleBatch]) -> SampleBatch:
    """Join batches of one run, in order."""
    if len(batches) == 1:
        return batches[0]
    return SampleBatch(
        seconds=b"".join(b.seconds for b in batches),
        counts=tuple(c for b in batches for c in b.counts),
        starts_ns=tuple(t for b in batches for t in b.starts_ns),
        phases_s=b"".join(b.phases.tobytes() for b in batches),
        launches=tuple(n for b in batches for n in b.launches),
        clocks_Hz=tuple(c for b in batches for c in b.clocks_Hz),
    )
