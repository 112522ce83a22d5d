"""How long the rest of a search will take, from what was measured so far; it says how sure it is.

Configurations that differ in block, tunables and switches only are a family, where those switches
do not have a model compiled. Its points are measured in random order, so the mean cost of those
done is that of those to come. A family that was not measured yet is taken from its nearest
relative, its launches scaled by the useful work; only what was compiled tells what that takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.intervals import t_975
from gpuexplorer.core.result import BatchSummary, RunResult
from gpuexplorer.engine.protocol import CONFIRM_ABOVE_S
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.planning import base_names
from gpuexplorer.workloads.switches import COMPILING
from gpuexplorer.workloads.workload import Workload

EACH_S = 0.02
"""What a configuration costs beside its samples, as long as none was measured."""
FIRST_BUILD_S = 0.5
"""What a first build is taken to cost before one was seen."""
LAUNCHES_BESIDE = 5
"""So many launches are no samples, or begin just before the time is up: one is predicted, one is
verified before and one after, one warms up."""
ENOUGH = 3
"""So many costs tell their mean and how they scatter; measured here, they need no others."""
FEW = 2.0
"""A mean of fewer costs than ``ENOUGH`` is taken to be known to this factor, and so is a
relative's."""

Family = tuple[object, ...]


class Estimate(msgspec.Struct, frozen=True):
    """Seconds that are left; ``seconds`` is None while only bounds are known.

    ``low_s`` and ``high_s`` hold it about as surely as a 95 % interval would; either may be None.
    """

    seconds: float | None
    low_s: float | None
    high_s: float | None

    def shared(self, lanes: int) -> Estimate:
        """Return the estimate where so many configurations are measured at a time."""
        if lanes == 1:
            return self
        each = (self.seconds, self.low_s, self.high_s)
        return Estimate(*(None if value is None else value / lanes for value in each))

    @property
    def words(self) -> str:
        """The estimate in words, such as ``about 4 min (3 to 6 min)``."""
        low = _duration(self.low_s) if self.low_s is not None else None
        high = _duration(self.high_s) if self.high_s is not None else None
        if self.seconds is None:
            if low and high:
                return f"{low} to {high}"
            return f"at most {high}" if high else f"at least {low}" if low else "not known yet"
        about = f"about {_duration(self.seconds)}"
        return about if low == high or not low or not high else f"{about} ({low} to {high})"


NOT_KNOWN = Estimate(None, None, None)


class _Cost(msgspec.Struct, frozen=True):
    """Seconds that one configuration took, how many of them were no samples, and a launch's."""

    total_s: float
    other_s: float
    launch_s: float


@dataclass
class _Costs:
    """Costs of one family so far: those measured here, and those that older runs tell."""

    measured: list[_Cost] = field(default_factory=list)
    learned: list[_Cost] = field(default_factory=list)
    waiting: int = 0

    @property
    def known(self) -> list[_Cost]:
        """What the mean is taken of."""
        if len(self.measured) >= ENOUGH:
            return self.measured
        return [*self.learned, *self.measured]


