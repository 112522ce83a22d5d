"""Which batches ran while the clock was held down."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

HELD_BELOW = 0.75
"""A batch at less than this share of the usual clock is throttled (NVBench's limit)."""
USUAL_PERCENTILE = 90
LEAST_CLOCKS = 3
SLOWER = 1.05
"""With a clock that was read beside the batch and not during it, a throttled batch also takes this
many times the others' time: an idle processor's clock is low, too, just before the work."""


def usual_clock_Hz(clocks_Hz: Floats) -> float | None:
    """Return the clock a run usually had, NaN left aside; None for too few readings.

    The 90th percentile and not the median: a run that is throttled half of the time has its usual
    clock in the other half.
    """
    known = clocks_Hz[np.isfinite(clocks_Hz) & (clocks_Hz > 0)]
    return float(np.percentile(known, USUAL_PERCENTILE)) if len(known) >= LEAST_CLOCKS else None


def throttled_batches(
    clocks_Hz: Floats,
    medians_s: Floats,
    *,
    during: bool,
    nominal_Hz: float | None = None,
    slowed: Mask | None = None,
) -> Mask:
    """Return which batches are throttled, one flag a batch.

    ``clocks_Hz`` is each batch's clock, NaN where it is not known, and ``medians_s`` its median
    time. ``during`` says that the clock was counted over the batch itself. The clock is compared
    with ``nominal_Hz`` where that is known, else with the run's usual clock. ``slowed`` tells the
    batches during which the driver gave a reason to slow down; it decides where no clock is known.
    """
    usual_Hz = nominal_Hz or usual_clock_Hz(clocks_Hz)
    held = np.zeros(len(clocks_Hz), dtype=np.bool_)
    if usual_Hz is not None:
        known = np.isfinite(clocks_Hz) & (clocks_Hz > 0)
        held[known] = clocks_Hz[known] < HELD_BELOW * usual_Hz
        if not during and held.any() and not held.all():
            held &= medians_s > SLOWER * float(np.median(medians_s[~held]))
    if slowed is not None:
        held |= slowed & ~np.isfinite(clocks_Hz)
    return held
