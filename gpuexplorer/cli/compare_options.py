"""The options of ``gpuexplorer compare``."""

from __future__ import annotations

import argparse

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import PROBLEM, add_knob, add_knobs, leave_open

EXAMPLES = """what takes part, a word each; the first is the reference:
  naive:16x16                       a variant with a block
  tiled:16x16,TILE=32,precision=fp16
  32x8                              another block, all else as for all
  variant=naive,block=32x8,device=opencl:0
  N=1024  or  size=1024             another size
  naive,kernels=before              the same name from the sources of a folder
  3f9a2c  or  run=3f9a2c            a stored run by its id (six digits are enough)
  81d04e                            the best run of a block map, a tuning or a sweep, by its id
  baseline                          the newest starred run of the workload
  torch,engine=torch-2.11           in another Python: a name from 'gpuexplorer engines', or a path
  naive@gpu                         the same, shorter: here on another machine
  3f9a2c,engine=torch-2.13          a stored run, measured there now
Keys are variant, block, size, precision, device, cache, fill, seed, transfers (on, off), workload,
kernels, engine, and by name the sizes, tunables and switches of the variant. What a word leaves
open is as the options say, or else as in the first stored run.

examples:
  gpuexplorer compare naive:16x16 naive:256x1 tiled:16x16 --workload matmul --size 512
  gpuexplorer compare baseline tiled:32x8 --fail-if-slower 5% --json compared.json
  gpuexplorer compare 3f9a2c 81d04e --stored
  gpuexplorer compare naive,kernels=before naive,kernels=after --workload mine --fail-if-slower 2%
  gpuexplorer compare torch,engine=torch-2.11 torch,engine=torch-2.13 --workload mlp

Everyone is measured in turns, in an order that chance decides, until each verdict is clear or the
time is up. Each engine that takes part is a process of its own, and rests while another measures.
The verdict is slower or faster when the 95 % interval of the ratio leaves 1 out and the ratio is
not within --same-within of it, same when the whole interval is within, can't tell else.

--fail-if-slower 5% ends with 1 when the whole 95 % interval of a ratio lies above 1.05: slower by
more than 5 %, with confidence. It continues until that is clear, or the time is up; what cannot be
told ends with 0 and a line on standard error."""


def add_options(compare: argparse.ArgumentParser) -> None:
    """Give the command its options."""
    compare.add_argument(
        "words", metavar="WORD", nargs="+", help="what takes part, two or more; see below"
    )
    what = compare.add_argument_group("what to run, where a word does not say otherwise")
    what.add_argument("--workload", metavar="W", help="a name from 'gpuexplorer workloads'")
    add_knobs(what, *PROBLEM)
    how = compare.add_argument_group("how to measure")
    length = how.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds", type=values.seconds, metavar="S",
        help="measure for this long at the most (default: 20), without compiling and verifying",
    )  # fmt: skip
    length.add_argument(
        "--rounds", type=values.rounds, metavar="N",
        help="measure exactly so many turns of each; six at least tell anything",
    )  # fmt: skip
    how.add_argument(
        "--same-within", type=values.noise, metavar="P%",
        help="ratios this near to 1 count as the same (default: 0.5%%)",
    )  # fmt: skip
    how.add_argument(
        "--fail-if-slower", type=values.noise, metavar="P%",
        help="end with 1 when one is slower than the first by more than this, with confidence",
    )  # fmt: skip
    how.add_argument(
        "--stored", action="store_true",
        help="take stored runs as they are and measure only the configurations; they were not "
        "measured in turns then, and the result says so",
    )  # fmt: skip
    add_knob(how, "cache")
    threads = "CPU threads a kernel may use (default: as the stored runs, or all cores but one)"
    add_knob(how, "threads", threads)
    leave_open(compare, *PROBLEM, "cache", "threads")
    common.yes(how)
    files = compare.add_argument_group("files")
    common.plot(files, "draw the ratios with their intervals")
    common.no_history(files)