class Estimator:
    """Learns what configurations cost and says what the rest will.

    ``least_s`` gives the least a launch of a configuration can take, where a calibration knows it.
    """

    def __init__(
        self,
        workload: Workload,
        measuring: Measuring,
        waiting: Iterable[RunConfig],
        *,
        least_s: Callable[[RunConfig], float | None] | None = None,
    ) -> None:
        self._workload = workload
        self._measuring = measuring
        self._families: dict[Family, _Costs] = {}
        self._example: dict[Family, RunConfig] = {}
        self._known_work: dict[Family, float] = {}
        self._least_s = least_s
        for config in waiting:
            self._costs(config).waiting += 1

    def took(self, config: RunConfig, seconds: float, result: RunResult | None) -> None:
        """Note that a waiting configuration is done; without a result it was skipped."""
        costs = self._costs(config)
        costs.waiting -= 1
        if result is None:
            return
        costs.measured.append(_cost_of(seconds, result))

    def returned(self, config: RunConfig) -> None:
        """Note that a configuration that was done waits again."""
        self._costs(config).waiting += 1

    def learn(self, result: RunResult) -> None:
        """Note what a run that was made before says of those still waiting."""
        seconds = _sampling_took_s(result) + EACH_S + (result.phases_s.compile or 0.0)
        self._costs(result.config).learned.append(_cost_of(seconds, result))

    def left(self) -> Estimate:
        """Return what the waiting configurations will take."""
        waiting = {f: c for f, c in self._families.items() if c.waiting}
        if not waiting:
            return Estimate(0.0, 0.0, 0.0)
        if not any(costs.known for costs in self._families.values()):
            return self._bounds(waiting)
        seconds = squared = unsure = 0.0
        for family, costs in waiting.items():
            mean_s, error_s = self._cost(family, costs)
            seconds += costs.waiting * mean_s
            if error_s is None:  # a relative's, or of one or two: errors of a kind add up
                unsure += costs.waiting * mean_s
            else:
                squared += (costs.waiting * error_s) ** 2
        half = math.sqrt(squared)
        low = max(0.0, seconds - unsure * (1 - 1 / FEW) - half)
        compiled = {_compiled(family) for family, costs in self._families.items() if costs.known}
        if any(_compiled(family) not in (*compiled, ()) for family in waiting):
            return Estimate(None, low, None)  # what was not compiled does not tell what that takes
        return Estimate(seconds, low, seconds + unsure * (FEW - 1) + half)

    # ---- one family

    def _cost(self, family: Family, costs: _Costs) -> tuple[float, float | None]:
        """Return the mean cost of a configuration and its error; None for an error not known."""
        total_s = [cost.total_s for cost in costs.known]
        done = len(total_s)
        if done >= ENOUGH:
            mean = sum(total_s) / done
            deviation = math.sqrt(sum((s - mean) ** 2 for s in total_s) / (done - 1))
            # What is to come scatters, too, as single costs do.
            return mean, t_975(done - 1) * deviation * math.sqrt(1 / done + 1 / costs.waiting)
        if done:
            return sum(total_s) / done, None
        relative = self._relative(family)
        known = self._families[relative].known
        work, other = self._work(family), self._work(relative)
        scale = work / other if work and other else 1.0
        launch_s = scale * sum(cost.launch_s for cost in known) / len(known)
        other_s = sum(cost.other_s for cost in known) / len(known)
        return other_s + self._sampling_s(launch_s), None

    def _relative(self, family: Family) -> Family:
        """Return the measured family that shares most with another, and is nearest in work."""
        work = self._work(family)

        def distance(other: Family) -> tuple[int, float]:
            differ = sum(a != b for a, b in zip(family[1:], other[1:], strict=True))
            theirs = self._work(other)
            return differ, abs(math.log(theirs / work)) if work and theirs else 0.0

        return min((f for f, c in self._families.items() if c.known), key=distance)

    def _sampling_s(self, launch_s: float) -> float:
        """Return how long the samples of one configuration take."""
        how = self._measuring
        enough_s = how.samples * launch_s if how.samples is not None else math.inf
        if how.seconds is not None:
            enough_s = min(enough_s, max(how.seconds, launch_s))
        return enough_s if math.isfinite(enough_s) else launch_s

    def _bounds(self, waiting: dict[Family, _Costs]) -> Estimate:
        """Return what can be said before anything was measured."""
        how = self._measuring
        boundless = how.allow_long or any(_compiled(family) for family in waiting)
        count = sum(costs.waiting for costs in waiting.values())
        if how.seconds is not None and how.samples is None and how.max_noise is None:
            seconds = count * (how.seconds + EACH_S)
            return Estimate(None if boundless else seconds, seconds, None)
        high: float | None = None
        if how.seconds is not None and not boundless:
            most_s = how.seconds + EACH_S + FIRST_BUILD_S + LAUNCHES_BESIDE * CONFIRM_ABOVE_S
            high = count * most_s
        low: float | None = None
        if self._least_s is not None:
            least = {f: self._least_s(self._example[f]) for f in waiting}
            if all(v is not None for v in least.values()):
                low = sum(
                    c.waiting * (self._sampling_s(least[f] or 0.0) + EACH_S)
                    for f, c in waiting.items()
                )
        return Estimate(None, low, high)

    def _work(self, family: Family) -> float:
        """Return the useful operations of one launch, or its compulsory bytes without any."""
        if family not in self._known_work:
            config = self._example[family]
            work = self._workload.work_of(config.variant)
            names = base_names(config.size, config.precision)
            amounts = work.flops, work.read_bytes, work.write_bytes
            flops, read_B, write_B = (float(formulas.number(f, names)) for f in amounts)
            self._known_work[family] = flops or read_B + write_B
        return self._known_work[family]

    def _costs(self, config: RunConfig) -> _Costs:
        family: Family = (
            msgspec.json.encode(config.size, order="sorted"),
            config.variant,
            config.precision,
            config.device,
            config.cache,
            config.fill,
            config.threads,
            tuple((name, config.switches[name]) for name in COMPILING if name in config.switches),
        )
        self._example.setdefault(family, config)
        return self._families.setdefault(family, _Costs())


def _compiled(family: Family) -> object:
    """Return the switches with which a family is compiled; empty where it is not."""
    return family[-1]


def sample_wall_s(batches: Sequence[BatchSummary]) -> float:
    """Return the typical time from one sample to the next, in seconds; 0 below two batches.

    That has in it what is done between launches, and no pause of a run that was held.
    """
    each = [(b.start_s - a.start_s) / a.samples for a, b in pairwise(batches) if a.samples]
    return median(each) if each else 0.0


def _sampling_took_s(result: RunResult) -> float:
    """Return how long sampling took, in seconds, with what was done between launches.

    The last batch is taken to have gone on as those before it, since only starts are known.
    """
    batches, samples_s = result.batches, float(sum(result.samples_s))
    before = sum(batch.samples for batch in batches[:-1])
    if not before:
        return samples_s
    span_s = batches[-1].start_s - batches[0].start_s
    return max(samples_s, span_s * (1 + batches[-1].samples / before))


def _cost_of(seconds: float, result: RunResult) -> _Cost:
    other_s = max(0.0, seconds - sum(result.samples_s))
    return _Cost(seconds, other_s, result.timing.median_s)


def _duration(seconds: float) -> str:
    """Return a duration as one says it: 40 s, 4 min, 2.5 h."""
    if seconds < 1:
        return "1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
