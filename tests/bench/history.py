"""A store of 100,000 runs: how long its first page takes to open, and how long filters take.

    python tests/bench/history.py [--runs 100000] [--keep FILE] [--url postgresql://...]

Opening is measured in fresh processes that have loaded what the window has (numpy, the run's
document) and not SQLAlchemy: from before its import to the first page with its count. A filter is
a count and a page, as a list of runs asks for them. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import msgspec
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from gpuexplorer.core.config import Block  # noqa: E402
from gpuexplorer.core.result import RunResult  # noqa: E402
from gpuexplorer.history.store import Query, Store  # noqa: E402
from tests.support.results import made_result  # noqa: E402

OPEN_LIMIT_S = 0.3
FILTER_LIMIT_S = 0.1
SAMPLES = 25
TIMES = 9
PAGE = 100
WORKLOADS = ("matmul", "vector-add", "reduction", "transpose", "stencil", "histogram")
VARIANTS = ("naive", "tiled", "coarsened", "vectorised", "library")
DEVICES = (
    ("cuda:0", "NVIDIA H200"),
    ("cuda:1", "NVIDIA GeForce RTX 4090"),
    ("opencl:0", "Example CPU @ 2.8 GHz"),
)
TAGGED = 0.05
SWEPT = 100
"""Runs of a sweep; every fifth run is of one."""
OPEN = """
import sys, time
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Store
assert "sqlalchemy" not in sys.modules
began = time.perf_counter()
with Store.open(sys.argv[1]) as store:
    rows, count = store.find(limit=100), store.count()
    print(time.perf_counter() - began, len(rows), count)
"""


def made_runs(number: int) -> Iterator[RunResult]:
    """Yield runs as months of sweeps would leave them; the same ones each time but for ids."""
    chance = random.Random(1)
    patterns = [made_result(SAMPLES, 1e-3 * (1 + i)) for i in range(50)]
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(number):
        pattern = chance.choice(patterns)
        device, name = chance.choice(DEVICES)
        x = 2 ** chance.randrange(9)
        block: Block = (x, 2 ** chance.randrange(11 - x.bit_length()), 1)
        factor = chance.lognormvariate(0, 1)
        samples = np.array(pattern.samples_s) * factor
        moment += timedelta(seconds=chance.expovariate(1 / 60))
        yield msgspec.structs.replace(
            pattern,
            id=uuid.UUID(int=chance.getrandbits(128)).hex,
            time_utc=moment.isoformat(timespec="milliseconds"),
            config=msgspec.structs.replace(
                pattern.config,
                workload=chance.choice(WORKLOADS),
                variant=chance.choice(VARIANTS),
                size={"N": 2 ** chance.randrange(6, 14)},
                block=block,
                precision=chance.choice(("fp32", "fp64", "fp16")),
                device=device,
            ),
            device=msgspec.structs.replace(
                pattern.device, id=device, name=name, hardware_id=f"hardware:{name}"
            ),
            timing=msgspec.structs.replace(pattern.timing, median_s=float(np.median(samples))),
            samples_s=samples.tolist(),
        )


def fill(url: str, number: int) -> float:
    """Fill a store and return how long it took."""
    began = time.perf_counter()
    with Store.open(url) as store:
        made = made_runs(number)
        while part := list(islice(made, SWEPT * 5)):
            store.add_all(part[SWEPT:])
            store.add_all(part[:SWEPT], group=store.begin_group("sweep", {}))
        chance = random.Random(2)
        ids = [row.id for row in store.find(limit=number)]
        store.tag(chance.sample(ids, int(number * TAGGED)), "thesis")
        store.star(chance.sample(ids, number // 1000))
        store.note(ids[number // 2], "the odd one after the driver update")
    return time.perf_counter() - began


def median_s(work: Callable[[], object]) -> dict[str, float]:
    """Return the median and the longest of some repetitions."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return {"median_s": round(statistics.median(times), 4), "longest_s": round(max(times), 4)}


def opened_s(url: str, number: int) -> dict[str, float]:
    """Return how long fresh processes took to the first page; the first one warms up.

    As in an installed program, modules are compiled once and kept.
    """
    times = []
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(TIMES + 1):
            done = subprocess.run(
                [sys.executable, "-c", OPEN, url],
                cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            seconds, rows, count = done.stdout.split()
            if (int(rows), int(count)) != (min(PAGE, number), number):
                raise AssertionError(done.stdout)
            times.append(float(seconds))
    del times[0]
    return {"median_s": round(statistics.median(times), 4), "longest_s": round(max(times), 4)}


def filters(store: Store, number: int) -> dict[str, dict[str, float]]:
    """Return how long each kind of question takes."""

    def asked(query: Query, **options: object) -> Callable[[], object]:
        def ask() -> object:
            return store.count(query), store.find(query, limit=PAGE, **options)  # type: ignore[arg-type]

        return ask

    return {
        "text": median_s(asked(Query(text="matmul 16x16 fp32"))),
        "rare_text": median_s(asked(Query(text="odd driver"))),
        "no_such_text": median_s(asked(Query(text="nothingholdsthis"))),
        "workload_and_tag": median_s(asked(Query(workload="matmul", tag="thesis"))),
        "workload_and_device": median_s(asked(Query(workload="matmul", device="cuda:0"))),
        "starred": median_s(asked(Query(starred=True))),
        "sort_by_median": median_s(asked(Query(), sort="median", descending=False)),
        "workload_sorted_by_median": median_s(
            asked(Query(workload="matmul"), sort="median", descending=False)
        ),
        "last_page": median_s(asked(Query(), offset=number - PAGE)),
        "middle_page_by_median": median_s(asked(Query(), sort="median", offset=number // 2)),
    }


def main() -> int:
    """Measure and print; 1 when a limit is not held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="use this file, filled when it is not there")
    parser.add_argument("--url", help="an empty store on a server")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as folder:
        path = options.keep or Path(folder) / "history.sqlite"
        url = options.url or str(path)
        filled = None if options.keep and path.exists() else fill(url, options.runs)
        opening = opened_s(url, options.runs)
        with Store.open(url) as store:
            filtering = filters(store, options.runs)
            ids = [row.id for row in store.find(limit=20)]
            one = median_s(lambda: store.get(ids[7]))
        size_B = sum(p.stat().st_size for p in path.parent.glob(path.name + "*")) or None
    held = opening["median_s"] <= OPEN_LIMIT_S and all(
        taken["median_s"] <= FILTER_LIMIT_S for taken in filtering.values()
    )
    document = {
        "bench": "history",
        "runs": options.runs,
        "fill_s": round(filled, 1) if filled is not None else None,
        "runs_per_s": round(options.runs / filled) if filled else None,
        "file_B": size_B,
        "open": opening,
        "open_limit_s": OPEN_LIMIT_S,
        "filter": filtering,
        "filter_limit_s": FILTER_LIMIT_S,
        "get": one,
        "held": held,
    }
    print(json.dumps(document, indent=1))
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
