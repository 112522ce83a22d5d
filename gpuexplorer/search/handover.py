"""Results handed over as they are measured: on a GPU beside the next launch, on a CPU before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from gpuexplorer.core.result import RunResult
from gpuexplorer.engine.record import RunRecord


class Handover:
    """Makes the documents of records and hands them to ``take``, in order; samples are arrays.

    Making and storing one takes milliseconds. While a GPU measures, a thread has the time; a CPU
    device would be disturbed by it, so there it is done between two launches. What ``take`` raises
    is raised by the next ``put``, or by ``close``.
    """

    def __init__(self, take: Callable[[RunResult], None]) -> None:
        self._take = take
        self._thread: ThreadPoolExecutor | None = None
        self._pending: deque[Future[None]] = deque()

    def put(self, record: RunRecord) -> None:
        """Hand over what a record holds now; later additions are not waited for."""
        if record.prepared.device.kind != "gpu":
            self._take(record.result(listed=False))
            return
        while self._pending and self._pending[0].done():
            self._pending.popleft().result()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="handover")
        copy = record.snapshot()
        self._pending.append(self._thread.submit(lambda: self._take(copy.result(listed=False))))

    def close(self) -> None:
        """Wait until everything is handed over."""
        if self._thread is not None:
            self._thread.shutdown()
            self._thread = None
        while self._pending:
            self._pending.popleft().result()
