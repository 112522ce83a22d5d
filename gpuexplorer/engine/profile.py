"""The program that runs under a profiler: one launch of one configuration, marked.

``gpuexplorer.engine --profile FILE`` reads a ``protocol.Run`` with its sources. It
launches once to load the code and fill the caches, and once between the profiler's marks, where
nothing stands that was done before the launch. The
gate that holds other launches back would wait for ever for a host that a profiler makes wait, so
``CUDA_LAUNCH_BLOCKING`` keeps it away.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from gpuexplorer.backends.base import build_deadline_s
from gpuexplorer.backends.cuda.profiler import marked
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE, at_least_s
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine import protocol
from gpuexplorer.engine.process import engine_command
from gpuexplorer.engine.surroundings import own_environment
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.telemetry import ncu
from gpuexplorer.telemetry.ncu import FAILED_MARK, LIMIT_S
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload

_decoder = msgspec.msgpack.Decoder(protocol.Run)


def profile_command(request: Path, threads: int) -> list[str]:
    """Return the command that runs a request's launch for a profiler."""
    return [*engine_command(threads), "--profile", str(request)]


def profile_environment(limit_s: float) -> dict[str, str]:
    """Return the environment it takes to end within ``limit_s``."""
    return {
        **own_environment(), "CUDA_LAUNCH_BLOCKING": "1", BUILD_DEADLINE_VARIABLE: str(limit_s),
    }  # fmt: skip


def count_launch(
    run: protocol.Run,
    workload: Workload,
    device: DeviceInfo,
    threads: int,
    cancelled: Callable[[], bool],
    begins: Callable[[float], None],
) -> Counters | None:
    """Run a request's launch under Nsight Compute; return what was counted, None when cancelled.

    That takes one run of it or several, and each builds and launches anew: ``begins`` is called
    before each with the seconds it has. Raises what ``ncu.count`` raises.
    """
    plan = make_plan(workload, run.config, device)
    limit_s = max(at_least_s(LIMIT_S), build_deadline_s(plan))
    with tempfile.TemporaryDirectory() as folder:
        request = Path(folder) / "request"
        whole = msgspec.structs.replace(run, workload=workload.source)
        request.write_bytes(msgspec.msgpack.encode(whole))
        return ncu.count(
            profile_command(request, threads),
            cancelled,
            cold=run.config.cache == "cold",
            environment=profile_environment(limit_s),
            limit_s=limit_s,
            begins=lambda: begins(limit_s),
        )


def run_file(path: Path, threads: int) -> int:
    """Run the launch; return the exit status, having said in a line what went wrong."""
    limit_s = at_least_s(LIMIT_S)
    watchdog = threading.Timer(limit_s, os._exit, (1,))  # its parent may be gone
    watchdog.daemon = True
    watchdog.start()
    try:
        request = _decoder.decode(path.read_bytes())
        if request.workload is None:
            raise ValueError("the request brings no sources")
        laboratory = Laboratory(threads)
        with laboratory.held(Workload(request.workload), request.config) as runner:
            runner.launch(1)
            runner.launch_alone(marked)
        laboratory.close()
    except ExplorerError as error:
        print(f"{FAILED_MARK}{error}", flush=True)
        return 1
    except Exception as error:  # noqa: BLE001 - the profiler's log is the only place to say it
        print(f"{FAILED_MARK}{type(error).__name__}: {error}", flush=True)
        return 1
    return 0
