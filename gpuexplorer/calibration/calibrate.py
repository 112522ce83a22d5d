"""Go through calibration one run at a time; the command line or the window makes the runs.

A ceiling is a maximum. A neighbour on the machine can only make a launch slower, so of several
medians the best one stands: every candidate runs once, and then the ``LEADERS`` of each ceiling
again in later rounds, all ceilings in turn, so that a busy minute spoils none. A run is cut into
stretches of at least ``STRETCH`` launches; what is kept is the fastest stretch's median of all,
with its own 95 % interval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.calibration.earlier import roof_of, with_earlier
from gpuexplorer.calibration.plan import CeilingCandidate, Roof, Stage, in_brief, stages
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.statistics import Summary, summarize
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.workloads.workload import Workload

ROUNDS = 3
QUICK_ROUNDS = 2
LEADERS = 2
"""Candidates of a ceiling that run again in later rounds."""
STRETCH = 10
"""Launches of a stretch at least, so that its median has an interval."""
MOST_STRETCHES = 10
GEMM_LAUNCH_S = 0.15
"""A larger matrix is tried only while its launch is expected to stay below this."""


class Rate(msgspec.Struct, frozen=True):
    """The rate of a run's fastest stretch, in FLOP/s or B/s, with its 95 % interval."""

    value: float
    low: float | None
    high: float | None
    result: RunResult


@dataclass
class _Tried:
    """One candidate and what its runs reached so far."""

    candidate: CeilingCandidate
    rates: list[Rate] = field(default_factory=list)
    failed: bool = False
    """Whether work failed: nothing lacked here, and it was not too slow for this device."""

    @property
    def best(self) -> Rate | None:
        """The highest rate."""
        return max(self.rates, key=lambda r: r.value, default=None)

    @property
    def value(self) -> float:
        """The highest rate so far, 0 without one."""
        return self.best.value if self.best is not None else 0.0


class NextRun(msgspec.Struct, frozen=True):
    """The next run to make."""

    stage: Stage
    candidate: CeilingCandidate
    round: int

    @property
    def words(self) -> str:
        """What is measured, in words."""
        return f"{self.stage.title}: {self.candidate.title}"

    @property
    def asked(self) -> tuple[RunConfig, Workload, RunOptions]:
        """What an engine is asked to measure."""
        options = RunOptions(seconds=self.stage.seconds)
        return self.candidate.config, self.candidate.workload, options


