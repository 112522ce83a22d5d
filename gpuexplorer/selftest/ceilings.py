"""Section: this device's measured ceilings can be true, each by itself and beside the others.

The full self-test makes a whole quick calibration, without storing it. The quick one runs one or
two candidates of a few ceilings, which is enough to see a wrong unit or formula.
"""

from __future__ import annotations

import math
from functools import cached_property

from gpuexplorer.calibration.calibrate import Calibration, NextRun, rate_of
from gpuexplorer.calibration.plan import CeilingCandidate, Stage, stages
from gpuexplorer.core.ceilings import COMPUTE_KINDS
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import quantity
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task

NAME = "ceilings"
TITLE = "Ceilings are plausible"

QUICK_KINDS = ("copy", "cache", "fma", "gemm")
QUICK_PRECISION = "fp32"
QUICK_CANDIDATES = {"fma": 3, "gemm": 2}
"""How many candidates of a kind are tried; one of the others."""
QUICK_S = 0.2
PLAUSIBLE = {"memory": (1e8, 1e14), "arithmetic": (1e8, 1e17)}
"""Least and most that any device of today reaches, in B/s and FLOP/s."""
CACHE_OVER_MEMORY = 0.9
"""A cache may seem this much slower than main memory before something is wrong."""
GEMM_OVER_FMA = {"gpu": 1.1, "cpu": 1.5}
"""A matrix product may seem this much faster than chains of multiply-adds. On a CPU the product is
another program's vector code, and both are measured while other programs run."""
UNITS_OF_THEIR_OWN = ("fp16", "bf16", "tf32", "fp64")
"""Precisions in which a GPU's matrix units are faster than its multiply-adds."""
SCALAR_DRIVER = "portable computing language"
"""PoCL: it compiles one work-item at a time, without the vector units that a library uses."""


class _Measured:
    """The ceilings, measured once for all checks of this section: the best rate of each kind."""

    def __init__(self, context: SelfTestContext) -> None:
        self._context = context
        self.failures: list[str] = []
        self.words: dict[tuple[str, str | None], str] = {}

    @cached_property
    def rates(self) -> dict[tuple[str, str | None], float]:
        """The highest rate by kind and precision, in B/s or FLOP/s."""
        context = self._context
        found: dict[tuple[str, str | None], float] = {}
        for stage, candidate, rate in self._quick() if context.quick else self._calibrated():
            key = (stage.kind, stage.precision)
            if rate > found.get(key, -1.0):
                found[key] = rate
                self.words[key] = f"{candidate.title} on {candidate.config.device}"
        if not found:
            why = self.failures[0] if self.failures else "there is nothing to run"
            raise WorkFailed(f"{context.device.id} could not be calibrated: {why}")
        return found

    def _failed(self, words: str, error: ExplorerError) -> None:
        """Note a failure; a candidate that is too slow for this machine is none."""
        if not isinstance(error, LongRun):
            self.failures.append(f"{words}: {error}")

    def _calibrated(self) -> list[tuple[Stage, CeilingCandidate, float]]:
        """Make every run of a quick calibration."""
        context = self._context
        calibration = Calibration(context.devices, context.device, quick=True)
        found = []

        def measure(task: NextRun) -> RunResult:
            candidate, seconds = task.candidate, task.stage.seconds
            try:
                result = context.measure(
                    candidate.config, seconds=seconds, workload=candidate.workload
                )
            except ExplorerError as error:
                self._failed(task.words, error)
                raise
            found.append((task.stage, task.candidate, rate_of(result).value))
            return result

        calibration.run(measure, lambda task: context.on_step(task.words))
        return found

    def _quick(self) -> list[tuple[Stage, CeilingCandidate, float]]:
        """Run the first candidates of a few ceilings."""
        context = self._context
        found = []
        for stage in stages(context.devices, context.device, quick=True):
            if stage.kind not in QUICK_KINDS or stage.precision not in (None, QUICK_PRECISION):
                continue
            small = [c for c in stage.candidates if c.after is None]
            for candidate in small[: QUICK_CANDIDATES.get(stage.kind, 1)]:
                context.on_step(f"{stage.title}: {candidate.title}")
                try:
                    result = context.measure(
                        candidate.config, seconds=QUICK_S, workload=candidate.workload
                    )
                except ExplorerError as error:
                    self._failed(f"{stage.title}: {candidate.title}", error)
                    continue
                found.append((stage, candidate, rate_of(result).value))
        return found


