"""The options of ``gpuexplorer sweep``: those of ``run``, most of them with several values."""

from __future__ import annotations

import argparse
from typing import get_args

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.core import limits
from gpuexplorer.core.config import Cache
from gpuexplorer.core.errors import InputError
from gpuexplorer.search import ranges
from gpuexplorer.workloads.manifest import FILLS

EXAMPLES = """examples:
  gpuexplorer sweep matmul --block-x 1:256:*2 --block-y 1,2,4 --size 512 --plot blocks.png
  gpuexplorer sweep matmul --variant naive,tiled,numpy --size 64:1024:*2 --plot sizes.svg
  gpuexplorer sweep matmul --variant tiled --tunable TILE=8,16,32 --block 8x8,16x16 --json tile.json
  gpuexplorer sweep reduction --precision fp32,fp16 --fill normal,zeros --samples 100 --resume
  gpuexplorer sweep mlp --variant torch --size B=1:256:*2 --switch compile=off,default

values: 1,2,4, or ranges a:b:*2 (doubling), a:b:+4 (adding), a:b (every one), or all mixed. What has
one value is a setting, what has several an axis; every combination is measured, those that cannot
run are skipped with the reason. Each run is kept in the history as soon as it is done."""


def add_options(sweep: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    common.workload(sweep)
    what = sweep.add_argument_group("what to sweep over")
    names = values.option(ranges.names)
    what.add_argument("--variant", type=names, default=(), metavar="V,..", help="implementations")
    what.add_argument(
        "--size", action=Sizes, default={}, metavar="N,..|N=..,M=..",
        help="problem sizes, by symbol; may repeat",
    )  # fmt: skip
    what.add_argument(
        "--block", type=values.option(ranges.blocks), default=(), metavar="XxY,..",
        help="whole blocks, such as 16x16,32x8",
    )  # fmt: skip
    for axis in "xyz":
        what.add_argument(
            f"--block-{axis}", type=values.several(limits.SIDE), default=(), metavar="A:B:*2|A,B",
            help=f"threads in {axis}",
        )  # fmt: skip
    what.add_argument(
        "--precision", type=names, default=(), metavar="P,..",
        help="fp64, fp32, fp16; of a framework's model also tf32, bf16, fp8_e4m3, int8, "
        "autocast_bf16, autocast_fp16",
    )  # fmt: skip
    what.add_argument(
        "--tunable", "--set", dest="tunable", type=values.option(_tunable), action=values.Settings,
        default=[],
        metavar="NAME=A,B", help="a compile-time parameter of the variant; may repeat",
    )  # fmt: skip
    what.add_argument(
        "--switch", type=values.option(_switch), action=values.Settings, default=[],
        metavar="NAME=A,B",
        help="how a framework runs its model, such as compile=off,default; may repeat",
    )  # fmt: skip
    what.add_argument(
        "--device", "--devices", dest="device", type=names, default=(), metavar="D,..",
        help="ids from 'gpuexplorer devices', or cuda, cpu, auto (default)",
    )  # fmt: skip
    what.add_argument(
        "--fill", type=names, default=(), metavar="F,..", help=f"inputs: {', '.join(FILLS)}"
    )
    what.add_argument(
        "--cache", type=names, default=(), metavar="C,..",
        help=f"{' or '.join(get_args(Cache))} (default: hot); cold empties the last-level cache "
        "before each launch",
    )  # fmt: skip
    what.add_argument(
        "--threads", type=values.several(limits.THREADS), default=(), metavar="T,..",
        help="CPU threads a kernel may use (default: all cores but one)",
    )  # fmt: skip
    common.seed(what)
    common.include_transfers(what)
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
        help="go on with the latest sweep of the same: what it finished is not measured again",
    )  # fmt: skip
    common.no_history(way)
    files = sweep.add_argument_group("files")
    common.csv(files, "write a row for each configuration")
    common.plot(files, "draw what fits the axes: lines against size, heat maps of blocks, bars")


def _tunable(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, values = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise InputError(f"'{text}' names no tunable", remedy="give NAME=8,16,32")
    return name.strip(), ranges.whole_numbers(values)


def _switch(text: str) -> tuple[str, tuple[bool | str, ...]]:
    from gpuexplorer.workloads.switches import read_switch

    name, equals, values = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"'{text}' names no switch", remedy="give NAME=off,default")
    name = name.strip()
    return name, tuple(dict.fromkeys(read_switch(name, value) for value in ranges.names(values)))


class Sizes(argparse.Action):
    """Gathers sizes by symbol over repeated options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        try:
            found = ranges.sizes(str(values))
        except InputError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        known = getattr(namespace, self.dest)
        twice = next((symbol for symbol in found if symbol in known), None)
        if twice is not None:
            raise argparse.ArgumentError(self, f"size {twice or 'N'} is given twice")
        setattr(namespace, self.dest, {**known, **found})
