"""Models as functions of their arrays, as TensorFlow and JAX have them: a step makes new arrays.

A model is written once, in a framework's operators, as a function from arrays by their names in the
manifest to results by theirs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import msgspec
import numpy as np

from gpuexplorer.backends.base import Batch, HostArray
from gpuexplorer.backends.caches import FLUSH_FACTOR
from gpuexplorer.backends.layouts import Layout, Shape
from gpuexplorer.backends.models import ModelRunner, Step
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, DeviceLost, ExplorerError, WorkFailed
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.workloads.fills import dtype_of
from gpuexplorer.workloads.models import MODELS as REFERENCES
from gpuexplorer.workloads.plan import Plan

Arrays = dict[str, Any]
Compute = Callable[[Arrays], Arrays]
Made = TypeVar("Made")

STORED_AS: dict[str, str] = {
    "fp64": "float64",
    "fp32": "float32",
    "tf32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
}
"""The type of weights and data on the device, by precision."""
CPU_PRECISIONS = ("fp64", "fp32", "bf16", "fp16")
GPU_PRECISIONS = ("fp64", "fp32", "tf32", "bf16", "fp16")

TRIED_FLOP = 2e10
"""A step below this is run once with zeros, so that nothing is compiled later; one above it takes
so long that it hardly counts."""
MAX_KEPT = 12
"""Models kept compiled, so that runs in turns compile once."""
MAX_KEPT_B = 1 << 28
"""A model whose arrays are larger is not kept where keeping it keeps arrays."""
TRIED_N = 384
"""A product of this size tells about how fast a long step's arithmetic is."""
ESTIMATED_FROM_S = 1.0
"""A step that is estimated below this needs nobody's consent, so that nothing is said."""
GROUP_S = 2e-3
"""A group of queued steps lasts about this long, so that the wait at its end counts little."""
MAX_GROUP = 64
"""Steps queued at once."""


@dataclass(frozen=True)
class Written:
    """A model as it is written: its function, and how its arrays are held."""

    compute: Compute
    layouts: Mapping[str, Layout] = field(default_factory=dict)


