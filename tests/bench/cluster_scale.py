"""How far a cluster scales: a real scheduler, and up to 512 workers whose measurements are sleeps.

``python tests/bench/cluster_scale.py [--workers 1,8,64,512] [--points 40] [--faster F]``

Scheduler, workers and client are a process each and speak TLS. A measurement stands for one of 0.5
to 5 s and takes ``1/F`` of that, by default so that it is soon done and two cores still serve all;
the workers are many in one process, since a sleep takes no processor. Told are the efficiency (the
sleeps' time over that of all workers), the processor time of each process a point, the scheduler's
memory, and the bytes that carry a point there and back. How far it is stands on standard error; at
the end are the rows of the table in ``help/cluster.md``. All of it takes some 6 minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from gpuexplorer.cluster.certificates import make_certificates, place_in
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.library import load_distributed
from gpuexplorer.cluster.messages import Answer, Asked, encode
from gpuexplorer.cluster.paces import EVERY_S
from gpuexplorer.core.config import RunConfig
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.workloads.loader import load
from tests.support import sleeping_tasks

ROOT = Path(__file__).resolve().parents[2]
MOST_FASTER, MOST_PER_S = 5.0, 120.0
"""So many points a second take a whole core, with all three processes; at the double of that the
workers would wait for a processor, and say nothing of the scheduler."""
CONNECT_S, CONNECTS, AT_ONCE = 120.0, 3, 32
"""How long a worker may take to reach the scheduler, how often it is tried, how many at a time."""
POINTS = 40
LOOPBACK = "127.0.0.1"
TELL_S = 10.0
NO_PAGES = "127.0.0.1:0"
SHARED = {"host": LOOPBACK, "protocol": "tls://", "dashboard_address": NO_PAGES}


def main() -> None:
    """Measure and print, a line for each number of workers; the last one is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,8,64,512")
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--faster", type=float)
    parser.add_argument("--serve", nargs=3, metavar=("ROLE", "FOLDER", "ADDRESS"))
    options = parser.parse_args()
    if options.serve:
        role, folder, address = options.serve
        asyncio.run(_serve(role, folder, address, int(options.workers)))
        return
    found = [_scaled(int(n), options.points, options.faster) for n in options.workers.split(",")]
    for one in found:
        print(_table_row(one))
    print(json.dumps({"points": options.points, "workers": found}))


async def _serve(role: str, folder: str, address: str, workers: int) -> None:
    """Be the scheduler, or all the workers, until the process is ended."""
    library = load_distributed()
    security = place_in(Path(folder), "tls://").security()
    if role == "scheduler":
        async with library.Scheduler(**SHARED, security=security, port=0) as scheduler:
            print(scheduler.address, flush=True)
            await scheduler.finished()
        return

    async def started(number: int) -> Any:
        """Return a worker that the scheduler knows; on a busy machine one may need more tries."""
        for attempt in range(CONNECTS):
            worker = library.Worker(
                address, name=f"{number}.{attempt}", nthreads=1, resources={"GPU": 1},
                security=security, memory_limit=0, local_directory=folder, **SHARED,
            )  # fmt: skip
            try:
                return await asyncio.wait_for(worker, CONNECT_S)
            except (OSError, RuntimeError, TimeoutError) as error:
                print(f"worker {worker.name} is started again: {error!r}", file=sys.stderr)
        raise RuntimeError(f"worker {number} does not reach the scheduler")

    # In a folder of their own: Dask's usual one has a lock that all its programs here wait for.
    made, began = [], time.perf_counter()
    for begin in range(0, workers, AT_ONCE):
        numbers = range(begin, min(begin + AT_ONCE, workers))
        made += await asyncio.gather(*map(started, numbers))
        _say(f"{len(made)} of {workers} workers are connected")
    print(f"{time.perf_counter() - began:.1f}", flush=True)
    await asyncio.gather(*(worker.finished() for worker in made))


