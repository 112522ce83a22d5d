"""Our tuning beside Kernel Tuner's: the same OpenCL tiled matmul, device, driver and space.

    python -m venv kt && kt/bin/pip install 'kernel_tuner[opencl]==1.*'
    python tests/bench/tune_against_kernel_tuner.py --kernel-tuner-python kt/bin/python

One after the other, each in processes of its own with caches of its own and modules compiled to
byte code, as pip leaves them: Kernel Tuner's brute force (OpenCL backend), our exhaustive search
with the same samples of each configuration, and ours with racing. Then the winners of all three and
the leaders of both are measured again, interleaved, and our winners once more in turns with the
fastest of them.

Prints one JSON document: configurations a minute of the search, and with our final; the CPU time of
all processes of a side, start included; our overhead of a configuration beyond build and samples
(checking, the verified launch, the comparison with float64, messages, the document and the store;
the launch in it is also given by itself); how far each winner lies from the best measured again,
with the 95 % interval of ours.
``limits`` says what is asked for and whether it holds; the exit code is 1 when something does not.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import gpuexplorer
from gpuexplorer.backends.opencl.drivers import environment, installed_drivers
from gpuexplorer.core.comparison import Comparison, ratio_interval
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.statistics import middle
from gpuexplorer.core.tuning import Budget
from gpuexplorer.engine.cores import default_threads
from gpuexplorer.engine.interleave import Measures, TurnContestant, Turns
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.history.store import Store
from gpuexplorer.search.tune import Tuner, TuningOptions
from gpuexplorer.search.tune_keep import TuningKeeper
from gpuexplorer.search.tune_space import Ranges, TuningSpace, tuning_space
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.in_turns import take_turns

Place = tuple[int, int, int]
LEAST_RATE_RATIO = 5.0
LEAST_RACING_RATIO = 10.0
MOST_OVERHEAD_MS = 10.0
MOST_BEHIND = 0.03
LEAST_CONFIGURATIONS = 200
AGAIN_ROUNDS = 30
PAIRED_ROUNDS = 60
AGAIN_SAMPLES = 5
AGAIN_MOST_S = 1.0
LEADERS = 8
OPENCL_OPTION = "-cl-std=CL3.0"
HOW = "make one with: python -m venv kt && kt/bin/pip install 'kernel_tuner[opencl]==1.*'"


def main() -> int:
    """Run the three, measure the winners again, and print."""
    options = parse()
    if options.side is not None:
        return our_side(options)
    compileall.compile_dir(Path(gpuexplorer.__file__).parent, quiet=1)
    workload = load()["matmul"]
    with EngineSession(threads=options.threads) as session:
        space = space_of(options, workload, session)
    by_place = {place_of(c): c for c in space.legal.values()}
    with tempfile.TemporaryDirectory() as folder:
        sides = {"kernel_tuner": kernel_tuner_side(options, list(by_place), Path(folder))}
        for name in ("exhaustive", "racing"):
            sides[name] = run_our_side(name, options, Path(folder))
    with EngineSession(threads=options.threads) as session:
        again = measure_again(session, workload, sides, by_place)
        behind = {
            name: behind_the_best(session, workload, sides[name]["best"], again, by_place)
            for name in ("exhaustive", "racing")
        }
    print(json.dumps(document(options, sides, again, behind), indent=2))
    return 0 if all(limit["ok"] for limit in verdicts(sides, behind).values()) else 1


def parse() -> argparse.Namespace:
    """Return the options; says how to make Kernel Tuner's environment where it is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernel-tuner-python", required=True, metavar="PATH", help=HOW)
    parser.add_argument(  # at 256 most of the time is the launches', the same for everybody
        "--size", type=int, default=128, help="of the matrices (default: 128)"
    )
    parser.add_argument("--samples", type=int, default=7, help="of each (default: 7)")
    parser.add_argument("--threads", type=int, default=default_threads())
    for axis in "xy":
        parser.add_argument(f"--block-{axis}", type=numbers, help="such as 8,16 (default: all)")
    parser.add_argument("--tile", type=numbers, help="such as 8,16 (default: all)")
    parser.add_argument("--no-store", action="store_true", help="keep nothing while measuring")
    parser.add_argument("--side", choices=("exhaustive", "racing"), help=argparse.SUPPRESS)
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    found = subprocess.run(
        [options.kernel_tuner_python, "-c", "import kernel_tuner, pyopencl"],
        capture_output=True,
        check=False,
    )
    if found.returncode:
        parser.error(f"{options.kernel_tuner_python} has no kernel_tuner with pyopencl; {HOW}")
    return options


