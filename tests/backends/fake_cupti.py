"""CUPTI's activity interface on the host: what the fake device ran, as records.

Names, values and arguments are those of ``cupti.cupti``; ``test_signatures`` holds them together.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.backends.fake_cuda import FakeCuda

CONCURRENT_KERNEL = 10


class cuptiError(Exception):
    """An error as the library raises it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"ERROR ({status})")
        self.status = status


class FakeCupti:
    """Records of the kernels that a ``FakeCuda`` runs while it is enabled."""

    ActivityKind = SimpleNamespace(CONCURRENT_KERNEL=CONCURRENT_KERNEL)
    cuptiError = cuptiError

    def __init__(self, fake: FakeCuda, *, share: float = 0.5) -> None:
        """``share`` is the part of a launch that its kernel takes."""
        self.fake, self.share = fake, share
        self.refuse: int | None = None
        self.lose = 0
        """How many records get lost in each flush."""
        self.lose_in = 1 << 30
        """In how many flushes from now on."""
        self.blank = 0
        """How many records of each flush come without times: then both are 0."""
        self.ticks_per_ns = 1.0
        """What the records' clock counts: another profiler may have changed it."""
        self.stamped_ticks_per_ns: float | None = None
        """The same of ``get_timestamp`` alone, None where it is the records'."""
        self.registered = 0
        """How often somebody registered callbacks."""
        self.enabled = False
        self._completed: Callable[[list[Any]], None] = lambda activities: None
        self._seen = 0

    def activity_register_callbacks(
        self,
        func_buffer_requested: Callable[[], tuple[int, int]],
        func_buffer_completed: Callable[[list[Any]], None],
    ) -> None:
        size, records = func_buffer_requested()
        assert size >= 1024 and records == 0
        self._completed = func_buffer_completed
        self.registered += 1

    def taken_over(self) -> list[list[Any]]:
        """Have another subscriber register its callbacks; return where it gets its records."""
        theirs: list[list[Any]] = []
        self.activity_register_callbacks(lambda: (1 << 20, 0), theirs.append)
        return theirs

    def get_timestamp(self) -> int:
        ticks = self.stamped_ticks_per_ns or self.ticks_per_ns
        return round(time.perf_counter_ns() * ticks)

    def activity_enable(self, kind: int) -> None:
        if self.refuse is not None:
            raise cuptiError(self.refuse)
        assert kind == CONCURRENT_KERNEL and not self.enabled
        self.enabled, self._seen = True, len(self.fake.kernel_spans)

    def activity_flush_all(self, flag: int) -> None:
        assert flag == 1 and self.enabled
        spans = self.fake.kernel_spans[self._seen :]
        until = spans[-1][2] if spans else 0.0
        flushed_ns, ticks = time.perf_counter_ns(), self.ticks_per_ns
        records = [
            SimpleNamespace(
                kind=CONCURRENT_KERNEL,
                name=name,
                start=round((flushed_ns + (start - until) * 1e9) * ticks),
                end=round(
                    (flushed_ns + (start + (end - start) * self.share - until) * 1e9) * ticks
                ),
            )
            for name, start, end in spans
        ]
        for record in records[len(records) - self.blank :]:
            record.start = record.end = 0
        lost = self.lose if self.lose_in > 0 else 0
        self.lose_in -= 1
        kept = records[: len(records) - lost]
        half = len(kept) // 2  # buffers come back in any order
        self._completed(kept[half:])
        self._completed([*kept[:half], SimpleNamespace(kind=1, name="memcpy", start=0, end=9)])

    def activity_disable(self, kind: int) -> None:
        assert kind == CONCURRENT_KERNEL and self.enabled
        self.enabled = False
