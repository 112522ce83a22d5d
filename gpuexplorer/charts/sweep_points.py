"""The points of a sweep as its chart shows them: by the axes that vary, with one figure each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from gpuexplorer.core.config import Problem
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import Outcome, SweepOutcomes

Numbers = npt.NDArray[np.intp]
Figure = Literal["time", "flops", "bandwidth", "best"]
FIGURES: dict[Figure, tuple[str, str]] = {
    "time": ("time per launch", "s"),
    "flops": ("useful operations over time", "FLOP/s"),
    "bandwidth": ("needed bytes over time", "B/s"),
    "best": ("share of the best's speed", "%"),
}
"""What can be shown of a run, in words, and its unit."""
NO_RANGE = (1.0, 10.0)
"""While nothing is known."""
CANNOT_BE_TRUE = "cannot be true"
"""Stands for a suspect result, which is neither drawn nor ranked."""


class Metric(msgspec.Struct, frozen=True):
    """What is shown of a run."""

    figure: Figure
    fewest_s: Mapping[Problem, float] = msgspec.field(default_factory=dict)
    """The shortest median of each problem, for shares of the best."""

    @property
    def label(self) -> str:
        """The figure in words."""
        return FIGURES[self.figure][0]

    @property
    def unit(self) -> str:
        """Its unit."""
        return FIGURES[self.figure][1]

    @property
    def higher_is_better(self) -> bool:
        """Whether more is better."""
        return self.figure != "time"

    def of(self, run: RunResult) -> float:
        """Return a run's value in the unit; NaN where it has none."""
        if self.figure == "flops":
            return run.throughput.flop_per_s or math.nan
        if self.figure == "bandwidth":
            return run.throughput.bandwidth_B_per_s or math.nan
        if self.figure == "best":
            fewest_s = self.fewest_s.get(run.config.problem, math.nan)
            return 100 * fewest_s / run.timing.median_s if run.timing.median_s > 0 else math.nan
        return run.timing.median_s

    def interval(self, run: RunResult) -> tuple[float, float]:
        """Return the ends of its 95 % interval; its value twice without one."""
        value, timing = self.of(run), run.timing
        if timing.ci95_low_s is None or timing.ci95_high_s is None or timing.ci95_low_s <= 0:
            return value, value
        ends = (timing.ci95_low_s, timing.ci95_high_s)
        if not self.higher_is_better:
            return ends
        return value * timing.median_s / ends[1], value * timing.median_s / ends[0]

    def best(self, values: Iterable[float]) -> float:
        """Return the best of some values."""
        return max(values) if self.higher_is_better else min(values)


class Points(msgspec.Struct, frozen=True, dict=True):
    """Some configurations of a sweep; ``axes`` are those that vary.

    They are told by their numbers, in row-major order of the axes: a wide sweep has a hundred
    thousand, next to all of which have no figure yet.
    """

    axes: Mapping[str, tuple[Any, ...]]
    numbers: Numbers
    """Which configurations these are."""
    outcomes: Sequence[Outcome]
    """What came of each of the sweep's; a result has a figure that may be shown."""
    metric: Metric

    @classmethod
    def of(cls, sweep: SweepOutcomes, figure: Figure | None = None) -> Points:
        """Return the points with a figure; None: operations, else bytes over time, else times."""
        axes = {name: tuple(values) for name, values in sweep.axes.items() if len(values) > 1}
        outcomes = [CANNOT_BE_TRUE if _suspect(one) else one for one in sweep.outcomes]
        shown = [one for one in outcomes if isinstance(one, RunResult)]
        return cls(axes, np.arange(len(outcomes)), outcomes, _metric(shown, figure))

    def places(self, name: str) -> Numbers:
        """Return the place on an axis of each."""
        names = list(self.axes)
        after = names[names.index(name) + 1 :]
        return self.numbers // math.prod(len(self.axes[n]) for n in after) % len(self.axes[name])

    @cached_property
    def found(self) -> list[tuple[int, RunResult]]:
        """The numbers of those with a value, beside their runs."""
        return [
            (int(number), run)
            for number in self.numbers
            if isinstance(run := self.outcomes[number], RunResult)
            and math.isfinite(self.metric.of(run))
        ]

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The least and the greatest value; a decade while there is none."""
        values = [self.metric.of(run) for _, run in self.found]
        return (min(values), max(values)) if values else NO_RANGE

    def how_many(self, names: Sequence[str]) -> int:
        """Return how many combinations of some axes' values there are."""
        return math.prod(len(self.axes[name]) for name in names)

    def groups(self, names: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], Points]]:
        """Yield the points of each combination of some axes' values, in the axes' order."""
        group = np.zeros(len(self.numbers), np.intp)
        for name in names:
            group = group * len(self.axes[name]) + self.places(name)
        order = np.argsort(group, kind="stable")
        ends = np.searchsorted(group[order], np.arange(self.how_many(names)), side="right")
        begin = 0
        for key, end in zip(product(*(self.axes[name] for name in names)), ends, strict=True):
            yield key, replace(self, numbers=self.numbers[order[begin:end]])
            begin = end


def _suspect(outcome: Outcome) -> bool:
    return isinstance(outcome, RunResult) and outcome.timing.suspect is not None


def _metric(runs: Sequence[RunResult], figure: Figure | None) -> Metric:
    if figure is None:
        if all(run.throughput.flop_per_s for run in runs):
            figure = "flops"
        elif all(run.throughput.bandwidth_B_per_s for run in runs):
            figure = "bandwidth"
        else:
            figure = "time"
    fewest_s: dict[Problem, float] = {}
    for run in runs if figure == "best" else ():
        problem = run.config.problem
        fewest_s[problem] = min(fewest_s.get(problem, math.inf), run.timing.median_s)
    return Metric(figure, fewest_s)
