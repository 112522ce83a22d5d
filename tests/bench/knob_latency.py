"""From a slider's move to the first sample of the new configuration on screen.

Run in a real window: ``xvfb-run python tests/bench/knob_latency.py``. Prints one JSON document.
Each counted move goes to a block shape drawn uniformly from all legal ones (1×1 is always among
them), from a verified configuration whose launch takes at most 5 ms; where the last move led to a
slower one, the window first goes back to 16×16, uncounted.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from functools import partial

import numpy as np


def legal_shapes(limit: int, powers: bool) -> list[tuple[int, int]]:
    """Return every (x, y) with at most ``limit`` threads; with ``powers`` only powers of two."""
    steps = [1 << k for k in range(limit.bit_length())] if powers else range(1, limit + 1)
    return [(x, y) for x in steps for y in steps if x * y <= limit]


def any_later(drawn: list[tuple[float, int]], ticket: int) -> bool:
    """Return whether a run after that of ``ticket`` was drawn: the one before still may be."""
    return any(later > ticket for _, later in drawn)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=100)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--powers", action="store_true", help="draw powers of two only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=20.0)
    options = parser.parse_args()
    os.environ["GPUEXPLORER_CONFIG_DIR"] = tempfile.mkdtemp(prefix="gpuexplorer-bench-")
    os.environ.setdefault("GPUEXPLORER_DATA_DIR", os.environ["GPUEXPLORER_CONFIG_DIR"])

    from gui_probe import wait_until

    from gpuexplorer.core.device import DeviceList
    from gpuexplorer.gui.app import create
    from gpuexplorer.workloads.choose import find_device

    _, window = create(["--threads", str(max(1, (os.cpu_count() or 2) - 1))])
    session, experiment = window.session, window.session.experiment
    session.live_at_start = False
    experiment.set_size("N", options.size)
    if not wait_until(lambda: experiment.devices is not None, 60):
        print("no devices in time", file=sys.stderr)
        return 1
    experiment.set_device(find_device(experiment.devices or DeviceList(), options.device).id)
    session.set_live(True)
    drawn: list[tuple[float, int]] = []
    window.timing.drawn.connect(lambda ticket: drawn.append((time.perf_counter(), ticket)))

    def settled() -> bool:
        run = session.live_model.current
        return (
            run is not None
            and run.prepared is not None
            and run.prepared.verified
            and run.summary is not None
            and run.summary.samples >= 3
            and run.config.block == experiment.knobs.block
        )

    sliders = [row.slider for row in window.experiment_panel.block_rows]

    def move(x: int, y: int) -> float:
        """Move both sliders in one turn of the event loop, the falling one first."""
        began = time.perf_counter()
        order = [(1, y), (0, x)] if y <= sliders[1].value() else [(0, x), (1, y)]
        for axis, value in order:
            sliders[axis].setValue(value)
        return began

    shapes = legal_shapes(experiment.limits.max_threads_per_block, options.powers)
    draw = random.Random(options.seed)
    moves = [draw.choice(shapes) for _ in range(options.moves)]
    moves[options.moves // 2] = (1, 1)
    results: list[dict[str, object]] = []
    for x, y in moves:
        if not wait_until(settled, options.timeout):
            results.append({"block": [x, y], "latency_s": None, "why": "no start in time"})
            continue
        run = session.live_model.current
        assert run is not None and run.summary is not None
        if run.summary.median_s > 0.005 or experiment.knobs.block == (x, y, 1):
            home = (16, 16) if (x, y) != (16, 16) else (32, 8)
            move(*home)
            wait_until(settled, options.timeout)
        drawn.clear()
        before = session.live_model.current.ticket if session.live_model.current else 0
        began = move(x, y)
        there = wait_until(partial(any_later, drawn, before), options.timeout)
        right = experiment.knobs.block == (x, y, 1)
        answered = next((at for at, ticket in drawn if ticket > before), began)
        latency = answered - began if there and right else None
        results.append({"block": [x, y], "latency_s": latency, "banner": window.banner.text})
    known = np.array([r["latency_s"] for r in results if r["latency_s"] is not None], dtype=float)
    device = session.device
    report = {
        "bench": "knob_latency",
        "size": options.size,
        "device": device.name if device else None,
        "shapes": "powers of two" if options.powers else "all integers",
        "moves": len(results),
        "answered": len(known),
        "median_s": round(float(np.median(known)), 4) if len(known) else None,
        "p95_s": round(float(np.quantile(known, 0.95)), 4) if len(known) else None,
        "max_s": round(float(known.max()), 4) if len(known) else None,
        "limits": {"median_s": 0.08, "p95_s": 0.15},
        "slowest": sorted(
            (r for r in results if r["latency_s"] is not None),
            key=lambda r: -float(str(r["latency_s"])),
        )[:8],
        "unanswered": [r for r in results if r["latency_s"] is None],
    }
    window.close()
    print(json.dumps(report, indent=1))
    return 0 if len(known) == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
