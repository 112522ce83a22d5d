"""One search spread over a cluster's workers, from the first task to the last answer.

An agenda decides what each worker measures: ``Agenda`` that of a sweep, ``RaceAgenda`` that of a
tuning. What waits stays here and goes to a worker only when it is about to measure, so that a
worker that comes late gets its share and one that dies takes two configurations at the most, which
another measures. Every task names its worker; none is moved or repeated by Dask itself.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from gpuexplorer.cluster.agenda import Lane, Now
from gpuexplorer.cluster.messages import Answer, Asked, Sampling, encode, read_told
from gpuexplorer.cluster.paces import Paces
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.deadline import said_deadline_s
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.shared_device import said_niceness, when_shared
from gpuexplorer.core.units import quantity
from gpuexplorer.engine.errors import EngineGone, EngineKilled, error_of
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.sampled import Sampled
from gpuexplorer.search.sweep import News
from gpuexplorer.workloads.workload import WorkloadSource

LOOK_S = 1.0
"""Between two looks at which workers there are."""
POLL_S = 0.25
MOST_DEATHS = 3
"""Workers that may die at one configuration before it is given up."""
ALONE_S = 60.0
"""How long a search waits for a worker when none is left."""
MOST_IDLE_LOOKS = 3
"""So often in a row workers may be found with nothing to do while something waits."""


class HasWorkers(Protocol):
    """A cluster, as far as a search needs it."""

    client: Any
    tasks: Any
    tags: Iterator[int]
    """What tells a task from all others, also from those of an earlier search."""
    on_live: Callable[[], None] | None
    """Called when a worker has told what it samples; None: none tells."""

    @property
    def tell_every_s(self) -> float | None:
        """How often a worker tells what it samples."""

    @property
    def workers(self) -> list[Lane]:
        """The workers that can measure."""

    @property
    def lanes(self) -> int:
        """How many they are."""

    def look(self) -> tuple[list[Lane], list[Lane]]:
        """Return the workers that have come, and those that have gone, since the last look."""

    def lost(self, detail: str = "") -> EngineGone:
        """Return the error for a scheduler that is gone."""

    def retire(self, lane: Lane, error: ExplorerError) -> None:
        """Use a worker no more, for what it said."""

    def on_trouble(self, sentence: str) -> None:
        """Tell the user something."""


class Decides(Protocol):
    """What is measured by whom, a configuration by its index."""

    records: bool
    """Whether the answer to a task is a record to go on with; otherwise it is a result."""

    @property
    def waiting(self) -> int:
        """How many are given to nobody; 0 when nothing more comes."""

    @property
    def proves(self) -> bool:
        """Whether a worker with nothing to do shows that it was not slow."""

    @property
    def devices(self) -> set[str]:
        """On what devices something waits to be measured."""

    def room(self, lanes: int) -> int:
        """Return how many configurations a worker of so many has."""

    def take(self, lane: Lane) -> int | None:
        """Return what a worker does next; None when there is nothing for it now."""

    def task(self, index: int) -> tuple[RunConfig, RunOptions]:
        """Return what is measured, and how."""

    def freed(self, lane: Lane, index: int | None, others: Sequence[Lane]) -> Sequence[Lane]:
        """Note that something has ended, None for a reference; return who may go on by that."""

    def give_back(self, index: int) -> None:
        """Let another worker measure something."""

    def gone(self, lane: Lane) -> None:
        """Note that a worker is gone."""

    def slower(self) -> None:
        """Note that all workers are slower than they were, and go on like that."""


class _Task(msgspec.Struct, frozen=True):
    lane: Lane
    index: int | None
    """Which configuration; None for the worker's reference."""
    config: RunConfig
    future: Any


class _Ended(msgspec.Struct, frozen=True):
    """A task whose answer will not come."""

    tag: int
    status: str


