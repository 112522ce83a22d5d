"""Models as functions of their arrays, as TensorFlow and JAX have them.

A model is a function from arrays by their names in the manifest to results by theirs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

import msgspec
import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.framework_model import TRIED_FLOP, FrameworkModel, Kept
from gpuexplorer.backends.layouts import Layout, Shape
from gpuexplorer.backends.models import ModelStep
from gpuexplorer.workloads.plan import Plan

Arrays = dict[str, Any]
Compute = Callable[[Arrays], Arrays]


class Written(msgspec.Struct, frozen=True):
    """A model as it is written: its function, and how its arrays are held."""

    compute: Compute
    layouts: Mapping[str, Layout] = msgspec.field(default_factory=dict)


class Compiled(msgspec.Struct, frozen=True):
    """A function ready to be called, and what the compiler made of it in its own words."""

    function: Compute
    program: str = ""


class FunctionalModel(FrameworkModel):
    """A model for one plan: its arrays on the device, and the function that runs on them."""

    _kept: ClassVar[Kept[Compiled]]

    def __init__(self, plan: Plan, family: str, written: Written) -> None:
        super().__init__(plan, family)
        self._written = written
        self._compiled = Compiled(written.compute)
        self._arrays: Arrays = {}
        self._as_written: Arrays = {}
        """Weights that learn, before they learnt."""
        self.turned = tuple(a.name for a in plan.arrays if a.name in written.layouts)
        self._learning = tuple(a.name for a in plan.inputs if a.role == "inout")

    @abstractmethod
    def _compile(self) -> Compiled:
        """Trace and compile the function as the switches say."""

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

    def _shapes(self) -> dict[str, Shape]:
        """Return the shapes that the function is called with, by name."""
        layouts = self._written.layouts
        return {a.name: self._shape_of(a.name, layouts.get(a.name)) for a in self._plan.inputs}

    # ---- arrays

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Turn, round and copy the host's arrays to the device, and wait."""
        for name, values in arrays.items():
            self._arrays[name] = self._copied(name, values, self._written.layouts.get(name))
            if name in self._learning:
                self._as_written[name] = self._arrays[name]
        self.wait(self._arrays)

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy results to the host in the plan's shapes and types."""
        samples = results if isinstance(results, list) else [results]
        layouts = self._written.layouts
        return {
            name: self._copied_back(name, [one[name] for one in samples], layouts.get(name))
            for name in names
        }

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
    def queued(self) -> ModelStep:
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

    def _one_by_one(self) -> ModelStep:
        function = self._compiled.function
        cut = [name for name in self._arrays if name in self._samples]
        whole = {name: array for name, array in self._arrays.items() if name not in cut}
        alone = zip(*(self._arrays[name] for name in cut), strict=True)
        samples = [{**whole, **dict(zip(cut, arrays, strict=True))} for arrays in alone]
        return lambda: [function(sample) for sample in samples]
