"""How many threads an engine's libraries have, and what those do that have nothing to do."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gpuexplorer.engine import launcher
from gpuexplorer.engine.cores import usable_cores

SOON_S = 0.03
ROUNDS = 30
_MULTIPLIES_AND_LOOKS = f"""
from gpuexplorer.engine.launcher import limit_threads
limit_threads(2)
import os, threading, time
from pathlib import Path
import numpy as np

def awake():
    me = str(threading.get_native_id())
    stats = [(t / "stat").read_text() for t in Path("/proc/self/task").iterdir() if t.name != me]
    return any(stat.rpartition(")")[2].split()[0] == "R" for stat in stats)

matrix = np.ones((512, 512))
soonest_s = 9.0
for _ in range({ROUNDS}):
    matrix @ matrix
    began = time.perf_counter()
    while awake():
        time.sleep(0.001)
    soonest_s = min(soonest_s, time.perf_counter() - began)
print(len(os.listdir("/proc/self/task")), soonest_s)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which thread sleeps")
@pytest.mark.skipif(usable_cores() < 2, reason="with one core BLAS has no second thread")
def test_threads_of_blas_sleep_soon_after_their_work() -> None:
    without = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    command = [sys.executable, "-c", _MULTIPLIES_AND_LOOKS]
    done = subprocess.run(command, env=without, capture_output=True, text=True, check=True)
    threads, soonest_s = done.stdout.split()
    assert int(threads) > 1
    assert float(soonest_s) < SOON_S


def test_what_the_user_says_of_waiting_threads_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"OPENBLAS_THREAD_TIMEOUT": "26"})
    launcher.limit_threads(3)
    assert os.environ["OPENBLAS_THREAD_TIMEOUT"] == "26"
    assert os.environ["OMP_NUM_THREADS"] == "3"
