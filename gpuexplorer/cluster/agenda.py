"""Which worker measures which configuration: a source is compiled once a machine.

Configurations that run the same compiled kernel go to a machine that has it, as long as there are
any; the others of that machine wait until the first has built it. Only when nothing new is left, a
machine begins with what is built elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.search.order import Key, build_key

AT_ONCE = 2
"""Configurations that a worker has: one is measured, the other begins as soon as that has ended.
Towards the end it has one, so that none waits behind another while a worker has nothing to do."""


class Now(msgspec.Struct, frozen=True):
    """What a worker has sampled of the run that goes on there."""

    config: RunConfig
    samples: int
    latest_s: float


@dataclass(eq=False)
class Lane:
    """A worker, and what it has to do."""

    address: str
    host: str
    devices: dict[str, DeviceInfo]
    """Its own devices by what they are called in the cluster."""
    going: list[int] = field(default_factory=list)
    """What was given to it and has not ended, in order."""
    latest: Key | None = None
    measured: int = 0
    """How many it has measured that hold, in all searches."""
    now: Now | None = None
    """The run that goes on, where it is told of."""
    knows: set[str] = field(default_factory=set)
    """The workloads that it has, by their fingerprints."""
    slow: bool = False
    """Whether it was found slow and gets nothing to measure."""


class Agenda:
    """What waits, in the order in which it was given."""

    records = False
    """Whether the answer to a task is a record to go on with; otherwise it is a result."""

    def __init__(self, configs: Sequence[RunConfig], options: RunOptions) -> None:
        self._configs, self._options = configs, options
        self._keys = [build_key(config) for config in configs]
        self._devices = [config.device for config in configs]
        self._waiting: dict[Key, deque[int]] = {}
        for index, key in enumerate(self._keys):
            self._waiting.setdefault(key, deque()).append(index)
        self._device_of = {key: self._devices[q[0]] for key, q in self._waiting.items()}
        self._fresh = dict.fromkeys(self._waiting)
        """Keys that nobody builds or has built, in order."""
        self._hosts: dict[str, dict[Key, Lane | None]] = {}
        """By machine what it has built (None), or which worker builds it now."""
        self.waiting = len(configs)
        """How many are given to nobody."""

    @property
    def devices(self) -> set[str]:
        """On what devices something waits to be measured."""
        return {self._device_of[key] for key in self._waiting}

    @property
    def proves(self) -> bool:
        """Whether a worker with nothing to do shows that it was not slow: nothing more comes."""
        return not self.waiting

    def room(self, lanes: int) -> int:
        """Return how many configurations a worker of so many has."""
        return AT_ONCE if self.waiting > lanes else 1

    def task(self, index: int) -> tuple[RunConfig, RunOptions]:
        """Return what is measured, and how."""
        return self._configs[index], self._options

    def take(self, lane: Lane) -> int | None:
        """Return what a worker does next; None when there is nothing for it now."""
        key = self._choose(lane)
        if key is None:
            return None
        lane.latest = key
        self._fresh.pop(key, None)
        self._hosts.setdefault(lane.host, {}).setdefault(key, lane)
        queue = self._waiting[key]
        index = queue.popleft()
        if not queue:
            del self._waiting[key]
        lane.going.append(index)
        self.waiting -= 1
        return index

    def _choose(self, lane: Lane) -> Key | None:
        if lane.latest in self._waiting:
            return lane.latest
        here = self._hosts.get(lane.host, {})
        for key, builder in here.items():
            if key in self._waiting and builder in (None, lane) and self._suits(key, lane):
                return key
        for key in self._fresh:
            if self._suits(key, lane):
                return key
        others = [k for k in self._waiting if k not in here and self._suits(k, lane)]
        return max(others, key=lambda key: len(self._waiting[key]), default=None)

    def _suits(self, key: Key, lane: Lane) -> bool:
        return self._device_of[key] in lane.devices

    def freed(self, lane: Lane, index: int | None, others: Sequence[Lane]) -> Sequence[Lane]:
        """Note that something has ended; return who has something to do by that: it is built."""
        if index is None:
            return ()
        here, key = self._hosts.setdefault(lane.host, {}), self._keys[index]
        first = here.get(key) is not None
        here[key] = None
        if not first:
            return ()
        return [other for other in others if other.host == lane.host and other is not lane]

    def give_back(self, index: int) -> None:
        """Let something wait again, before all others of its kind."""
        self._waiting.setdefault(self._keys[index], deque()).appendleft(index)
        self.waiting += 1

    def gone(self, lane: Lane) -> None:
        """Note that a worker is gone: what it was building nobody builds."""
        here = self._hosts.get(lane.host, {})
        for key in [key for key, builder in here.items() if builder is lane]:
            del here[key]

    def slower(self) -> None:
        """Note that all workers are slower now: each run says when it was measured."""
