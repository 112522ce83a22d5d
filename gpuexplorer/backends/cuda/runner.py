"""What kernels and library calls have in common on a GPU: arrays, copies, guards, timed batches."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import get_args

import numpy as np

from gpuexplorer.backends.base import (
    Batch,
    HostArray,
    Marks,
    Runner,
    TimingChoice,
    TimingLost,
)
from gpuexplorer.backends.caches import FLUSH_FACTOR
from gpuexplorer.backends.cuda import activity, timing
from gpuexplorer.backends.cuda.activity import KernelRecords
from gpuexplorer.backends.cuda.driver import L2_CACHE_B
from gpuexplorer.backends.cuda.memory import DeviceArrays, lay_out
from gpuexplorer.backends.cuda.session import CudaSession
from gpuexplorer.backends.cuda.timing import Work
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, WrongResult
from gpuexplorer.core.statistics import middle
from gpuexplorer.core.units import plural, quantity
from gpuexplorer.workloads.fills import WHOLE, loaded, poison_byte, stored, stored_dtype
from gpuexplorer.workloads.manifest import Role
from gpuexplorer.workloads.plan import Plan

_log = logging.getLogger(__name__)
LEAST_SHARE = 0.1
"""Kernels alone that take less of a launch than this are not believed."""


class CudaRunner(Runner):
    """One configuration on an NVIDIA GPU."""

    def __init__(self, plan: Plan, device: DeviceInfo, session: CudaSession) -> None:
        super().__init__(plan, device)
        self.session = session
        self.arrays: DeviceArrays | None = None
        self._gated = True
        self._group = 1
        self._records: KernelRecords | None = None
        self._no_records = ""
        """Why CUPTI's records are not used where they are wanted."""
        self._lost_records = ""
        """Why they stopped coming while they were used."""
        self._loaded = False
        """Whether everything was launched once. Loading code may wait for the device to be idle,
        which behind a closed gate would be for ever."""
        self._settled = False
        """Whether it was told how launches are timed, which holds for every later one."""
        session.activate()

    @property
    def method(self) -> str:
        """How launches are timed and what the caches hold, as it stands beside the number."""
        if not self._is_gated:
            words = timing.PLAIN
        elif self._records is not None:
            words = timing.RECORDED
        elif self._group > 1:
            words = timing.GROUPED.format(self._group)
        else:
            words = timing.GATED
        if self._no_records:
            words = f"{words} ({self._no_records})"
        return f"{words}; {self.cache_words}"

    @property
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        if self._records is not None:
            return activity.RESOLUTION_S
        return timing.RESOLUTION_S / self._group

    @property
    def flush_words(self) -> str:
        """How the L2 cache is emptied before each launch, in words."""
        l2 = quantity(self.session.facts.attribute(L2_CACHE_B), "B")
        return f"{FLUSH_FACTOR} × the {l2} L2 cache written before each launch"

    def build(self) -> None:
        """Have the memory that empties the cache: allocating arrays is to be timed alone."""
        if self.cold:
            with self.session.explained("preparing to empty the cache"):
                self._flush_span()

    def allocate(self) -> None:
        """Allocate every array in one piece; WorkFailed when the memory is not there."""
        self.free()
        with self.session.explained(f"the arrays of {self.plan.config.workload}"):
            self.arrays = DeviceArrays(self.session, lay_out(self.plan.arrays, self.plan.reset))
        self._bind()

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy inputs to the device and wait."""
        precision = self.plan.config.precision
        with self.session.explained("copying the inputs to the device"):
            for name, data in inputs.items():
                self._allocated.upload(name, stored(self.plan.array(name), precision, data))

    def clear_indices(self) -> None:
        """Zero every array of whole numbers: what memory held before is no index."""
        with self.session.explained("clearing the arrays"):
            self._clear_indices(*get_args(Role))

    def poison(self) -> None:
        """Fill outputs and scratch arrays with poison, and write the guards."""
        with self.session.explained("filling the outputs"):
            for array in self.plan.arrays:
                if array.role in ("out", "scratch"):
                    self._allocated.fill(array.name, poison_byte(array.type))
            self._allocated.set_guards()
            self.session.wait()

    def download(self, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy arrays to the host and wait."""
        found: dict[str, HostArray] = {}
        precision = self.plan.config.precision
        with self.session.explained("copying the outputs to the host"):
            for name in names:
                array = self.plan.array(name)
                bits = np.empty(array.shape, stored_dtype(array.type, precision))
                self._allocated.download(name, bits)
                found[name] = loaded(array, precision, bits)
        return found

    def check_guards(self) -> None:
        """Raise WrongResult when a launch wrote before, between or behind the arrays."""
        with self.session.explained("reading the guards"):
            broken = self._allocated.broken_guard()
        if broken is None:
            return
        name, distance_B = broken
        config = self.plan.config
        if not name:
            where = f"{_bytes(-distance_B)} before the first array"
        elif distance_B:
            where = f"{_bytes(distance_B)} behind the end of '{name}'"
        else:
            where = f"right behind the end of '{name}'"
        raise WrongResult(
            f"{config.workload}/{config.variant} wrote outside its arrays: {where}",
            remedy="compare the kernel's indexes with the arrays' sizes",
        )

    def free(self) -> None:
        """Free the arrays; harmless twice, and after the context was lost."""
        arrays, self.arrays = self.arrays, None
        if arrays is not None and not self.session.lost:
            with self.session.explained("freeing the arrays"):
                arrays.free()

    def adopt(self, other: Runner) -> bool:
        """Take over the arrays of a runner on the same device with the same arrays."""
        if (
            not isinstance(other, CudaRunner)
            or other.session is not self.session
            or other.arrays is None
            or other.plan.arrays != self.plan.arrays
            or other.arrays.layout != lay_out(self.plan.arrays, self.plan.reset)
        ):
            return False
        self.arrays, other.arrays = other.arrays, None
        self._bind()
        return True

    def launch(self, count: int) -> Batch:
        """Run ``count`` launches; the very first of a kernel is not held back until queued.

        After ``settle``, TimingLost when CUPTI's records stop coming, or when the gate opens by
        itself time and again; the next ``settle`` does without them then.
        """
        with self.session.explained(f"running {self._what}"):
            if self._loaded:
                gated = self._is_gated
                try:
                    batch = self._held_back(count)
                except TimingLost as lost:
                    self._lost_records = lost.what
                    raise
                if self._settled and gated and not self._is_gated:
                    raise TimingLost(
                        f"{self._what} makes the host wait, so that its launches cannot be held "
                        "back until queued"
                    )
                return batch
            first = self._timed(1, gated=False)
            self._loaded = True
            if count == 1:
                return first
            rest = self._held_back(count - 1)
        seconds = np.concatenate([first.seconds, rest.seconds])
        return Batch(first.start_ns, seconds, clock_Hz=rest.clock_Hz)

    def settle(self, first_s: float, earlier: TimingChoice | None = None) -> TimingChoice | None:
        """Time short launches in groups, or by CUPTI's records where those can be had.

        A group needs launches that follow one another: what is set back or emptied between them
        stands in the way. Then each launch is timed alone, and its time knows the events' step.
        Records that ``earlier`` used need only be there still.
        """
        self._group, self._records, self._no_records = 1, None, ""
        self._settled = True
        gated = self._is_gated
        if not gated:
            return None
        with self.session.explained(f"running {self._what}"):
            if earlier is not None and earlier.recorded:
                self._records = self._trusted_records(None)
                if self._records is not None:
                    return earlier
                launch_s: float | None = middle(self._held_back(timing.PROBES).seconds)
            elif earlier is not None and earlier.short:
                self._group, self._no_records = earlier.group, earlier.no_records
                return earlier
            else:
                launch_s = timing.short_launch_s(first_s, self._held_back, timing.border_s(earlier))
            if not self._is_gated:
                return None
            if launch_s is None:
                return timing.long_launch(first_s)
            if not self._no_records:
                self._records = self._trusted_records(launch_s)
        if self._records is None and self._between is None:
            self._group = timing.group_size(launch_s, self._operations)
        return TimingChoice(
            group=self._group,
            short=True,
            recorded=self._records is not None,
            no_records=self._no_records,
        )

    def launch_alone(self, marks: Marks = nullcontext) -> None:
        """Run one launch and wait, without events or the gate."""
        with self.session.explained(f"running {self._what}"):
            if self._between is not None:
                self._between()
            self.session.wait()
            with marks():
                self._run_once()
                self.session.wait()

    def launch_plain(self) -> None:
        """Run one launch on inputs just uploaded and wait, without events or the gate."""
        runtime, stream = self.session.api.runtime, self.session.stream
        with self.session.explained(f"running {self._what}"):
            for name in self.plan.reset:
                if self.plan.array(name).role != "inout":
                    self._allocated.fill(name, 0)
            self._were_set_back()
            self._run_once()
            runtime.streamSynchronize(stream)
        self._loaded = True

    # ---- for subclasses

    @property
    def _is_gated(self) -> bool:
        return self._gated and self.session.gate is not None

    @property
    def _between(self) -> Callable[[], None] | None:
        """What comes before each launch and is not timed."""
        return self._prepare if self.cold or self.plan.reset else None

    def _trusted_records(self, launch_s: float | None) -> KernelRecords | None:
        """Return CUPTI's records when they have every kernel and agree with the events.

        They agree when ``launch_s``, which those told, is None: they did in an earlier run.
        """
        records = self._lost_records or activity.open_records()
        if isinstance(records, str):
            self._no_records = records
            return None
        self._records = records
        try:
            with records.collected(1):  # loads what recording needs, which a closed gate would not
                self._timed(1, gated=False)
            recorded_s = float(np.median(self._held_back(timing.PROBES).seconds))
        except TimingLost as error:
            self._no_records = error.what
            return None
        finally:
            self._records = None
        if not self._gated:
            self._gated = True  # it was recording that made the host wait
            self._no_records = "CUPTI makes the host wait"
            return None
        if (
            launch_s is None
            or LEAST_SHARE * launch_s <= recorded_s <= launch_s + timing.RESOLUTION_S
        ):
            return records
        self._no_records = (
            f"CUPTI recorded {quantity(recorded_s, 's')} of a launch of {quantity(launch_s, 's')}"
        )
        return None

    @property
    def _what(self) -> str:
        return f"{self.plan.config.workload}/{self.plan.config.variant}"

    @property
    def _allocated(self) -> DeviceArrays:
        if self.arrays is None:
            raise RuntimeError("the arrays are not allocated")
        return self.arrays

    @abstractmethod
    def _bind(self) -> None:
        """Prepare everything that depends on the arrays' addresses."""

    @abstractmethod
    def _run_once(self) -> None:
        """Queue one launch, all steps."""

    def _were_set_back(self) -> None:
        """Queue what follows from arrays that were set back before a launch."""

    @property
    @abstractmethod
    def _operations(self) -> int:
        """Stream operations of one launch, at most."""

    def _held_back(self, count: int) -> Batch:
        """Time launches behind the gate; without it from then on if it opened by itself."""
        batch = self._timed(count, gated=self._gated)
        gate = self.session.gate
        if self._gated and gate is not None and gate.took_late:
            _log.warning("%s makes the host wait: not held back any more", self._what)
            self._gated = False
        return batch

    def _timed(self, count: int, *, gated: bool) -> Batch:
        operations = self._operations + 2 * len(self.plan.reset) + self.cold
        work = Work(self._run_once, self._between, operations)
        return timing.time_launches(
            self.session, work, count, gated=gated,
            group=self._group if gated else 1, records=self._records if gated else None,
            once=count == 1 and not self._settled,  # it may be counted on to run once
        )  # fmt: skip

    def _clear_indices(self, *roles: Role) -> None:
        """Queue zeroing the arrays of whole numbers that have one of some roles."""
        for array in self.plan.arrays:
            if array.role in roles and array.type in WHOLE:
                self._allocated.clear(array.name)

    def _set_back(self) -> None:
        """Queue setting back what each launch begins with."""
        arrays = self._allocated
        for name in self.plan.reset:
            if name in arrays.layout.copies:
                arrays.restore(name)
            else:
                arrays.fill(name, 0)
        self._were_set_back()

    def _prepare(self) -> None:
        self._set_back()
        if self.cold:
            address, nbytes = self._flush_span()
            self.session.api.runtime.memsetAsync(address, 0, nbytes, self.session.stream)

    def _flush_span(self) -> tuple[int, int]:
        l2_B = self.session.facts.attribute(L2_CACHE_B)
        if not l2_B:
            raise CannotRunHere(
                f"{self.device.id} does not say how large its L2 cache is, so it cannot be emptied",
                remedy="use --cache hot",
            )
        return self.session.flush_span(l2_B)


def _bytes(count: int) -> str:
    return plural(count, "{number} byte", "{number} bytes")
