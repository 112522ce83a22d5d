"""Who else uses a device while it measures: other programs, and the host that lends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import DeviceUser
from gpuexplorer.core.units import listed, percent, plural, quantity

OTHERS = 0.25
"""Cores that other programs keep busy, from which it is worth a word."""
STOLEN = 0.03
"""Share of the time that a host gave to others, from which it is worth a word."""


def cores_of(backend: str, compute_units: int | None) -> int | None:
    """Return how many cores a processor has; None where a backend knows its own threads alone."""
    return compute_units if backend == "opencl" else None


class Shared(Protocol):
    """What tells who else uses a device: a reading, or what a source says."""

    @property
    def users(self) -> tuple[DeviceUser, ...] | None: ...
    @property
    def other_cores(self) -> float | None: ...
    @property
    def stolen(self) -> float | None: ...


def user_words(user: DeviceUser, *, named: bool = True) -> str:
    """Say which program it is, whose, and what it takes: ``python of user anna (3 GiB)``."""
    whose = f"{user.program} of user {user.user}" if user.user and named else user.program
    takes = []
    if user.memory_B is not None:
        takes.append(quantity(user.memory_B, "B"))
    if user.load is not None:
        takes.append(f"{percent(user.load)} busy" if user.load > 0 else "idle")
    return f"{whose} ({', '.join(takes)})" if takes else whose


def shared_words(
    look: Shared, device: DeviceInfo, *, working: bool = False, named: bool = True
) -> str:
    """Say who else uses a device now; empty for nobody, or nothing known.

    ``working``: only those that had work there lately; ``named``: with the users' names.
    """
    users = [one for one in look.users or () if one.works or not working]
    cores = cores_of(device.backend, device.compute_units)
    programs = [user_words(one, named=named) for one in users]
    return disturbance(look.other_cores, look.stolen, cores, programs)


def disturbance(
    other_cores: float | None, stolen: float | None, cores: int | None, programs: Sequence[str] = ()
) -> str:
    """Say who kept a device busy; empty for nobody, or nothing known.

    ``other_cores`` is how many of a processor's ``cores`` other programs used, ``stolen`` the share
    of its time that the host of a virtual machine gave to others, ``programs`` are those on a GPU.
    """
    found = []
    if programs:
        named = listed(list(programs))
        found.append(
            plural(len(programs), "{named} uses this GPU", "{named} use this GPU", named=named)
        )
    if other_cores is not None and other_cores >= OTHERS:
        found.append(
            plural(
                cores,
                "other programs keep this CPU busy ({others:.1f} of {number} core)",
                "other programs keep this CPU busy ({others:.1f} of {number} cores)",
                others=other_cores,
            )
            if cores
            else f"other programs keep this CPU busy ({other_cores:.1f} cores)"
        )
    if stolen is not None and stolen >= STOLEN:
        found.append(f"its host gave {percent(stolen)} of its time to others")
    return listed(found)
