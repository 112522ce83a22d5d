"""The options of the commands that look at a device as a whole."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli.knob_options import add_knob, add_knobs

CHECK_EXAMPLES = "example:\n  gpuexplorer check-kernels my-kernels"

CALIBRATE_EXAMPLES = """examples:
  gpuexplorer calibrate
  gpuexplorer calibrate --device cuda:0 --json ceilings.json
  gpuexplorer calibrate --threads 4 --quick"""

SELFTEST_EXAMPLES = """examples:
  gpuexplorer selftest --quick
  gpuexplorer selftest --device cuda:0 --json selftest.json
  gpuexplorer selftest --device cpu --section timing"""


def add_devices(devices: argparse.ArgumentParser) -> None:
    """Add the options of ``devices``."""
    add_knob(devices, "threads")


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of ``check-kernels``."""
    check.add_argument(
        "folder", metavar="DIR", type=Path, help="a workload's folder, or one of many"
    )
    add_knobs(check, "device", "threads")


def add_calibrate(calibrate: argparse.ArgumentParser) -> None:
    """Add the options of ``calibrate``."""
    add_knob(calibrate, "device")
    calibrate.add_argument(
        "--quick", action="store_true", help="smaller arrays, fewer and shorter runs"
    )
    add_knob(calibrate, "threads")


def add_selftest(selftest: argparse.ArgumentParser) -> None:
    """Add the options of ``selftest``."""
    add_knob(selftest, "device")
    selftest.add_argument(
        "--quick", action="store_true",
        help="each variant and precision at its most telling sizes only: about a minute on a CPU",
    )  # fmt: skip
    selftest.add_argument(
        "--section", action="append", default=[], metavar="NAME",
        help="only this part: kernels, memory, occupancy, timing, ceilings, telemetry or recovery; "
        "may repeat",
    )  # fmt: skip
    add_knob(selftest, "threads")