def numbers(text: str) -> tuple[int, ...]:
    """Read ``8,16``."""
    return tuple(int(part) for part in text.split(","))


def space_of(
    options: argparse.Namespace, workload: Workload, session: EngineSession
) -> TuningSpace:
    """Return the configurations that can be launched."""
    block = {"block.x": options.block_x, "block.y": options.block_y}
    ranges = Ranges(
        block={name: values for name, values in block.items() if values},
        tunables={"TILE": options.tile} if options.tile else {},
    )
    request = RunRequest(
        workload=workload.name,
        variant="tiled",
        size={"N": options.size},
        device="opencl:0",
        threads=options.threads,
    )
    return tuning_space(request, workload, session.devices(), ranges)


def place_of(config: RunConfig) -> Place:
    """Return threads in x and y, and the tile."""
    x, y, _ = config.block or (1, 1, 1)
    return x, y, config.tunables["TILE"]


# ---- the sides, each in processes of its own


def timed(command: list[str], folder: Path, **variables: str) -> dict[str, float]:
    """Run a program to its end; return its wall time and the CPU time of it and its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    fresh = {"XDG_CACHE_HOME": str(folder / "cache"), "GPUEXPLORER_DATA_DIR": str(folder / "data")}
    done = subprocess.run(
        command, env={**os.environ, **fresh, **variables}, check=False, capture_output=True
    )
    wall_s = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stderr.decode()[-4000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return {"process_s": wall_s, "cpu_s": used}


def kernel_tuner_side(
    options: argparse.Namespace, places: list[Place], folder: Path
) -> dict[str, Any]:
    """Have Kernel Tuner try every place, with the driver and the threads of our engine."""
    wishes, answer = folder / "wishes.json", folder / "answer.json"
    wishes.write_text(
        json.dumps(
            {
                "size": options.size,
                "samples": options.samples,
                "configurations": places,
                "option": OPENCL_OPTION,
            }
        )
    )
    ours = environment(installed_drivers()[:1], options.threads)
    command = [options.kernel_tuner_python, str(Path(__file__).with_name("kernel_tuner_side.py"))]
    cost = timed([*command, str(wishes), str(answer)], folder / "kernel_tuner", **ours)
    found = json.loads(answer.read_text())
    tried = {tuple(t["configuration"]): t["time_s"] for t in found["tried"] if t["time_s"]}
    return {
        **cost,
        "version": found["version"],
        "search_s": found["search_s"],
        "tried": tried,
        "samples": sum(t["samples"] for t in found["tried"]),
        "build_s": sum(t["compile_s"] for t in found["tried"]),
        "best": min(tried, key=lambda p: tried[p]),
    }


def run_our_side(name: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run one of our searches as a program of its own."""
    answer = folder / f"{name}.json"
    command = [sys.executable, *sys.argv, "--side", name, "--answer", str(answer)]
    cost = timed(command, folder / name)
    found: dict[str, Any] = json.loads(answer.read_text())
    tried = {(x, y, tile): time_s for x, y, tile, time_s in found.pop("tried")}
    return {**cost, **found, "tried": tried, "best": tuple(found["best"])}


