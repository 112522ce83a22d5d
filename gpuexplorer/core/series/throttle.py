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

CHOSEN_REASONS = frozenset({"application clocks", "sync boost", "display clocks"})
"""What holds a clock because somebody set it so."""


def usual_clock_Hz(clocks_Hz: Floats) -> float | None:
    """Return the clock a run usually had, NaN left aside; None for too few readings.

    The 90th percentile and not the median: a run that is throttled half of the time has its usual
    clock in the other half.
    """
    known = clocks_Hz[np.isfinite(clocks_Hz) & (clocks_Hz > 0)]
    return float(np.percentile(known, USUAL_PERCENTILE)) if len(known) >= LEAST_CLOCKS else None


def slows(reasons: tuple[str, ...] | None) -> bool:
    """Return whether any of the driver's reasons is a slowing down that nobody chose."""
    return any(reason not in CHOSEN_REASONS for reason in reasons or ())


def throttled_batches(
    clocks_Hz: Floats,
    medians_s: Floats,
    *,
    during: bool,
    slowed: Mask,
    nominal_Hz: float | None = None,
) -> Mask:
    """Return which batches are throttled, one flag a batch.

    ``clocks_Hz`` is each batch's clock, NaN where it is not known, and ``medians_s`` its median
    time. ``during`` says that the clock was counted over the batch itself. ``slowed`` flags batches
    for which the driver gave a reason to slow down.

    The clock is compared with the run's usual one, because a clock that was set low on purpose is
    low from the first batch to the last; only where the driver gives a reason with
    ``nominal_Hz``, too. Without a clock the reason alone decides.
    """
    known = np.isfinite(clocks_Hz) & (clocks_Hz > 0)
    clocks_Hz = np.where(known, clocks_Hz, np.inf)
    usual_Hz = usual_clock_Hz(clocks_Hz)
    held: Mask = clocks_Hz < HELD_BELOW * usual_Hz if usual_Hz else np.zeros_like(known)
    if not during and held.any():
        held &= medians_s > SLOWER * float(np.median(medians_s[~held]))
    if nominal_Hz:
        held |= slowed & (clocks_Hz < HELD_BELOW * nominal_Hz)
    return held | (slowed & ~known)
