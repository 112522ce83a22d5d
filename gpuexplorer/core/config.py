"""One configuration: everything that decides what is run."""

from __future__ import annotations

from typing import Literal

import msgspec

Block = tuple[int, int, int]
Problem = tuple[str, tuple[tuple[str, int], ...]]
"""A workload and the values of its sizes: what several configurations may race to solve."""
Cache = Literal["hot", "cold"]
"""``hot``: launch after launch on the same arrays; ``cold``: the last-level cache emptied first."""
OWN_FILL = "manifest"
"""Each input is filled as the workload's manifest says; any other ``fill`` holds for them all."""
EVEN_IF_WRONG = "even_if_wrong"
"""The switch of a run that is timed although its result is further from float64 than allowed, for a
study of what a precision costs in accuracy. It is not offered to users, and is no other work."""


class RunConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A complete configuration; two equal ones are the same experiment.

    ``block`` counts threads, ``grid`` blocks, along x, y, z. ``grid`` is None for a library
    variant, which chooses its own. ``threads`` is the number of CPU threads the work may use and
    None on a GPU. ``switches`` holds what only some runs have: ``include_transfers``, and of a
    framework's model (see ``workloads.switches``) those that differ from their defaults.
    ``precision`` is empty where an imported file does not say it.
    """

    workload: str
    variant: str
    size: dict[str, int]
    precision: str
    device: str
    block: Block | None = None
    grid: Block | None = None
    tunables: dict[str, int] = {}
    cache: Cache = "hot"
    fill: str = OWN_FILL
    seed: int = 1
    threads: int | None = None
    switches: dict[str, bool | int | float | str] = {}

    @property
    def key(self) -> str:
        """A text that is equal for equal configurations."""
        return msgspec.json.encode(self, order="sorted").decode()

    @property
    def problem(self) -> Problem:
        """What is solved, however; times of different problems are no race."""
        return self.workload, tuple(sorted(self.size.items()))

    @property
    def include_transfers(self) -> bool:
        """Whether each sample runs the whole textbook sequence, host→device and back."""
        return bool(self.switches.get("include_transfers", False))

    @property
    def even_if_wrong(self) -> bool:
        """Whether it is timed although its result is further from float64 than allowed."""
        return bool(self.switches.get(EVEN_IF_WRONG, False))


class RunRequest(msgspec.Struct, kw_only=True):
    """What a user asked for; whatever is None takes the workload's or the device's default."""

    workload: str
    variant: str | None = None
    size: dict[str, int] = {}
    """Size symbols to values; the empty symbol means the workload's first size."""
    block: tuple[int, ...] | None = None
    precision: str | None = None
    device: str = "auto"
    tunables: dict[str, int] = {}
    cache: Cache = "hot"
    fill: str | None = None
    seed: int = 1
    threads: int | None = None
    switches: dict[str, bool | int | float | str] = {}
