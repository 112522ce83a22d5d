"""TensorFlow imported once, with what has to be decided before its first operation."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gpuexplorer.backends.frameworks import import_framework, pip_install, quieten
from gpuexplorer.core.errors import CannotRunHere

_begun: dict[str, bool] = {}
"""How TensorFlow takes GPU memory in this process; empty before its first use."""


def load(threads: int, *, memory_growth: bool = True) -> Any:
    """Return TensorFlow with so many CPU threads and GPU memory taken as it is needed, or at once.

    Operators run one after another, each with all of the threads. Raises CannotRunHere when it
    began with another ``memory_growth``, which holds for the life of the process.
    """
    quieten()
    tf = import_framework("tensorflow", "TensorFlow", "tensorflow")
    if not _begun:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, memory_growth)
        _begun["memory_growth"] = memory_growth
    elif gpus(tf) and _begun["memory_growth"] != memory_growth:
        raise CannotRunHere(
            "how TensorFlow takes GPU memory was decided when it started in this engine",
            remedy="run this by itself, so that a new engine starts",
        )
    return tf


def gpus(tf: Any) -> list[Any]:
    """Return the GPUs that TensorFlow found."""
    found: list[Any] = tf.config.list_physical_devices("GPU")
    return found


def place_of(tf: Any, device_id: str) -> str:
    """Return TensorFlow's own name of a device; CannotRunHere when it does not see it."""
    kind, _, index = device_id.partition(":")[2].partition(":")
    if kind == "cpu":
        return "/CPU:0"
    found = len(gpus(tf))
    if not found:
        raise CannotRunHere(
            "TensorFlow finds no GPU here: CUDA's libraries are missing or do not suit its build",
            remedy=f"install them with {pip_install('tensorflow[and-cuda]')}",
        )
    if int(index) >= found:
        raise CannotRunHere(
            f"TensorFlow sees {found} GPUs here, and {device_id} is none of them",
            remedy="choose another of the GPUs",
        )
    return f"/GPU:{index}"


def on(tf: Any, place: str) -> AbstractContextManager[object]:
    """Return a context in which operators run on a device; none where there is only the CPU."""
    if not gpus(tf):
        return nullcontext()
    context: AbstractContextManager[object] = tf.device(place)
    return context


def set_tf32(tf: Any, precision: str) -> None:
    """Have products of 32-bit numbers round their factors only where that is asked for."""
    tf.config.experimental.enable_tensor_float_32_execution(precision == "tf32")


def out_of_memory(error: Exception) -> bool:
    """Whether an error of TensorFlow's says that memory is short."""
    return type(error).__name__ == "ResourceExhaustedError" or "OOM when" in str(error)
