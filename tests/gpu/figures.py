"""What a run's document says in short: a line to read, and the numbers to keep."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpuexplorer.core.units import percent, quantity


def short(run: dict[str, Any]) -> dict[str, Any]:
    """Return configuration, time, rates and state of one run, in SI units."""
    config, timing, rates = run["config"], run["timing"], run["throughput"]
    state = run["telemetry"]
    return {
        **{key: config[key] for key in ("workload", "variant", "precision", "size", "block")},
        **{key: config[key] for key in ("cache", "fill")},
        "median_s": timing["median_s"],
        "ci95_low_s": timing["ci95_low_s"],
        "ci95_high_s": timing["ci95_high_s"],
        "samples": timing["samples"],
        "stopped_by": timing["stopped_by"],
        "method": timing["method"],
        "flop_per_s": rates["flop_per_s"],
        "bandwidth_B_per_s": rates["bandwidth_B_per_s"],
        "peak_bandwidth_B_per_s": run["device"]["peak_bandwidth_B_per_s"],
        "sm_clock_Hz": state["sm_clock_Hz"],
        "power_W": state["power_W"],
    }


def line(found: dict[str, Any]) -> str:
    """Return a run in short as one line."""
    bandwidth, peak = found["bandwidth_B_per_s"], found["peak_bandwidth_B_per_s"]
    share = bandwidth / peak if bandwidth and peak else None
    parts = [
        f"{found['workload']}/{found['variant']} {found['precision']} {found['size']}",
        quantity(found["median_s"], "s"),
        quantity(found["flop_per_s"], "FLOP/s"),
        f"{quantity(bandwidth, 'B/s')} ({percent(share, 3)} of peak)",
        f"{found['samples']} samples, {found['stopped_by']}",
        f"{quantity(found['sm_clock_Hz'], 'Hz')}, {quantity(found['power_W'], 'W')}",
        found["method"],
    ]
    return " | ".join(parts)


def read(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return each run in short whose document is there, and say of the others what is wrong."""
    found = []
    for path in paths:
        try:
            found.append(short(json.loads(path.read_text(encoding="utf-8"))))
        except FileNotFoundError:
            continue  # its check says that it failed
        except (OSError, ValueError, KeyError) as error:
            print(f"{path}: {type(error).__name__}: {error}")
    return found
