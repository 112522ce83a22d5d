"""How each configuration of a search is measured."""

from __future__ import annotations

from dataclasses import dataclass

SAMPLES = 30
"""Enough for an interval of the median from ten stretches of time."""
AT_MOST_S = 5.0
WARM_UP_S = 0.005
"""The device comes from the configuration before and is warm; the check's launch is one more."""


@dataclass(frozen=True)
class Measuring:
    """When a configuration has been measured enough: whichever of these is met first.

    ``samples`` launches, ``seconds`` of sampling, a median known to ``max_noise``; None leaves one
    out. ``warm_up_s`` is how long to launch before the first sample; ``allow_long`` agrees to
    launches above two seconds, which are skipped otherwise.
    """

    samples: int | None = SAMPLES
    seconds: float | None = AT_MOST_S
    max_noise: float | None = None
    warm_up_s: float | None = WARM_UP_S
    allow_long: bool = False