class Ledger:
    """A session that notes what each run built and sampled."""

    def __init__(self, session: Measures) -> None:
        self._session = session
        self.build_s = 0.0
        self.samples_s = 0.0
        self.launch_s = 0.0
        self.samples = self.builds = 0

    def measure(self, config: RunConfig, workload: Workload, options: RunOptions) -> RunRecord:
        """Measure as the session does."""
        record = self._session.measure(config, workload, options)
        durations = record.samples_s()
        build_s = record.prepared.phases_s.compile or 0.0
        self.build_s += build_s
        self.builds += build_s > 1e-3
        self.samples_s += float(durations.sum())
        self.samples += len(durations)
        self.launch_s += middle(durations)
        return record


def our_side(options: argparse.Namespace) -> int:
    """Tune exhaustively, with or without racing, and write what came of it."""
    workload = load()["matmul"]
    racing = options.side == "racing"
    with EngineSession(threads=options.threads) as session:
        space = space_of(options, workload, session)
        ledger = Ledger(session)
        tuner = Tuner(
            ledger,
            workload,
            space,
            TuningOptions(
                sampler="grid",
                budget=Budget(),
                samples=options.samples,
                racing=racing,
                final=racing,
            ),
        )
        rests: list[float] = []
        launches: list[float] = []
        at = [0.0, 0.0, 0.0, 0.0]

        def went_on(progress: Any) -> None:
            if progress.phase != "search":
                return
            now = [progress.elapsed_s, ledger.build_s, ledger.samples_s, ledger.launch_s]
            whole, build, sampled, launch = (n - a for n, a in zip(now, at, strict=True))
            at[:] = now
            rests.append((whole - build - sampled) * 1e3)
            launches.append(launch * 1e3)

        tuner.on_progress = went_on
        keeper = None
        if not options.no_store:
            keeper = TuningKeeper(Store.open(), fail)
            keeper.begin(tuner.so_far())
            tuner.on_result = keeper.keep
        tuning = tuner.run()
        if keeper is not None:
            keeper.finish(tuning)
    measured = [e for e in tuning.evaluations if e.outcome == "measured"]
    best = tuning.chosen or min(measured, key=lambda e: e.median_s or 0.0).config
    first, *others = rests  # it loads the driver's compiler and warms the device up
    answer = {
        "search_s": tuning.search_s,
        "final_s": tuning.final_s,
        "configurations": len({e.config.key for e in tuning.evaluations}),
        "samples": ledger.samples,
        "builds": ledger.builds,
        "build_s": ledger.build_s,
        "first_ms": first,
        "overhead_ms": {
            "median": statistics.median(others),
            "mean": statistics.fmean(others),
            "p95": float(np.percentile(others, 95)),
            "verified_launch_median": statistics.median(launches[1:]),
            "verified_launch_mean": statistics.fmean(launches[1:]),
        },
        "given_up": tuning.count("pruned"),
        "failed": tuning.count("failed"),
        "best_again": tuning.best_again,
        "judged_again": sum(e.again for e in tuning.evaluations),
        "best": place_of(best),
        "ties": len(tuning.tied),
        "tried": [(*place_of(e.config), e.median_s) for e in measured],
    }
    options.answer.write_text(json.dumps(answer))
    return 0


def fail(error: ExplorerError) -> None:
    """A store that fails spoils the measurement."""
    raise SystemExit(f"the store failed: {error}")


# ---- the winners again


def measure_again(
    session: EngineSession,
    workload: Workload,
    sides: dict[str, Any],
    by_place: dict[Place, RunConfig],
) -> dict[Place, float]:
    """Return the median of interleaved turns of every winner and of both sides' leaders."""
    chosen = {side["best"] for side in sides.values()}
    for name in ("kernel_tuner", "exhaustive"):
        tried = sides[name]["tried"]
        chosen |= set(sorted(tried, key=lambda p: tried[p])[:LEADERS])
    places = sorted(chosen)
    turns = _in_turns(session, workload, [by_place[place] for place in places], AGAIN_ROUNDS)
    return {p: float(np.median(t.medians_s)) for p, t in zip(places, turns, strict=True)}


