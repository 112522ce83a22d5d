"""Models whose steps make new arrays: what they share, whether functions or layers with variables.

Each framework says how an array comes to the device and back, and what a step is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.layouts import Layout, Shape
from gpuexplorer.backends.models import ModelStep
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.workloads.fills import dtype_of
from gpuexplorer.workloads.models import MODELS as REFERENCES
from gpuexplorer.workloads.plan import Plan

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
"""A step that is estimated below this needs no consent, so that nothing is asked."""


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


class FrameworkModel(ABC):
    """A model for one plan: its arrays on the device, and the step that runs on them."""

    turned: tuple[str, ...] = ()
    """Arrays that are held in another layout than the manifest's."""

    def __init__(self, plan: Plan, family: str) -> None:
        self._plan = plan
        self._stored_as = STORED_AS[plan.config.precision]
        alone = plan.switches.get("one_by_one", False)
        self._samples = REFERENCES[family].per_sample if alone else ()
        """Arrays that are cut along the batch, and computed sample by sample."""

    @property
    @abstractmethod
    def queued(self) -> ModelStep:
        """What starts one step and may return before its results are there."""

    @abstractmethod
    def wait(self, results: object) -> None:
        """Wait until results are there, without copying them."""

    @abstractmethod
    def _put(self, values: HostArray, type_name: str) -> Any:
        """Return an array on the device, rounded to a type."""

    @abstractmethod
    def _get(self, array: Any) -> HostArray:
        """Return an array's values on the host, in any floating type."""

    @abstractmethod
    def _product(self, left: Any, right: Any) -> Any:
        """Return the product of two matrices."""

    # ---- arrays

    def allocate(self) -> None:
        """Do nothing: arrays come to be when they are written."""

    def _type_of(self, name: str) -> str:
        return "int32" if self._plan.array(name).type == "int" else self._stored_as

    def _shape_of(self, name: str, layout: Layout | None) -> Shape:
        """Return the shape in which a step is called with an array."""
        stated = self._plan.array(name).shape
        held = stated if layout is None else layout.shape(stated)
        return (1, *held[1:]) if name in self._samples else held

    def _copied(self, name: str, values: HostArray, layout: Layout | None) -> Any:
        """Turn, round and copy the host's values; one array a sample where they come alone."""
        held = values if layout is None else layout.to(values)
        type_name = self._type_of(name)
        if name in self._samples:
            return [self._put(held[i : i + 1], type_name) for i in range(len(held))]
        return self._put(held, type_name)

    def _copied_back(self, name: str, parts: Sequence[Any], layout: Layout | None) -> HostArray:
        """Return what was computed, in one part or in one for each sample, as the plan has it."""
        found = [self._get(part) for part in parts]
        values = found[0] if len(found) == 1 else np.concatenate(found)
        return self._as_planned(name, values if layout is None else layout.back(values))

    def _as_planned(self, name: str, values: HostArray) -> HostArray:
        """Return values in the plan's shape and type."""
        planned = self._plan.array(name)
        dtype = dtype_of(planned, self._plan.config.precision)
        return np.array(values, dtype=dtype, order="C").reshape(planned.shape)

    # ---- steps

    @property
    def step(self) -> ModelStep:
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

    @property
    def _stored_words(self) -> str:
        return f"weights, data and results are stored as {self._stored_as}"

    def arithmetic(self) -> Arithmetic | None:
        """Say in what weights and data are stored; what products are made of cannot be seen."""
        asked = self._plan.config.precision
        ran = None if asked == "tf32" else asked
        return Arithmetic(asked=asked, ran=ran, how=self._stored_words)
