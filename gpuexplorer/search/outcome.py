"""What came of each point of a search: measured, skipped with a reason, or not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from gpuexplorer.core.errors import (
    CannotRunHere,
    ExplorerError,
    InputError,
    MemoryTaken,
    OutOfMemory,
    WrongResult,
)
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import PASSING, Why
from gpuexplorer.engine.errors import EngineKilled
from gpuexplorer.search.space import Point

T = TypeVar("T")
MOST_FAILURES = 2
"""What fails for a reason that passes is tried once more."""


class SweepCell(msgspec.Struct, frozen=True):
    """One point with its result, or the reason why it has none; neither: not measured yet.

    A result in which something cannot be true (``timing.suspect``) is kept and never ranked.
    """

    point: Point
    result: RunResult | None = None
    skipped: str | None = None
    why: Why | None = None
    """What kind of reason ``skipped`` is."""

    @property
    def waiting(self) -> bool:
        """Whether it is still to be measured."""
        return self.result is None and self.skipped is None

    @property
    def median_s(self) -> float | None:
        """The median of its launches in seconds; None without a result."""
        return self.result.timing.median_s if self.result is not None else None

    @property
    def ranked(self) -> bool:
        """Whether it has a figure that may win."""
        return self.result is not None and self.result.timing.suspect is None

    def measured(self, result: RunResult) -> SweepCell:
        """Return the cell with its result."""
        return replace(self, result=result, skipped=None, why=None)

    def skip(self, reason: str, why: Why) -> SweepCell:
        """Return the cell with the reason why it has no result."""
        return replace(self, result=None, skipped=reason, why=why)


def cells_of(points: Iterable[Point]) -> list[SweepCell]:
    """Return a cell for each point; what cannot run is skipped from the start."""
    return [
        SweepCell(point)
        if point.skipped is None
        else SweepCell(point).skip(point.skipped, "cannot")
        for point in points
    ]


def why_of(error: ExplorerError) -> Why:
    """Return what kind of reason an error is for a point's having no figure."""
    match error:
        case WrongResult():
            return "wrong"
        case EngineKilled():
            return "lost"
        case OutOfMemory() | MemoryTaken():
            return "short"
        case InputError() | CannotRunHere():
            return "cannot"
    return "failed"


def passes(error: ExplorerError) -> bool:
    """Whether nothing says that a configuration that failed so would fail again."""
    return why_of(error) in PASSING


class Failures:
    """How often some failed in a row, by their number, and whether one is tried once more."""

    def __init__(self) -> None:
        self._counted = Counter[int]()

    def once_more(self, number: int, error: ExplorerError) -> bool:
        """Note that one failed; return whether it is tried again."""
        self._counted[number] += 1
        return self._counted[number] < MOST_FAILURES and passes(error)

    def clear(self) -> None:
        """Note that none failed."""
        self._counted.clear()


def measured_once_more(measure: Callable[[], T], on_again: Callable[[], None] = lambda: None) -> T:
    """Return what ``measure`` does, done once more where it fails for a reason that passes.

    ``on_again`` is told before that.
    """
    failures = Failures()
    while True:
        try:
            return measure()
        except ExplorerError as error:
            if not failures.once_more(0, error):
                raise
            on_again()


def fastest(cells: Sequence[SweepCell]) -> SweepCell | None:
    """Return the ranked cell with the shortest median; None when none has one."""
    ranked = [cell for cell in cells if cell.ranked]
    return min(ranked, key=lambda cell: cell.median_s or 0.0, default=None)
