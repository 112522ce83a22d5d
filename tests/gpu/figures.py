"""Print one line for each run's document, and put them all into one file: OUT RUN..."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gpuexplorer.core.units import percent, quantity


def line(run: dict[str, Any]) -> str:
    """Return workload, variant, time, rates and state of one run."""
    config, timing, rates = run["config"], run["timing"], run["throughput"]
    state = run["telemetry"]
    bandwidth, peak = rates["bandwidth_B_per_s"], run["device"]["peak_bandwidth_B_per_s"]
    share = bandwidth / peak if bandwidth and peak else None
    parts = [
        f"{config['workload']}/{config['variant']} {config['precision']} {config['size']}",
        quantity(timing["median_s"], "s"),
        quantity(rates["flop_per_s"], "FLOP/s"),
        f"{quantity(bandwidth, 'B/s')} ({percent(share, 3)} of peak)",
        f"{timing['samples']} samples, {timing['stopped_by']}",
        f"{quantity(state['sm_clock_Hz'], 'Hz')}, {quantity(state['power_W'], 'W')}",
        timing["method"],
    ]
    return " | ".join(parts)


def main(out: str, paths: list[str]) -> int:
    """Print a line for each document that can be read; write all of them to ``out``."""
    runs = []
    for path in paths:
        try:
            runs.append(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            print(f"{path}: {error}")
            continue
        print(line(runs[-1]))
        del runs[-1]["samples_s"][1000:]
    Path(out).write_text(json.dumps(runs), encoding="utf-8")
    return 0 if len(runs) == len(paths) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], sys.argv[2:]))
