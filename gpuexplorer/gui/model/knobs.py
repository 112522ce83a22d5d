"""The knobs of an experiment as one value, and the steps a slider snaps to."""

from __future__ import annotations

import msgspec

from gpuexplorer.core.config import OWN_FILL, Cache, RunRequest
from gpuexplorer.core.fields import Name, Positive, Symbol, Tunable
from gpuexplorer.core.knobs import request_of


class Knobs(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the experiment panel sets; two equal ones are the same experiment.

    ``size`` and ``tunables`` hold every symbol of the workload and variant. ``block`` is None for
    what chooses its own: a library call, a framework's model. ``device`` is a device's id or
    ``auto``.
    """

    workload: Name
    variant: Name
    size: dict[Symbol, Positive]
    precision: Name
    device: Name = "auto"
    block: tuple[Positive, Positive, Positive] | None = None
    tunables: dict[Symbol, Tunable] = {}
    cache: Cache = "hot"
    fill: Name = OWN_FILL
    include_transfers: bool = False
    switches: dict[Name, bool | Name] = {}
    """Switches of a model's structure that are not at their default."""

    def request(self) -> RunRequest:
        """Return what these knobs ask for."""
        return request_of(**msgspec.structs.asdict(self))


def is_power_of_two(value: int) -> bool:
    """Return whether ``value`` is 1, 2, 4, 8, ..."""
    return value > 0 and value & (value - 1) == 0


def power_below(value: int) -> int:
    """Return the largest power of two that is not above ``value`` (which is at least 1)."""
    return 1 << (value.bit_length() - 1)


def power_near(value: float) -> int:
    """Return the power of two nearest to ``value`` on a logarithmic scale."""
    low = power_below(max(1, int(value)))
    return low if value * value < 2.0 * low * low else 2 * low


def snapped(value: float, low: int, high: int, *, every_integer: bool = False) -> int:
    """Return the step nearest to ``value`` in ``low..high``: a power of two, or an end."""
    if every_integer:
        return min(max(round(value), low), high)
    step = power_near(max(1.0, value))
    if step > high:
        step = power_below(high) if value < (power_below(high) * high) ** 0.5 else high
    return min(max(step, low), high)


def next_step(value: int, direction: int, low: int, high: int) -> int:
    """Return the next power of two above or below ``value``; the ends stop it."""
    if direction > 0:
        step = 2 * power_below(value)
    else:
        step = power_below(value) if not is_power_of_two(value) else value // 2
    return min(max(step, low), high)
