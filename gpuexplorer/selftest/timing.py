"""Section: launch times behave as times must: they grow with the work, repeat, and add up.

Both sides of a comparison are measured in turns, and the middle of the turns' ratios counts: load
from elsewhere then falls on both. A comparison that fails is tried again when the machine may have
been busy, and says how often.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import numpy as np

from gpuexplorer.charts.build import launches_each
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task

NAME = "timing"
TITLE = "Timing is sane"

ROUNDS = 3
ATTEMPTS = 4
EACH_S = 0.12
GROWTH_FACTOR = 2.0
"""A time may grow by this factor more or less than the operations do: caches and small grids."""
REPEAT_WITHIN = {"cpu": 0.10, "gpu": 0.03}
"""How far two medians of one configuration may lie apart when their intervals do not meet."""
MOST_RESOLUTION_S = 1e-4
MANY_SAMPLES = 1000
STEPS_WITHIN = 4.0
"""How much coarser than stated the smallest difference between samples may be."""
CLOCKS_WITHIN = 0.02
"""How much longer than the time that passed the launches together may seem to have taken."""
LEAST_SHARE = 0.05
"""Least share of the time that passed that launches above a millisecond fill."""


def plan(context: SelfTestContext) -> list[Task]:
    """Return the checks of growth, repeatability, resolution and the two clocks."""
    command = context.options.command(NAME)

    def matmul(size: int) -> RunConfig:
        return context.config(
            context.shipped["matmul"], variant="naive", size={"N": size}, precision="fp32",
            block=(16, 16),
        )  # fmt: skip

    def triad(size: int) -> RunConfig:
        return context.config(
            context.shipped["stream"], variant="triad", size={"N": size}, precision="fp32"
        )

    def short() -> RunConfig:
        return context.config(
            context.shipped["vector_add"], variant="direct", size={"N": 4096}, precision="fp32"
        )

    product = 2048 if context.is_gpu else 192
    stream = _stream_size(context)
    larger, longer = 2 * product, 4 * stream

    def check(name: str, do: Callable[[], Found]) -> Task:
        return Task(name, do, command)

    return [
        check(
            f"naive product of {larger}² against {product}²: 8 times the operations",
            lambda: _growth(context, matmul(product), matmul(larger), 8.0),
        ),
        check(
            f"triad of {longer:,} against {stream:,} elements: 4 times the bytes",
            lambda: _growth(context, triad(stream), triad(longer), 4.0),
        ),
        check("a product repeats", lambda: _repeats(context, matmul(larger), matmul(product))),
        check("a triad repeats", lambda: _repeats(context, triad(stream), matmul(product))),
        check("resolution", lambda: _resolution(context, short)),
        check(
            "launch times against the clock on the wall",
            lambda: _wall(context, matmul(2 * product)),
        ),
    ]


def _stream_size(context: SelfTestContext) -> int:
    """Return elements of one array of the smaller triad.

    The smallest for which both triads lie well beyond the last cache or well inside it: the edge
    would add its own jump to the time.
    """
    least, most = (1 << 24, 1 << 26) if context.is_gpu else (1 << 20, 1 << 23)
    cache_B = context.device.last_level_cache_B
    size = least
    while cache_B is not None and size < most:
        small_B = 3 * 4 * size
        if small_B >= 1.25 * cache_B or 4 * small_B <= 0.5 * cache_B:
            break
        size *= 2
    return size


def _attempts(judge: Callable[[], Found]) -> Found:
    """Return the first attempt that passes; the last one's failure, and how many there were."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            found = judge()
        except WorkFailed as error:
            last = error
            continue
        words = found.words if attempt == 1 else f"{found.words}; at attempt {attempt}"
        return Found(words, found.figures | {"attempts": float(attempt)})
    raise WorkFailed(f"{last.what}, at each of {ATTEMPTS} attempts", remedy=last.remedy)


def _in_turns(context: SelfTestContext, *configs: RunConfig) -> list[list[RunResult]]:
    """Return ``ROUNDS`` results of each configuration, measured A, B, A, B ..."""
    found: list[list[RunResult]] = [[] for _ in configs]
    for _ in range(ROUNDS):
        for config, results in zip(configs, found, strict=True):
            context.on_step(config_words(config))
            results.append(context.measure(config, seconds=EACH_S))
    return found


def _growth(context: SelfTestContext, small: RunConfig, large: RunConfig, expected: float) -> Found:
    def judge() -> Found:
        before, after = _in_turns(context, small, large)
        ratios = [b.timing.median_s / a.timing.median_s for a, b in zip(before, after, strict=True)]
        grown = median(ratios)
        lowest = min(r.timing.min_s for r in after) / min(r.timing.min_s for r in before)
        least, most = expected / GROWTH_FACTOR, expected * GROWTH_FACTOR
        words = (
            f"{grown:.2f} times as long ({_medians(before)} and {_medians(after)}); expected "
            f"{least:.2g} to {most:.2g} times"
        )
        # Fast launches tell what the device can do; either measure shows that time follows work.
        if not any(_within(value, expected) for value in (grown, lowest)):
            raise WorkFailed(f"time does not grow with the work: {words}")
        return Found(words, {"grown": grown, "grown_of_minima": lowest, "expected": expected})

    return _attempts(judge)


