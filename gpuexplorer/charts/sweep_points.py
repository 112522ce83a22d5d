"""The points of a sweep as its chart shows them: by the axes that vary, with one figure each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal

from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import SweepDocument

Values = Mapping[str, Any]
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


@dataclass(frozen=True)
class Metric:
    """What is shown of a run."""

    figure: Figure
    fewest_s: Mapping[tuple[tuple[str, int], ...], float] = field(default_factory=dict)
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
            fewest_s = self.fewest_s.get(problem_of(run), math.nan)
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


def problem_of(run: RunResult) -> tuple[tuple[str, int], ...]:
    """Return what tells the problem that a run solved from others: its size."""
    return tuple(sorted(run.config.size.items()))


@dataclass(frozen=True)
class Point:
    """One configuration of a sweep, measured or not."""

    values: Values
    key: str
    """Its number in row-major order of all axes."""
    run: RunResult | None = None
    """None where there is no figure that may be shown."""
    tried: bool = False
    """Whether it was measured or skipped, so that nothing more is to come."""
    reason: str = ""
    """Why a tried one has no figure, in two words."""


@dataclass(frozen=True)
class Points:
    """All configurations of a sweep; ``axes`` are those that vary."""

    axes: dict[str, tuple[Any, ...]]
    all: tuple[Point, ...]
    metric: Metric

    @classmethod
    def of(cls, document: SweepDocument, figure: Figure | None = None) -> Points:
        """Return the points with a figure; None: operations, else bytes over time, else times."""
        whole = {name: tuple(map(_hashable, values)) for name, values in document.axes.items()}
        axes = {name: values for name, values in whole.items() if len(values) > 1}
        entries = {
            tuple(_hashable(entry.values[name]) for name in whole): entry
            for entry in document.runs
            if set(whole) <= set(entry.values)
        }
        possible = [
            entry.run
            for entry in entries.values()
            if entry.run is not None and entry.run.timing.suspect is None
        ]
        points = []
        for number, combination in enumerate(product(*whole.values())):
            entry = entries.get(combination)
            run = entry.run if entry is not None else None
            suspect = run is not None and run.timing.suspect is not None
            points.append(
                Point(
                    values=dict(zip(whole, combination, strict=True)),
                    key=str(number),
                    run=None if suspect and possible else run,
                    tried=entry is not None,
                    reason="cannot be true" if suspect else "cannot run",
                )
            )
        shown = [point.run for point in points if point.run is not None]
        return cls(axes, tuple(points), _metric(shown, figure))

    @cached_property
    def found(self) -> list[tuple[Point, RunResult]]:
        """Those with a value, beside their runs."""
        return [
            (point, point.run)
            for point in self.all
            if point.run is not None and math.isfinite(self.metric.of(point.run))
        ]

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """The least and the greatest value; a decade while there is none."""
        values = [self.metric.of(run) for _, run in self.found]
        return (min(values), max(values)) if values else NO_RANGE

    def groups(self, names: Sequence[str]) -> dict[tuple[Any, ...], Points]:
        """Return the points for each combination of some axes' values, in the axes' order."""
        made: dict[tuple[Any, ...], list[Point]] = {
            key: [] for key in product(*(self.axes[name] for name in names))
        }
        for point in self.all:
            made[tuple(point.values[name] for name in names)].append(point)
        return {key: replace(self, all=tuple(points)) for key, points in made.items()}


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _metric(runs: Sequence[RunResult], figure: Figure | None) -> Metric:
    if figure is None:
        if all(run.throughput.flop_per_s for run in runs):
            figure = "flops"
        elif all(run.throughput.bandwidth_B_per_s for run in runs):
            figure = "bandwidth"
        else:
            figure = "time"
    fewest_s: dict[tuple[tuple[str, int], ...], float] = {}
    for run in runs if figure == "best" else ():
        problem = problem_of(run)
        fewest_s[problem] = min(fewest_s.get(problem, math.inf), run.timing.median_s)
    return Metric(figure, fewest_s)
