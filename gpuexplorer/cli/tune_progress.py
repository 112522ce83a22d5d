"""A tuning's progress on standard error: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpuexplorer.charts.words import knob_words
from gpuexplorer.cli.messages import error_console, is_terminal, say
from gpuexplorer.cli.progress import NowAndThen
from gpuexplorer.core.tuning import Budget
from gpuexplorer.core.units import quantity
from gpuexplorer.search.tune import Progress

ProgressSink = Callable[[Progress], None]


@contextmanager
def tune_progress(title: str, budget: Budget) -> Iterator[ProgressSink]:
    """Show how far a tuning is until the block ends."""
    if is_terminal():
        with _bar(title, budget) as sink:
            yield sink
    else:
        yield _PlainLines(title)


def best_words(progress: Progress) -> str:
    """Return the best so far, such as ``best 1.35 ms with 128×4``."""
    best = progress.best
    if best is None:
        return "nothing measured yet"
    return f"best {quantity(best.median_s, 's')} with {knob_words(best.config)}"


def done_words(progress: Progress) -> str:
    """Return how much is done, such as ``12 of 40 configurations``."""
    of = f" of {progress.total}" if progress.total is not None else ""
    what = "rounds of the final" if progress.phase == "final" else "configurations"
    return f"{progress.done}{of} {what}"


class _PlainLines:
    """A line for a better one, and from time to time, so that a log stays short."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._line = NowAndThen()

    def __call__(self, progress: Progress) -> None:
        if self._line.due():
            say(f"{self._title}: {done_words(progress)}, {best_words(progress)}")


@contextmanager
def _bar(title: str, budget: Budget) -> Iterator[ProgressSink]:
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    bar = RichProgress(BarColumn(bar_width=30), TextColumn("{task.description}", style="dim"))
    shown = Group(Text(title, no_wrap=True, overflow="ellipsis"), bar)
    with Live(shown, console=error_console(), transient=True):
        task = bar.add_task("starting the engine", total=None)

        def sink(progress: Progress) -> None:
            total: float | None = progress.total
            done: float = progress.done
            if progress.phase == "search" and budget.seconds is not None:
                total, done = budget.seconds, min(progress.elapsed_s, budget.seconds)
            words = f"{done_words(progress)} · {best_words(progress)}"
            bar.update(task, total=total, completed=done, description=words)

        yield sink
