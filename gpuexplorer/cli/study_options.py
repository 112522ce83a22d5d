"""The options of ``gpuexplorer study``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import PROBLEM, add_knobs, add_several

if TYPE_CHECKING:
    from gpuexplorer.studies.kind import StudyKind

EXAMPLES = """examples:
  gpuexplorer study precision attention --variant torch --plot precision.png
  gpuexplorer study precision matmul --size 1024 --precision fp64,fp32,bf16,fp16 --json lab.json
  gpuexplorer study switches mlp_training --variant torch --plot waterfall.svg
  gpuexplorer study switches cnn --switches compile=default,channels_last --order channels_last
  gpuexplorer study speedup matmul --size 64:4096:*2 --plot break-even.png
  gpuexplorer study speedup matmul --devices opencl:0,torch:cpu --size 32:512:*2
  gpuexplorer study scaling matmul --variants naive,tiled --size 64:2048:*2 --plot scaling.png
  gpuexplorer study ladder matmul --size 1024 --plot ladder.png

Everything is measured in turns, in an order that chance decides. What fails or is not offered
stands in the result with its reason. Runs are kept in the history as one group; 'gpuexplorer report
FILE' makes a page of the JSON. Ctrl-C ends it with what was measured by then.

exit codes: 0 done, 1 nothing could be measured, 2 usage or input error, 3 nothing here can run it
(a GPU is asked for and there is none), 130 stopped"""

LADDER_EXAMPLES = """examples:
  gpuexplorer ladder matmul --size 1024 --threads 1 --plot ladder.png
  gpuexplorer ladder transpose --precision fp64 --json ladder.json
  gpuexplorer ladder matmul --variants naive,tiled,numpy --rounds 24

The kernels of a workload are its rungs, in the manifest's order. All take turns with the libraries
that run on the same hardware, each with what 'gpuexplorer tune' found for it there, else with the
manifest's block. It is 'gpuexplorer study ladder'; Ctrl-C ends it with what was measured by then.

exit codes: 0 done, 1 nothing could be measured, 2 usage or input error, 3 nothing here can run it,
130 stopped"""


def add_options(study: argparse.ArgumentParser) -> None:
    """Add every study with its options."""
    from gpuexplorer.studies import KINDS

    made = study.add_subparsers(
        title="studies", metavar="STUDY", dest="study", required=True, parser_class=type(study)
    )
    for name, kind in KINDS.items():
        words = kind.command
        parser = made.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + ".", epilog=EXAMPLES,
            allow_abbrev=False,
        )  # fmt: skip
        _add(parser, kind)


def add_ladder(parser: argparse.ArgumentParser) -> None:
    """Add the options of the ladder, which is a command of its own as well."""
    from gpuexplorer.studies import KINDS

    _add(parser, KINDS["ladder"])
    parser.set_defaults(study="ladder")


def _add(parser: argparse.ArgumentParser, kind: StudyKind[Any]) -> None:
    """Add the options of one study."""
    parser.conflict_handler = "resolve"
    common.workload(parser)
    what = parser.add_argument_group("what to run")
    what.conflict_handler = "resolve"
    add_knobs(what, *(axis for axis in PROBLEM if axis not in kind.without))
    if kind.over_sizes:
        add_several(
            what, "size", "A:B:*2|N=..,M=..",
            "the sizes: one symbol has several values (default: doubling around the workload's)",
        )  # fmt: skip
    for choice in kind.choices:
        what.add_argument(
            choice.option, *choice.also, dest=f"study_{choice.name}", metavar=choice.metavar,
            type=values.option(choice.read), help=choice.help,
        )  # fmt: skip
    _how(parser)
    common.everywhere(parser)


def _how(parser: argparse.ArgumentParser) -> None:
    from gpuexplorer.engine.interleave import ROUNDS
    from gpuexplorer.studies.running import SECONDS

    how = parser.add_argument_group("how to measure")
    how.add_argument(
        "--seconds", type=values.seconds, default=SECONDS, metavar="S",
        help=f"sample each configuration for so long, over all its turns (default: {SECONDS:g})",
    )  # fmt: skip
    how.add_argument(
        "--samples", type=values.samples, metavar="N",
        help="and take at most so many launches of each",
    )  # fmt: skip
    how.add_argument(
        "--rounds", type=values.rounds, metavar="N",
        help=f"turns of each (default: {ROUNDS}, or fewer where each takes long); below six no "
        "interval can be told",
    )  # fmt: skip
    add_knobs(how, "cache", "threads")
    common.yes(how, "they have no figure")
    files = parser.add_argument_group("files")
    common.plot(files, "draw the study's chart")
    common.csv(files, "write a row for each configuration")
    common.no_history(files)