class Kept(Generic[Made]):
    """What was compiled for the latest configurations, of one framework."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, Made] = OrderedDict()

    def get(self, plan: Plan, make: Callable[[], Made], *, keep: bool = True) -> Made:
        """Return what was made for such a plan before, or make it, and keep it where allowed."""
        config = msgspec.structs.replace(plan.config, seed=0, fill="", cache="hot")
        key = f"{plan.source_sha256} {config.key}"
        if key in self._made:
            self._made.move_to_end(key)
            return self._made[key]
        made = make()
        if keep:
            self._made[key] = made
            while len(self._made) > MAX_KEPT:
                self._made.popitem(last=False)
        return made


@dataclass(frozen=True)
class Compiled:
    """A function ready to be called, and what the compiler made of it in its own words."""

    function: Compute
    program: str = ""


class FunctionalModel(ABC):
    """A model for one plan: its arrays on the device, and the function that runs on them."""

    _kept: ClassVar[Kept[Compiled]]

    def __init__(self, plan: Plan, family: str, written: Written) -> None:
        self._plan = plan
        self._written = written
        self._stored_as = STORED_AS[plan.config.precision]
        self._compiled = Compiled(written.compute)
        self._arrays: Arrays = {}
        self._as_written: Arrays = {}
        """Weights that learn, before they learnt."""
        self.turned = tuple(a.name for a in plan.arrays if a.name in written.layouts)
        """Arrays that are held in another layout than the manifest's."""
        self._learning = tuple(a.name for a in plan.inputs if a.role == "inout")
        alone = plan.switches.get("one_by_one", False)
        self._samples = REFERENCES[family].per_sample if alone else ()
        """Arrays that are cut along the batch, and computed sample by sample."""

    @abstractmethod
    def _compile(self) -> Compiled:
        """Trace and compile the function as the switches say."""

    @abstractmethod
    def _put(self, values: HostArray, type_name: str) -> Any:
        """Return an array on the device, rounded to a type."""

    @abstractmethod
    def _get(self, array: Any) -> HostArray:
        """Return an array's values on the host, in any floating type."""

    @abstractmethod
    def wait(self, results: object) -> None:
        """Wait until results are there, without copying them."""

    @abstractmethod
    def _product(self, left: Any, right: Any) -> Any:
        """Return the product of two matrices."""

    def prepare(self) -> None:
        """Compile the function and call it with zeros, unless that was done for an earlier run."""
        self._compiled = self._kept.get(self._plan, self._made)

    def _made(self) -> Compiled:
        compiled = self._compile()
        if self._plan.flops < TRIED_FLOP:
            zeros = {
                name: self._put(np.zeros(shape, np.float32), self._type_of(name))
                for name, shape in self._shapes().items()
            }
            self.wait(compiled.function(zeros))
        return compiled

    # ---- arrays

    def allocate(self) -> None:
        """Do nothing: arrays come to be when they are written."""

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Turn, round and copy the host's arrays to the device, and wait."""
        for name, values in arrays.items():
            layout = self._written.layouts.get(name)
            held = values if layout is None else layout.to(values)
            if name in self._samples:
                alone = (held[i : i + 1] for i in range(len(held)))
                self._arrays[name] = [self._put(one, self._type_of(name)) for one in alone]
                continue
            self._arrays[name] = self._put(held, self._type_of(name))
            if name in self._learning:
                self._as_written[name] = self._arrays[name]
        self.wait(self._arrays)

    def _type_of(self, name: str) -> str:
        return "int32" if self._plan.array(name).type == "int" else self._stored_as

    def _shapes(self) -> dict[str, Shape]:
        """Return the shapes that the function is called with, by name."""
        shapes = {}
        for array in self._plan.inputs:
            layout = self._written.layouts.get(array.name)
            held = array.shape if layout is None else layout.shape(array.shape)
            shapes[array.name] = (1, *held[1:]) if array.name in self._samples else held
        return shapes

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy results to the host in the plan's shapes and types."""
        return {name: self._read(name, results) for name in names}

    def _read(self, name: str, results: Any) -> HostArray:
        planned = self._plan.array(name)
        if isinstance(results, list):
            values = np.concatenate([self._get(one[name]) for one in results])
        else:
            values = self._get(results[name])
        layout = self._written.layouts.get(name)
        if layout is not None:
            values = layout.back(values)
        dtype = dtype_of(planned, self._plan.config.precision)
        return np.array(values, dtype=dtype, order="C").reshape(planned.shape)

    def reset(self) -> None:
        """Set weights back to what was written, by name: no array is ever written to."""
        for name in self._plan.reset:
            if name in self._as_written:
                self._arrays[name] = self._as_written[name]

    def free(self) -> None:
        """Let go of every array."""
        self._arrays.clear()
        self._as_written.clear()

    # ---- steps

    @property
    def queued(self) -> Step:
        """What starts one step and may return before its results are there."""
        if self._samples:
            return self._one_by_one()
        function, arrays = self._compiled.function, self._arrays
        learning = self._learning
        if not learning:
            return partial(function, arrays)

        def learn() -> Arrays:
            results = function(arrays)
            for name in learning:
                arrays[name] = results[name]
            return results

        return learn

    def _one_by_one(self) -> Step:
        function = self._compiled.function
        cut = [name for name in self._arrays if name in self._samples]
        whole = {name: array for name, array in self._arrays.items() if name not in cut}
        alone = zip(*(self._arrays[name] for name in cut), strict=True)
        samples = [{**whole, **dict(zip(cut, arrays, strict=True))} for arrays in alone]
        return lambda: [function(sample) for sample in samples]

    @property
    def step(self) -> Step:
        """What runs one launch, waits for its results and returns them."""
        queued, wait = self.queued, self.wait

        def step() -> object:
            results = queued()
            wait(results)
            return results

        return step

    def estimate_s(self) -> float | None:
        """Estimate a step by the rate of a product in the same type; None for one of no length."""
        generator = np.random.default_rng(1)
        left, right = (
            self._put(generator.standard_normal((TRIED_N, TRIED_N), np.float32), self._stored_as)
            for _ in range(2)
        )
        self.wait(self._product(left, right))
        began = perf_counter()
        self.wait(self._product(left, right))
        flop_per_s = 2 * TRIED_N**3 / (perf_counter() - began)
        estimate_s = self._plan.flops / flop_per_s
        return estimate_s if estimate_s >= ESTIMATED_FROM_S else None

    def arithmetic(self) -> Arithmetic | None:
        """Say in what weights and data are stored; what products are made of cannot be seen."""
        asked = self._plan.config.precision
        return Arithmetic(
            asked=asked,
            ran=None if asked == "tf32" else asked,
            how=f"weights, data and results are stored as {self._stored_as}",
        )


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
        words = f"{self.timing_words}; {self.cache_words}"
        turned: tuple[str, ...] = getattr(self._model, "turned", ())
        if turned:
            words += f"; {', '.join(turned)} turned to {self.title}'s layout when copied, untimed"
        return words

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


class QueuedModel(Protocol):
    """A model whose steps can be started without waiting for them."""

    @property
    def queued(self) -> Step:
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
    def resolution_s(self) -> float:
        """The finest difference between two samples that can be told."""
        return self.clock_step_s / self._group

    def settle(self, first_s: float) -> None:
        """Time short steps in groups, unless something has to be done between them."""
        self._group = 1
        if self.cold or self.plan.reset or first_s > 100 * GROUP_S:
            return
        step_s = float(np.median(self.launch(5).seconds))
        self._group = max(1, min(MAX_GROUP, math.ceil(GROUP_S / max(step_s, 1e-7))))

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
