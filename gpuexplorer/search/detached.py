"""A search that goes on without the program that asked for it: ``detached FOLDER [--nice N]``.

The folder holds what to measure (``WORK``), and gets a file for each configuration that is done
(``ANSWERS``), at once by a rename, and ``DONE`` when nothing is missing. Started again in the same
folder, as after a reboot, a sweep measures what is missing, and a tuning goes the same way by what
it has measured (``LOOKS``), and on from there. Whoever holds ``LOCK`` is at work there; ``STOP``
ends it after the present configuration.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

import gpuexplorer
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.chunked import as_list
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.deadline import choose_deadline
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.locks import FileLock
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.shared_device import WhenShared, choose_sharing
from gpuexplorer.core.text import brief
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.engine import protocol
from gpuexplorer.engine.errors import EngineGone, error_of, failed_of
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.exchange.files import NotWritten, atomic_file
from gpuexplorer.search.looks_kept import KeptLooks
from gpuexplorer.search.outcome import passes
from gpuexplorer.search.tune import Tuner, TuningOptions
from gpuexplorer.search.tune_sampler import check_sampler
from gpuexplorer.search.tune_space import Ranges, tuning_space
from gpuexplorer.workloads.trust import agree_here
from gpuexplorer.workloads.workload import Workload, WorkloadSource

MODULE = "gpuexplorer.search.detached"
LOOK_S = 2.0
TRIES = 2
"""How often what is lost for a reason that passes is measured, until someone continues the job."""
WORK, ANSWERS, LOOKS, LOCK = "work", "answers", "looks", "lock"
STOP, PID, DONE = "stop", "pid", "done"


class TuneWork(msgspec.Struct, frozen=True, kw_only=True):
    """What to tune, among what, and how."""

    request: RunRequest
    ranges: Ranges
    options: TuningOptions


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure: configurations in order, or those that a tuning comes to."""

    version: str = gpuexplorer.__version__
    source: WorkloadSource
    configs: list[RunConfig] = []
    options: RunOptions = LIVE
    tuning: TuneWork | None = None
    devices: DeviceList
    """Those of the engine, as the space was completed with them."""
    ceilings: list[Ceilings] = []
    """What they were measured to do at most; runs are held against it."""
    agreed: bool = False
    """Whether the user agreed to run the workload's own code."""
    when_shared: WhenShared = "warn"
    """Whether each run waits until nobody else uses the device."""
    deadline_s: float | None = None
    """How long building or a launch may take, where that was said."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration: a result, or why there is none; or of a whole tuning.

    One that failed has what was known by then.
    """

    config: RunConfig
    result: RunResult | None = None
    failed: protocol.Failed | None = None
    tuning: Tuning | None = None
    seconds: float = 0.0


encode = msgspec.msgpack.Encoder(enc_hook=as_list).encode
read_work = msgspec.msgpack.Decoder(Work).decode
read_outcome = msgspec.msgpack.Decoder(Outcome).decode


def main(arguments: list[str]) -> int:
    """Measure what is missing in a folder; return 0 when nothing is any more."""
    folder = Path(arguments[0])
    if "--nice" in arguments:
        os.nice(int(arguments[arguments.index("--nice") + 1]))
    with FileLock(folder / LOCK, wait_s=LOOK_S) as lock:  # who only looks has it for a moment
        if not lock.taken:
            return 1  # another process is at work here
        (folder / PID).unlink(missing_ok=True)  # the one before's, and by now a stranger's
        try:
            work = read_work((folder / WORK).read_bytes())
        except msgspec.DecodeError:  # who starts it tells what is printed
            print(
                "another version of GPU Explorer began it, and alone can read it", file=sys.stderr
            )
            return WorkFailed.exit_code
        try:
            return _work_on(work, folder)
        except ExplorerError as error:  # who starts it, or asks how it is, tells what is printed
            print("\n".join([*error.detail.splitlines(), brief(str(error))]), file=sys.stderr)
            return error.exit_code
        finally:
            (folder / PID).unlink(missing_ok=True)


