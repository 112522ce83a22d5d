"""Engines built in and in another environment: how fast each answers, and whether both are equal.

The other one is a virtual environment of the same Python that finds the same packages, so that a
comparison of the two, measured in turns, has to find a ratio of 1. Prints one JSON document and
ends with 1 when a limit is not held.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gpuexplorer
from gpuexplorer.engine.client import Engine, EngineOptions, EngineReady, Event
from tests.support.pythons import make_python

LIMIT_S = 2.0
SAME_WITHIN = 0.02
"""The ratio of two equal engines may differ from 1 by this."""


def handshake_s(python: str | None) -> float:
    """Return how long one engine took to answer."""
    events: list[Event] = []
    engine = Engine(EngineOptions(python=python, threads=1), events.append)
    engine.start()
    limit = time.monotonic() + 60
    try:
        while time.monotonic() < limit:
            engine.poll(0.01)
            for event in events:
                if isinstance(event, EngineReady):
                    return event.handshake_s
    finally:
        engine.close()
    raise SystemExit(f"no engine in {python or 'this Python'} answered: {events}")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = str(make_python(Path(folder) / "env"))
        times: dict[str, list[float]] = {"built-in": [], "other": []}
        for _ in range(options.runs + 1):  # the first one compiles modules
            for name, word in (("built-in", None), ("other", python)):
                times[name].append(handshake_s(word))
        compared = gpuexplorer.compare(
            "numpy,engine=built-in", f"numpy,engine={python}", workload="matmul", size=512,
            device="numpy:cpu", rounds=options.rounds,
        )  # fmt: skip
    medians = {name: statistics.median(found[1:]) for name, found in times.items()}
    other = compared.others[0]
    same = other.ratio is not None and abs(other.ratio - 1) <= SAME_WITHIN
    ok = max(medians.values()) <= LIMIT_S and same
    print(
        json.dumps(
            {
                "bench": "other_python",
                "handshake_s": {n: [round(t, 3) for t in found] for n, found in times.items()},
                "median_s": {name: round(value, 3) for name, value in medians.items()},
                "limit_s": LIMIT_S,
                "ratio": other.ratio,
                "ratio_ci95": [other.ci95_low, other.ci95_high],
                "verdict": other.verdict,
                "rounds": compared.rounds,
                "same_within": SAME_WITHIN,
                "ok": ok,
            }
        )
    )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
