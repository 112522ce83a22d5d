"""A search that goes on without the program that asked for it: ``detached FOLDER [--nice N]``.

The folder holds what to measure (``WORK``), and gets a file for each configuration that is done
(``ANSWERS``), at once by a rename. Started again in the same folder, as after a reboot, it measures
what is missing. Whoever holds ``LOCK`` is at work there; ``STOP`` ends it after the present
configuration.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import msgspec

import gpuexplorer
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.locks import FileLock
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine import protocol
from gpuexplorer.engine.errors import EngineGone, failed_of
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.workloads.trust import agree_here
from gpuexplorer.workloads.workload import Workload, WorkloadSource

MODULE = "gpuexplorer.engine.detached"
ATTEMPTS = 10
WORK, ANSWERS, LOCK, STOP, PID = "work", "answers", "lock", "stop", "pid"


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure, in order."""

    version: str = gpuexplorer.__version__
    source: WorkloadSource
    configs: list[RunConfig]
    options: RunOptions
    devices: DeviceList
    """Those of the engine, as the space was completed with them."""
    agreed: bool = False
    """Whether the user agreed to run the workload's own code."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration: a result, or why there is none."""

    config: RunConfig
    result: RunResult | None = None
    failed: protocol.Failed | None = None
    seconds: float = 0.0


encode = msgspec.msgpack.Encoder().encode
read_work = msgspec.msgpack.Decoder(Work).decode
read_outcome = msgspec.msgpack.Decoder(Outcome).decode


def main(arguments: list[str]) -> int:
    """Measure what is missing in a folder; return 0 when nothing is any more."""
    folder = Path(arguments[0])
    if "--nice" in arguments:
        os.nice(int(arguments[arguments.index("--nice") + 1]))
    with _lock(folder) as lock:
        if not lock.taken:
            return 1  # another process is at work here
        (folder / PID).write_text(str(os.getpid()), encoding="ascii")
        work = read_work((folder / WORK).read_bytes())
        (folder / ANSWERS).mkdir(exist_ok=True)
        return 0 if measure(work, folder) else 1


def _lock(folder: Path) -> FileLock:
    """Take a folder; who only looks whether it is taken has it for a moment."""
    for _ in range(ATTEMPTS):
        lock = FileLock(folder / LOCK)
        if lock.taken:
            break
        lock.close()
        time.sleep(0.2)
    return lock


def measure(work: Work, folder: Path) -> bool:
    """Measure what has no answer yet; return whether everything has one then."""
    workload = Workload(work.source)
    if work.agreed:
        agree_here(workload)
    session: EngineSession | None = None
    threads: int | None = None
    try:
        for number, config in enumerate(work.configs):
            answer = folder / ANSWERS / f"{number:06d}"
            if answer.exists():
                continue
            if (folder / STOP).exists():
                return False
            if session is None or config.threads != threads:
                if session is not None:
                    session.close()
                threads = config.threads
                session = EngineSession(threads=threads)
            outcome = _measured(session, config, workload, work.options)
            with atomic_file(answer) as stream:
                stream.write(encode(outcome))
    finally:
        if session is not None:
            session.close()
    return True


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
