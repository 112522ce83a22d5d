"""One model in JAX: on the CPU by the host's clock, on a GPU in groups of steps."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.framework_model import Kept
from gpuexplorer.backends.framework_runner import GroupedRunner, StartedRunner, l2_flush_B
from gpuexplorer.backends.functional import Compiled, FunctionalModel, Written
from gpuexplorer.backends.jax.start import jax_device, load
from gpuexplorer.backends.models import Model, ModelStep
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.workloads.plan import Plan

FACTORS_IN = {"fp64": "highest", "fp32": "highest", "tf32": "tensorfloat32"}
"""What products round their factors to; of a 16-bit type there is nothing to round.

JAX's default rounds 32-bit factors on a GPU, as tf32 does, without a word.
"""
TYPES = {"f64": "fp64", "f32": "fp32", "bf16": "bf16", "f16": "fp16"}
_PRODUCTS = re.compile(r"= (f64|f32|bf16|f16)\[[^ ]* (?:dot|convolution)\(")


def factors(jax: Any, precision: str) -> AbstractContextManager[object]:
    """Return a context in which products round their factors as a precision says."""
    context: AbstractContextManager[object] = jax.default_matmul_precision(
        FACTORS_IN.get(precision)
    )
    return context


class JaxModel(FunctionalModel):
    """A function in JAX, compiled by XLA where ``jit`` is on."""

    _kept = Kept()

    def __init__(self, plan: Plan, family: str, written: Written, jax: Any, place: Any) -> None:
        super().__init__(plan, family, written)
        self._jax = jax
        self._place = place

    def _compile(self) -> Compiled:
        """Trace and compile for the plan's shapes, which no step does again."""
        if not self._plan.switches.get("jit", False):
            return Compiled(self._written.compute)
        there = self._jax.sharding.SingleDeviceSharding(self._place)
        arrays = {
            name: self._jax.ShapeDtypeStruct(
                shape, self._dtype(self._type_of(name)), sharding=there
            )
            for name, shape in self._shapes().items()
        }
        compiled = self._jax.jit(self._written.compute).lower(arrays).compile()
        return Compiled(compiled, compiled.as_text())

    def _put(self, values: HostArray, type_name: str) -> Any:
        return self._jax.device_put(values, self._place).astype(self._dtype(type_name))

    def _get(self, array: Any) -> HostArray:
        return np.asarray(array)

    def wait(self, results: object) -> None:
        """Wait until results are there."""
        self._jax.block_until_ready(results)

    def _product(self, left: Any, right: Any) -> Any:
        return self._jax.numpy.matmul(left, right)

    def _dtype(self, name: str) -> Any:
        return getattr(self._jax.numpy, name)

    def arithmetic(self) -> Arithmetic | None:
        """Say what ran, and what sums are kept in where XLA's program tells."""
        found = super().arithmetic()
        types = {TYPES[name] for name in _PRODUCTS.findall(self._compiled.program)}
        if found is None or len(types) != 1 or types <= {"bf16", "fp16"}:
            return found  # a result of 16 bits says nothing: its sums may have been kept wider
        kept = types.pop()
        how = f"{found.how}; products have the type {kept} in XLA's program"
        return msgspec.structs.replace(found, accumulates_in=kept, how=how)


class JaxRunner(StartedRunner):
    """What both kinds of device share."""

    title = "JAX"

    _jax: Any
    _place: Any

    def _start(self, *, memory_growth: bool) -> None:
        self._jax = load(self._threads, memory_growth=memory_growth)
        self._place = jax_device(self._jax, self.device.id)

    def _model_of(self, family: str) -> Model:
        from gpuexplorer.backends.jax.models import JaxModels

        written = JaxModels().written(family, self.plan.config.size)
        return JaxModel(self.plan, family, written, self._jax, self._place)

    def _mode(self) -> AbstractContextManager[object]:
        return factors(self._jax, self.plan.config.precision)

    def _out_of_memory(self, error: Exception) -> bool:
        return "RESOURCE_EXHAUSTED" in str(error)


class JaxCpuRunner(JaxRunner):
    """A model on the CPU."""

    uncounted = "JAX keeps no count of the memory it uses on the CPU"


class JaxCudaRunner(GroupedRunner, JaxRunner):
    """A model on an NVIDIA GPU."""

    uncounted = "JAX counts the peak since the engine started, not that of a run"

    def _flusher(self) -> ModelStep:
        """Return what writes twice the L2 cache."""
        jax, numpy = self._jax, self._jax.numpy
        count = l2_flush_B(self.device) // 4
        values = jax.device_put(np.zeros(count, np.float32), self._place)
        more = jax.jit(lambda array: numpy.add(array, 1))
        return lambda: jax.block_until_ready(more(values))
