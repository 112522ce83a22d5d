"""Progress of work in a known number of steps: a bar on a terminal, a few lines in a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from gpuexplorer.cli.messages import error_console, is_terminal, say
from gpuexplorer.cli.progress import NowAndThen


class StepsSink(Protocol):
    """Takes in how far the work is."""

    def running(self, what: str) -> None:
        """Say what is being done."""

    def done(self, steps: int) -> None:
        """Say that so many steps are done."""


@contextmanager
def steps_progress(total: int, verb: str, noun: str) -> Iterator[StepsSink]:
    """Show progress until the block ends, in a log as "checked 5 of 9 cases"."""
    if not is_terminal():
        yield _PlainSteps(total, verb, noun)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}"),
        console=error_console(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=total)

        class Bar:
            def running(self, what: str) -> None:
                bar.update(task, description=what)

            def done(self, steps: int) -> None:
                bar.advance(task, steps)

        yield Bar()


class _PlainSteps:
    """A line now and then."""

    def __init__(self, total: int, verb: str, noun: str) -> None:
        self._total, self._count = total, 0
        self._verb, self._noun = verb, noun
        self._line = NowAndThen()

    def running(self, what: str) -> None:
        if self._line.due():
            say(f"{self._verb} {self._count} of {self._total} {self._noun}, now {what}")

    def done(self, steps: int) -> None:
        self._count += steps
