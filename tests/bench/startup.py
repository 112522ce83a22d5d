"""From the command to the window's first paint, in fresh processes; the first one warms the disk.

Run in a real window: ``xvfb-run python tests/bench/startup.py``. Prints one JSON document.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CHILD = """
import sys, time
from gpuexplorer.gui.app import create
application, window = create([])
painted = []
def first():
    painted.append(time.time())
    window.close()
    application.quit()
window.first_paint.disconnect()
window.first_paint.connect(first)
application.exec()
heavy = [m for m in ("torch", "cupy", "pyopencl", "matplotlib", "sqlalchemy") if m in sys.modules]
print(repr(painted[0]), *heavy)
"""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    environment = {**os.environ, "GPUEXPLORER_CONFIG_DIR": tempfile.mkdtemp(prefix="gpuexplorer-")}
    times: list[float] = []
    heavy: set[str] = set()
    for _ in range(options.runs + 1):
        began = time.time()
        done = subprocess.run(
            [sys.executable, "-c", CHILD],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        painted, *modules = done.stdout.split()
        times.append(float(painted) - began)
        heavy |= set(modules)
    warm = times[1:]
    print(
        json.dumps(
            {
                "bench": "startup",
                "first_s": round(times[0], 3),
                "warm_s": [round(t, 3) for t in warm],
                "warm_median_s": round(statistics.median(warm), 3),
                "limit_s": 1.5,
                "imported_though_heavy": sorted(heavy),
            },
            indent=1,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
