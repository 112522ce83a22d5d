"""What was asked of the engine: a ticket for each request, of which the latest is wanted."""

from __future__ import annotations

import time

from gpuexplorer.core.config import RunConfig

PATIENCE_S = 0.4
"""After this long without an answer the window shows what it has."""


class Requests:
    """Requests that the engine has not begun yet, and how long a knob waits for its answer."""

    def __init__(self) -> None:
        self.wanted: RunConfig | None = None
        """What is measured or about to be; None when the next request is to be sent anyhow."""
        self.moved_at: float | None = None
        """When the knobs last moved (``time.perf_counter``), until that run's first samples."""
        self._ticket = self._asked = 0
        """The latest one that was given out, and that of the latest request."""
        self._waiting: dict[int, RunConfig] = {}
        self._resume = False
        self._resumed: RunConfig | None = None

    def take_tickets(self, number: int) -> int:
        """Keep so many tickets for runs that come from elsewhere; return the first."""
        first = self._ticket + 1
        self._ticket += number
        return first

    def ask(self, config: RunConfig) -> int:
        """Want a configuration; return the ticket of its request."""
        ticket = self._asked = self.take_tickets(1)
        self.wanted = self._waiting[ticket] = config
        return ticket

    def begun(self, ticket: int) -> RunConfig | None:
        """Return what was asked with a ticket, the first time; older requests never come then."""
        config = self._waiting.pop(ticket, None)
        if config is not None:
            for older in [t for t in self._waiting if t < ticket]:
                del self._waiting[older]
        return config

    @property
    def waiting(self) -> bool:
        """Whether a request is still to be begun."""
        return bool(self._waiting)

    def want_nothing(self) -> None:
        """Stop wanting what was asked; a knob's next move asks again."""
        self.wanted = self.moved_at = None

    def forget(self) -> None:
        """Await none of the requests any more."""
        self._waiting.clear()
        self._resume, self._resumed = False, None

    # ---- once more, when the engine was lost

    def resume_once(self, possible: bool) -> bool:
        """Have what is wanted asked again of the next engine; return whether that will be.

        Not where that came of it before: a kernel that ends every engine would do so for ever.
        """
        self._resume = possible and self._resumed != self.wanted
        self._resumed = self.wanted if self._resume else None
        return self._resume

    def take_resume(self) -> bool:
        """Return whether there is something to be asked again, the first time."""
        resume, self._resume = self._resume, False
        return resume

    def start_afresh(self) -> None:
        """Let what is wanted be asked again once more."""
        self._resumed = None

    # ---- how long a knob's move waits

    def moved(self) -> None:
        """Note that the knobs move, unless an earlier move has no answer yet."""
        if self.moved_at is None:
            self.moved_at = time.perf_counter()

    def is_answer(self, ticket: int) -> bool:
        """Whether the samples of ``ticket`` are what a knob's move waits for."""
        return self.moved_at is not None and ticket == self._asked

    @property
    def impatient(self) -> bool:
        """Whether no move waits for its answer, or one has for too long."""
        return self.moved_at is None or time.perf_counter() >= self.moved_at + PATIENCE_S

    def answered(self, ticket: int) -> float | None:
        """Return the seconds from the knob's move to now, when ``ticket`` is its run.

        Of one that was prepared again it is a later one.
        """
        if self.moved_at is None or ticket < self._asked:
            return None
        took, self.moved_at = time.perf_counter() - self.moved_at, None
        return took
