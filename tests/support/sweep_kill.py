"""A sweep that is killed at random moments and gone on with, and what the store holds then."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from gpuexplorer.history.place import ENVIRONMENT_VARIABLE as HISTORY_VARIABLE
from gpuexplorer.history.store import Query, Store
from tests.support.cli import cli_command, cli_environment

ROWS = 25
"""Blocks of 1 to N/25 threads in x and 1 to 25 in y: all of them are legal."""
EARLY = 3
"""Every third kill comes early in its try; the others after a random number of further runs."""
SHARE = 0.8
"""Of the configurations that are left for each kill, so that the sweep is not done too soon."""
SECONDS = 0.02
"""Each configuration is measured so long: a quarter of a second is ten of them."""
TRY_LIMIT_S = 600.0


def sweep_with_kills(
    folder: Path, configurations: int, kills: int, chance: random.Random
) -> dict[str, Any]:
    """Sweep in ``folder`` with so many kills; return what the store holds and when it was killed.

    Fewer kills come back when a try ends by itself before its moment comes.
    """
    columns = configurations // ROWS
    command = cli_command(
        "sweep", "matmul", "--variant", "naive", "--size", "16", "--device", "cpu",
        "--block-x", f"1:{columns}", "--block-y", f"1:{ROWS}",
        "--seconds", str(SECONDS), "--resume",
    )  # fmt: skip
    store_path = folder / "history.sqlite"
    environment = cli_environment(**{HISTORY_VARIABLE: str(store_path)})
    killed: list[dict[str, Any]] = []
    began = time.monotonic()
    for number in range(kills):
        process = subprocess.Popen(
            command, env=environment, cwd=folder, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        started = time.monotonic()
        if number % EARLY == EARLY - 1:  # most likely before anything is measured
            wait_s = chance.uniform(0.05, 1.5)
        else:
            further = chance.randint(1, max(1, int(SHARE * columns * ROWS / kills)))
            _wait_for(process, store_path, _stored(store_path) + further)
            wait_s = chance.uniform(0.0, 0.25)
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
        if process.poll() is not None:
            break  # all was measured before the last kill
        process.send_signal(signal.SIGKILL)
        process.wait(TRY_LIMIT_S)
        after_s = round(time.monotonic() - started, 2)
        killed.append({"after_s": after_s, "stored": _stored(store_path)})
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=TRY_LIMIT_S,
        check=False,
    )  # fmt: skip
    return _judged(store_path, columns * ROWS, kills, killed, done) | {
        "seconds": round(time.monotonic() - began, 1)
    }


def _judged(
    path: Path,
    configurations: int,
    kills: int,
    killed: list[dict[str, Any]],
    done: subprocess.CompletedProcess[str],
) -> dict[str, Any]:
    keys: Counter[str] = Counter()
    with Store.open(path) as store:
        groups = store.groups("sweep")
        offset = 0
        while rows := store.find(Query(), offset=offset, limit=500):
            keys.update(store.get(row.id).config.key for row in rows)
            offset += len(rows)
        finished = [group.finished for group in groups]
    twice = sum(number - 1 for number in keys.values())
    ok = (
        done.returncode == 0
        and len(killed) == kills
        and len(keys) == configurations
        and twice == 0
        and finished == [True]
    )
    return {
        "configurations": configurations,
        "kills": killed,
        "stored_once": sum(number == 1 for number in keys.values()),
        "missing": configurations - len(keys),
        "measured_again_after_stored": twice,
        "sweeps_in_the_store": len(finished),
        "exit_code": done.returncode,
        "said": done.stderr.splitlines()[-3:],
        "ok": ok,
    }


def _wait_for(process: subprocess.Popen[bytes], path: Path, count: int) -> None:
    """Wait until so many runs are stored, or the program has ended."""
    until = time.monotonic() + TRY_LIMIT_S
    while process.poll() is None and _stored(path) < count and time.monotonic() < until:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)


def _stored(path: Path) -> int:
    if not path.exists():
        return 0
    with Store.open_to_read(path) as store:
        return store.count(Query())
