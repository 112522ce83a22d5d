"""From the command to the window's first paint, in fresh processes; the first one warms the disk.

As in an installed program, modules are compiled once and kept.
Run in a real window: ``xvfb-run python tests/bench/startup.py``; with ``--program PATH`` for a
packaged program. Prints one JSON document.
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

from gpuexplorer.core.frozen import MODULE_WORD

MODULE = "gpuexplorer.gui.first_paint"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--program", metavar="PATH", help="a packaged program")
    options = parser.parse_args()
    command = [sys.executable, "-m", MODULE]
    if options.program:
        command = [options.program, MODULE_WORD, MODULE]
    folder = tempfile.mkdtemp(prefix="gpuexplorer-")
    compiled = os.path.join(folder, "compiled")
    environment = {
        **os.environ, "GPUEXPLORER_CONFIG_DIR": folder, "PYTHONPYCACHEPREFIX": compiled
    }  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    times: list[float] = []
    heavy: set[str] = set()
    for _ in range(options.runs + 1):
        began = time.time()
        done = subprocess.run(
            command,
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
                "limit_s": 2.0 if options.program else 1.5,
                "imported_though_heavy": sorted(heavy),
            },
            indent=1,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
