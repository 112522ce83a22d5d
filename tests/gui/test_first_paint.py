"""What packages and the benchmark of starting are checked with says when the window was there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path


def test_the_window_is_painted_with_nothing_heavy_loaded(tmp_path: Path) -> None:
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-m", "gpuexplorer.gui.first_paint"],
        env={
            **os.environ,
            "QT_QPA_PLATFORM": "offscreen",
            "GPUEXPLORER_CONFIG_DIR": str(tmp_path / "config"),
            "GPUEXPLORER_DATA_DIR": str(tmp_path / "data"),
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    painted, *heavy = done.stdout.split()
    assert began < float(painted) < time.time()
    assert heavy == []
