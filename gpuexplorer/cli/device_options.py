"""The options of the commands that look at a device as a whole."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli import common_options as common

CHECK_EXAMPLES = "example:\n  gpuexplorer check-kernels my-kernels"

CALIBRATE_EXAMPLES = """examples:
  gpuexplorer calibrate
  gpuexplorer calibrate --device cuda:0 --json ceilings.json
  gpuexplorer calibrate --threads 4 --quick"""

SELFTEST_EXAMPLES = """examples:
  gpuexplorer selftest --quick
  gpuexplorer selftest --device cuda:0 --json selftest.json
  gpuexplorer selftest --device cpu --section timing"""


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of ``check-kernels``."""
    check.add_argument(
        "folder", metavar="DIR", type=Path, help="a workload's folder, or one of many"
    )
    common.device(check)
    common.threads(check)


def add_calibrate(calibrate: argparse.ArgumentParser) -> None:
    """Add the options of ``calibrate``."""
    common.device(calibrate)
    calibrate.add_argument(
        "--quick", action="store_true", help="smaller arrays, fewer and shorter runs"
    )
    common.threads(calibrate)


def add_selftest(selftest: argparse.ArgumentParser) -> None:
    """Add the options of ``selftest``."""
    common.device(selftest)
    selftest.add_argument(
        "--quick", action="store_true",
        help="each variant and precision at its most telling sizes only: about a minute on a CPU",
    )  # fmt: skip
    selftest.add_argument(
        "--section", action="append", default=[], metavar="NAME",
        help="only this part: kernels, memory, occupancy, timing, ceilings, telemetry or recovery; "
        "may repeat",
    )  # fmt: skip
    common.threads(selftest)