def _within(value: float, expected: float) -> bool:
    return expected / GROWTH_FACTOR <= value <= expected * GROWTH_FACTOR


def _medians(results: list[RunResult]) -> str:
    return quantity(median(r.timing.median_s for r in results), "s")


def _repeats(context: SelfTestContext, config: RunConfig, between: RunConfig) -> Found:
    """Check that a configuration gives the same again after another one has run."""
    allowed = REPEAT_WITHIN["gpu" if context.is_gpu else "cpu"]

    def judge() -> Found:
        first = context.measure(config, seconds=2 * EACH_S)
        context.measure(between, seconds=EACH_S / 4)
        second = context.measure(config, seconds=2 * EACH_S)
        a, b = first.timing, second.timing
        apart = abs(a.median_s - b.median_s) / min(a.median_s, b.median_s)
        lows = abs(a.min_s - b.min_s) / min(a.min_s, b.min_s)
        words = (
            f"{quantity(a.median_s, 's')} and {quantity(b.median_s, 's')}, {percent(apart)} apart"
        )
        if not _meet(first, second) and min(apart, lows) > allowed:
            raise WorkFailed(
                f"the same run does not repeat: {words}, more than {percent(allowed)} and outside "
                "their 95 % intervals",
                remedy="close other programs, and fix the clock where that is possible",
            )
        return Found(words, {"first_s": a.median_s, "second_s": b.median_s, "apart": apart})

    return _attempts(judge)


def _meet(first: RunResult, second: RunResult) -> bool:
    a, b = first.timing, second.timing
    if a.ci95_low_s is None or a.ci95_high_s is None:
        return False
    if b.ci95_low_s is None or b.ci95_high_s is None:
        return False
    return a.ci95_low_s <= b.ci95_high_s and b.ci95_low_s <= a.ci95_high_s


def _resolution(context: SelfTestContext, short: Callable[[], RunConfig]) -> Found:
    """Check that times are as fine as stated: their smallest step is not coarser.

    Among thousands of launches some differ by a single tick of the clock.
    """
    config = short()

    def judge() -> Found:
        result = context.measure(config, seconds=2 * EACH_S)
        stated_s = result.timing.resolution_s
        times = np.unique(np.asarray(result.samples_s))
        if stated_s is None or not 0 < stated_s <= MOST_RESOLUTION_S:
            raise WorkFailed(f"a resolution of {quantity(stated_s, 's')} is not plausible")
        if times[0] <= 0:
            raise WorkFailed(f"a launch took {quantity(float(times[0]), 's')}")
        step_s = float(np.diff(times).min()) if len(times) > 1 else None
        words = (
            f"stated {quantity(stated_s, 's')}, smallest difference between "
            f"{result.timing.samples} samples {quantity(step_s, 's')}; by {result.timing.method}"
        )
        if result.timing.samples < MANY_SAMPLES:
            raise Skipped(f"{result.timing.samples} samples are too few to tell: {words}")
        if step_s is None or step_s > STEPS_WITHIN * stated_s:
            raise WorkFailed(f"the clock is coarser than it says: {words}")
        return Found(words, {"stated_s": stated_s, "smallest_step_s": step_s})

    return _attempts(judge)


def _wall(context: SelfTestContext, config: RunConfig) -> Found:
    """Check the launches' times against the engine's own clock: their sum fits what passed."""

    def judge() -> Found:
        result = context.measure(config, seconds=3 * EACH_S)
        batches = result.batches
        if len(batches) < 2:
            raise WorkFailed("there was only one batch of launches")
        passed_s = batches[-1].start_s - batches[0].start_s
        each = launches_each(result)[: result.timing.samples - batches[-1].samples]
        counted = int(each.sum())
        launches_s = float(np.sum(np.asarray(result.samples_s)[: len(each)] * each))
        share = launches_s / passed_s
        words = (
            f"{counted} launches took {quantity(launches_s, 's')} of the "
            f"{quantity(passed_s, 's')} that passed"
        )
        if share > 1 + CLOCKS_WITHIN:
            raise WorkFailed(f"launches seem to take longer than the time that passed: {words}")
        if result.timing.median_s > 1e-3 and share < LEAST_SHARE:
            raise WorkFailed(f"launches seem far shorter than the time they take: {words}")
        return Found(words, {"launches_s": launches_s, "passed_s": passed_s})

    return _attempts(judge)
