"""One model in Keras, on the framework that it is set to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

import msgspec

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.framework_model import MAX_KEPT_B, TRIED_FLOP, FrameworkModel, Kept
from gpuexplorer.backends.framework_runner import GroupedRunner, StartedRunner, l2_flush_B
from gpuexplorer.backends.frameworks import import_framework
from gpuexplorer.backends.models import Model, ModelStep
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.workloads.frameworks import FRAMEWORKS, family_of
from gpuexplorer.workloads.models import MODELS as REFERENCES
from gpuexplorer.workloads.plan import Plan


class Built(msgspec.Struct, frozen=True):
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


class KerasModel(FrameworkModel):
    """Layers and their variables, and what they are called with."""

    _kept: ClassVar[Kept[Built]] = Kept()
    _built: Built

    def __init__(self, plan: Plan, family: str, keras: Any, underlying: Any) -> None:
        super().__init__(plan, family)
        self._family = family
        self._keras = keras
        self._underlying = underlying
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
            training = training_on(self._underlying, network, **switches)
            built = Built(network, training, training.step, (*names, "labels"))
            training.begin()
        else:
            call = self._underlying.compiled(network.call, network.model, **switches)
            built = Built(network, None, call, names)
        if self._plan.flops < TRIED_FLOP:
            zeros = [
                self._keras.ops.zeros(
                    self._shape_of(name, network.data.get(name)), self._type_of(name)
                )
                for name in built.names
            ]
            self._underlying.wait(built.call(*zeros))
        return built

    def write(self, arrays: Mapping[str, HostArray]) -> None:
        """Assign the weights, copy the data, and wait."""
        for name in self._built.names:
            if name in arrays:
                layout = self._built.network.data.get(name)
                self._data[name] = self._copied(name, arrays[name], layout)
        self._written.update(arrays)
        self._assign([held for held in self._built.weights if held.name in arrays])
        self._underlying.wait(list(self._data.values()))

    def _assign(self, weights: list[Any]) -> None:
        for held in weights:
            held.write(self._written[held.name])
        if self._built.training is not None:
            self._built.training.begin()

    def _put(self, values: HostArray, type_name: str) -> Any:
        ops = self._keras.ops
        return ops.cast(ops.convert_to_tensor(values), type_name)

    def _product(self, left: Any, right: Any) -> Any:
        return self._keras.ops.matmul(left, right)

    @property
    def queued(self) -> ModelStep:
        """What starts one step and may return before its results are there."""
        call, data = self._built.call, [self._data[name] for name in self._built.names]
        if self._samples:
            samples = list(zip(*data, strict=True))
            return lambda: [call(*sample) for sample in samples]
        return lambda: call(*data)

    def wait(self, results: object) -> None:
        """Wait until results are there."""
        self._underlying.wait(results)

    def read(self, results: Any, names: tuple[str, ...]) -> dict[str, HostArray]:
        """Copy results and weights that learnt to the host."""
        if self._built.training is not None:
            self._built.training.end()
            found = {held.name: held.read() for held in self._built.weights}
            found["loss"] = self._get(results[0] if isinstance(results, tuple) else results)
            return {name: self._as_planned(name, found[name]) for name in names}
        parts = results if isinstance(results, list) else [results]
        layout = self._built.network.result_layout
        return {name: self._copied_back(name, parts, layout) for name in names}

    def _get(self, array: Any) -> HostArray:
        ops = self._keras.ops
        wide = array if self._stored_as == "float64" else ops.cast(array, "float32")
        values: HostArray = ops.convert_to_numpy(wide)
        return values

    def reset(self) -> None:
        """Assign what was written to the arrays that are set back."""
        self._assign([held for held in self._built.weights if held.name in self._plan.reset])

    @property
    def _stored_words(self) -> str:
        return f"the layers' dtype policy is {self._stored_as}"

    def free(self) -> None:
        """Let go of the data; the variables go with the model."""
        self._data.clear()
        self._written.clear()


class KerasRunner(StartedRunner):
    """What both kinds of device share."""

    title = "Keras"

    _underlying: Any
    _keras: Any

    def __init__(self, plan: Plan, device: DeviceInfo, threads: int, chosen: str) -> None:
        super().__init__(plan, device, threads)
        self._chosen = chosen

    @property
    def method(self) -> str:
        """How launches are timed, and what Keras computes with."""
        return f"{super().method}; Keras on {FRAMEWORKS.get(self._chosen, self._chosen)}"

    def _start(self, *, memory_growth: bool) -> None:
        from gpuexplorer.backends.keras.underlying import UNDERLYING

        framework = UNDERLYING[self._chosen]
        self._underlying = framework(self._threads, self.device.id, memory_growth=memory_growth)
        os.environ["KERAS_BACKEND"] = self._chosen
        self._keras = import_framework("keras", "Keras", "keras")
        if self._keras.backend.backend() != self._chosen:
            raise CannotRunHere(
                f"Keras began with {self._keras.backend.backend()} in this engine, and is set to "
                f"{self._chosen} now",
                remedy="start a new engine",
            )

    def _model_of(self, family: str) -> Model:
        return KerasModel(self.plan, family, self._keras, self._underlying)

    @contextmanager
    def _within(self) -> Iterator[None]:
        kind, _, index = self.device.id.partition(":")[2].partition(":")
        place = f"gpu:{index}" if kind == "cuda" else self._underlying.cpu
        trains = REFERENCES[family_of(self.plan.model or "")].trains
        double = self.plan.config.precision == "fp64"
        self._keras.config.set_floatx("float64" if double else "float32")  # of losses and rates
        with (
            self._keras.device(place),
            self._underlying.mode(self.plan.config.precision, trains=trains),
        ):
            yield

    def _mode(self) -> AbstractContextManager[object]:
        return self._within()

    def _out_of_memory(self, error: Exception) -> bool:
        return bool(self._underlying.out_of_memory(error))


class KerasCpuRunner(KerasRunner):
    """A model on the CPU."""

    uncounted = "Keras keeps no count of the memory it uses"


class KerasCudaRunner(GroupedRunner, KerasRunner):
    """A model on an NVIDIA GPU."""

    uncounted = "Keras keeps no count of the memory it uses"

    def _flusher(self) -> ModelStep:
        """Return what writes twice the L2 cache."""
        ops, count = self._keras.ops, l2_flush_B(self.device) // 4
        values = ops.zeros(count, dtype="float32")
        return lambda: self._underlying.wait(ops.add(values, 1))
