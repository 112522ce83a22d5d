"""What runs in a cluster's worker: one engine of ours, which measures what its tasks ask for.

A worker has one device. Of several NVIDIA GPUs in a machine each worker takes one that no other
has, and the engine sees no more than that. The engine ends with the worker, however that ends.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from distributed import WorkerPlugin, get_worker

import gpuexplorer
from gpuexplorer.calibration.store import CeilingStore, data_folder
from gpuexplorer.cluster.messages import Answer, Asked, Described, Sampling, encode, read_asked
from gpuexplorer.core.deadline import choose_deadline, said_deadline_s
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.locks import FileLock
from gpuexplorer.core.shared_device import (
    choose_niceness,
    choose_sharing,
    said_niceness,
    when_shared,
)
from gpuexplorer.core.statistics import middle
from gpuexplorer.core.units import plural
from gpuexplorer.engine.errors import EngineGone, failed_of
from gpuexplorer.engine.interpreters import default_engine
from gpuexplorer.engine.session import EngineSession, RunProgress
from gpuexplorer.history.processes import this_host
from gpuexplorer.search.engines import Engines
from gpuexplorer.workloads.trust import agree_here
from gpuexplorer.workloads.workload import Workload, WorkloadSource

NAME = "gpuexplorer"
VISIBLE = "CUDA_VISIBLE_DEVICES"


class WorkerEngine(WorkerPlugin):  # type: ignore[misc]
    """The engine of a worker, started with its first task and used by all that follow."""

    def __init__(self) -> None:
        self._engines: Engines | None = None
        self._gpu: FileLock | None = None
        self._one_at_a_time: Any = None
        self._usual = when_shared(), said_deadline_s(), said_niceness()

    def setup(self, worker: Any) -> None:
        """Get ready in a worker; Dask calls this."""
        self._one_at_a_time = threading.Lock()

    def teardown(self, worker: Any) -> None:
        """End the engine; Dask calls this."""
        self._end()
        if self._gpu is not None:
            self._gpu.close()

    def devices(self) -> DeviceList:
        """Return what the worker can measure on; raises what says why there is nothing."""
        with self._one_at_a_time:
            return self._opened().devices

    def measure(self, asked: Asked, workload: Workload) -> Answer:
        """Measure a configuration."""
        began = time.perf_counter()
        try:
            with self._one_at_a_time:
                self._heed(asked)
                record = self._opened().measure(
                    asked.config, workload, asked.options, on_progress=_teller(asked)
                )
        except ExplorerError as error:
            gone = isinstance(error, EngineGone)
            return Answer(tag=asked.tag, failed=failed_of(error), gone=gone)
        return Answer.of(asked, record, time.perf_counter() - began)

    def _heed(self, asked: Asked) -> None:
        """Have the engine share its machine and keep the deadline that a task says, or its own."""
        usual, usual_s, usual_nice = self._usual
        choose_sharing("wait" if asked.waits else usual, None)
        deadline_s = asked.deadline_s or usual_s
        nice = usual_nice if asked.nice is None else max(asked.nice, usual_nice or 0)
        if (deadline_s, nice) != (said_deadline_s(), said_niceness()):
            self._end()  # the next one has them from its start
            choose_deadline(deadline_s)
            choose_niceness(nice)

    def _end(self) -> None:
        engines, self._engines = self._engines, None
        if engines is not None:
            engines.close()

    def _opened(self) -> Engines:
        if self._engines is None:
            engines = Engines(_open, None)
            gpus = {device.hardware_id for device in engines.devices if device.is_nvidia_gpu}
            try:
                mine = self._take_one(gpus) if gpus and self._gpu is None else None
            except BaseException:
                engines.close()
                raise
            if len(gpus) > 1 and mine is not None:
                engines.close()
                os.environ[VISIBLE] = mine
                engines = Engines(_open, None)
            self._engines = engines
        return self._engines

    def _take_one(self, gpus: set[str]) -> str:
        """Return the UUID of a GPU that no other worker of this machine has, now this one's."""
        for uuid in sorted(gpus):
            lock = FileLock(data_folder() / "cluster" / f"{uuid}.lock")
            if lock.taken:
                self._gpu = lock
                return uuid
            lock.close()
        raise CannotRunHere(
            plural(
                len(gpus),
                "another worker has the only GPU of {host}",
                "other workers have all {number} GPUs of {host}",
                host=this_host(),
            ),
            remedy="start as many workers as there are GPUs",
        )


class WorkerWorkload(WorkerPlugin):  # type: ignore[misc]
    """A workload that a worker has, and tasks name by its fingerprint."""

    def __init__(self, source: WorkloadSource) -> None:
        self.workload = Workload(source)


def workload_name(sha256: str) -> str:
    """Return what a worker knows a workload by."""
    return f"{NAME}-{sha256}"


def _open(threads: int | None) -> EngineSession:
    return EngineSession(python=default_engine(), threads=threads, ceilings=CeilingStore().find)


def _teller(asked: Asked) -> Callable[[RunProgress], None] | None:
    """Return what tells now and then how far a run is; None where nobody wants to know."""
    every_s, worker = asked.tell_every_s, get_worker()
    if every_s is None:
        return None
    due = time.monotonic() + every_s

    def tell(progress: RunProgress) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due or progress.record is None or not progress.record.batches:
            return
        due = now + every_s
        latest_s = middle(np.frombuffer(progress.record.batches[-1].seconds, dtype="<f8"))
        told = Sampling(tag=asked.tag, samples=progress.samples, latest_s=latest_s)
        worker.log_event(asked.topic, encode(told))

    return tell


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C, which a terminal sends to all, to the program that has started the worker.

    Dask calls this in each worker; see ``library.SETTINGS``.
    """
    if threading.current_thread() is threading.main_thread():  # else it is no process of its own
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def engine_of(worker: Any, kind: Callable[[], Any] = WorkerEngine) -> Any:
    """Return a worker's engine, which the first task makes.

    Dask would bring it to all workers at a time, and fail for all where one does not answer.
    """
    if NAME not in worker.plugins:
        made = kind()
        made.setup(worker)
        worker.plugins[NAME] = made
    return worker.plugins[NAME]


def workload_of(worker: Any, asked: Asked) -> Workload:
    """Return the workload of a task, which the first tasks of a worker bring along."""
    name = workload_name(asked.sha256)
    if asked.source is not None and name not in worker.plugins:
        worker.plugins[name] = WorkerWorkload(asked.source)
    workload: Workload = worker.plugins[name].workload
    return workload


# ---- tasks


def describe() -> bytes:
    """Return what this worker is, as ``Described``."""
    version, host = gpuexplorer.__version__, this_host()
    try:
        devices = engine_of(get_worker()).devices()
    except ExplorerError as error:
        return encode(Described(version=version, host=host, failed=failed_of(error)))
    return encode(Described(version=version, host=host, devices=devices))


def measure(task: bytes) -> None:
    """Measure what ``Asked`` says, and tell it as an ``Answer`` under its topic."""
    worker, asked = get_worker(), read_asked(task)
    workload = workload_of(worker, asked)
    if asked.agreed:
        agree_here(workload)
    answer = engine_of(worker).measure(asked, workload)
    worker.log_event(asked.topic, encode(answer))
