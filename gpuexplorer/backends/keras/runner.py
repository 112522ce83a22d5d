"""One model in Keras, on the framework that it is set to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.caches import FLUSH_FACTOR
from gpuexplorer.backends.frameworks import import_framework
from gpuexplorer.backends.functional import (
    ESTIMATED_FROM_S,
    MAX_KEPT_B,
    STORED_AS,
    TRIED_FLOP,
    TRIED_N,
    FrameworkRunner,
    GroupedRunner,
    Kept,
    l2_flush_B,
)
from gpuexplorer.backends.models import MODEL_NAMES, Model, Step, check_model
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.result import Arithmetic
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.fills import dtype_of
from gpuexplorer.workloads.frameworks import FRAMEWORKS, family_of
from gpuexplorer.workloads.models import MODELS as REFERENCES
from gpuexplorer.workloads.plan import Plan

OFFERED = dict.fromkeys(f"keras.{name}" for name in MODEL_NAMES)


@dataclass(frozen=True)
class Built:
    """Layers with their variables, and what is called with which data."""

    network: Any
    training: Any
    """The training step; None where nothing learns."""
    call: Callable[..., Any]
    names: tuple[str, ...]

    @property
    def weights(self) -> Any:
        """How variables hold the manifest's weights."""
        return self.network.weights if self.training is None else self.training.weights


class KerasModel:
    """Layers and their variables, and what they are called with."""

    _kept: ClassVar[Kept[Built]] = Kept()
    _built: Built
    turned: tuple[str, ...] = ()
    """Arrays that are held in another layout than the manifest's."""

    def __init__(self, plan: Plan, family: str, keras: Any, below: Any) -> None:
        self._plan = plan
        self._family = family
        self._keras = keras
        self._below = below
        self._stored_as = STORED_AS[plan.config.precision]
        alone = plan.switches.get("one_by_one", False)
        self._samples = REFERENCES[family].per_sample if alone else ()
        self._data: dict[str, Any] = {}
        self._written: dict[str, HostArray] = {}

    def prepare(self) -> None:
        """Build the layers and call them with zeros, unless that was done for an earlier run."""
        small = self._plan.memory_B <= MAX_KEPT_B  # variables hold their memory as long as kept
        self._built = built = self._kept.get(self._plan, self._build, keep=small)
        network = built.network
        held = {name for name, layout in network.data.items() if layout is not None}
        held |= {one.name for one in built.weights if one.layout is not None}
        if network.result_layout is not None:
            held.add(network.result)
        self.turned = tuple(a.name for a in self._plan.arrays if a.name in held)

    def _build(self) -> Built:
        from gpuexplorer.backends.keras.models import MODELS
        from gpuexplorer.backends.keras.training import training_on

        switches = {
            name: bool(self._plan.switches.get(name, False)) for name in ("tf_function", "xla")
        }
        network = MODELS[self._family](self._plan.config.size, self._stored_as)
        names = tuple(network.data)
        if network.trains:
            training = training_on(self._below, network, **switches)
            built = Built(network, training, training.step, (*names, "labels"))
            training.begin()
        else:
            call = self._below.compiled(network.call, network.model, **switches)
            built = Built(network, None, call, names)
        if self._plan.flops < TRIED_FLOP:
            zeros = [self._zeros(network, name) for name in built.names]
            self._below.wait(built.call(*zeros))
        return built

    def _zeros(self, network: Any, name: str) -> Any:
        array, layout = self._plan.array(name), network.data.get(name)
        shape = array.shape if layout is None else layout.shape(array.shape)
        if name in self._samples:
            shape = (1, *shape[1:])
        dtype = "int32" if array.type == "int" else self._stored_as
        return self._keras.ops.zeros(shape, dtype)

    def allocate(self) -> None:
        """Do nothing: variables were made with the layers, data come when they are written."""

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Assign the weights, copy the data, and wait."""
        for name in self._built.names:
            if name in arrays:
                self._data[name] = self._put_data(name, arrays[name])
        self._written.update(arrays)
        self._assign([held for held in self._built.weights if held.name in arrays])
        self._below.wait(list(self._data.values()))

    def _assign(self, weights: list[Any]) -> None:
        for held in weights:
            held.write(self._written[held.name])
        if self._built.training is not None:
            self._built.training.begin()

    def _put_data(self, name: str, values: HostArray) -> Any:
        layout = self._built.network.data.get(name)
        held = values if layout is None else layout.to(values)
        if self._plan.array(name).type == "int":
            return self._keras.ops.convert_to_tensor(held, "int32")
        if name in self._samples:
            return [self._put(held[i : i + 1]) for i in range(len(held))]
        return self._put(held)

    def _put(self, values: HostArray) -> Any:
        ops = self._keras.ops
        return ops.cast(ops.convert_to_tensor(values), self._stored_as)

    @property
    def queued(self) -> Step:
        """What starts one step and may return before its results are there."""
        call, data = self._built.call, [self._data[name] for name in self._built.names]
        if self._samples:
            samples = list(zip(*data, strict=True))
            return lambda: [call(*sample) for sample in samples]
        return lambda: call(*data)

    @property
    def step(self) -> Step:
        """What runs one launch, waits for its results and returns them."""
        queued, wait = self.queued, self._below.wait

        def step() -> object:
            results = queued()
            wait(results)
            return results

        return step

    def wait(self, results: object) -> None:
        """Wait until results are there."""
        self._below.wait(results)

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy results and weights that learnt to the host."""
        found: dict[str, HostArray] = {}
        if self._built.training is not None:
            self._built.training.end()
            found = {held.name: held.read() for held in self._built.weights}
            found["loss"] = self._get(results[0] if isinstance(results, tuple) else results)
        else:
            parts = results if isinstance(results, list) else [results]
            values = np.concatenate([self._get(part) for part in parts])
            layout = self._built.network.result_layout
            found[self._built.network.result] = values if layout is None else layout.back(values)
        return {name: self._as_planned(name, found[name]) for name in names}

    def _get(self, array: Any) -> HostArray:
        ops = self._keras.ops
        wide = array if self._stored_as == "float64" else ops.cast(array, "float32")
        values: HostArray = ops.convert_to_numpy(wide)
        return values

    def _as_planned(self, name: str, values: HostArray) -> HostArray:
        array = self._plan.array(name)
        dtype = dtype_of(array, self._plan.config.precision)
        return np.array(values, dtype=dtype, order="C").reshape(array.shape)

    def reset(self) -> None:
        """Assign what was written to the arrays that are set back."""
        self._assign([held for held in self._built.weights if held.name in self._plan.reset])

    def estimate_s(self) -> float | None:
        """Estimate a step by the rate of a product in the same type; None for one of no length."""
        generator = np.random.default_rng(1)
        left, right = (
            self._put(generator.standard_normal((TRIED_N, TRIED_N), np.float32)) for _ in range(2)
        )
        self._below.wait(self._keras.ops.matmul(left, right))
        began = perf_counter()
        self._below.wait(self._keras.ops.matmul(left, right))
        flop_per_s = 2 * TRIED_N**3 / (perf_counter() - began)
        estimate_s = self._plan.flops / flop_per_s
        return estimate_s if estimate_s >= ESTIMATED_FROM_S else None

    def arithmetic(self) -> Arithmetic | None:
        """Say in what weights and data are stored; what products are made of cannot be seen."""
        asked = self._plan.config.precision
        return Arithmetic(
            asked=asked,
            ran=None if asked == "tf32" else asked,
            how=f"the layers' dtype policy is {self._stored_as}",
        )

    def free(self) -> None:
        """Let go of the data; the variables go with the model."""
        self._data.clear()
        self._written.clear()


