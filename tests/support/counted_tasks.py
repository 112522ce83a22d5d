"""What a cluster's workers run in tests: the real thing, which writes down what it measures."""

from __future__ import annotations

import os
import time
from pathlib import Path

from distributed import get_worker

from gpuexplorer.cluster import worker
from gpuexplorer.cluster.messages import Answer, Asked
from gpuexplorer.cluster.worker import engine_of, measure
from gpuexplorer.workloads.workload import Workload

__all__ = ["VARIABLE", "describe", "measure", "written"]

VARIABLE = "GPUEXPLORER_TEST_MEASURED"
"""Names the file that each measurement adds a line to: when it began, and what it measures."""


class WorkerEngine(worker.WorkerEngine):
    """Writes down each measurement before it."""

    def measure(self, asked: Asked, workload: Workload) -> Answer:
        """Measure, as the real one does."""
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as stream:
            stream.write(f"{time.time()}\t{asked.config.block}\n")
        return super().measure(asked, workload)


def describe() -> bytes:
    """Return what this worker is, as the real one does."""
    engine_of(get_worker(), WorkerEngine)
    return worker.describe()


def written(path: Path) -> list[tuple[float, str]]:
    """Return what was measured: when it began, and its block."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        began, _, block = line.partition("\t")
        found.append((float(began), block))
    return found
