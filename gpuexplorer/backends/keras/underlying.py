"""The frameworks that Keras computes with, as far as a run has to speak to them directly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, ClassVar

from gpuexplorer.backends.frameworks import import_framework
from gpuexplorer.backends.jax.runner import factors
from gpuexplorer.backends.jax.start import jax_device
from gpuexplorer.backends.jax.start import load as load_jax
from gpuexplorer.backends.tensorflow.start import load as load_tensorflow
from gpuexplorer.backends.tensorflow.start import out_of_memory, place_of, set_tf32
from gpuexplorer.backends.torch.load import set_as_started, set_flags, set_threads
from gpuexplorer.core.errors import CannotRunHere, InputError

Call = Callable[..., Any]


class UnderlyingFramework(ABC):
    """One framework that Keras computes with: started, and compiled for."""

    title: ClassVar[str]
    cpu: ClassVar[str] = "cpu:0"
    """What the CPU is called."""

    def __init__(self, threads: int, device_id: str, *, memory_growth: bool) -> None:
        """Import the framework and choose its threads; CannotRunHere without the device."""

    @abstractmethod
    def mode(self, precision: str, *, trains: bool) -> AbstractContextManager[object]:
        """Return what steps run within."""

    @abstractmethod
    def compiled(self, call: Call, model: Any, *, tf_function: bool, xla: bool) -> Call:
        """Return a forward pass with its switches; ``model`` holds the variables, if there are any.

        Raises InputError for a switch that this framework does not have.
        """

    @abstractmethod
    def wait(self, results: object) -> None:
        """Wait until results are there."""

    @abstractmethod
    def out_of_memory(self, error: Exception) -> bool:
        """Whether an error says that memory is short."""

    def refuse(self, switch: str) -> InputError:
        """Return the refusal of a switch."""
        return InputError(
            f"Keras runs on {self.title} here, which has no switch '{switch}'",
            remedy="leave it out, or set KERAS_BACKEND=tensorflow",
        )


class OnTensorFlow(UnderlyingFramework):
    """Keras on TensorFlow."""

    title = "TensorFlow"

    def __init__(self, threads: int, device_id: str, *, memory_growth: bool) -> None:
        self.tf = load_tensorflow(threads, memory_growth=memory_growth)
        place_of(self.tf, device_id)
        self._queues = "cuda" in device_id

    def mode(self, precision: str, *, trains: bool) -> AbstractContextManager[object]:
        """Set what products of 32-bit numbers are made of."""
        set_tf32(self.tf, precision)
        return nullcontext()

    def compiled(self, call: Call, model: Any, *, tf_function: bool, xla: bool) -> Call:
        """Trace with tf.function, and compile with XLA."""
        if not tf_function and not xla:
            return call
        traced: Call = self.tf.function(lambda *data: call(*data), autograph=False, jit_compile=xla)
        return traced

    def wait(self, results: object) -> None:
        """Wait for the GPUs; on the CPU a call returns when it is done."""
        if self._queues:
            self.tf.test.experimental.sync_devices()

    def out_of_memory(self, error: Exception) -> bool:
        """Whether an error says that memory is short."""
        return out_of_memory(error)


class OnJax(UnderlyingFramework):
    """Keras on JAX."""

    title = "JAX"

    def __init__(self, threads: int, device_id: str, *, memory_growth: bool) -> None:
        self.jax = load_jax(threads, memory_growth=memory_growth)
        jax_device(self.jax, device_id)

    def mode(self, precision: str, *, trains: bool) -> AbstractContextManager[object]:
        """Set what products of 32-bit numbers are made of."""
        return factors(self.jax, precision)

    def compiled(self, call: Call, model: Any, *, tf_function: bool, xla: bool) -> Call:
        """Compile with XLA, the variables' values being arguments."""
        if tf_function:
            raise self.refuse("tf_function")
        if not xla:
            return call
        if model is None:
            made: Call = self.jax.jit(call)
            return made

        def stateless(learn: Sequence[Any], keep: Sequence[Any], *data: Any) -> Any:
            return model.stateless_call(learn, keep, *data)[0]

        jitted = self.jax.jit(stateless)
        learn, keep = model.trainable_variables, model.non_trainable_variables
        return lambda *data: jitted([v.value for v in learn], [v.value for v in keep], *data)

    def wait(self, results: object) -> None:
        """Wait until results are there."""
        self.jax.block_until_ready(results)

    def out_of_memory(self, error: Exception) -> bool:
        """Whether an error says that memory is short."""
        return "RESOURCE_EXHAUSTED" in str(error)


class OnTorch(UnderlyingFramework):
    """Keras on PyTorch."""

    title = "PyTorch"
    cpu = "cpu"  # a variable that lies on "cpu" would be copied to "cpu:0", and have no gradient

    def __init__(self, threads: int, device_id: str, *, memory_growth: bool) -> None:
        self.torch = torch = import_framework("torch", "PyTorch", "torch")
        set_as_started(torch)
        set_threads(torch, threads)
        self._queues = "cuda" in device_id
        if self._queues and not torch.cuda.is_available():
            raise CannotRunHere(
                "PyTorch finds no GPU here", remedy="install a build for this driver's CUDA"
            )

    @contextmanager
    def mode(self, precision: str, *, trains: bool) -> Iterator[None]:
        """Set what products round their factors to; record no gradients in a forward pass."""
        set_flags(self.torch, tf32=precision == "tf32")
        with nullcontext() if trains else self.torch.no_grad():
            yield

    def compiled(self, call: Call, model: Any, *, tf_function: bool, xla: bool) -> Call:
        """Return the pass as it is."""
        if tf_function or xla:
            raise self.refuse("xla" if xla else "tf_function")
        return call

    def wait(self, results: object) -> None:
        """Wait for the GPU."""
        if self._queues:
            self.torch.cuda.synchronize()

    def out_of_memory(self, error: Exception) -> bool:
        """Whether an error says that memory is short."""
        return isinstance(error, self.torch.OutOfMemoryError)


UNDERLYING: dict[str, type[UnderlyingFramework]] = {
    "tensorflow": OnTensorFlow,
    "jax": OnJax,
    "torch": OnTorch,
}
