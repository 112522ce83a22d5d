"""How an engine shares its machine: whether it waits for others, and leaves them the processor.

Both stand in environment variables, so that every engine that this program starts does the same.
"""

from __future__ import annotations

import os
from typing import Literal, get_args

from gpuexplorer.core.limits import NICENESS

NICE_VARIABLE = "GPUEXPLORER_NICE"
WHEN_SHARED_VARIABLE = "GPUEXPLORER_WHEN_SHARED"
FAR_NICE = 5
"""The niceness of an engine on another machine, where nothing is said."""
WhenShared = Literal["warn", "wait"]
POLITE = 10
"""The niceness of an engine that comes after other programs."""
WHEN_SHARED: tuple[WhenShared, ...] = get_args(WhenShared)


def choose_sharing(when_shared: WhenShared | None, nice: int | None) -> None:
    """Have runs wait or only warn, and engines that start from now on be so nice; None: as is."""
    if when_shared is not None:
        os.environ[WHEN_SHARED_VARIABLE] = when_shared
    if nice is not None:
        choose_niceness(nice)


def choose_niceness(nice: int | None) -> None:
    """Have engines that start from now on be so nice; None: as is usual for each."""
    if nice is None:
        os.environ.pop(NICE_VARIABLE, None)
    else:
        os.environ[NICE_VARIABLE] = str(nice)


def usual_sharing(*, waits: bool, polite: bool) -> None:
    """Do so where the command line does not say otherwise."""
    if waits:
        os.environ.setdefault(WHEN_SHARED_VARIABLE, "wait")
    if polite:
        os.environ.setdefault(NICE_VARIABLE, str(POLITE))


def when_shared() -> WhenShared:
    """Return whether a run waits until nobody else uses its device, or only warns."""
    return "wait" if os.environ.get(WHEN_SHARED_VARIABLE) == "wait" else "warn"


def said_niceness() -> int | None:
    """Return how much the environment says that an engine leaves the processor to others."""
    said = os.environ.get(NICE_VARIABLE, "")
    return min(int(said), NICENESS.most) if said.isdecimal() else None


def niceness(usual: int) -> int:
    """Return how much an engine leaves the processor to others, 0 to 19; ``usual`` if not said."""
    said = said_niceness()
    return usual if said is None else said
