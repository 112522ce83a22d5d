"""A cluster as something that measures: its workers, their devices, a search spread over them."""

from __future__ import annotations

import itertools
import queue
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from typing import Any

import msgspec

import gpuexplorer
from gpuexplorer.cluster.agenda import Agenda, Lane
from gpuexplorer.cluster.library import load_distributed
from gpuexplorer.cluster.messages import read_described
from gpuexplorer.cluster.paces import EVERY_S, SLOWER_BY, Paces
from gpuexplorer.cluster.place import ClusterPlace
from gpuexplorer.cluster.race_agenda import RaceAgenda
from gpuexplorer.cluster.spreading import ALONE_S, Decides, Spreading
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.hardware_id import without_machine
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.units import plural
from gpuexplorer.engine.errors import EngineGone, error_of
from gpuexplorer.search.several import Course
from gpuexplorer.search.sweep import News
from gpuexplorer.workloads.trust import agreed
from gpuexplorer.workloads.workload import Workload

CONNECT_S = 15.0
WAIT_S = 0.25
DESCRIBE_S = 120.0
"""How long the first workers may take to say what they have: their engines start meanwhile."""
GPU = "GPU"
"""The resource that a worker has one of: its device."""

REFERENCE = RunOptions(samples=7, seconds=2.0, warm_up_s=0.02, keep_arrays=True)
"""How the reference of a race is measured: about as long as a look."""
TELL_EVERY_S = 0.5
TOLD_PER_S = 50
"""Messages on runs that go on, from all workers together: the scheduler forwards each."""
RACE_EVERY_S = 5.0
"""A race shows after so long whether its workers are slow, since it lasts a minute or so."""

Kind = tuple[object, ...]


def kind_of(device: DeviceInfo) -> Kind:
    """Return what two devices must share to be the same hardware to a ranking."""
    return (
        device.backend, device.kind, device.name, device.driver, device.compute_units,
        device.threads, device.compute_capability, device.limits.memory_B,
    )  # fmt: skip


def connect(place: ClusterPlace, *, timeout_s: float = CONNECT_S) -> Any:
    """Return Dask's client of a scheduler; CannotRunHere where none answers."""
    library = load_distributed()
    try:
        return library.Client(
            place.scheduler, security=place.security(), timeout=timeout_s, set_as_default=False
        )
    except (OSError, TimeoutError) as error:
        raise CannotRunHere(
            f"no scheduler answers at {place.scheduler}",
            remedy="start the cluster with 'gpuexplorer cluster up', or check the address and the "
            "certificates",
            detail=str(error),
        ) from None


