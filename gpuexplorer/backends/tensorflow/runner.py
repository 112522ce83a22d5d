"""One model in TensorFlow: on the CPU by the host's clock, on a GPU in groups of steps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.framework_model import Kept
from gpuexplorer.backends.framework_runner import GroupedRunner, StartedRunner, l2_flush_B
from gpuexplorer.backends.functional import Compiled, FunctionalModel, Written
from gpuexplorer.backends.models import Model, ModelStep
from gpuexplorer.backends.tensorflow.start import load, on, out_of_memory, place_of, set_tf32
from gpuexplorer.workloads.plan import Plan


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
    def step(self) -> ModelStep:
        """What runs one launch; on the CPU it returns when everything is done."""
        return super().step if self._queues else self.queued

    def wait(self, results: object) -> None:
        """Wait until everything that was started is done."""
        if self._queues:
            self._tf.test.experimental.sync_devices()

    def _product(self, left: Any, right: Any) -> Any:
        return self._tf.linalg.matmul(left, right)


class TensorFlowRunner(StartedRunner):
    """What both kinds of device share."""

    title = "TensorFlow"

    _tf: Any
    _place: str

    def _start(self, *, memory_growth: bool) -> None:
        self._tf = load(self._threads, memory_growth=memory_growth)
        self._place = place_of(self._tf, self.device.id)

    def _model_of(self, family: str) -> Model:
        from gpuexplorer.backends.tensorflow.models import TensorFlowModels

        written = TensorFlowModels().written(family, self.plan.config.size)
        queues = self.device.kind == "gpu"
        return TensorFlowModel(self.plan, family, written, self._tf, queues=queues)

    def _mode(self) -> AbstractContextManager[object]:
        set_tf32(self._tf, self.plan.config.precision)
        return on(self._tf, self._place)

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
        self._results = None
        self.upload(inputs)
        memory.reset_memory_stats(place)
        self.launch_untimed()
        peak_B = float(memory.get_memory_info(place)["peak"])
        return peak_B, "tf.config.experimental.get_memory_info"

    def _flusher(self) -> ModelStep:
        """Return what writes twice the L2 cache."""
        tf, count = self._tf, l2_flush_B(self.device) // 4
        values = tf.Variable(tf.zeros(count))

        def write() -> None:
            values.assign(tf.zeros_like(values))
            tf.test.experimental.sync_devices()

        return write
