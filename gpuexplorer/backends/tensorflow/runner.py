"""One model in TensorFlow: on the CPU by the host's clock, on a GPU in groups of steps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.caches import FLUSH_FACTOR
from gpuexplorer.backends.functional import (
    Compiled,
    FrameworkRunner,
    FunctionalModel,
    GroupedRunner,
    Kept,
    Written,
    l2_flush_B,
)
from gpuexplorer.backends.models import MODEL_NAMES, Model, Step, check_model
from gpuexplorer.backends.tensorflow.start import load, on, out_of_memory, place_of, set_tf32
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.frameworks import family_of
from gpuexplorer.workloads.plan import Plan

OFFERED = dict.fromkeys(f"tensorflow.{name}" for name in MODEL_NAMES)


class TensorFlowModel(FunctionalModel):
    """A function in TensorFlow: eager, traced by tf.function, or compiled by XLA besides."""

    _kept = Kept()

    def __init__(self, plan: Plan, family: str, written: Written, tf: Any, *, queues: bool) -> None:
        super().__init__(plan, family, written)
        self._tf = tf
        self._queues = queues
        """Whether the device works on while the host goes on: a GPU does, the CPU does not."""

    def _compile(self) -> Compiled:
        """Trace the function for the plan's shapes; XLA compiles it when it is first called."""
        xla = bool(self._plan.switches.get("xla", False))
        if not xla and not self._plan.switches.get("tf_function", False):
            return Compiled(self._written.compute)
        tf = self._tf
        traced = tf.function(self._written.compute, autograph=False, jit_compile=xla)
        traced.get_concrete_function(
            {
                name: tf.TensorSpec(shape, self._type_of(name))
                for name, shape in self._shapes().items()
            }
        )
        return Compiled(traced)

    def _put(self, values: HostArray, type_name: str) -> Any:
        return self._tf.cast(self._tf.convert_to_tensor(values), type_name)

    def _get(self, array: Any) -> HostArray:
        values: HostArray = array.numpy()
        return values

    @property
    def step(self) -> Step:
        """What runs one launch; on the CPU it returns when everything is done."""
        return super().step if self._queues else self.queued

    def wait(self, results: object) -> None:
        """Wait until everything that was started is done."""
        if self._queues:
            self._tf.test.experimental.sync_devices()

    def _product(self, left: Any, right: Any) -> Any:
        return self._tf.linalg.matmul(left, right)


class TensorFlowRunner(FrameworkRunner):
    """What both kinds of device share."""

    title = "TensorFlow"

    _tf: Any
    _place: str

    def __init__(self, plan: Plan, device: DeviceInfo, threads: int) -> None:
        super().__init__(plan, device)
        self._threads = threads

    def _make(self) -> Model:
        family = family_of(check_model(self.plan, self.device, OFFERED))
        growth = bool(self.plan.switches.get("memory_growth", True))
        self._tf = tf = load(self._threads, memory_growth=growth)
        self._place = place_of(tf, self.device.id)
        from gpuexplorer.backends.tensorflow.models import MODELS

        written = MODELS[family](self.plan.config.size)
        return TensorFlowModel(self.plan, family, written, tf, queues=self.device.kind == "gpu")

    def _mode(self) -> AbstractContextManager[object]:
        set_tf32(self._tf, self.plan.config.precision)
        return on(self._tf, self._place)

    def upload(self, inputs: Mapping[str, HostArray]) -> None:
        """Copy weights and data, and wait."""
        with self._mode():
            super().upload(inputs)

    def _out_of_memory(self, error: Exception) -> bool:
        return out_of_memory(error)


class TensorFlowCpuRunner(TensorFlowRunner):
    """A model on the CPU."""

    uncounted = "TensorFlow keeps no count of the memory it uses on the CPU"


class TensorFlowCudaRunner(GroupedRunner, TensorFlowRunner):
    """A model on an NVIDIA GPU."""

    counts_memory = True

    def peak_memory(self, inputs: Mapping[str, HostArray]) -> tuple[float, str] | None:
        """Return the peak of TensorFlow's allocator over one step, with the arrays there."""
        memory, place = self._tf.config.experimental, self._place.lstrip("/")
        self.upload(inputs)
        memory.reset_memory_stats(place)
        super().launch(1)
        peak_B = float(memory.get_memory_info(place)["peak"])
        return peak_B, "tf.config.experimental.get_memory_info"

    @property
    def flush_words(self) -> str:
        """How the cache is emptied before each launch, in words."""
        nbytes = self.device.last_level_cache_B or 0
        return f"{FLUSH_FACTOR} × the {quantity(nbytes, 'B')} L2 cache written before each step"

    def _flusher(self) -> Step:
        """Return what writes twice the L2 cache."""
        tf, count = self._tf, l2_flush_B(self.device) // 4
        values = tf.Variable(tf.zeros(count))

        def write() -> None:
            values.assign(tf.zeros_like(values))
            tf.test.experimental.sync_devices()

        return write
