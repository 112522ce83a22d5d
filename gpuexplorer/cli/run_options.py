"""The options of ``gpuexplorer run``."""

from __future__ import annotations

import argparse

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import PROBLEM, add_knob, add_knobs

EXAMPLES = """examples:
  gpuexplorer run matmul --size 512 --block 16x16 --seconds 2 --json -
  gpuexplorer run matmul --variant tiled --set TILE=16 --precision fp16
  gpuexplorer run matmul --variant naive --block 256x1 --plot run.svg --csv samples.csv
  gpuexplorer run mlp --variant torch --size B=32 --precision bf16 --switch compile=default
  gpuexplorer run mine --kernels ~/kernels --device cuda:0 --include-transfers"""


def add_options(run: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    common.workload(run)
    what = run.add_argument_group("what to run")
    add_knobs(what, *PROBLEM)
    what.add_argument(
        "--tuned", action="store_true",
        help="the block and tunables that 'gpuexplorer tune' found for this problem and hardware",
    )  # fmt: skip
    how = run.add_argument_group("how to measure")
    how.add_argument(
        "--seconds", type=values.seconds, metavar="S",
        help="sample for this long (default: until the median is known to 0.5 %%, at most 5 s)",
    )  # fmt: skip
    how.add_argument(
        "--noise", type=values.noise, metavar="P%",
        help="sample until the median is known to this, such as 0.1%%, or until more samples do "
        "not help; at most --seconds (default: 60)",
    )  # fmt: skip
    add_knob(how, "cache")
    how.add_argument(
        "--ncu", action="store_true",
        help="also run one launch under Nsight Compute and say exactly how many bytes it moves "
        "(NVIDIA GPUs; needs ncu and the right to use the GPU's counters)",
    )  # fmt: skip
    add_knob(how, "threads")
    common.yes(how)
    files = run.add_argument_group("files")
    common.no_history(files, "the run")
    common.csv(files, "write every sample as a table")
    common.plot(files, "draw times, distribution and traffic")
