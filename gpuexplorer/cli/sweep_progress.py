"""A sweep's progress on standard error: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpuexplorer.cli.messages import error_console, is_terminal, say
from gpuexplorer.cli.progress import NowAndThen
from gpuexplorer.core.units import count
from gpuexplorer.search.sweep import SweepStep

StepSink = Callable[[SweepStep], None]


@contextmanager
def sweep_progress(waiting: int) -> Iterator[StepSink]:
    """Show how far a sweep is until the block ends; ``waiting`` configurations are to come."""
    if not waiting:
        yield lambda step: None
    elif not is_terminal():
        yield _PlainLines()
    else:
        with _bar() as sink:
            yield sink


class _PlainLines:
    """A line now and then, so that a log stays short."""

    def __init__(self) -> None:
        self._line = NowAndThen()

    def __call__(self, step: SweepStep) -> None:
        if step.ended or not self._line.due():
            return
        say(
            f"{count(step.done)} of {count(step.total)} done, left: {step.left.words}, "
            f"now {step.cell.point.words}"
        )


@contextmanager
def _bar() -> Iterator[StepSink]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}", style="dim"),
        console=error_console(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=None, left="")

        def sink(step: SweepStep) -> None:
            left = f"left: {step.left.words}"
            bar.update(task, completed=step.done, total=step.total, left=left)
            if not step.ended:
                bar.update(task, description=step.cell.point.words)

        yield sink