def _work_on(work: Work, folder: Path) -> int:
    if work.tuning is not None:
        check_sampler(work.tuning.options.sampler)
    # A script that started this Python leads the process group, and ends with it.
    group = os.getpgrp() if hasattr(os, "getpgrp") else os.getpid()
    (folder / PID).write_text(str(group), encoding="ascii")
    choose_sharing(work.when_shared, None)
    if work.deadline_s is not None:
        choose_deadline(work.deadline_s)
    (folder / ANSWERS).mkdir(exist_ok=True)
    (folder / DONE).unlink(missing_ok=True)
    if work.tuning is not None:
        tune(work, work.tuning, folder)
    elif not measure(work, folder):
        return 1
    (folder / DONE).touch()
    return 0


def _workload(work: Work) -> Workload:
    workload = Workload(work.source)
    if work.agreed:
        agree_here(workload)
    return workload


def _session(work: Work, threads: int | None) -> EngineSession:
    return EngineSession(threads=threads, ceilings=CeilingStore.holding(work.ceilings).find)


def answer_files(folder: Path) -> list[Path]:
    """Return the answers in a folder, in order; what a power cut left half-written is none."""
    return sorted(path for path in (folder / ANSWERS).iterdir() if path.name.isdigit())


def _write(folder: Path, number: int, outcome: Outcome) -> None:
    with atomic_file(folder / ANSWERS / f"{number:06d}") as stream:
        stream.write(encode(outcome))


def tune(work: Work, asked: TuneWork, folder: Path) -> None:
    """Tune, or go on with it; the last answer is the whole tuning, or why there is none.

    What cannot be written here, as on a full disk, is raised, and ends no tuning for good.
    """
    answers = answer_files(folder)
    before = [read_outcome(path.read_bytes()) for path in answers]
    if before and before[-1].result is None:
        return  # it had ended
    handed = {one.config.key for one in before}
    numbers = itertools.count(int(answers[-1].name) + 1 if answers else 0)
    workload = _workload(work)
    space = tuning_space(asked.request, workload, work.devices, asked.ranges)
    looks = KeptLooks(folder / LOOKS)
    tuner: Tuner | None = None

    def hand_over(result: RunResult) -> None:
        if result.id not in looks.reused or result.config.key not in handed:
            _write(folder, next(numbers), Outcome(config=result.config, result=result))

    with _session(work, asked.request.threads) as session:
        try:
            tuner = Tuner(session, workload, space, asked.options, clock=looks.now_s)
            tuner.on_result, tuner.take = hand_over, looks.take
            outcome = Outcome(config=space.start, tuning=tuner.run())
        except (EngineGone, NotWritten):
            raise
        except ExplorerError as error:
            so_far = None if tuner is None else tuner.so_far()
            outcome = Outcome(config=space.start, failed=failed_of(error), tuning=so_far)
    _write(folder, next(numbers), outcome)


def drop_passing(folder: Path) -> None:
    """Delete the answers of earlier versions that say nothing of their configurations."""
    for path in answer_files(folder):
        with suppress(msgspec.DecodeError):  # whoever collects it is told of that
            failed = read_outcome(path.read_bytes()).failed
            if failed is not None and passes(error_of(failed)):
                path.unlink()


def measure(work: Work, folder: Path) -> bool:
    """Measure what has no answer yet; return whether everything has one then.

    What is lost for a reason that passes is tried once more after the others, and then left for
    whoever continues the job.
    """
    drop_passing(folder)
    workload = _workload(work)
    session: EngineSession | None = None
    threads: int | None = None
    lost: protocol.Failed | None = None
    try:
        for number, config in [*enumerate(work.configs)] * TRIES:
            answer = folder / ANSWERS / f"{number:06d}"
            if answer.exists():
                continue
            if (folder / STOP).exists():
                return False
            if session is None or config.threads != threads:
                if session is not None:
                    session.close()
                threads = config.threads
                session = _session(work, threads)
            outcome = _measured(session, config, workload, work.options)
            if outcome.failed is not None and passes(error_of(outcome.failed)):
                lost = outcome.failed
                continue
            _write(folder, number, outcome)
    finally:
        if session is not None:
            session.close()
    if len(answer_files(folder)) == len(work.configs):
        return True
    if lost is not None:  # whoever asks how it is tells what is printed
        print(lost.what, file=sys.stderr)
    return False


def _measured(
    session: EngineSession, config: RunConfig, workload: Workload, options: RunOptions
) -> Outcome:
    began = time.perf_counter()
    try:
        result = session.measure(config, workload, options).result()
    except EngineGone:
        raise
    except ExplorerError as error:
        return Outcome(config=config, failed=failed_of(error))
    return Outcome(config=config, result=result, seconds=time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
