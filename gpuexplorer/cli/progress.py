"""Progress of long work on standard error: a bar on a terminal, a few plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec

from gpuexplorer.cli.messages import error_console, is_terminal, say
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import samples_words
from gpuexplorer.engine.protocol import STAGES
from gpuexplorer.engine.session import RunProgress

P = ParamSpec("P")
PLAIN_EVERY_S = 5.0
DOING = {"start": "starting the engine", **STAGES}


def now_and_then(words: Callable[P, str]) -> Callable[P, None]:
    """Return what says ``words`` of its arguments in a line now and then: a log stays short."""
    due = time.monotonic() + PLAIN_EVERY_S

    def sink(*progress: P.args, **named: P.kwargs) -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + PLAIN_EVERY_S
            say(words(*progress, **named))

    return sink


RunSink = Callable[[RunProgress], None]


@contextmanager
def run_progress(title: str) -> Iterator[RunSink]:
    """Show one run's progress until the block ends."""
    if is_terminal():
        with _bar(title) as sink:
            yield sink
    else:
        yield now_and_then(
            lambda progress: f"{title}: {', '.join(_facts(progress))}, {progress.elapsed_s:.0f} s"
        )


def _facts(progress: RunProgress) -> list[str]:
    facts = [DOING.get(progress.stage, progress.stage)]
    if progress.samples:
        facts.append(samples_words(progress.samples))
    return facts


@contextmanager
def _bar(title: str) -> Iterator[RunSink]:
    from rich.console import Group
    from rich.live import Live
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    bar = RichProgress(
        SpinnerColumn(), BarColumn(bar_width=30), TextColumn("{task.description}", style="dim")
    )
    shown = Group(Text(tr(title), no_wrap=True, overflow="ellipsis"), bar)
    with Live(shown, console=error_console(), transient=True):
        task = bar.add_task(tr(DOING["start"]), total=None)
        measuring_since: list[float] = []

        def sink(progress: RunProgress) -> None:
            if progress.samples and progress.seconds:
                if not measuring_since:
                    measuring_since.append(progress.elapsed_s)
                done = progress.elapsed_s - measuring_since[0]
                bar.update(task, total=progress.seconds, completed=min(done, progress.seconds))
            bar.update(task, description=tr(" · ".join(_facts(progress))))

        yield sink


StepSink = Callable[[int, int, str], None]
"""Takes in how many steps of a long work are done, of how many, and which is under way."""


class Steps:
    """Counts the steps of a work and tells a sink of each; ``total`` may become known later."""

    def __init__(self, sink: StepSink, total: int = 0) -> None:
        self._sink, self.total = sink, total
        self._count, self._words = 0, ""

    def running(self, words: str) -> None:
        """Say what is under way."""
        self._words = words
        self._sink(self._count, self.total, words)

    def done(self, steps: int = 1) -> None:
        """Say that so many more are done."""
        self._count += steps
        self._sink(self._count, self.total, self._words)


@contextmanager
def steps_progress(title: str) -> Iterator[StepSink]:
    """Show the progress of work in steps until the block ends."""
    if not is_terminal():
        yield now_and_then(lambda done, total, words: f"{title}: {done} of {total}, {words}")
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as RichProgress

    bar = RichProgress(
        TextColumn("{task.completed}/{task.total}"),
        BarColumn(bar_width=30),
        TextColumn("{task.description}", style="dim"),
        console=error_console(),
        transient=True,
    )
    with bar:
        task = bar.add_task(tr(title), total=None)

        def sink(done: int, total: int, words: str) -> None:
            bar.update(task, completed=done, total=total, description=tr(words))

        yield sink
