"""Why a GPU's clock is where it is, by its driver's word, and what that means for a figure.

At a limit of its own a device runs as fast as it can for as long as it likes: the figure is true,
with a remark. A slowdown is something else: heat or supply take away what the device could do.
"""

from __future__ import annotations

from collections.abc import Sequence

HEAT = "temperature (driver)"
"""The driver lowers the clock step by step, to what the cooling can carry off."""
FAULTS = frozenset({"hardware slowdown", "temperature (hardware)", "power brake"})
"""The hardware protects itself and halves the clock or worse."""
LIMITS = {
    "power cap": "power",
    "board limit": "board",
    "reliability": "voltage",
    HEAT: "temperature",
}
"""What each limit is called; but for heat, a device at one runs at the speed that it has."""
CHOSEN = frozenset({"application clocks", "sync boost", "display clocks"})
"""What holds a clock because somebody set it so."""


def slowdowns(reasons: Sequence[str]) -> tuple[str, ...]:
    """Return the reasons that take speed away which the device could have: heat and faults."""
    return tuple(r for r in reasons if r == HEAT or r in FAULTS)


def is_fault(reasons: Sequence[str]) -> bool:
    """Return whether the hardware protects itself."""
    return not FAULTS.isdisjoint(reasons)


def at_own_limit(reasons: Sequence[str]) -> bool:
    """Return whether a limit of the device's own holds the clock, and nothing slows it down."""
    return any(r in LIMITS for r in reasons) and not slowdowns(reasons)


def limit_words(reasons: Sequence[str]) -> str:
    """Return ``at its power limit``, or all limits that hold the clock; empty without any."""
    names = [name for reason, name in LIMITS.items() if reason in reasons]
    return f"at its {' and '.join(names)} limit{'s' if len(names) > 1 else ''}" if names else ""


def clock_words(reasons: Sequence[str]) -> str:
    """Return what holds the clock, faults first; empty when nothing does."""
    faults = [r for r in reasons if r in FAULTS]
    others = [r for r in reasons if r not in FAULTS and r not in LIMITS]
    parts = [f"slowed down: {', '.join(faults)}" if faults else "", limit_words(reasons)]
    return "; ".join(part for part in (*parts, *others) if part)


def frequent(looks: Sequence[Sequence[str] | None], share: float) -> tuple[str, ...]:
    """Return the reasons that stood in at least this share of the looks that know any, sorted."""
    known = [look for look in looks if look is not None]
    found = {reason for look in known for reason in look}
    return tuple(sorted(r for r in found if sum(r in look for look in known) >= share * len(known)))
