"""How long a step may take before its engine counts as hung, where that is said.

It stands in an environment variable, so that every engine that this program starts does the same.
"""

from __future__ import annotations

import os

BUILD_DEADLINE_VARIABLE = "GPUEXPLORER_BUILD_DEADLINE_S"
DEVICES_DEADLINE_S = 120.0
"""How long looking for devices may take: the first time drivers are tried one by one, and every
framework is loaded."""


def choose_deadline(seconds: float | None) -> None:
    """Have engines that start from now on keep it; None: their own."""
    if seconds is None:
        os.environ.pop(BUILD_DEADLINE_VARIABLE, None)
    else:
        os.environ[BUILD_DEADLINE_VARIABLE] = str(seconds)


def said_deadline_s() -> float | None:
    """Return how long the environment says that building, or a launch, may take; None if not."""
    try:
        said = float(os.environ.get(BUILD_DEADLINE_VARIABLE, ""))
    except ValueError:
        return None
    return said if said > 0 else None


def devices_deadline_s() -> float:
    """Return how long looking for devices may take."""
    return at_least_s(DEVICES_DEADLINE_S)


def at_least_s(usual_s: float) -> float:
    """Return how long something may take: as was said, but no less than the usual."""
    return max(usual_s, said_deadline_s() or 0.0)
