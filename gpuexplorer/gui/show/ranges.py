"""What the axes of a panel show, as its view takes it: logarithms where an axis is logarithmic."""

from __future__ import annotations

import math

import numpy as np

from gpuexplorer.charts.spec import Axis, Floats, Panel
from gpuexplorer.charts.ticks import MOST_DECADES

MARGIN = 0.05
"""Around values where an axis has no range of its own."""


def scaled(value: float, log: bool) -> float:
    """Return a value as the view takes it."""
    return math.log10(value) if log and value > 0 else value


def value_at(place: float, log: bool) -> float:
    """Return the value at a place of the view; the inverse of ``scaled``, without overflow."""
    return float(10.0 ** min(max(place, -MOST_DECADES), MOST_DECADES)) if log else place


def panel_ranges(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return what the axes along and upright show."""
    return (
        axis_range(panel.x, _values(panel, along_x=True)),
        axis_range(panel.y, _values(panel, along_x=False)),
    )


def _values(panel: Panel, *, along_x: bool) -> Floats:
    """Return everything that an axis without a range of its own has to hold."""
    found = [np.empty(0)]
    for one in panel.series:
        values = (
            one.x if along_x != (one.sideways and one.kind in ("stems", "histogram")) else one.y
        )
        found.append(values)
        if one.kind == "spans" and along_x:
            found.append(one.x + one.z)
        if one.kind in ("stems", "histogram") and along_x == one.sideways:
            found.append(np.zeros(1))
        if len(one.low) and along_x == one.sideways:
            found += [one.low, one.high]
    return np.concatenate(found)


def axis_range(axis: Axis, values: Floats) -> tuple[float, float]:
    """Return what an axis shows, as the view takes it: its own range, or that of the values."""
    if axis.categories:
        own = (-0.5, len(axis.categories) - 0.5)
        return own[0] if axis.low is None else axis.low, own[1] if axis.high is None else axis.high
    log = axis.scale == "log"
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = (float(known.min()), float(known.max())) if len(known) else (1.0, 10.0)
    low, high = scaled(low, log), scaled(high, log)
    margin = MARGIN * (high - low) or 0.5
    low, high = low - margin, high + margin
    if axis.low is not None and (axis.low > 0 or not log):
        low = scaled(axis.low, log)
    if axis.high is not None:
        high = scaled(axis.high, log)
    return low, high if high > low else low + 1.0
