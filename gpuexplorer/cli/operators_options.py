"""The options of ``gpuexplorer operators``."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import PROBLEM, add_knob, add_knobs

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
    add_knobs(operators.add_argument_group("what to run"), *PROBLEM)
    how = operators.add_argument_group("how to record")
    how.add_argument(
        "--shapes", action="store_true", help="a row for each operator and shapes of its inputs"
    )
    add_knob(how, "cache", argparse.SUPPRESS)
    add_knob(how, "threads", "CPU threads operators may use (default: all cores but one)")
    how.add_argument(
        "--rows", type=values.rows, default=ROWS, metavar="N",
        help=f"operators to print (default: {ROWS}); files have them all",
    )  # fmt: skip
    files = operators.add_argument_group("files")
    common.plot(files, "draw flame chart and table")
    files.add_argument(
        "--trace", type=Path, metavar="F.json", help="write a Chrome trace, for Perfetto"
    )
