"""What was measured for a lesson, and the figures that are read off it.

Each kind holds the document of the part of the program that measured it (a comparison, a study,
counted accesses, compiled kernels), so that views, reports and files show it as they show any.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from gpuexplorer.analysis.static import KernelAnalysis
from gpuexplorer.core.accesses import AccessProfile, AccessRow
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.comparison import FEWEST_PAIRS, interval_so_far, ratio_interval
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import Study
from gpuexplorer.core.units import count, factor, quantity
from gpuexplorer.lessons.lesson import words_of
from gpuexplorer.lessons.manifest import UNITS, Access, Figure, Range


class Value(msgspec.Struct, frozen=True):
    """One figure: a number with its unit, a ratio where that is None; its 95 % interval if any."""

    number: float
    unit: str | None = None
    low: float | None = None
    high: float | None = None

    @property
    def words(self) -> str:
        """It in a few words, such as ``12.4× (9.8–15.1)``."""
        if self.low is None or self.high is None:
            return self.number_words(self.number)
        number, low, high = map(self.number_words, (self.number, self.low, self.high))
        return f"{number} ({low} to {high})"

    def number_words(self, number: float) -> str:
        """Return a number as this figure's is said."""
        return figure_words(number, self.unit)

    def lies_in(self, wanted: Range) -> bool:
        """Return whether it lies in a range."""
        low, high = wanted.at_least, wanted.at_most
        return (low is None or self.number >= low) and (high is None or self.number <= high)

    def may_lie_in(self, wanted: Range) -> bool:
        """Return whether its interval reaches into a range."""
        ends = [end for end in (self.low, self.high, self.number) if end is not None]
        low, high = wanted.at_least, wanted.at_most
        return (low is None or max(ends) >= low) and (high is None or min(ends) <= high)


def figure_words(number: float, unit: str | None) -> str:
    """Return a figure in words: a ratio (None) with a ×, errors in powers of ten."""
    if unit is None:
        return factor(number)
    if not unit:
        whole = number == int(number) and abs(number) >= 1000
        return count(int(number)) if whole else f"{number:.3g}"
    return quantity(number, unit)


def range_words(wanted: Range, unit: str | None) -> str:
    """Return a range in words."""
    low = figure_words(wanted.at_least, unit) if wanted.at_least is not None else ""
    high = figure_words(wanted.at_most, unit) if wanted.at_most is not None else ""
    if low and high:
        return low if low == high else f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}"


def unit_of(figure: Figure) -> str | None:
    """Return the unit of a figure; None for a ratio, empty for a plain number."""
    return None if figure.over is not None else UNITS.get(figure.quantity, "")


class Measured(ABC):
    """A measurement of a lesson; ``quantity_of`` is what kinds differ in."""

    def value(self, figure: Figure) -> Value | None:
        """Return a figure; None where the measurement does not tell it."""
        paired = self._paired(figure)
        if paired is not None:
            return paired
        of = self._sum(figure, words_of(figure.of))
        if of is None or figure.over is None:
            return Value(of, unit_of(figure)) if of is not None else None
        over = self._sum(figure, words_of(figure.over))
        return Value(of / over) if over else None

    def _sum(self, figure: Figure, words: Sequence[str]) -> float | None:
        found = [self.quantity_of(word, figure) for word in words]
        known = [value for value in found if value is not None]
        return sum(known) if len(known) == len(found) else None

    def _paired(self, figure: Figure) -> Value | None:
        """Return a ratio with its interval, where both took turns."""
        return None

    @abstractmethod
    def quantity_of(self, word: str, figure: Figure) -> float | None:
        """Return the figure's quantity of what a word names; None where it is not known."""

    @property
    def configs(self) -> list[RunConfig]:
        """The configurations that were measured."""
        return []


def run_quantity(run: RunResult, quantity: str) -> float | None:
    """Return a quantity of a run."""
    phases, grid, block = run.phases_s, run.config.grid, run.config.block
    if quantity == "time":
        return run.timing.median_s
    if quantity == "error":
        check = run.verification
        if check is None:
            return None
        return check.max_rel_error if check.rms_rel_error is None else check.rms_rel_error
    if quantity == "flop_rate":
        return run.throughput.flop_per_s
    if quantity == "bandwidth":
        return run.throughput.bandwidth_B_per_s
    if quantity == "copies":
        parts = (phases.host_to_device, phases.device_to_host)
        return None if None in parts else sum(part or 0.0 for part in parts)
    if quantity == "kernel":
        kernel: float | None = phases.kernel
        return kernel
    return _launched(quantity, grid, block)


def _launched(quantity: str, grid: object, block: object) -> float | None:
    """Return blocks or threads of a launch."""
    if not isinstance(grid, tuple) or not isinstance(block, tuple):
        return None
    blocks = float(np.prod(grid))
    return blocks if quantity == "blocks" else blocks * float(np.prod(block))


TAKEN_IN_TURNS = ("time", "flop_rate", "bandwidth")
"""Quantities whose ratio is one of times, which were taken in turns."""


def _amount(run: RunResult, quantity: str) -> float:
    """Return what a run does in a launch, operations or bytes; 0 where that is not known."""
    return (run_quantity(run, quantity) or 0.0) * run.timing.median_s