def _started(role: str, folder: str, address: str, workers: int, faster: float) -> Any:
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", role, folder, address, "--workers", str(workers)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, sleeping_tasks.FASTER: str(faster), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def _scaled(workers: int, points: int, faster: float | None) -> dict[str, float]:
    if faster is None:
        faster = min(MOST_FASTER, MOST_PER_S * statistics.mean(sleeping_tasks.DURATION_S) / workers)
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(Path(folder))
        scheduler, address = _started("scheduler", folder, "-", 0, faster)
        others, connected_s = _started("workers", folder, address, workers, faster)
        try:
            if not connected_s:
                raise RuntimeError("the workers have not started")
            with Cluster(
                place_in(Path(folder), address),
                check_every_s=EVERY_S / faster,
                tasks=sleeping_tasks,
            ) as cluster:
                found = _measured(cluster, scheduler.pid, others.pid, workers, points, faster)
                return {**found, "connected_s": float(connected_s)}
        finally:
            for process in (others, scheduler):
                process.kill()
                process.wait()


def _measured(
    cluster: Cluster, scheduler: int, others: int, workers: int, points: int, faster: float
) -> dict[str, float]:
    configs = [_config(n) for n in range(workers * points)]
    processes = {"client": os.getpid(), "scheduler": scheduler, "workers": others}
    looked = {name: psutil.Process(pid) for name, pid in processes.items()}
    cpu_s = {name: sum(one.cpu_times()[:2]) for name, one in looked.items()}
    before_B = looked["scheduler"].memory_info().rss
    least_s = sum(map(sleeping_tasks.duration_s, configs)) / faster / workers
    _say(f"{len(configs)} points on {workers} workers: {least_s:.0f} s at the least")
    began, done, told = time.perf_counter(), set[int](), 0.0
    for news in cluster.spread(configs, load()["matmul"], Measuring()):
        if (now := time.perf_counter() - began) > told + TELL_S:
            told = now
            _say(f"{len(done)} of {len(configs)} points after {now:.0f} s")
        if news is not None and news.result is not None:
            assert news.index not in done, "measured twice"
            done.add(news.index)
    wall_s = time.perf_counter() - began
    assert len(done) == len(configs)
    references = [configs[0]] * 2 * workers  # each worker's, at the start and at the end
    slept_s = sum(map(sleeping_tasks.duration_s, [*configs, *references])) / faster
    found = {
        "workers": workers,
        "points": len(configs),
        "faster": round(faster, 3),
        "seconds": round(wall_s, 2),
        "efficiency": round(slept_s / workers / wall_s, 4),
        "points_per_s": round(len(configs) / wall_s, 1),
        **{
            f"{name}_ms_per_point": round(
                (sum(one.cpu_times()[:2]) - cpu_s[name]) / len(configs) * 1e3, 3
            )
            for name, one in looked.items()
        },
        "scheduler_MB": round(looked["scheduler"].memory_info().rss / 1e6, 1),
        "scheduler_grew_B_per_point": round(
            (looked["scheduler"].memory_info().rss - before_B) / len(configs)
        ),
        "there_and_back_B": _bytes(configs[0]),
    }
    print(" · ".join(f"{name} {value}" for name, value in found.items()), flush=True)
    return found


def _table_row(found: dict[str, float]) -> str:
    """Return a row as the help has it."""
    cells = (
        f"{found['workers']}", f"{found['points']:,}", f"{100 * found['efficiency']:.0f} %",
        f"{found['scheduler_ms_per_point']:.1f} ms", f"{found['client_ms_per_point']:.1f} ms",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _config(number: int) -> RunConfig:
    """Return one of many; 64 run the same compiled kernel."""
    return RunConfig(
        workload="matmul", variant="tiled", size={"N": 64}, precision="fp32", device="cuda:0",
        block=(number % 64 + 1, 1, 1), tunables={"TILE": number // 64},
    )  # fmt: skip


def _bytes(config: RunConfig) -> int:
    asked = Asked(tag=1, config=config, sha256="0" * 64, options=Measuring(), topic="t" * 44)
    return len(encode(asked)) + len(encode(Answer(tag=1, result=sleeping_tasks.a_result())))


if __name__ == "__main__":
    main()
