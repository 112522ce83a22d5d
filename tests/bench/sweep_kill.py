"""A sweep of 1,000 configurations, killed ten times at random moments and gone on with.

    python tests/bench/sweep_kill.py [--configurations N] [--kills N] [--seed S]

Prints one JSON document: every configuration has to be in the store exactly once, and none may have
been measured again once it was stored. A second measurement would be a second run in the store,
since every run has an id of its own; what a killed program was measuring is not in it at all.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from gpuexplorer.history.store import Query, Store

ROWS = 25
"""Blocks of 1 to N/25 threads in x and 1 to 25 in y: all of them are legal."""
KILL_AFTER_S = (0.5, 5.0)
TRY_LIMIT_S = 600.0
HISTORY_VARIABLE = "GPUEXPLORER_HISTORY_URL"


def main() -> int:
    """Run, kill, resume; 0 when every configuration is stored exactly once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--configurations", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = sweep_with_kills(
            Path(folder), options.configurations, options.kills, random.Random(options.seed)
        )
    print(json.dumps(found, indent=2))
    return 0 if found["ok"] else 1


def sweep_with_kills(
    folder: Path, configurations: int, kills: int, chance: random.Random
) -> dict[str, Any]:
    """Sweep in ``folder`` with so many kills; return what the store holds and when it was killed.

    A try that ends before its moment comes is followed by one that has nothing left to do, so the
    moments are drawn from a shorter span when that happens.
    """
    columns = configurations // ROWS
    command = [
        sys.executable, "-m", "gpuexplorer", "sweep", "matmul", "--variant", "naive",
        "--size", "16", "--device", "cpu", "--block-x", f"1:{columns}",
        "--block-y", f"1:{ROWS}", "--samples", "3", "--resume",
    ]  # fmt: skip
    store_path = folder / "history.sqlite"
    environment = {**os.environ, HISTORY_VARIABLE: str(store_path)}
    killed: list[dict[str, Any]] = []
    started = time.monotonic()
    while len(killed) < kills:
        moment_s = chance.uniform(*KILL_AFTER_S)
        process = subprocess.Popen(
            command, env=environment, cwd=folder, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            process.wait(moment_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait(TRY_LIMIT_S)
            killed.append({"after_s": round(moment_s, 2), "stored": _stored(store_path)})
        else:
            break  # all was measured before the last kill
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=TRY_LIMIT_S,
        check=False,
    )  # fmt: skip
    return _judged(store_path, columns * ROWS, kills, killed, done) | {
        "seconds": round(time.monotonic() - started, 1)
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


def _stored(path: Path) -> int:
    if not path.exists():
        return 0
    with Store.open(path) as store:
        return store.count(Query())


if __name__ == "__main__":
    sys.exit(main())