@dataclass(frozen=True)
class Compared(Measured):
    """A comparison, whose contestants are the words in their order.

    ``shows`` is the quantity that its chart draws.
    """

    words: tuple[str, ...]
    result: ComparisonResult
    shows: str = "time"

    def quantity_of(self, word: str, figure: Figure) -> float | None:
        """Return the quantity of a contestant's run."""
        return run_quantity(self._run(word), figure.quantity)

    def _run(self, word: str) -> RunResult:
        return self.result.contestants[self.words.index(word)].run

    def _paired(self, figure: Figure) -> Value | None:
        of, over = words_of(figure.of), words_of(figure.over)
        if figure.quantity not in TAKEN_IN_TURNS or len(of) != 1 or len(over) != 1:
            return None
        pair = [self.result.contestants[self.words.index(word)] for word in (over[0], of[0])]
        scale = 1.0
        if figure.quantity != "time":  # a rate: what is done, in ratio, by the time the other takes
            pair.reverse()
            amounts = [_amount(one.run, figure.quantity) for one in pair]
            if not all(amounts):
                return None
            scale = amounts[0] / amounts[1]
        turns = [np.array(one.turns_s, dtype=np.float64) for one in pair]
        both = np.isfinite(turns[0]) & np.isfinite(turns[1]) & (turns[0] > 0) & (turns[1] > 0)
        if not both.any():
            return None
        interval = ratio_interval if both.sum() >= FEWEST_PAIRS else interval_so_far
        first, second = (one.run.timing.resolution_s or 0.0 for one in pair)
        found = interval(turns[0][both], turns[1][both], clocks_s=(first, second))
        if found is None:  # too few rounds for an interval
            return Value(scale * float(np.median(turns[1][both] / turns[0][both])))
        return Value(scale * found.ratio, None, scale * found.ci95_low, scale * found.ci95_high)

    @property
    def configs(self) -> list[RunConfig]:
        """The contestants' configurations."""
        return [one.run.config for one in self.result.contestants]


@dataclass(frozen=True)
class Studied(Measured):
    """A study; ``request_of`` reads a word, which names the run that fits it."""

    study: Study
    request_of: Callable[[str], RunRequest]

    def quantity_of(self, word: str, figure: Figure) -> float | None:
        """Return the quantity of the run that a word fits; None where there is none."""
        asked = self.request_of(word)
        for run in self.study.runs:
            if fits(run.config, asked):
                return run_quantity(run, figure.quantity)
        return None

    @property
    def configs(self) -> list[RunConfig]:
        """The runs' configurations."""
        return [run.config for run in self.study.runs]


def fits(config: RunConfig, asked: RunRequest) -> bool:
    """Return whether a configuration is what a request asks for, as far as that says something."""
    return (
        asked.variant in (None, config.variant)
        and asked.precision in (None, config.precision)
        and all(config.size.get(symbol) == value for symbol, value in asked.size.items() if symbol)
        and all(config.tunables.get(name) == value for name, value in asked.tunables.items())
    )


@dataclass(frozen=True)
class Counted(Measured):
    """The accesses of a warp, for each word.

    ``shows`` is the quantity that its chart draws, ``names`` how it calls the words, where it does
    not by what tells them apart.
    """

    words: tuple[str, ...]
    profiles: tuple[AccessProfile, ...]
    shows: str = "sectors"
    names: tuple[str, ...] = ()

    def quantity_of(self, word: str, figure: Figure) -> float | None:
        """Return the quantity of the rows that the figure chooses."""
        if word not in self.words:  # not counted yet
            return None
        profile = self.profiles[self.words.index(word)]
        if figure.quantity in ("blocks", "threads"):
            return _launched(figure.quantity, profile.grid, profile.block)
        if figure.quantity == "read_bytes":
            return profile.requested_B("read")
        return row_quantity(
            chosen_rows(profile, figure.quantity, figure.array, figure.access), figure.quantity
        )

    @property
    def configs(self) -> list[RunConfig]:
        """The configurations whose accesses were counted."""
        return [profile.config for profile in self.profiles]


def chosen_rows(
    profile: AccessProfile, quantity: str, array: str | None, access: Access | None
) -> list[AccessRow]:
    """Return the rows of an array and a kind of access; None of these takes all.

    Sectors are of global memory, passes of shared memory.
    """
    space = {"sectors": "global", "passes": "shared", "shared_requests": "shared"}.get(quantity)
    return [
        row
        for row in profile.rows
        if space in (None, row.space) and array in (None, row.array) and access in (None, row.kind)
    ]


def row_quantity(rows: Sequence[AccessRow], quantity: str) -> float | None:
    """Return a quantity over some rows: sectors, passes and lanes are those of a request."""
    requests = sum(row.requests for row in rows)
    if not requests:
        return None
    if quantity in ("requests", "shared_requests"):
        return float(requests)
    total = sum(int(getattr(row, quantity)) for row in rows)
    return total / requests


@dataclass(frozen=True)
class Compiled(Measured):
    """Kernels compiled for one architecture, one for each word; ``names`` as above."""

    words: tuple[str, ...]
    kernels: tuple[KernelAnalysis, ...]
    names: tuple[str, ...] = ()

    def quantity_of(self, word: str, figure: Figure) -> float | None:
        """Return the quantity of a word's kernel."""
        if word not in self.words:  # not compiled yet
            return None
        kernel = self.kernels[self.words.index(word)]
        if figure.quantity == "registers":
            return float(kernel.registers_per_thread)
        if figure.quantity == "shared_bytes":
            return float(kernel.static_shared_B + kernel.dynamic_shared_B)
        return kernel.occupancy
