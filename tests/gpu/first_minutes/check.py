"""What one check at first contact with a GPU is: its limit, its facts, and where to look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpuexplorer.core.units import quantity
from tests.gpu.first_minutes.here import Here

Fact = str | int | float | bool | None
Note = Callable[[str, Fact], None]
"""Takes in a fact as it is found: its name, which ends in its SI unit, and its value."""
Run = Callable[[Here, Note], None]
UNITS = {"s": "s", "Hz": "Hz", "B": "B", "W": "W", "C": "°C", "per_s": "B/s"}


class Failed(Exception):
    """What was found is not what it must be; one sentence."""


class LeftOut(Exception):
    """This GPU or this installation does not have what would be checked; one sentence."""


class NoGpu(Exception):
    """There is nothing to check; one sentence."""


@dataclass(frozen=True)
class Check:
    """One check; those of a ``group`` share a process for as long as they pass."""

    name: str
    group: str
    run: Run
    look_into: tuple[str, ...]
    """Files of the package in which a failure has its cause, most likely first."""
    limit_s: float = 30.0


def require(condition: object, said: str) -> None:
    """Raise Failed with a sentence unless the condition holds."""
    if not condition:
        raise Failed(said)


def within(what: str, value: float | None, low: float, high: float, unit: str = "") -> float:
    """Return a value that lies strictly between two bounds; raise Failed otherwise."""
    if value is None:
        raise Failed(f"{what} is not known")
    if not low < value < high:
        bounds = f"{quantity(low, unit)} and {quantity(high, unit)}"
        raise Failed(f"{what} is {quantity(value, unit)}, not between {bounds}")
    return value


def words(key: str, value: Fact) -> str:
    """Return a fact as a line has it: ``SM clock_Hz`` and 1.7e9 are ``SM clock = 1.70 GHz``."""
    name, _, suffix = key.rpartition("_")
    if suffix == "s" and name.endswith("_per"):
        name, suffix = name.removesuffix("_per").rpartition("_")[0], "per_s"
    if not name or suffix not in UNITS or isinstance(value, bool | str):
        name, text = key, f"{value:.4g}" if isinstance(value, float) else str(value)
    else:
        text = quantity(value, UNITS[suffix])
    return f"{name} = {'not known' if value is None else text}"