class Spreading:
    """The way through a search's configurations on all workers at a time."""

    def __init__(
        self,
        cluster: HasWorkers,
        agenda: Decides,
        source: WorkloadSource,
        options: RunOptions,
        topic: str,
        inbox: queue.SimpleQueue[Any],
        paces: Paces,
        resource: dict[str, int],
        *,
        agreed: bool = False,
        alone_s: float = ALONE_S,
    ) -> None:
        """``options`` are those of the reference, ``agreed`` is that of ``Asked``.

        ``inbox`` gets what is told under ``topic`` as it comes, from another thread.
        """
        self._cluster, self._agenda = cluster, agenda
        self._source, self._options, self._topic = source, options, topic
        self._agreed = agreed
        self._inbox, self._paces, self._resource = inbox, paces, resource
        self._tasks: dict[int, _Task] = {}
        self._deaths: dict[int, int] = {}
        self._look_due = 0.0
        self._alone_since: float | None = None
        self._alone_s = alone_s
        self._idle_looks = 0

    def news(self) -> Iterator[News | None]:
        """Measure all; see ``search.sweep.Spreads``."""
        for lane in self._cluster.workers:
            lane.going.clear()
            lane.now = None
        while self._agenda.waiting or self._tasks:
            if time.monotonic() >= self._look_due:
                yield from self._look()
            try:
                item = self._inbox.get(timeout=POLL_S)
            except queue.Empty:
                yield None
                continue
            if isinstance(item, _Ended):
                yield from self._ended(item)
            elif isinstance(told := read_told(item), Sampling):
                self._sampled(told)
                yield None
            else:
                yield from self._answered(told)

    def close(self) -> None:
        """End what is going on the workers."""
        tasks, self._tasks = list(self._tasks.values()), {}
        if tasks:
            self._cluster.client.cancel([task.future for task in tasks])

    # ---- out

    def _feed(self, lane: Lane) -> Iterator[News]:
        """Give a worker something to do, as long as it has room."""
        config = self._paces.due(lane)
        if config is not None:
            if not any(t.lane is lane and t.index is None for t in self._tasks.values()):
                self._submit(lane, None, config, self._options)
            return
        if self._paces.pace(lane).slow:
            return
        room = self._agenda.room(self._cluster.lanes)
        while len(lane.going) < room:
            index = self._agenda.take(lane)
            if index is None:
                if self._agenda.proves and not lane.going:
                    yield from self._prove(lane)
                return
            self._submit(lane, index, *self._agenda.task(index))
            if lane.going[0] == index:
                yield News(index)

    def _prove(self, lane: Lane) -> Iterator[News]:
        """Have a worker that has nothing left show that it was good to the end."""
        if self._paces.prove(lane):
            yield from self._feed(lane)

    def _submit(
        self, lane: Lane, index: int | None, config: RunConfig, options: RunOptions
    ) -> None:
        tag, own = next(self._cluster.tags), lane.devices[config.device]
        asked = Asked(
            tag=tag,
            config=msgspec.structs.replace(config, device=own.id),
            sha256=self._source.sha256,
            source=None if self._source.sha256 in lane.knows else self._source,
            agreed=self._agreed,
            waits=when_shared() == "wait",
            deadline_s=said_deadline_s(),
            nice=said_niceness(),
            options=options,
            topic=self._topic,
            record=index is not None and self._agenda.records,
            tell_every_s=self._cluster.tell_every_s,
        )
        future = self._cluster.client.submit(
            self._cluster.tasks.measure,
            encode(asked),
            key=f"measure-{self._topic}-{tag}",
            workers=[lane.address],
            resources=self._resource,
            pure=False,
        )
        self._tasks[tag] = _Task(lane, index, config, future)
        future.add_done_callback(lambda done: self._note_end(tag, done))

    def _note_end(self, tag: int, future: Any) -> None:
        if future.status != "finished":  # else the answer is told, or on its way
            self._inbox.put(_Ended(tag, future.status))

    # ---- in

    def _sampled(self, told: Sampling) -> None:
        task = self._tasks.get(told.tag)
        if task is not None and self._cluster.on_live is not None:
            task.lane.now = Now(task.config, told.samples, told.latest_s)
            self._cluster.on_live()

    def _answered(self, answer: Answer) -> Iterator[News]:
        task = self._tasks.pop(answer.tag, None)
        if task is None:
            return
        task.lane.now = None
        task.lane.knows.add(self._source.sha256)
        lane, error = task.lane, None if answer.failed is None else error_of(answer.failed)
        if error is not None and answer.gone:
            self._cluster.retire(lane, error)
            yield from self._lose(lane, task)
            return
        if task.index is None:
            yield from self._referenced(task, answer)
        else:
            lane.going.remove(task.index)
            if self._paces.pace(lane).slow:
                self._agenda.give_back(task.index)
                for other in self._cluster.workers:
                    yield from self._feed(other)
                return
            result = None if answer.result is None else _named(answer.result, task.config)
            record = None if answer.sampled is None else _recorded(answer.sampled, task.config)
            if error is None:
                lane.measured += 1
                self._paces.measured(lane, task.index)
            yield News(task.index, result, error, answer.seconds, record=record)
            for other in self._agenda.freed(lane, task.index, self._cluster.workers):
                yield from self._feed(other)
            if lane.going:
                yield News(lane.going[0])
        task.future.release()  # the result is stored
        yield from self._feed(lane)

    def _referenced(self, task: _Task, answer: Answer) -> Iterator[News]:
        """Take in how fast a worker is, and take back what a slow one has measured."""
        lane, workers = task.lane, self._cluster.workers
        if answer.result is None:
            self._paces.failed(task.config)
            _mark(workers, self._paces)
            return
        timing, before_s = answer.result.timing, self._paces.usual_s(lane)
        doubted = self._paces.took(lane, timing.min_s, timing.median_s)
        pace = self._paces.pace(lane)
        if doubted:
            taken_back, pace.unproven = pace.unproven, []
            lane.measured -= len(taken_back)
            if pace.rests == 1:
                self._cluster.on_trouble(
                    f"the worker on {lane.host} ({lane.address}) is slow: its reference takes "
                    f"{quantity(timing.min_s, 's')} at least; what it measured since it was last "
                    "found good is measured again"
                )
            if pace.slow:
                self._agenda.gone(lane)
            for index in taken_back:
                self._agenda.give_back(index)
                yield News(index, dropped=True)
            if self._paces.accepted(lane):
                self._agenda.slower()
                self._tell_slower(task.config.device, before_s, self._paces.usual_s(lane))
            others = workers
        else:
            others = list(self._agenda.freed(lane, None, workers))
        _mark(workers, self._paces)
        for other in others:
            yield from self._feed(other)

    def _tell_slower(self, device: str, before_s: float | None, now_s: float | None) -> None:
        self._cluster.on_trouble(
            f"every worker with {device} has become slow: the reference takes "
            f"{quantity(now_s, 's')}, where {quantity(before_s, 's')} was usual; they continue at "
            "this pace, and times from before were measured at a faster one"
        )

    def _ended(self, ended: _Ended) -> Iterator[News]:
        task = self._tasks.get(ended.tag)
        if task is None:
            return
        if ended.status == "error" and not _died(task.future):
            raise CannotRunHere(
                f"the worker on {task.lane.host} cannot do what it is asked",
                remedy="see that it has the same version of GPU Explorer and of Dask",
                detail=str(task.future.exception()),
            )
        if ended.status in ("cancelled", "lost"):
            raise self._cluster.lost()
        yield from self._lose(task.lane, task)

    # ---- workers that come and go

    def _look(self) -> Iterator[News]:
        _, gone = self._cluster.look()
        for lane in gone:
            yield from self._lose(lane, None)
        workers = self._cluster.workers
        self._check_somebody_can(workers)
        for lane in workers:
            yield from self._feed(lane)
        self._check_something_comes(workers)
        self._look_due = time.monotonic() + LOOK_S

    def _check_something_comes(self, workers: Sequence[Lane]) -> None:
        """Raise where a worker that could measure what is left has been given nothing to do."""
        wanted = self._agenda.devices
        able = [lane for lane in workers if wanted & lane.devices.keys()]
        free = any(not self._paces.pace(lane).slow for lane in able)
        idle = bool(self._agenda.waiting) and free and not self._tasks
        self._idle_looks = self._idle_looks + 1 if idle else 0
        if self._idle_looks >= MOST_IDLE_LOOKS:
            raise WorkFailed(
                "no worker of the cluster takes what is left to measure",
                remedy="start it again; a sweep is continued with --resume",
            )

    def _check_somebody_can(self, workers: Sequence[Lane]) -> None:
        now, wanted = time.monotonic(), self._agenda.devices
        if not wanted or any(wanted & lane.devices.keys() for lane in workers):
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since > self._alone_s:
            raise EngineGone(
                f"the cluster has had no worker for what is left for {self._alone_s:.0f} s",
                remedy="start workers again; a sweep is continued with --resume",
            )

    def _lose(self, lane: Lane, task: _Task | None) -> Iterator[News]:
        """Let others do what a worker was to do that is gone."""
        lost = [tag for tag, one in self._tasks.items() if one.lane is lane]
        tasks = [self._tasks.pop(tag) for tag in lost] + ([task] if task is not None else [])
        futures = {id(one): one.future for one in tasks}
        self._cluster.client.cancel(list(futures.values()))
        first = lane.going[0] if lane.going else None
        for index in reversed(lane.going):
            self._deaths[index] = self._deaths.get(index, 0) + (index == first)
            if self._deaths[index] >= MOST_DEATHS:
                said = f"{MOST_DEATHS} workers were lost while they measured it"
                yield News(index, error=EngineKilled(said, remedy="run it again"))
            else:
                self._agenda.give_back(index)
        lane.going.clear()
        self._agenda.gone(lane)
        self._paces.gone(lane)
        for other in self._cluster.workers:
            yield from self._feed(other)


def _mark(lanes: Sequence[Lane], paces: Paces) -> None:
    """Note on workers which of them are slow."""
    for lane in lanes:
        lane.slow = paces.pace(lane).slow


def _named(result: RunResult, config: RunConfig) -> RunResult:
    """Return a result with the device called as in the cluster; whose it was stays in it."""
    device = msgspec.structs.replace(result.device, id=config.device)
    own = msgspec.structs.replace(result.config, device=config.device)
    return msgspec.structs.replace(result, config=own, device=device)


def _recorded(sampled: Sampled, config: RunConfig) -> RunRecord:
    """Return a record with the device called as in the cluster."""
    record, prepared = sampled.record(), sampled.prepared
    device = msgspec.structs.replace(prepared.device, id=config.device)
    own = msgspec.structs.replace(prepared.config, device=config.device)
    record.prepared = msgspec.structs.replace(prepared, config=own, device=device)
    return record


def _died(future: Any) -> bool:
    """Whether Dask has given a task up because its worker died."""
    return type(future.exception()).__name__ == "KilledWorker"
