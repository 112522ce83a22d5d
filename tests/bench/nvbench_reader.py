"""Load our NVBench export with NVBench's own reader and comparison.

``python tests/bench/nvbench_reader.py PYTHON``, where PYTHON has cuda-bench, numpy, tabulate and
colorama installed. Prints one JSON document; exits with 1 when the reader finds other samples than
we wrote, or the comparison does not see that one file is 5 % slower.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec
import numpy as np

from gpuexplorer.core.result import RunResult
from gpuexplorer.exchange.formats import read_runs, write_runs
from tests.support.exchange import made_run

READ = """
import json, sys
from cuda.bench.results import BenchmarkResult
result = BenchmarkResult.from_json(sys.argv[1])
print(json.dumps([
    {"name": state.name(), "samples": list(state.samples), "clocks": list(state.frequencies)}
    for bench in result.subbenches.values() for state in bench
]))
"""
COMPARE = "cuda.bench.scripts.nvbench_compare_robust"
STATES = 4
SAMPLES = 300


def runs(scale: float) -> list[RunResult]:
    """Return runs with clocks, all times ``scale`` times as long."""
    made = []
    for number in range(STATES):
        run = made_run(number, SAMPLES)
        samples = [scale * s for s in run.samples_s]
        batches = [msgspec.structs.replace(b, sm_clock_Hz=1.5e9) for b in run.batches]
        telemetry = msgspec.structs.replace(run.telemetry, sm_clock_Hz=1.5e9)
        timing = msgspec.structs.replace(run.timing, median_s=float(np.median(samples)))
        made.append(
            msgspec.structs.replace(
                run, samples_s=samples, batches=batches, telemetry=telemetry, timing=timing
            )
        )
    return made


def main() -> int:
    """Write two files, read and compare them with NVBench's programs."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("old.nvbench.json", "new.nvbench.json")]
        for path, scale in zip(paths, (1.0, 1.05), strict=True):
            write_runs(runs(scale), path)
        read: list[dict[str, Any]] = json.loads(_run("-c", READ, str(paths[0])))
        written = runs(1.0)
        equal = len(read) == STATES and all(
            np.array_equal(np.asarray(s["samples"]), np.asarray(r.samples_s, dtype=np.float32))
            and set(s["clocks"]) == {1.5e9}
            for s, r in zip(read, written, strict=True)
        )
        back = list(read_runs(paths[0]).runs) == written
        compared = _run("-m", COMPARE, "--no-color", *map(str, paths))
    slower = compared.count("SLOW")
    ok = equal and back and slower >= STATES
    print(
        json.dumps(
            {
                "bench": "nvbench_reader",
                "states": len(read),
                "samples_equal_as_float32": equal,
                "read_back_bit_for_bit": back,
                "called_slow": slower,
                "ok": ok,
            },
            indent=2,
        )
    )
    return 0 if ok else 1


def _run(*words: str) -> str:
    done = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