def behind_the_best(
    session: EngineSession,
    workload: Workload,
    winner: Place,
    again: dict[Place, float],
    by_place: dict[Place, RunConfig],
) -> Comparison | None:
    """Return a winner's time over that of the fastest, from turns of these two; None for itself."""
    best = min(again, key=lambda place: again[place])
    if best == winner:
        return None
    turns = _in_turns(session, workload, [by_place[best], by_place[winner]], PAIRED_ROUNDS)
    return ratio_interval(turns[0].medians_s, turns[1].medians_s)


def _in_turns(
    session: EngineSession, workload: Workload, configs: list[RunConfig], rounds: int
) -> list[Turns]:
    return take_turns(
        session,
        [TurnContestant(config, workload) for config in configs],
        rounds=rounds,
        samples=AGAIN_SAMPLES,
        turn_s=AGAIN_MOST_S,
        warm_up_s=0.002,
        keep_arrays=True,
        seed=1,
    )


def verdicts(
    sides: dict[str, Any], behind: dict[str, Comparison | None]
) -> dict[str, dict[str, Any]]:
    """Return each limit, what was found, and whether it holds."""
    theirs, ours = rate(sides["kernel_tuner"]), rate(sides["exhaustive"])
    number = len(sides["kernel_tuner"]["tried"])
    overhead = sides["exhaustive"]["overhead_ms"]["median"]
    return {
        "configurations": _limit(number, least=LEAST_CONFIGURATIONS),
        "times_kernel_tuners_rate": _limit(ours / theirs, least=LEAST_RATE_RATIO),
        "times_its_rate_with_racing": _limit(
            rate(sides["racing"]) / theirs, least=LEAST_RACING_RATIO
        ),
        "overhead_ms_median": _limit(overhead, most=MOST_OVERHEAD_MS),
        "racing_behind_the_best_at_most": _limit(_most_behind(behind["racing"]), most=MOST_BEHIND),
    }


def _most_behind(found: Comparison | None) -> float:
    """Return the upper end of the interval of how far a winner lies from the best."""
    return 0.0 if found is None else found.ci95_high - 1


def _limit(
    value: float, *, least: float | None = None, most: float | None = None
) -> dict[str, Any]:
    ok = (least is None or value >= least) and (most is None or value <= most)
    return {"value": round(value, 4), "least": least, "most": most, "ok": ok}


def rate(side: dict[str, Any], *, with_final: bool = False) -> float:
    """Return the configurations a minute of a search; Kernel Tuner has no final."""
    number = side.get("configurations", len(side["tried"]))
    final_s = side.get("final_s", 0.0) if with_final else 0.0
    return float(number / (side["search_s"] + final_s) * 60)


def document(
    options: argparse.Namespace,
    sides: dict[str, Any],
    again: dict[Place, float],
    behind: dict[str, Comparison | None],
) -> dict[str, Any]:
    """Return everything that is printed."""
    best_s = min(again.values())
    return {
        "bench": "tune_against_kernel_tuner",
        "size": options.size,
        "samples_of_each": options.samples,
        "threads": options.threads,
        "sides": {
            name: {
                **{k: v for k, v in side.items() if k != "tried"},
                "configurations_per_min": round(rate(side), 1),
                "configurations_per_min_with_final": round(rate(side, with_final=True), 1),
                "best_again_ms": again[side["best"]] * 1e3,
                "behind_the_best": again[side["best"]] / best_s - 1,
            }
            for name, side in sides.items()
        },
        "again_ms": {"x".join(map(str, p)): t * 1e3 for p, t in sorted(again.items())},
        "in_turns_with_the_best": {
            name: None if found is None else msgspec.structs.asdict(found)
            for name, found in behind.items()
        },
        "limits": verdicts(sides, behind),
    }


if __name__ == "__main__":
    sys.exit(main())
