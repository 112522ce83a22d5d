"""How far a job of a view is, and what it found by now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from gpuexplorer.core.units import count
from gpuexplorer.gui.model.part_file import origin_words

State = Literal["empty", "running", "paused", "stopped", "done", "file"]


class Result(Protocol):
    """What a job measures."""

    @property
    def runs(self) -> Sequence[Any]:
        """Its runs; without any there is nothing to show."""

    @property
    def notes(self) -> Sequence[str]:
        """How it was measured, a sentence each."""

    @property
    def stopped_by(self) -> str:
        """``done``, or who ended it before."""


R = TypeVar("R", bound=Result)


def duration(seconds: float) -> str:
    """Return a duration as one says it: ``about 40 s``, ``about 4 min``."""
    if seconds < 1.5:
        return "about 1 s"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    if seconds < 6000:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


class Progress(msgspec.Struct, frozen=True):
    """How far it is: runs done and to be done, what comes now, and the time that is left."""

    done: int
    total: int
    """0 where the time decides."""
    words: str
    left_s: float | None = None
    how_far: str = ""
    """Both in a phrase, where they are no runs."""

    @property
    def line(self) -> str:
        """It in words."""
        if self.left_s is None:
            return f"{self._done}: {self.words}"
        return f"{self._done}, {duration(self.left_s)} left: {self.words}"

    @property
    def _done(self) -> str:
        done, total = count(self.done), count(self.total)
        return self.how_far or f"{done} of {total} runs"

    @property
    def paused_line(self) -> str:
        """It in words while nothing is measured."""
        return f"Paused at {self._done}"


class Held(msgspec.Struct, Generic[R], frozen=True):
    """A result at a moment, as a session file holds it."""

    result: R
    error: str = ""
    """Why it ended early, in a sentence."""
    origin: str = ""
    """The file that brought it; empty for one measured here."""


class JobModel(Generic[R]):
    """One result and its job."""

    def __init__(self) -> None:
        self.state: State = "empty"
        self.result: R | None = None
        self.progress: Progress | None = None
        self.error = ""
        """Why the last one ended early, in a sentence."""
        self.origin = ""
        """The file that brought the result; empty for one measured here."""

    @property
    def running(self) -> bool:
        """Whether its job goes on, be it paused."""
        return self.state in ("running", "paused")

    def begin(self) -> None:
        """Start anew."""
        self.state, self.result, self.progress, self.error = "running", None, None, ""
        self.origin = ""

    def take(self, progress: Progress, result: R | None) -> None:
        """Take in how far it is, and what is known by now where there is news."""
        self.progress = progress
        if result is not None:
            self.result = result

    def end(self, result: R | None, error: str = "") -> None:
        """Note that nothing is measured any more."""
        whole = result is not None and result.stopped_by == "done" and not error
        self.show(Held(result, error) if result is not None and result.runs else None)
        self.error = error
        if self.result is not None and not whole:
            self.state = "stopped"

    def snapshot(self) -> R | None:
        """Return the result as far as it was measured; None without one."""
        return self.result if self.result is not None and self.result.runs else None

    def held(self) -> Held[R] | None:
        """Return it as a session file holds it; None without one."""
        found = self.snapshot()
        return Held(found, self.error, self.origin) if found is not None else None

    def show(self, held: Held[R] | None) -> None:
        """Show another result; None: nothing."""
        self.progress, self.result = None, held.result if held is not None else None
        self.error, self.origin = (held.error, held.origin) if held is not None else ("", "")
        done = self.result is not None and self.result.stopped_by == "done" and not self.error
        self.state = "empty" if self.result is None else "done" if done else "stopped"

    @property
    def words(self) -> str:
        """How far it is, or how it was measured, in a line."""
        if self.running:
            at = self.progress
            if at is None:
                return "Starting"
            return at.paused_line if self.state == "paused" else at.line
        if self.result is None:
            return ""
        return " ".join((*self.standing, *self.result.notes))

    @property
    def standing(self) -> tuple[str, ...]:
        """Where a result comes from that was not measured here, and whether it is all of it."""
        file = (f"{origin_words(self.origin)}.",) if self.origin else ()
        return (*file, *(("Stopped early.",) if self.state == "stopped" else ()))
