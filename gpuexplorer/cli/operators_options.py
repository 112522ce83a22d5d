"""The options of ``gpuexplorer operators``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.core.config import Cache

ROWS = 20
EXAMPLES = """examples:
  gpuexplorer operators model.py
  gpuexplorer operators model.py --shapes --precision bf16 --plot flame.png
  gpuexplorer operators mlp_training --size B=64 --trace step.json

One iteration is recorded by PyTorch's own profiler, after one that warms up. The trace opens in
https://ui.perfetto.dev and in chrome://tracing. The file of a model is a program: it runs only
after you agreed, see 'gpuexplorer run --help' at --trust."""


def add_options(operators: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    operators.add_argument(
        "workload", metavar="MODEL.py|WORKLOAD",
        help="a model's Python file, or a name from 'gpuexplorer workloads' that PyTorch runs",
    )  # fmt: skip
    common.what_to_run(operators.add_argument_group("what to run"))
    how = operators.add_argument_group("how to record")
    how.add_argument(
        "--shapes", action="store_true", help="a row for each operator and shapes of its inputs"
    )
    how.add_argument("--cache", choices=get_args(Cache), default="hot", help=argparse.SUPPRESS)
    how.add_argument(
        "--threads", type=values.threads, metavar="T",
        help="CPU threads operators may use (default: all cores but one)",
    )  # fmt: skip
    how.add_argument(
        "--rows", type=values.rows, default=ROWS, metavar="N",
        help=f"operators to print (default: {ROWS}); files have them all",
    )  # fmt: skip
    files = operators.add_argument_group("files")
    common.plot(files, "draw flame chart and table")
    files.add_argument(
        "--trace", type=Path, metavar="F.json", help="write a Chrome trace, for Perfetto"
    )
