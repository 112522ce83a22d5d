"""Runs of a framework's models: its errors as sentences, its start, groups of steps on a GPU."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from time import perf_counter_ns
from typing import ClassVar, Protocol, cast

import numpy as np

from gpuexplorer.backends.base import Batch, HostArray, TimingChoice
from gpuexplorer.backends.caches import FLUSH_FACTOR
from gpuexplorer.backends.framework_model import FrameworkModel
from gpuexplorer.backends.models import Model, ModelRunner, ModelStep, check_model, offered_by
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, DeviceLost, ExplorerError, WorkFailed
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.frameworks import family_of
from gpuexplorer.workloads.plan import Plan

GROUP_S = 2e-3
"""A group of queued steps lasts about this long, so that the wait at its end counts little."""
MAX_GROUP = 64
"""Steps queued at once."""


class FrameworkRunner(ModelRunner):
    """A run in a framework: whatever it raises becomes a sentence."""

    title: ClassVar[str]

    @property
    def timing_words(self) -> str:
        """How launches are timed."""
        return self.timed_by

    @property
    def method(self) -> str:
        """How launches are timed, what the caches hold, and what was turned before."""
        facts = [self.timing_words, self.cache_words]
        turned: tuple[str, ...] = getattr(self._model, "turned", ())
        if turned:
            names = ", ".join(turned)
            facts.append(f"{names} turned to {self.title}'s layout when copied, untimed")
        return "; ".join(facts)

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy weights and data to the device that steps run on, and wait."""
        with self._mode():
            super().upload(inputs)

    def _estimate_s(self) -> float | None:
        return cast(FrameworkModel, self.model).estimate_s()

    def _observed(self) -> Arithmetic | None:
        return cast(FrameworkModel, self.model).arithmetic()

    def _explained(self, error: Exception, doing: str) -> ExplorerError:
        known = super()._explained(error, doing)
        if known is not None:
            return known
        lines = str(error).strip().splitlines() or [type(error).__name__]
        what = f"{self.title} failed on {self.device.id} while {doing}: {lines[0]}"
        detail = f"{type(error).__name__}: {error}"
        if self.device.kind == "gpu":  # its context may be of no more use
            return DeviceLost(what, remedy="the engine starts afresh", detail=detail)
        return WorkFailed(what, remedy="see the lines below it, or choose another", detail=detail)


class StartedRunner(FrameworkRunner):
    """A run in a framework that starts once in the engine, with its threads."""

    def __init__(self, plan: Plan, device: DeviceInfo, threads: int) -> None:
        super().__init__(plan, device)
        self._threads = threads

    def _make(self) -> Model:
        family = family_of(check_model(self.plan, self.device, offered_by(self.device.backend)))
        self._start(memory_growth=bool(self.plan.switches.get("memory_growth", True)))
        return self._model_of(family)

    @abstractmethod
    def _start(self, *, memory_growth: bool) -> None:
        """Import the framework and find the device; CannotRunHere where it sees none."""

    @abstractmethod
    def _model_of(self, family: str) -> Model:
        """Return a workload's model, unprepared."""


class QueuedModel(Protocol):
    """A model whose steps can be started without waiting for them."""

    @property
    def queued(self) -> ModelStep:
        """What starts one step and may return before its results are there."""

    def wait(self, results: object) -> None:
        """Wait until results are there, without copying them."""


class GroupedRunner(FrameworkRunner):
    """Steps on a GPU of a framework that offers no events: groups of them between two waits."""

    timed_by: ClassVar[str] = "host clock around each step and a wait for it, dispatch included"
    _group: int = 1

    @property
    def timing_words(self) -> str:
        """How launches are timed."""
        if self._group == 1:
            return self.timed_by
        return (
            f"host clock around {self._group} steps at a time, queued, and one wait, their mean; "
            "dispatch counts where it takes longer than the work"
        )

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        nbytes = self.device.last_level_cache_B or 0
        return f"{FLUSH_FACTOR} × the {quantity(nbytes, 'B')} L2 cache written before each step"

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return self.clock_step_s / self._group

    def settle(self, first_s: float, earlier: TimingChoice | None = None) -> TimingChoice | None:
        """Time short steps in groups, unless something has to be done between them."""
        self._group = 1
        if self.cold or self.plan.reset:
            return None
        if earlier is not None:
            self._group = earlier.group
            return earlier
        if first_s > 100 * GROUP_S:
            return None
        step_s = float(np.median(self.launch(5).seconds))
        self._group = max(1, min(MAX_GROUP, math.ceil(GROUP_S / max(step_s, 1e-7))))
        return TimingChoice(group=self._group, short=self._group > 1)

    def _timed(self, count: int) -> Batch:
        """Time groups of steps; ``count`` is rounded up to whole groups."""
        group = self._group
        if group == 1:
            return super()._timed(count)
        model = cast(QueuedModel, self.model)
        queued, wait = model.queued, model.wait
        durations_ns = np.empty(-(-count // group))
        start_ns = self.now_ns()
        for index in range(len(durations_ns)):
            began = perf_counter_ns()
            for _ in range(group):
                self._results = queued()
            wait(self._results)
            durations_ns[index] = perf_counter_ns() - began
        return Batch(start_ns=start_ns, seconds=durations_ns * (1e-9 / group), launches=group)


def l2_flush_B(device: DeviceInfo) -> int:
    """Return how many bytes are written to empty a GPU's L2 cache; CannotRunHere where unknown."""
    if not device.last_level_cache_B:
        raise CannotRunHere(
            f"{device.id} does not say how large its L2 cache is, so it cannot be emptied",
            remedy="use --cache hot",
        )
    return FLUSH_FACTOR * device.last_level_cache_B
