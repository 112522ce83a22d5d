"""How well the median of a series in time is known, when neighbours resemble each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_T_975: Floats = np.array((
    # Student's t, 97.5 % quantile, for 1 to 30 degrees of freedom.
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
))  # fmt: skip

MOST_GROUPS = 20
FEW_GROUPS = 10
FEWEST_GROUPS = 5
MANY_SAMPLES = 100
"""From here on there are ``MOST_GROUPS`` groups, and their own correlation is believed."""
GROUP_SAMPLES = 3
"""Samples that a group has at least, where there are enough for ``FEWEST_GROUPS`` groups."""
RANKED_SAMPLES = 1000
"""Above this many samples a group is so long that its samples say nothing about the next one."""
LOOKED_AT = 2000
"""Of a long series, the latest that tell the clock's steps."""
ROUNDING = 1e-9
"""Times that differ by so little of them are alike."""
MOST_CORRELATION = 0.9
MOST_CORRELATION_OF_FEW = 0.6
"""Below ``FEW_GROUPS`` groups a correlation cannot be told from chance: no more is believed."""


def t_975(degrees_of_freedom: float) -> float:
    """Student's t quantile at 97.5 %; from 30 degrees on, the Cornish-Fisher expansion.

    Between whole degrees of freedom it is interpolated. ValueError below 1.
    """
    if degrees_of_freedom < 1:
        raise ValueError("degrees of freedom start at 1")
    return float(_t_975(np.asarray([degrees_of_freedom], dtype=np.float64))[0])


def _t_975(degrees: Floats) -> Floats:
    z = 1.959963984540054
    table = np.interp(degrees, np.arange(1, len(_T_975) + 1), _T_975)
    series = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    return np.where(degrees < len(_T_975), table, series)


def group_count(samples: int) -> int:
    """Return into how many stretches of time a series is cut; 0 when it is too short for any."""
    most = MOST_GROUPS if samples >= MANY_SAMPLES else FEW_GROUPS
    groups = samples // GROUP_SAMPLES
    if groups < FEWEST_GROUPS:
        groups = samples // 2
    return min(most, groups) if groups >= FEWEST_GROUPS else 0


def group_medians(series: Floats, groups: int) -> Floats:
    """Return the medians of ``groups`` stretches of the last axis, each nearly as long."""
    edges = np.linspace(0, series.shape[-1], groups + 1).round().astype(int)
    parts = pairwise(edges)
    return np.stack([np.median(series[..., a:b], axis=-1) for a, b in parts], axis=-1)


def clock_step_s(times_s: Floats, most_s: float) -> float:
    """Return the steps in which times come, as those of a coarse clock do; 0 where none are seen.

    They are seen where times are alike more often than not: the least difference then is a step,
    or ``most_s``, the most that is believed, where it is less and where all are alike.
    """
    values = np.unique(times_s[-LOOKED_AT:])
    if 2 * len(values) > min(len(times_s), LOOKED_AT):
        return 0.0
    apart = np.diff(values)
    return float(apart[apart > ROUNDING * values[-1]].min(initial=most_s))


def median_interval(samples_s: Floats, resolution_s: float = 0.0) -> tuple[float, float] | None:
    """Return the 95 % confidence interval of the median, from time-separated groups.

    Samples taken in a row are correlated, so an interval from raw order statistics is too narrow.
    The series is cut into up to ``MOST_GROUPS`` stretches of time; their medians give a Student t
    interval (the method of batch means, Law & Kelton 2000, section 9.5, applied to medians), which
    ``correlation_of_groups`` widens. None below two samples for each of ``FEWEST_GROUPS`` groups.

    The median of times that a clock rounds is the median, rounded: however many there are, it lies
    within half a step (``clock_step_s``) of what is measured, and the interval reaches as far.
    """
    half = half_widths(samples_s[None])
    if half is None:
        return None
    centre, rounded_s = float(np.median(samples_s)), clock_step_s(samples_s, resolution_s) / 2
    # However little the groups agree, a median lies within the samples.
    return (
        max(0.0, max(centre - float(half[0]), float(samples_s.min())) - rounded_s),
        min(centre + float(half[0]), float(samples_s.max())) + rounded_s,
    )


def half_widths(series: Floats) -> Floats | None:
    """Return half of the median's 95 % interval for each row of ``series``, shape (rows, samples).

    None when a row is too short to have one.
    """
    groups = group_count(series.shape[-1])
    if groups == 0:
        return None
    medians = group_medians(series, groups)
    return half_widths_of_groups(medians, correlation_of_groups(series, medians))


def half_widths_of_groups(medians: Floats, correlation: Floats) -> Floats:
    """Return half of the 95 % interval of each row's centre, shape (rows, groups) to (rows,).

    Neighbours correlated by r, as in a first-order autoregression, leave (1 - r) / (1 + r) of the
    groups' information: the variance of the mean grows and the degrees of freedom shrink by that.
    """
    groups = medians.shape[-1]
    widening = (1 + correlation) / (1 - correlation)
    unbiased = np.maximum(0.2, 1 - (widening - 1) / (groups - 1))
    variance = medians.var(axis=-1, ddof=1) / unbiased
    degrees = np.maximum(2.0, (groups - 1) / widening)
    half: Floats = _t_975(degrees) * np.sqrt(variance * widening / groups)
    return half


def correlation_of_groups(series: Floats, medians: Floats) -> Floats:
    """Return the correlation to expect between neighbouring medians, 0 to ``MOST_CORRELATION``.

    Ten medians tell their own correlation badly. Up to ``RANKED_SAMPLES`` the samples tell it, too:
    their ranks' correlation from one to the next, carried over to the means of groups of that
    length. Few samples take the mean of both; many take no less than the medians' own, because
    what disturbs a machine for seconds is not seen from one sample to the next.
    """
    samples, groups = series.shape[-1], medians.shape[-1]
    most = MOST_CORRELATION if groups >= FEW_GROUPS else MOST_CORRELATION_OF_FEW
    of_medians = np.clip(first_correlation(medians), 0.0, most)
    if samples > RANKED_SAMPLES or groups < FEW_GROUPS:
        return of_medians
    ranks = np.argsort(np.argsort(series, axis=-1), axis=-1).astype(np.float64)
    of_samples = _of_means(np.clip(first_correlation(ranks), 0.0, 0.95), samples // groups)
    mean: Floats = (of_medians + of_samples) / 2
    return mean if samples < MANY_SAMPLES else np.maximum(of_medians, mean)


def first_correlation(series: Floats) -> Floats:
    """Return each row's correlation with itself one step on; 0 for a row without any spread.

    Corrected for the bias of a short series (Kendall 1954).
    """
    deviations = series - series.mean(axis=-1, keepdims=True)
    power = (deviations**2).sum(axis=-1)
    together = (deviations[..., 1:] * deviations[..., :-1]).sum(axis=-1)
    found = np.divide(together, power, out=np.zeros_like(power), where=power > 0)
    corrected: Floats = np.where(power > 0, found + (1 + 4 * found) / series.shape[-1], 0.0)
    return corrected


def _of_means(correlation: Floats, length: int) -> Floats:
    """Return the correlation of neighbouring means of ``length`` terms of an autoregression."""
    steps = np.arange(1, length)
    variance = length + 2 * ((length - steps) * correlation[..., None] ** steps).sum(axis=-1)
    shared = correlation * ((1 - correlation**length) / (1 - correlation)) ** 2
    result: Floats = shared / variance
    return result