class KerasRunner(FrameworkRunner):
    """What both kinds of device share."""

    title = "Keras"

    _below: Any
    _keras: Any

    def __init__(self, plan: Plan, device: DeviceInfo, threads: int, chosen: str) -> None:
        super().__init__(plan, device)
        self._threads = threads
        self._chosen = chosen

    @property
    def method(self) -> str:
        """How launches are timed, and what Keras computes with."""
        return f"{super().method}; Keras on {FRAMEWORKS.get(self._chosen, self._chosen)}"

    def _make(self) -> Model:
        from gpuexplorer.backends.keras.below import BELOW

        family = family_of(check_model(self.plan, self.device, OFFERED))
        growth = bool(self.plan.switches.get("memory_growth", True))
        self._below = BELOW[self._chosen](self._threads, self.device.id, memory_growth=growth)
        os.environ["KERAS_BACKEND"] = self._chosen
        self._keras = import_framework("keras", "Keras", "keras")
        if self._keras.backend.backend() != self._chosen:
            raise CannotRunHere(
                f"Keras began with {self._keras.backend.backend()} in this engine, and is set to "
                f"{self._chosen} now",
                remedy="start a new engine",
            )
        return KerasModel(self.plan, family, self._keras, self._below)

    @contextmanager
    def _within(self) -> Iterator[None]:
        kind, _, index = self.device.id.partition(":")[2].partition(":")
        place = f"gpu:{index}" if kind == "cuda" else self._below.cpu
        trains = REFERENCES[family_of(self.plan.model or "")].trains
        double = self.plan.config.precision == "fp64"
        self._keras.config.set_floatx("float64" if double else "float32")  # of losses and rates
        with (
            self._keras.device(place),
            self._below.mode(self.plan.config.precision, trains=trains),
        ):
            yield

    def _mode(self) -> AbstractContextManager[object]:
        return self._within()

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy weights and data, and wait."""
        with self._mode():
            super().upload(inputs)

    def _out_of_memory(self, error: Exception) -> bool:
        return bool(self._below.out_of_memory(error))


class KerasCpuRunner(KerasRunner):
    """A model on the CPU."""

    uncounted = "Keras keeps no count of the memory it uses"


class KerasCudaRunner(GroupedRunner, KerasRunner):
    """A model on an NVIDIA GPU."""

    uncounted = "Keras keeps no count of the memory it uses"

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        nbytes = self.device.last_level_cache_B or 0
        return f"{FLUSH_FACTOR} × the {quantity(nbytes, 'B')} L2 cache written before each step"

    def _flusher(self) -> Step:
        """Return what writes twice the L2 cache."""
        ops, count = self._keras.ops, l2_flush_B(self.device) // 4
        values = ops.zeros(count, dtype="float32")
        return lambda: self._below.wait(ops.add(values, 1))
