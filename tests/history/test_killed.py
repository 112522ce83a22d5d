"""A program that is killed while it writes loses nothing that was stored before."""

from __future__ import annotations

import itertools
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpuexplorer.history.model import INTERRUPTED
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run
from tests.support.cli import cli_environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")

TIMES = 4
RUNS = """
import sys
from gpuexplorer.history.store import Store
from tests.history.conftest import made_run
with Store.open(sys.argv[1]) as store:
    number = int(sys.argv[2])
    print("ready", flush=True)
    while True:
        store.add(made_run(number))
        print(number, flush=True)
        if number % 3 == 0:
            store.tag(made_run(number).id, "third")
        number += 1
"""
SAMPLES = """
import sys
import numpy as np
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Store
from tests.support.prepared import prepared
with Store.open(sys.argv[1]) as store:
    record = RunRecord(prepared())
    store.begin(record)
    print(record.id, flush=True)
    sample = 0
    while True:
        store.append(record.id, np.arange(sample, sample + 100) + 1.0)
        sample += 100
        print(sample, flush=True)
"""


def killed(program: str, *arguments: str, after_s: float) -> list[str]:
    """Kill a program so long after its first line; return its whole lines."""
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=cli_environment(), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    first = child.stdout.readline()
    timer = threading.Timer(after_s, lambda: child.send_signal(signal.SIGKILL))
    timer.start()
    rest = child.stdout.read()
    assert child.wait(30) == -signal.SIGKILL
    timer.cancel()
    return [first.strip(), *(line for line in rest.split("\n")[:-1])]


def test_every_run_whose_storing_returned_is_there_and_whole(store_url: str) -> None:
    chance = random.Random(5)
    told: set[int] = set()
    following = 0
    for strikes in itertools.count(1):
        lines = killed(RUNS, store_url, str(following), after_s=chance.uniform(0.0, 0.25))
        told |= {int(line) for line in lines[1:]}
        # The one that was being stored may be there or not; the next child stores it again.
        following = max(told, default=0)
        if strikes >= TIMES and len(told) >= TIMES:  # a busy machine may store none before a strike
            break
    with Store.open(store_url) as store:
        rows = store.find(limit=10_000)
        assert len({row.id for row in rows}) == len(rows)
        assert {made_run(number).id for number in told} <= {row.id for row in rows}
        assert len(rows) <= len(told) + 1
        for number in told:
            assert store.get(made_run(number).id) == made_run(number)
    if Path(store_url).exists():
        with sqlite3.connect(store_url) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()


def test_a_live_run_keeps_the_samples_up_to_its_last_append(store_url: str) -> None:
    chance = random.Random(6)
    for _ in range(2):
        run_id, *counts = killed(SAMPLES, store_url, after_s=chance.uniform(0.05, 0.3))
        told = int(counts[-1]) if counts else 0
        with Store.open(store_url) as store:
            result = store.get(run_id)
        assert len(result.samples_s) in (told, told + 100)
        assert result.samples_s == [1.0 + i for i in range(len(result.samples_s))]
        assert result.timing.stopped_by == INTERRUPTED
