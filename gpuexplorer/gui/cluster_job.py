"""A cluster that a job of the window measures on: it stops and pauses as the job does."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing

import msgspec

from gpuexplorer.cluster.connection import Cluster, kind_of
from gpuexplorer.cluster.place import find_cluster
from gpuexplorer.cluster.standing import standing_words
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.search.several import Course
from gpuexplorer.search.sweep import News
from gpuexplorer.workloads.workload import Workload

CONNECT_S = 8.0
"""A window that is closed meanwhile waits for no longer than that."""
STANDING_EVERY_S = 0.5


class FoundCluster(msgspec.Struct, frozen=True):
    """What a cluster has."""

    devices: DeviceList
    workers: dict[str, int]
    """How many have each device."""


class WantedCluster(msgspec.Struct, frozen=True):
    """Where a job measures: on so many workers of a cluster that have one device."""

    where: str
    device: str
    devices: DeviceList
    workers: int | None = None
    """None: on all of them."""


def look_at(where: str, on_wait: Callable[[], None] = lambda: None) -> FoundCluster:
    """Connect, and return what the workers have; raises what ``Cluster`` and ``on_wait`` do."""
    with Cluster(find_cluster(where), connect_s=CONNECT_S, on_wait=on_wait) as cluster:
        return FoundCluster(cluster.devices, cluster.counts)


def _named(devices: DeviceList, name: str) -> DeviceInfo | None:
    return next((device for device in devices if device.id == name), None)


class JobCluster(Closing):
    """Spreads what a job measures, as ``Cluster`` does, until the job is cancelled."""

    def __init__(
        self,
        job: EngineJob,
        wanted: WantedCluster,
        on_trouble: Callable[[str], None],
        on_standing: Callable[[list[str]], None],
    ) -> None:
        """``on_standing`` is told now and then what each worker has done, a line each.

        Raises what ``Cluster`` does, and InputError where other hardware has the device's name now.
        """
        self._job, self._on_standing = job, on_standing
        self._due = 0.0
        self._cluster = Cluster(
            find_cluster(wanted.where),
            connect_s=CONNECT_S,
            on_trouble=on_trouble,
            on_wait=job.keep_going,
        )
        self._cluster.only, self._cluster.most = wanted.device, wanted.workers
        self._cluster.on_live = lambda: None  # it is looked at with the rest
        self.devices = self._cluster.devices
        found = [_named(devices, wanted.device) for devices in (wanted.devices, self.devices)]
        if found[0] is None or found[1] is None or kind_of(found[0]) != kind_of(found[1]):
            self._cluster.close()
            raise InputError(
                f"{wanted.device} of the cluster is not the hardware any more that was chosen: its "
                "workers have changed",
                remedy="find its workers again and choose",
            )

    def close(self) -> None:
        """Leave the cluster; its workers stay."""
        self._on_standing(standing_words(self._cluster.workers))
        self._cluster.close()

    @property
    def lanes(self) -> int:
        """How many configurations are measured at a time."""
        return self._cluster.lanes

    def spread(
        self, configs: Sequence[RunConfig], workload: Workload, options: RunOptions
    ) -> Generator[News | None]:
        """Measure all, unless the job is paused; see ``search.sweep.Spreads``."""
        with closing(self._cluster.spread(configs, workload, options)) as all_news:
            for news in all_news:
                self._go_on()
                yield news

    def race(self, course: Course) -> Generator[None]:
        """Measure until a race is over, unless the job is paused; see ``search.several.Races``."""
        with closing(self._cluster.race(course)) as steps:
            for _ in steps:
                self._go_on()
                yield None

    def _go_on(self) -> None:
        self._job.keep_going()
        now = time.monotonic()
        if now >= self._due:
            self._due = now + STANDING_EVERY_S
            self._on_standing(standing_words(self._cluster.workers))
