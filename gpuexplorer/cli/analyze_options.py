"""The options of ``gpuexplorer analyze``."""

from __future__ import annotations

import argparse

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import add_knob, add_knobs

EXAMPLES = """examples:
  gpuexplorer analyze kernel.cu --arch sm_90 --block 16x16
  gpuexplorer analyze kernel.cu --arch H100 --arch rtx4090 --set TILE=32 --plot occupancy.svg
  gpuexplorer analyze matmul --variant tiled --arch all --json -"""


def add_options(analyze: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    analyze.add_argument(
        "subject", metavar="FILE.cu|WORKLOAD", help="a CUDA source, or a name from 'workloads'"
    )
    what = analyze.add_argument_group("what to compile")
    what.add_argument(
        "--arch", action="append", default=[], metavar="A",
        help="such as sm_90, or a GPU such as H100, or all; may repeat (default: all)",
    )  # fmt: skip
    add_knob(what, "block", "threads per block (default: the variant's; 256 for a file)")
    add_knob(what, "precision", "what real is: fp64, fp32 or fp16")
    macro = "a macro of the file, or a tunable of the variant; may repeat"
    add_knob(what, "tunable", macro, "MACRO=VALUE")
    file = analyze.add_argument_group("of a file")
    file.add_argument(
        "--dynamic-shared",
        type=values.count,
        metavar="B",
        help="dynamic shared memory a block, in bytes",
    )
    file.add_argument(
        "--entry", action="append", default=[], metavar="NAME",
        help="only this kernel, or one of a template such as 'scale<4>'; may repeat",
    )  # fmt: skip
    workload = analyze.add_argument_group("of a workload")
    add_knobs(workload, "variant", "size")
    common.plot(analyze.add_argument_group("files"), "draw the occupancy")
