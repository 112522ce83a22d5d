"""Where environments and downloads stand."""

from __future__ import annotations

from pathlib import Path

from gpuexplorer.calibration.store import data_folder


def engines_folder() -> Path:
    """Return the folder in which environments and downloads stand."""
    return data_folder() / "engines"
