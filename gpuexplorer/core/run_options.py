"""What a run is told beside its configuration: when it has measured enough, and how it goes."""

from __future__ import annotations

import msgspec

from gpuexplorer.core import limits


class RunOptions(msgspec.Struct, frozen=True):
    """When a run ends, whichever comes first, and how it goes.

    Without ``samples`` and ``seconds`` it is live: it lasts until it is cancelled.
    """

    samples: int | None = None
    """End as soon as there are so many samples."""
    seconds: float | None = None
    """End after sampling for so long."""
    max_noise: float | None = None
    """End before that as soon as half the median's 95 % interval is this fraction of it, or when
    more samples would not tell more."""
    warm_up_s: float | None = None
    """How long to launch before the first sample is kept; None leaves it to the engine."""
    allow_long: bool = False
    """Whether the user agreed to a launch that takes long (above ``CONFIRM_ABOVE_S``)."""
    keep_arrays: bool = False
    """Leave the arrays on the device for another run of the same problem, as in a sweep; what this
    engine verified before is not verified again."""
    slower_than_s: float | None = None
    """Give up with the few launches that say that it takes longer than this (``Slower``)."""

    @property
    def ends(self) -> bool:
        """Whether it ends by itself, whatever it measures."""
        return self.seconds is not None or self.samples is not None

    def check(self) -> None:
        """Raise InputError for a number that would never end it."""
        for value, name, within in (
            (self.seconds, "seconds", limits.SECONDS),
            (self.max_noise, "max_noise", limits.NOISE),
            (self.samples, "samples", limits.SAMPLES),
        ):
            if value is not None:
                within.check(value, name)


LIVE = RunOptions()
"""Of a run that lasts until it is cancelled."""
