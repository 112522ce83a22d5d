"""One look at a whole series: its figures, what is marked, and what is odd about it, in words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from gpuexplorer.core.series.drift import find_drift
from gpuexplorer.core.series.modes import find_modes
from gpuexplorer.core.series.outliers import outlier_above_s
from gpuexplorer.core.statistics import Summary, summarize
from gpuexplorer.core.units import percent, quantity

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MANY_OUTLIERS = 0.02
UNCERTAIN = 0.02
"""A median known worse than this, in a series that has enough samples, is said to be uncertain."""
UNCERTAIN_SAMPLES = 30


def examine(
    samples_s: Floats, *, resolution_s: float = 0.0, throttled: Mask | None = None
) -> Summary:
    """Examine a non-empty series of seconds per launch, in the order they were taken.

    ``throttled`` flags samples taken while the clock was held down, which ``in_figures`` leaves
    out; outliers are in the figures.
    """
    marked = 0 if throttled is None else int(throttled.sum())
    mostly_throttled = is_most(marked, len(samples_s))
    warnings = []
    used = samples_s if throttled is None else in_figures(samples_s, throttled)
    if marked:
        share = marked / len(samples_s)
        warnings.append(
            f"the clock was held down during {percent(share)} of the samples, so the figures "
            "are those of a throttled device"
            if mostly_throttled
            else f"the clock was held down during {percent(share)} of the samples; they are "
            "marked and not in the figures"
        )
    summary = summarize(used, resolution_s)
    odd, above_s = _oddities(used, summary, resolution_s)
    return replace(
        summary,
        marked_throttled=marked,
        mostly_throttled=mostly_throttled,
        outliers=int((used > above_s).sum()) if above_s is not None else 0,
        outlier_above_s=above_s,
        warnings=(*warnings, *odd),
    )


def in_figures(samples_s: Floats, throttled: Mask) -> Floats:
    """Return the samples that the figures are of: no marked ones, unless they are the majority."""
    return samples_s if is_most(int(throttled.sum()), len(samples_s)) else samples_s[~throttled]


def is_most(marked: int, samples: int) -> bool:
    """Return whether so many marked samples are the majority, which the figures then are of."""
    return 2 * marked > samples


def _oddities(
    samples_s: Floats, summary: Summary, resolution_s: float
) -> tuple[tuple[str, ...], float | None]:
    """Return what is odd about a series, a sentence each, and above what time an outlier lies."""
    said = []
    above_s = outlier_above_s(samples_s, resolution_s=resolution_s)
    drift = find_drift(samples_s)
    if drift is not None:
        change = percent(abs(drift.change))
        said.append(
            f"the times drift: the last fifth is {change} slower than the first"
            if drift.change > 0
            else f"the times drift: the last fifth is {change} faster than the first"
        )
    modes = find_modes(samples_s, resolution_s=resolution_s)
    if modes is not None:
        lower_share = 1 - modes.upper_share
        said.append(
            f"the times have two modes: {percent(lower_share)} of the samples take about "
            f"{quantity(modes.lower_s, 's')} and {percent(modes.upper_share)} about "
            f"{quantity(modes.upper_s, 's')}"
        )
        # The slower mode is no outlier; what lies far above it is.
        slower = samples_s[samples_s > (modes.lower_s * modes.upper_s) ** 0.5]
        above_s = outlier_above_s(slower, resolution_s=resolution_s)
    if above_s is not None:
        share = float(np.mean(samples_s > above_s))
        if share > MANY_OUTLIERS:
            said.append(
                f"{percent(share)} of the samples are outliers, above {quantity(above_s, 's')}"
            )
    error = summary.relative_error
    explained = drift is not None or modes is not None
    if (
        error is not None
        and error > UNCERTAIN
        and summary.samples >= UNCERTAIN_SAMPLES
        and not explained
    ):
        said.append(
            f"the times are noisy: the median is known only to {percent(error)}"
            if error < 1.0
            else "the times are noisy: the median is hardly known"
        )
    return tuple(said), above_s
