"""The options of ``gpuexplorer sweep``: those of ``run``, most of them with several values."""

from __future__ import annotations

import argparse
from typing import get_args

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.cluster_options import add_cluster
from gpuexplorer.cli.knob_options import add_knobs, add_several
from gpuexplorer.core.config import Cache
from gpuexplorer.core.knobs import TRANSFERS
from gpuexplorer.workloads.manifest import FILLS

EXAMPLES = """examples:
  gpuexplorer sweep matmul --block-x 1:256:*2 --block-y 1,2,4 --size 512 --plot blocks.png
  gpuexplorer sweep matmul --variant naive,tiled,numpy --size 64:1024:*2 --plot sizes.svg
  gpuexplorer sweep matmul --variant tiled --tunable TILE=8,16,32 --block 8x8,16x16 --json tile.json
  gpuexplorer sweep reduction --precision fp32,fp16 --fill normal,zeros --samples 100 --resume
  gpuexplorer sweep mlp --variant torch --size B=1:256:*2 --switch compile=off,default
  gpuexplorer sweep matmul --block-x 1:256 --block-y 1:16 --engine gpu --detach

values: 1,2,4, or ranges a:b:*2 (doubling), a:b:+4 (adding), a:b (every one), or all mixed. What has
one value is a setting, what has several an axis; every combination is measured, those that cannot
run are skipped with the reason. Each run is kept in the history as soon as it is done."""

KNOBS = {
    "variant": ("V,..", "implementations"),
    "size": ("N,..|N=..,M=..", "problem sizes, by symbol; may repeat"),
    "block": ("XxY,..", "whole blocks, such as 16x16,32x8"),
    **{f"block.{axis}": ("A:B:*2|A,B", f"threads in {axis}") for axis in "xyz"},
    "precision": (
        "P,..",
        "fp64, fp32, bf16, fp16; of a framework's model also tf32, fp8_e4m3, int8, "
        "autocast_bf16, autocast_fp16",
    ),
    "tunable": ("NAME=A,B", "a compile-time parameter of the variant; may repeat"),
    "switch": (
        "NAME=A,B",
        "how a framework runs its model, such as compile=off,default; may repeat",
    ),
    "device": ("D,..", "ids from 'gpuexplorer devices', or cuda, cpu, auto (default)"),
    "fill": ("F,..", f"inputs: {', '.join(FILLS)}"),
    "cache": (
        "C,..",
        f"{' or '.join(get_args(Cache))} (default: hot); cold empties the last-level cache "
        "before each launch",
    ),
    "threads": ("T,..", "CPU threads a kernel may use (default: all cores but one)"),
}
"""The metavar and the help of each knob's option, where it takes several values."""


def add_options(sweep: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    common.workload(sweep)
    what = sweep.add_argument_group("what to sweep over")
    for axis, (metavar, words) in KNOBS.items():
        names = {"tunable": ("--tunable", "--set"), "device": ("--device", "--devices")}
        add_several(what, axis, metavar, words, names.get(axis, ()))
    add_knobs(what, "seed", TRANSFERS)
    how = sweep.add_argument_group("how to measure each")
    how.add_argument(
        "--samples", type=values.samples, metavar="N",
        help="launches to time (default: 30, unless --seconds or --noise is given)",
    )  # fmt: skip
    how.add_argument(
        "--seconds", type=values.seconds, metavar="S",
        help="sample at most for this long (default: 5)",
    )  # fmt: skip
    how.add_argument(
        "--noise", type=values.noise, metavar="P%",
        help="until the median is known to this, such as 1%%",
    )  # fmt: skip
    common.yes(how, "they are skipped")
    how.add_argument(
        "--order-seed", type=values.seed, default=1, metavar="S",
        help="of the order, which is random so that a drift does not look like a trend",
    )  # fmt: skip
    way = sweep.add_argument_group("the way through")
    way.add_argument(
        "--dry-run", action="store_true",
        help="say how much there is to measure and how long it may take, and stop",
    )  # fmt: skip
    way.add_argument(
        "--resume", action="store_true",
        help="continue the latest sweep of the same: what it finished is not measured again",
    )  # fmt: skip
    common.no_history(way)
    common.detach(way)
    add_cluster(way)
    files = sweep.add_argument_group("files")
    common.csv(files, "write a row for each configuration")
    common.plot(files, "draw what fits the axes: lines against size, heat maps of blocks, bars")