class Calibration:
    """Says which run comes next, takes its result, and makes the ceilings of all of them.

    ``run`` makes them all; by itself: while ``task`` is not None, ``took`` or ``failed`` it.
    """

    def __init__(
        self,
        devices: DeviceList,
        device: DeviceInfo,
        *,
        quick: bool = False,
        brief: bool = False,
    ) -> None:
        """``quick`` makes fewer and shorter runs; ``brief`` takes some five seconds in all."""
        self.device, self.quick, self.brief = device, quick or brief, brief
        self.rounds = 1 if brief else QUICK_ROUNDS if quick else ROUNDS
        self.stages = stages(devices, device, quick=self.quick)
        if brief:
            self.stages = in_brief(self.stages)
        if not self.stages:
            raise CannotRunHere(
                f"nothing here can calibrate {device.id} ({device.name})",
                remedy="see 'gpuexplorer devices' for what it can run",
            )
        self.failures: list[str] = []
        """Candidates that could not be measured, a sentence each."""
        self._tried = [[_Tried(c) for c in stage.candidates] for stage in self.stages]
        self._round = 0
        self._queue = self._of_round()
        self.done = 0
        self._next()

    def run(
        self,
        measure: Callable[[NextRun], RunResult],
        on_step: Callable[[NextRun], None] = lambda task: None,
        *,
        ends: type[ExplorerError] | tuple[type[ExplorerError], ...] = CannotRunHere,
    ) -> None:
        """Make every run; an error that ``measure`` raises leaves out its own one only.

        ``on_step`` is told before each which it is. An error of a kind in ``ends`` ends all of it:
        without an engine, or without the device, none of those that are left can be measured. A
        library that cannot be had, or a compiler that was never there, leaves out its candidates.
        """
        compiles, first = False, None
        while (task := self.task) is not None:
            on_step(task)
            try:
                result = measure(task)
            except ExplorerError as error:
                stays = type(error) is CannotRunHere and (called(task) or not compiles)
                if isinstance(error, ends) and not stays:
                    raise
                first = first or error
                self.failed(error)
            else:
                compiles = compiles or not called(task)
                self.took(result)
        if isinstance(first, CannotRunHere) and len(self.failures) == self.done:
            raise first

    @property
    def total(self) -> int:
        """How many runs there are, as far as known now."""
        later = max(0, self.rounds - 1 - self._round)
        leaders = sum(min(LEADERS, len(tried)) for tried in self._tried)
        return self.done + len(self._queue) + (self.task is not None) + later * leaders

    def took(self, result: RunResult) -> None:
        """Take in the result of ``task`` and move on."""
        self._current.rates.append(rate_of(result))
        self._next_after_one()

    def failed(self, error: ExplorerError) -> None:
        """Note that ``task`` could not be measured and move on."""
        assert self.task is not None
        self.failures.append(f"{self.task.words}: {error}")
        self._current.failed = not isinstance(error, CannotRunHere | LongRun)
        self._next_after_one()

    def skip(self) -> None:
        """Leave ``task`` out and move on."""
        self._next_after_one()

    def _next_after_one(self) -> None:
        self.done += 1
        self._next()

    # ---- the order

    def _of_round(self) -> list[tuple[int, _Tried]]:
        """Return what runs in this round: everything at first, then each ceiling's leaders."""
        if self._round == 0:
            return [(i, one) for i, tried in enumerate(self._tried) for one in tried]
        return [
            (i, one)
            for i, tried in enumerate(self._tried)
            for one in sorted(tried, key=lambda t: -t.value)[:LEADERS]
            if one.rates
        ]

    def _next(self) -> None:
        self.task: NextRun | None = None
        while True:
            while self._queue:
                stage, one = self._queue.pop(0)
                if self._worth_it(one.candidate):
                    self._current = one
                    self.task = NextRun(self.stages[stage], one.candidate, self._round)
                    return
            self._round += 1
            if self._round >= self.rounds:
                return
            self._queue = self._of_round()
            if not self._queue:
                return

    def _worth_it(self, candidate: CeilingCandidate) -> bool:
        """Whether a larger size is still short, as the smaller one says."""
        if candidate.after is None:
            return True
        for tried in self._tried:
            for one in tried:
                if one.candidate is candidate.after and one.best is not None:
                    return one.best.result.timing.median_s * candidate.growth <= GEMM_LAUNCH_S
        return False

    # ---- the outcome

    def ceilings(
        self, before: Callable[[Ceilings], Ceilings | None] = lambda found: None
    ) -> Ceilings:
        """Return what was measured; WorkFailed when nothing could be.

        ``before`` returns the calibration whose place it takes: what could not be measured now is
        kept from that.
        """
        found = self.so_far()
        if not found.ceilings:
            why = self.failures[0] if self.failures else "it was stopped before the first run"
            raise WorkFailed(f"{self.device.id} could not be calibrated: {why}")
        return with_earlier(found, before(found), [one for _, one in self._lost])

    def missed(self, ceilings: Ceilings) -> int:
        """Return for how many ceilings work failed and gave none of ``ceilings``."""
        new = {roof_of(one, ceilings) for one in ceilings.ceilings if one.time_utc is None}
        return len({roof for roof, _ in self._lost} - new)

    @property
    def _lost(self) -> list[tuple[Roof, CeilingCandidate]]:
        """Those for which work failed, with the larger ones that were not tried after them."""
        lost: list[tuple[Roof, CeilingCandidate]] = []
        for stage, tried in zip(self.stages, self._tried, strict=True):
            for one in tried:
                after = any(one.candidate.after is smaller for _, smaller in lost)
                if not one.rates and (one.failed or after):
                    lost.append((stage.roof, one.candidate))
        return lost

    def so_far(self) -> Ceilings:
        """Return the ceilings that were found by now."""
        return Ceilings(
            device=self.device.id,
            hardware_id=self.device.hardware_id,
            name=self.device.name,
            driver=self.device.driver,
            threads=self.device.threads,
            last_level_cache_B=self.device.last_level_cache_B,
            nominal_clock_Hz=self.device.nominal_clock_Hz,
            quick=self.quick,
            brief=self.brief,
            time_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            ceilings=tuple(
                self._ceiling(stage, tried)
                for stage, tried in zip(self.stages, self._tried, strict=True)
                if any(one.rates for one in tried)
            ),
        )

    def _ceiling(self, stage: Stage, tried: list[_Tried]) -> Ceiling:
        winner = max(tried, key=lambda one: one.value)
        best = winner.best
        assert best is not None
        config, timing = best.result.config, best.result.timing
        size = ", ".join(f"{k} = {v}" for k, v in config.size.items())
        touched_B = sum(t.total_B for t in best.result.traffic if t.kind == "compulsory")
        runs = sum(len(one.rates) for one in tried)
        candidates = sum(bool(one.rates) for one in tried)
        method = (
            f"{winner.candidate.title} on {config.device}, {size}, {config.precision}; "
            f"{stage.size}; {timing.method}; the fastest stretch of {runs} runs of {candidates} "
            "candidates"
        )
        return Ceiling(
            kind=stage.kind,
            precision=stage.precision,
            value=best.value,
            ci95_low=best.low,
            ci95_high=best.high,
            clock_held_Hz=best.result.telemetry.sm_clock_Hz,
            footprint_B=int(touched_B) if stage.precision is None else None,
            method=method,
        )


def called(task: NextRun) -> bool:
    """Return whether a run calls a library, and compiles no kernel of ours."""
    return bool(task.candidate.workload.variant(task.candidate.config.variant).call)


def rate_of(result: RunResult) -> Rate:
    """Return what a run reached in its fastest stretch: FLOP/s of arithmetic, B/s of the others."""
    rates = result.throughput
    arithmetic = result.config.workload in ("ceiling-fma", "ceiling-gemm")
    rate = (rates.flop_per_s if arithmetic else rates.bandwidth_B_per_s) or 0.0
    work = rate * result.timing.median_s
    fastest = fastest_stretch(np.asarray(result.samples_s, dtype=np.float64))
    return Rate(
        value=work / fastest.median_s if fastest.median_s > 0 else 0.0,
        low=work / fastest.ci95_high_s if fastest.ci95_high_s else None,
        high=work / fastest.ci95_low_s if fastest.ci95_low_s else None,
        result=result,
    )


def fastest_stretch(samples_s: npt.NDArray[np.float64]) -> Summary:
    """Return the figures of the stretch of a series whose median is the shortest."""
    stretches = min(MOST_STRETCHES, max(1, len(samples_s) // STRETCH))
    parts = np.array_split(samples_s, stretches)
    return summarize(min(parts, key=lambda part: float(np.median(part))))
