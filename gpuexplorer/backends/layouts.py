"""How a framework holds an array: turned from the manifest's layout when written, and back.

The manifest's layouts are PyTorch's: images (batch, channel, height, width), filters (out, in,
height, width), the weight of a linear layer (outputs, inputs).
"""

from __future__ import annotations

from typing import Protocol

import msgspec
import numpy as np

from gpuexplorer.backends.base import HostArray

Shape = tuple[int, ...]


class Layout(Protocol):
    """One way to hold an array."""

    def shape(self, shape: Shape) -> Shape:
        """Return the shape that an array of the manifest's ``shape`` is held in."""

    def to(self, values: HostArray) -> HostArray:
        """Return the values as they are held."""

    def back(self, values: HostArray) -> HostArray:
        """Return held values as the manifest has them."""


class Axes(msgspec.Struct, frozen=True):
    """The same axes in another order."""

    order: Shape

    def shape(self, shape: Shape) -> Shape:
        """Return the axes' lengths in their order."""
        return tuple(shape[axis] for axis in self.order)

    def to(self, values: HostArray) -> HostArray:
        """Return the values with their axes in this order, one after another in memory."""
        return np.ascontiguousarray(values.transpose(self.order))

    def back(self, values: HostArray) -> HostArray:
        """Return the values with their axes as they were."""
        return values.transpose(np.argsort(self.order))


class AfterImages(msgspec.Struct, frozen=True):
    """The weight of a linear layer that reads images flattened with the channels last.

    From (outputs, channel · row · column) to (row · column · channel, outputs).
    """

    channels: int

    def shape(self, shape: Shape) -> Shape:
        """Return the two axes exchanged."""
        return shape[1], shape[0]

    def to(self, values: HostArray) -> HostArray:
        """Return the weight with its inputs first, a pixel's channels side by side."""
        outputs = len(values)
        pixels = values.reshape(outputs, self.channels, -1).transpose(2, 1, 0)
        return np.ascontiguousarray(pixels).reshape(-1, outputs)

    def back(self, values: HostArray) -> HostArray:
        """Return the weight with its outputs first, a channel's pixels side by side."""
        outputs = values.shape[1]
        pixels = values.reshape(-1, self.channels, outputs).transpose(2, 1, 0)
        return pixels.reshape(outputs, -1)


IMAGES = Axes((0, 2, 3, 1))
"""(batch, height, width, channel)."""
FILTERS = Axes((2, 3, 1, 0))
"""(height, width, in, out)."""
LINEAR = Axes((1, 0))
"""(inputs, outputs)."""
HEADS = Axes((0, 2, 1, 3))
"""From (batch, head, position, feature) to (batch, position, head, feature)."""