def plan(context: SelfTestContext) -> list[Task]:
    """Return the checks of single ceilings, and of those that bound each other."""
    measured = _Measured(context)
    command = context.options.command(NAME)
    return [
        Task("every candidate runs", lambda: _runs(measured), command),
        Task("ceilings of memory", lambda: _plausible(measured, False), command),
        Task("ceilings of arithmetic", lambda: _plausible(measured, True), command),
        Task("caches against main memory", lambda: _caches(measured), command),
        Task(
            "matrix products against multiply-adds",
            lambda: _products(context, measured),
            command,
        ),
    ]


def _runs(measured: _Measured) -> Found:
    try:
        rates = measured.rates
    except CannotRunHere as error:
        raise Skipped(error.what) from None
    if measured.failures:
        raise WorkFailed(
            f"{len(measured.failures)} candidates failed; {measured.failures[0]}",
            detail="\n".join(measured.failures),
        )
    return Found(f"{len(rates)} ceilings measured")


def _plausible(measured: _Measured, arithmetic: bool) -> Found:
    least, most = PLAUSIBLE["arithmetic" if arithmetic else "memory"]
    unit = "FLOP/s" if arithmetic else "B/s"
    words, figures = [], {}
    for (kind, precision), rate in measured.rates.items():
        if (kind in COMPUTE_KINDS) != arithmetic:
            continue
        name = f"{kind} {precision}" if arithmetic else kind
        if not (math.isfinite(rate) and least <= rate <= most):
            raise WorkFailed(f"a ceiling of {quantity(rate, unit)} for {name} cannot be true")
        words.append(f"{name} {quantity(rate, unit)}")
        figures[f"{name} {unit}"] = rate
    if not words:
        raise Skipped("nothing on this device measures them")
    return Found(", ".join(words), dict(figures))


def _caches(measured: _Measured) -> Found:
    rates = measured.rates
    memory = max((v for (k, _), v in rates.items() if k in ("copy", "triad", "read")), default=None)
    cache = rates.get(("cache", None))
    if memory is None or cache is None:
        raise Skipped("either of the two could not be measured")
    words = f"caches {quantity(cache, 'B/s')}, main memory {quantity(memory, 'B/s')}"
    if cache < CACHE_OVER_MEMORY * memory:
        raise WorkFailed(f"the caches are slower than main memory: {words}")
    return Found(words, {"cache_B_per_s": cache, "memory_B_per_s": memory})


def _products(context: SelfTestContext, measured: _Measured) -> Found:
    """Check that a product's rate stays below what multiply-adds reach on the same units."""
    if SCALAR_DRIVER in context.device.driver.lower():
        raise Skipped("PoCL's multiply-adds leave the vector units idle, which the product uses")
    most = GEMM_OVER_FMA["gpu" if context.is_gpu else "cpu"]
    words, figures = [], {}
    for (kind, precision), product in measured.rates.items():
        chains = measured.rates.get(("fma", precision))
        if kind != "gemm" or chains is None:
            continue
        if context.is_gpu and precision in UNITS_OF_THEIR_OWN:
            continue
        each = f"{precision} {quantity(product, 'FLOP/s')} against {quantity(chains, 'FLOP/s')}"
        if product > most * chains:
            faster, slower = measured.words[kind, precision], measured.words["fma", precision]
            raise WorkFailed(
                f"a matrix product is faster than multiply-adds: {each} ({faster}; {slower})"
            )
        words.append(each)
        figures[f"{precision} product over chains"] = product / chains
    if not words:
        raise Skipped("no precision in which both use the same units was measured")
    return Found(", ".join(words), dict(figures))
