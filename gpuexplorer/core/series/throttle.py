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
    counted: Mask,
    limited: Mask,
    faulty: Mask,
    highest_Hz: float | None = None,
) -> Mask:
    """Return which batches are throttled, one flag a batch.

    ``clocks_Hz`` is each batch's clock, NaN where it is not known, and ``medians_s`` its median
    time. ``counted`` says that the clock was counted over the batch itself and not read beside it.
    By the driver's word, ``limited`` flags batches in which nothing but a limit of the device's own
    held the clock, and ``faulty`` those in which the hardware protected itself.

    A clock decides, and never a reason alone. It is compared with the run's usual one, because a
    clock that is low from the first batch to the last was chosen, or is the one that the device can
    hold. What its own limit takes away later is no throttling either: a power cap lets a device
    start above the clock that it holds. Only where the driver tells of a fault during most of the
    run is the clock compared with the device's highest, ``highest_Hz``, too; a change of the clock
    alone may look like a fault for a moment.
    """
    known = np.isfinite(clocks_Hz) & (clocks_Hz > 0)
    clocks_Hz = np.where(known, clocks_Hz, np.inf)
    usual_Hz = usual_clock_Hz(clocks_Hz)
    held: Mask = np.zeros_like(known)
    if usual_Hz:
        held = (clocks_Hz < HELD_BELOW * usual_Hz) & ~limited
    if highest_Hz and 2 * np.count_nonzero(faulty) > len(faulty):
        held |= (clocks_Hz < HELD_BELOW * highest_Hz) & faulty
    if (held & ~counted).any() and not held.all():
        held &= counted | (medians_s > SLOWER * float(np.median(medians_s[~held])))
    return held
