"""How long the GUI thread is busy at a time: idle, live, and with a million samples on the chart.

Run in a real window: ``xvfb-run python tests/bench/live_gui.py``. Prints one JSON document. Every
event the GUI thread handles is timed (slots, timers, repaints), and the gaps of a 16 ms timer.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from functools import partial


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    os.environ["GPUEXPLORER_CONFIG_DIR"] = tempfile.mkdtemp(prefix="gpuexplorer-bench-")
    os.environ.setdefault("GPUEXPLORER_DATA_DIR", os.environ["GPUEXPLORER_CONFIG_DIR"])

    from gui_probe import ProbeApplication, StolenTime, TimerGaps, wait_until
    from PySide6.QtCore import QTimer

    from gpuexplorer.core.device import DeviceList
    from gpuexplorer.gui.app import create
    from gpuexplorer.workloads.choose import find_device

    application = ProbeApplication(["gpuexplorer"])
    _, window = create([])
    session, experiment = window.session, window.session.experiment
    session.live_at_start = False
    if not wait_until(lambda: experiment.devices is not None, 60):
        print("no devices in time", file=sys.stderr)
        return 1
    experiment.set_device(find_device(experiment.devices or DeviceList(), options.device).id)
    experiment.set_size("N", options.size)
    gaps, host = TimerGaps(), StolenTime()

    def record(seconds: float) -> dict[str, object]:
        stolen = host.seconds()
        application.begin()
        gaps.begin()
        QTimer.singleShot(int(seconds * 1000), partial(application.exit, 0))
        application.exec()
        timer = gaps.end()
        return {
            "seconds": seconds,
            **application.end(),
            "timer_gaps": timer,
            "stolen_s": round(host.seconds() - stolen, 2),
        }

    report: dict[str, object] = {"bench": "live_gui", "idle": record(options.seconds)}
    session.set_live(True)
    wait_until(lambda: _samples(session) > 50, 30)
    report["live"] = {"size": options.size, **record(options.seconds), "samples": _samples(session)}

    experiment.set_size("N", 4)
    window.timing.set_span(0.0)
    began = time.monotonic()
    reached = wait_until(lambda: _samples(session) >= options.samples, 600)
    filled_s = time.monotonic() - began
    with_many = record(options.seconds)
    run = session.live_model.current
    report["many"] = {
        **with_many,
        "reached": reached,
        "filled_in_s": round(filled_s, 1),
        "samples": _samples(session),
        "raw_samples_on_chart": len(run.trace) if run else 0,
    }
    report["limits"] = {"longest_s": 0.025, "timer_p999_s": 0.05}
    window.close()
    print(json.dumps(report, indent=1))
    return 0 if reached else 1


def _samples(session: object) -> int:
    run = session.live_model.current  # type: ignore[attr-defined]
    return run.trace.total if run is not None else 0


if __name__ == "__main__":
    sys.exit(main())
