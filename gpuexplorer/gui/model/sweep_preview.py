"""What a wanted sweep comes to before it begins: its configurations, its cost, its command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.knobs import BLOCK_AXES, option_words, values_of
from gpuexplorer.core.units import count
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.reproduce import surroundings
from gpuexplorer.search.estimate import NOT_KNOWN, Estimate, Estimator, sample_wall_s
from gpuexplorer.search.least_launch import least_launch_s
from gpuexplorer.search.measuring import SAMPLES, Measuring
from gpuexplorer.search.space import Space
from gpuexplorer.workloads.workload import Workload

_NUMBERS = re.compile(r"\d+(x\d+)*")
MOST_CHECKED = 20_000
"""Larger spaces are checked when they start."""


class Reasons:
    """Why points cannot run. Those that differ in numbers only count as one, with the first."""

    def __init__(self) -> None:
        self.count = 0
        self._counted: dict[str, tuple[str, int]] = {}

    def add(self, reason: str) -> None:
        """Count another point that cannot run."""
        self.count += 1
        key = _NUMBERS.sub("#", reason)
        first, number = self._counted.get(key, (reason, 0))
        self._counted[key] = first, number + 1

    def grouped(self) -> tuple[tuple[str, int], ...]:
        """Return each reason and how many points it has, the most frequent first."""
        return tuple(sorted(self._counted.values(), key=lambda item: -item[1]))


class Preview(msgspec.Struct, frozen=True):
    """What a space comes to before it is measured."""

    space: Space
    total: str
    estimate: str
    reasons: tuple[tuple[str, int], ...]
    runs: int
    """Configurations that can run, as far as it was checked."""


def preview(
    space: Space,
    workload: Workload,
    devices: DeviceList,
    measuring: Measuring,
    ceilings: Callable[[DeviceInfo], Ceilings | None],
    live: RunRecord | None,
) -> Preview:
    """Return what a space comes to; ``live`` is a run whose cost is known. Raises InputError."""
    if space.count > MOST_CHECKED:
        text = f"{count(space.count)} configurations; which can run is checked at the start"
        return Preview(space, text, "", (), space.count)
    reasons = Reasons()

    def able() -> Iterator[RunConfig]:
        for point in space.walk(workload, devices):
            if point.config is not None:
                yield point.config
            else:
                reasons.add(point.skipped or "")

    time = estimate(workload, measuring, able(), devices, ceilings, live)
    takes = f"Takes {time.words}" if time != NOT_KNOWN else "How long it takes is not known yet"
    total = f"{count(space.count)} configurations"
    if illegal := reasons.count:
        total = f"{count(space.count)} configurations, {count(illegal)} cannot run:"
    runs = space.count - illegal
    return Preview(space, total, takes if runs else "", reasons.grouped(), runs)


def estimate(
    workload: Workload,
    measuring: Measuring,
    configs: Iterable[RunConfig],
    devices: DeviceList,
    ceilings: Callable[[DeviceInfo], Ceilings | None],
    live: RunRecord | None,
) -> Estimate:
    """Return how long configurations take; ``live`` is a run whose cost is known."""
    least_s = least_launch_s(workload, devices, ceilings)
    estimator = Estimator(workload, measuring, configs, least_s=least_s)
    if live is not None and live.samples and live.prepared.config.workload == workload.name:
        result = live.figures()
        launches = min(measuring.samples or live.samples, live.samples)
        each_s = max(result.timing.median_s, sample_wall_s(result.batches))
        same = [each_s] * launches
        estimator.learn(msgspec.structs.replace(result, samples_s=same, batches=[]))
    return estimator.left()


# ---- its command


def sweep_command(
    space: Space,
    measuring: Measuring,
    kernels: Sequence[Path] = (),
    *,
    threads: int | None = None,
    engine: str | None = None,
    cluster: str | None = None,
) -> str:
    """Return the ``gpuexplorer sweep`` command of a space, quoted for a shell.

    ``threads`` are the CPU threads of the engine, where they were chosen, and ``engine`` the
    word for it, None for the built-in one; a ``cluster`` has engines of its own.
    """
    base, axes = space.base, {axis.name: axis.values for axis in space.axes}
    values = {name: (value,) for name, value in values_of(base).items()} | axes
    if any(name in axes for name in BLOCK_AXES) and "block" in values:
        sides = (*values.pop("block")[0], 1, 1)[:3]
        whole = {n: (side,) for n, side in zip(BLOCK_AXES, sides, strict=True)}
        values = {n: v for n, v in whole.items() if n != "block.z" or v != (1,)} | values
    if threads is not None and "threads" not in axes:
        values["threads"] = (threads,)
    words = ["gpuexplorer", "sweep", base.workload, *option_words(values)]
    if measuring.samples is not None and measuring.samples != SAMPLES:
        words += ["--samples", str(measuring.samples)]
    if measuring.allow_long:
        words.append("--yes")
    if cluster is not None:
        words += ["--cluster", cluster]
    return shlex.join(words + surroundings(kernels, None if cluster is not None else engine))
