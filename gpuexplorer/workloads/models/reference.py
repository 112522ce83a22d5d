"""What a model must compute: a pure NumPy float64 function, and which arrays hold its samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Compute = Callable[[Mapping[str, Array], Mapping[str, int]], dict[str, Array]]


class ReferenceModel(msgspec.Struct, frozen=True):
    """One model's arrays and its right answer.

    ``compute`` takes the inputs by name in float64 (whole numbers too) and the sizes by symbol, and
    returns the outputs by name. Array layouts are PyTorch's in every framework: a linear layer's
    weight is (outputs, inputs), images are (batch, channels, height, width), filters (output
    channels, input channels, height, width).
    """

    name: str
    title: str
    inputs: tuple[str, ...]
    """Arrays it reads; those that it also writes are ``inout`` in the manifest."""
    outputs: tuple[str, ...]
    weights: tuple[str, ...]
    """The inputs that are weights: they stay on the device from step to step."""
    compute: Compute
    axes: Mapping[str, int]
    """How many axes each array has."""
    per_sample: tuple[str, ...] = ()
    """Arrays whose first ``sample_axes`` axes count samples, each computed alone; every output is
    one of them. Empty: the outputs depend on the whole batch."""
    sample_axes: int = 1
    trains: bool = False
    """Whether a step changes the weights."""
    sizes: tuple[str, ...] = ()
    """Sizes that no array's shape tells."""