class Cluster(Closing):
    """The workers of a scheduler: ``Spreads`` of ``search.sweep``, ``Races`` of ``search.several``.

    Its devices are kinds of hardware, not cards: each is measured by all workers that have it.
    """

    def __init__(
        self,
        place: ClusterPlace,
        *,
        slower_by: float = SLOWER_BY,
        check_every_s: float = EVERY_S,
        on_trouble: Callable[[str], None] = lambda sentence: None,
        connect_s: float = CONNECT_S,
        describe_s: float = DESCRIBE_S,
        on_wait: Callable[[], None] = lambda: None,
        tasks: Any = None,
    ) -> None:
        """Connect, and wait until the workers that are there have said what they have.

        ``slower_by`` and ``check_every_s`` are those of ``Paces``; the scheduler has ``connect_s``
        to answer and the first workers ``describe_s``, in which ``on_wait`` is called now and then
        and may raise. ``tasks`` replaces ``cluster.worker``, for simulations. Raises CannotRunHere
        where nothing answers.
        """
        self._library = load_distributed()
        if tasks is None:
            from gpuexplorer.cluster import worker as tasks
        self.tasks = tasks
        self.place, self._on_trouble = place, on_trouble
        self.slower_by, self.check_every_s = slower_by, check_every_s
        self.alone_s = ALONE_S
        """How long a search waits for a worker where none is left."""
        self.only: str | None = None
        """The device whose workers alone measure; None: all."""
        self.most: int | None = None
        """How many of them measure at the most."""
        self.on_live: Callable[[], None] | None = None
        """Called when a worker has told what it samples; None: none tells."""
        self.tags: Iterator[int] = itertools.count(1)
        """What tells a task from all others, also from those of an earlier search."""
        self._kinds: dict[Kind, str] = {}
        self._known: dict[str, Lane | None] = {}
        """By address every worker that is there; None for one that cannot be used, or not yet."""
        self._asked: dict[str, Any] = {}
        self.client = connect(place, timeout_s=connect_s)
        try:
            self.look()
            ends = time.monotonic() + describe_s
            while not self._all_said() and time.monotonic() < ends:
                on_wait()
            self.devices = self._first_devices()
        except BaseException:
            self.close()
            raise

    def _all_said(self) -> bool:
        """Wait a little; return whether all workers that were asked have answered."""
        with self.client.as_current(), suppress(TimeoutError):
            self._library.wait(list(self._asked.values()), timeout=WAIT_S)
            return True
        return False

    def close(self) -> None:
        """Leave the cluster; its workers stay."""
        # What became of a connection that was being made anew does not matter any more; of one that
        # has data before its TLS tornado says ValueError.
        with suppress(OSError, ValueError):
            self.client.close()

    def on_trouble(self, sentence: str) -> None:
        """Tell the user something."""
        self._on_trouble(sentence)

    # ---- workers

    @property
    def workers(self) -> list[Lane]:
        """The workers that can measure."""
        found = [lane for lane in self._known.values() if lane is not None]
        return [lane for lane in found if self.only in (None, *lane.devices)][: self.most]

    @property
    def counts(self) -> Counter[str]:
        """How many workers have each device."""
        return Counter(name for lane in self.workers for name in lane.devices)

    @property
    def lanes(self) -> int:
        """How many configurations are measured at a time."""
        return len(self.workers)

    @property
    def tell_every_s(self) -> float | None:
        """How often a worker tells what it samples: the more there are, the seldomer."""
        return None if self.on_live is None else max(TELL_EVERY_S, self.lanes / TOLD_PER_S)

    def look(self) -> tuple[list[Lane], list[Lane]]:
        """Return the workers that have come, and those that have gone, since the last look."""
        if self.client.status != "running":
            raise self.lost()
        try:
            present = self.client.nthreads()
        except (OSError, TimeoutError, RuntimeError) as error:
            raise self.lost(str(error)) from None
        gone = [self._known.pop(address) for address in list(self._known) if address not in present]
        for address in [address for address in self._asked if address not in present]:
            self._asked.pop(address).cancel()
        for address in present:
            if address not in self._known:
                self._known[address] = None
                self._asked[address] = self.client.submit(
                    self.tasks.describe, workers=[address], resources={GPU: 1}, pure=False
                )
        come = []
        for address in [a for a, future in self._asked.items() if future.done()]:
            lane = self._lane(address, self._asked.pop(address))
            del self._known[address]  # who came first stays first, so that ``most`` moves nobody
            self._known[address] = lane
            if lane is not None:
                come.append(lane)
        return come, [lane for lane in gone if lane is not None]

    def lost(self, detail: str = "") -> EngineGone:
        """Return the error for a scheduler that is gone."""
        return EngineGone(
            f"the cluster's scheduler at {self.place.scheduler} is gone",
            remedy="start the cluster again; a sweep is continued with --resume",
            detail=detail,
        )

    def retire(self, lane: Lane, error: ExplorerError) -> None:
        """Use a worker no more, for what it said."""
        self._known[lane.address] = None
        self.on_trouble(f"the worker on {lane.host} cannot measure any more: {error}")

    def _lane(self, address: str, future: Any) -> Lane | None:
        """Return a worker by what it said of itself; None for one that cannot be used."""
        if future.status != "finished":
            failed = future.exception() if future.status == "error" else None
            self.on_trouble(
                f"the worker at {address} cannot load GPU Explorer and is not used; install "
                f"{gpuexplorer.__version__} there, with the extra cluster"
                if isinstance(failed, ImportError | AttributeError)
                else f"the worker at {address} did not say what it can measure on"
            )
            return None
        said = read_described(future.result())
        future.release()
        if said.version != gpuexplorer.__version__:
            self.on_trouble(
                f"the worker on {said.host} has GPU Explorer {said.version} and is not used; "
                f"install {gpuexplorer.__version__} there"
            )
            return None
        if said.failed is not None:
            self.on_trouble(f"the worker on {said.host} is not used: {error_of(said.failed)}")
            return None
        return Lane(address, said.host, self._named(said.devices))

    # ---- devices

    def _named(self, devices: DeviceList) -> dict[str, DeviceInfo]:
        """Return a worker's devices by the names that their kinds have in the cluster."""
        found: dict[str, DeviceInfo] = {}
        for device in devices:
            kind = kind_of(device)
            if kind not in self._kinds:
                many = sum(other[0] == device.backend for other in self._kinds)
                self._kinds[kind] = f"{device.backend}:{many}"
            found.setdefault(self._kinds[kind], device)
        return found

    def _first_devices(self) -> DeviceList:
        self.look()
        if not self.workers and self._asked:
            raise CannotRunHere(
                f"no worker of {self.place.scheduler} said in time what it can measure on",
                remedy="see that each has the resource GPU=1, as those of 'gpuexplorer cluster up' "
                "have, and is not measuring for somebody else",
            )
        if not self.workers:
            raise CannotRunHere(
                f"the cluster at {self.place.scheduler} has no worker that can measure",
                remedy="wait until its workers have started, or look at what they say",
            )
        self._number_kinds()
        first = {name: device for lane in self.workers for name, device in lane.devices.items()}
        return DeviceList(
            devices=tuple(
                msgspec.structs.replace(device, id=name, hardware_id=_any(device))
                for name, device in sorted(first.items())
            )
        )

    def _number_kinds(self) -> None:
        """Call the kind that most workers have the first of its backend, whoever came first."""
        counts = self.counts
        first = {name: device for lane in self.workers for name, device in lane.devices.items()}
        given: dict[str, list[str]] = {}
        for name in sorted(counts, key=lambda name: (-counts[name], first[name].name, name)):
            given.setdefault(first[name].backend, []).append(name)
        numbered = {
            name: f"{backend}:{number}"
            for backend, names in given.items()
            for number, name in enumerate(names)
        }
        self._kinds = {
            kind: numbered[name] for kind, name in self._kinds.items() if name in numbered
        }
        for lane in self.workers:
            lane.devices = {numbered[name]: device for name, device in lane.devices.items()}

    def words(self) -> list[str]:
        """Return who measures on what, a sentence for each kind of hardware."""
        counts = self.counts
        return [
            plural(
                counts[device.id],
                "{number} worker has {device}, {name}",
                "{number} workers have {device}, {name}",
                device=device.id,
                name=device.name,
            )
            for device in self.devices
        ]

    # ---- measuring

    def spread(
        self, configs: Sequence[RunConfig], workload: Workload, options: RunOptions
    ) -> Generator[News | None]:
        """Measure all; see ``search.sweep.Spreads``."""
        paces = Paces(configs, slower_by=self.slower_by, every_s=self.check_every_s)
        yield from self._news(Agenda(configs, options), workload, options, paces)

    def race(self, course: Course) -> Generator[None]:
        """Measure until a race is over; see ``search.several.Races``."""
        paces = Paces(
            course.references,
            slower_by=self.slower_by,
            every_s=min(self.check_every_s, RACE_EVERY_S),
            strict=True,
        )
        agenda = RaceAgenda(course, paces)
        with closing(self._news(agenda, course.workload, REFERENCE, paces)) as all_news:
            for news in all_news:
                if news is None:
                    yield None
                elif news.dropped:
                    agenda.dropped(news.index)
                elif (outcome := news.record or news.error) is not None:
                    agenda.ended(news.index, outcome)

    def _news(
        self, agenda: Decides, workload: Workload, options: RunOptions, paces: Paces
    ) -> Generator[News | None]:
        inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        topic = self.client.id  # the scheduler forgets what was told there when the client leaves

        def take(event: tuple[float, Any]) -> None:
            if isinstance(event[1], bytes):  # others are the scheduler's own
                inbox.put(event[1])

        self.client.subscribe_topic(topic, take)
        spreading = Spreading(
            self, agenda, workload.source, options, topic, inbox, paces, {GPU: 1},
            agreed=agreed(workload), alone_s=self.alone_s,
        )  # fmt: skip
        try:
            yield from spreading.news()
        finally:
            spreading.close()
            self.client.unsubscribe_topic(topic)


def _any(device: DeviceInfo) -> str:
    """Return what stands for all cards of a kind where one card's id would."""
    return f"GPU-{device.name}" if device.is_nvidia_gpu else without_machine(device.hardware_id)
