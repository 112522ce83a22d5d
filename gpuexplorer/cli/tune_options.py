"""The options of ``gpuexplorer tune``."""

from __future__ import annotations

import argparse
import math
import re
from typing import TYPE_CHECKING

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.cluster_options import add_cluster
from gpuexplorer.cli.knob_options import add_knob, add_knobs
from gpuexplorer.core import limits
from gpuexplorer.core.knobs import BY_AXIS

if TYPE_CHECKING:
    from gpuexplorer.core.tuning import Budget

EXAMPLES = """examples:
  gpuexplorer tune matmul --variant naive
  gpuexplorer tune matmul --variant tiled --size 1024 --budget 5m
  gpuexplorer tune matmul --variant tiled --budget 200 --sampler random --json tuning.json
  gpuexplorer tune mine --kernels ~/kernels --sampler grid --set TILE=8,16,32
  gpuexplorer run matmul --variant naive --tuned"""

_UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
SAMPLERS = ("tpe", "random", "grid", "cmaes", "qmc")
"""Named again here, so that the help needs no search; a test holds them equal."""


def add_options(tune: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    common.workload(tune)
    what = tune.add_argument_group("what to tune")
    add_knobs(what, "variant", "size")
    add_knob(what, "precision", "fp64, fp32, bf16 or fp16")
    add_knobs(what, "device", "fill", "cache")
    among = tune.add_argument_group("among what (default: everything that can be launched)")
    for axis in "xyz":
        among.add_argument(
            f"--block-{axis}", type=values.several(BY_AXIS[f"block.{axis}"]), metavar="LIST",
            help=f"threads in {axis}, such as 8,16,32 or 8:256:*2 (default: powers of two)",
        )  # fmt: skip
    among.add_argument(
        "--set", type=values.several_by_name(BY_AXIS["tunable"]), action=values.GatherSettings,
        default=[], dest="choices", metavar="TUNABLE=LIST",
        help="values of a compile-time parameter, such as TILE=8,16; may repeat (default: those of "
        "the manifest)",
    )  # fmt: skip
    how = tune.add_argument_group("how to search")
    how.add_argument(
        "--budget", type=budget, metavar="60s|200",
        help="how long (s, m, h) or how many configurations (default: 60s; grid: all of them)",
    )  # fmt: skip
    how.add_argument(
        "--sampler", default="tpe", metavar="S",
        help="tpe (default), random or grid (every configuration once); cmaes and qmc where the "
        "packages cmaes and scipy are installed",
    )  # fmt: skip
    how.add_argument(
        "--samples", type=values.samples, default=7, metavar="N",
        help="launches of a contender; clear losers get fewer (default: 7)",
    )  # fmt: skip
    how.add_argument(
        "--no-racing", dest="racing", action="store_false",
        help="give no configuration up early: all get the same number of samples",
    )  # fmt: skip
    add_knob(how, "seed", "of the sampler and inputs (default: 1)")
    add_knob(how, "threads")
    common.yes(how)
    common.no_history(how, "the runs and what was found")
    common.detach(how)
    add_cluster(how)


def budget(text: str) -> Budget:
    """Read ``60s``, ``5m``, ``1h``, or a number of configurations."""
    from gpuexplorer.core.tuning import Budget

    words = text.strip().lower()
    if re.fullmatch(r"\d{1,9}", words, re.ASCII) and int(words) >= limits.EVALUATIONS.least:
        return Budget(evaluations=int(words))
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(s|m|min|h)", words, re.ASCII)
    seconds = float(match[1]) * _UNITS[match[2]] if match else math.nan
    if not limits.SECONDS.holds(seconds):
        raise argparse.ArgumentTypeError(
            f"'{text}' is neither a time such as 60s or 5m nor a number of configurations"
        )
    return Budget(seconds=seconds)
