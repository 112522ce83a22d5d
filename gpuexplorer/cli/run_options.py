"""The options of the commands on one configuration: ``run``, ``operators`` and ``analyze``."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import PROBLEM, add_knob, add_knobs

RUN_EXAMPLES = """examples:
  gpuexplorer run matmul --size 512 --block 16x16 --seconds 2 --json -
  gpuexplorer run matmul --variant tiled --set TILE=16 --precision fp16
  gpuexplorer run matmul --variant naive --block 256x1 --plot run.svg --csv samples.csv
  gpuexplorer run mlp --variant torch --size B=32 --precision bf16 --switch compile=default
  gpuexplorer run mine --kernels ~/kernels --device cuda:0 --include-transfers
  gpuexplorer run mine.cu --size N=1024 --block 16x16 --reference 'A @ B'
  gpuexplorer run mine.cu --watch"""
NEW_EXAMPLES = """examples:
  gpuexplorer new mine.cu                                   a first kernel, with its manifest
  gpuexplorer new mine.cu --reference "A @ B"               what mine.cu's only output should be
  gpuexplorer new mine.cu --reference C="A @ B" --array A=M,K --array B=K,N --size M=256
  gpuexplorer new mine.cu --reference none                  nothing is verified

Sizes, shapes, block and grid are taken from the text of the kernel and of the host code around it;
they stand in mine.toml, beside the file, and can be edited there."""

ROWS = 20
OPERATORS_EXAMPLES = """examples:
  gpuexplorer operators model.py
  gpuexplorer operators model.py --shapes --precision bf16 --plot flame.png
  gpuexplorer operators mlp_training --size B=64 --trace step.json

One iteration is recorded by PyTorch's own profiler, after one that warms up. The trace opens in
https://ui.perfetto.dev and in chrome://tracing. The file of a model is a program: it runs only
after you agreed, see 'gpuexplorer run --help' at --trust."""

ANALYZE_EXAMPLES = """examples:
  gpuexplorer analyze kernel.cu --arch sm_90 --block 16x16
  gpuexplorer analyze kernel.cu --arch H100 --arch rtx4090 --set TILE=32 --plot occupancy.svg
  gpuexplorer analyze matmul --variant tiled --arch all --json -
  gpuexplorer analyze kernel.cu --sass --arch sm_80 --csv instructions.csv
  gpuexplorer analyze matmul --diff sm_80 sm_90             the lines that are compiled otherwise
  gpuexplorer analyze matmul --diff naive tiled --arch H100
  gpuexplorer analyze matmul --variant naive --size 1024 --block 32x8 --accesses
  gpuexplorer analyze transpose --variant tiled --accesses --warp 3 --csv accesses.csv"""


def add_run(run: argparse.ArgumentParser) -> None:
    """Add the options of ``run``."""
    common.workload(run)
    what = run.add_argument_group("what to run")
    add_knobs(what, *PROBLEM)
    what.add_argument(
        "--tuned", action="store_true",
        help="the block and tunables that 'gpuexplorer tune' found for this problem and hardware",
    )  # fmt: skip
    _add_answers(run.add_argument_group("of a CUDA file, FILE.cu, the first time"))
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
    how.add_argument(
        "--watch", action="store_true",
        help="measure again whenever a file of your own workload is saved, in turns with the "
        "version before, until Ctrl-C",
    )  # fmt: skip
    files = run.add_argument_group("files")
    common.no_history(files, "the run")
    common.csv(files, "write every sample as a table")
    common.plot(files, "draw times, distribution and traffic")


def add_new(new: argparse.ArgumentParser) -> None:
    """Add the options of ``new``."""
    new.add_argument("file", type=Path, metavar="FILE.cu", help="a CUDA file, there or not yet")
    add_knob(new, "variant", "the kernel to run (default: the one launched first)", "KERNEL")
    add_knob(new, "size", "sizes to begin with (default: those of the host code)")
    add_knob(new, "block", "threads per block to begin with, such as 16x16")
    _add_answers(new)
    common.language(new)


def _add_answers(group: argparse._ActionsContainer) -> None:
    """Add what a CUDA file does not say itself."""
    group.add_argument(
        "--reference", action="append", default=[], metavar="[OUT=]EXPR|none",
        help="what the result should be, over the inputs, such as 'A @ B'; may repeat, once for "
        "each output; or a function that returns it: of the file's own, or check.py:product of a "
        "Python file beside it; none: nothing is verified",
    )  # fmt: skip
    group.add_argument("--out", metavar="NAMES", help="the arrays that are outputs, by comma")
    group.add_argument(
        "--array", action="append", default=[], metavar="NAME=SIDES",
        help="an array's shape, such as A=M,K; may repeat",
    )  # fmt: skip
    group.add_argument(
        "--scalar", action="append", default=[], metavar="NAME=NUMBER",
        help="a number that the kernel takes and no size is; may repeat",
    )  # fmt: skip


def add_operators(operators: argparse.ArgumentParser) -> None:
    """Add the options of ``operators``."""
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


def add_analyze(analyze: argparse.ArgumentParser) -> None:
    """Add the options of ``analyze``."""
    analyze.add_argument(
        "subject", metavar="FILE.cu|WORKLOAD", help="a CUDA source, or a name from 'workloads'"
    )
    what = analyze.add_argument_group("what to compile")
    what.add_argument(
        "--arch", action="append", default=[], metavar="A",
        help="such as sm_90, or a GPU such as H100, or all; may repeat (default: all, and sm_90 "
        "for instructions and accesses)",
    )  # fmt: skip
    add_knob(what, "block", "threads per block (default: the variant's; 256 for a file)")
    add_knob(what, "precision", "what real is: fp64, fp32, bf16 or fp16")
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
    instructions = analyze.add_argument_group("instructions")
    instructions.add_argument(
        "--sass", action="store_true",
        help="list each kernel's machine instructions under the source lines they come from",
    )  # fmt: skip
    instructions.add_argument(
        "--diff", nargs=2, metavar=("A", "B"),
        help="how the instructions of two architectures differ, or of two variants",
    )  # fmt: skip
    accesses = analyze.add_argument_group("accesses of a warp")
    accesses.add_argument(
        "--accesses", action="store_true",
        help="run one block on the CPU device and count what a warp of it asks of memory: sectors "
        "a request, bytes used of those fetched, bank conflicts",
    )  # fmt: skip
    accesses.add_argument(
        "--launch", type=values.count, metavar="L", default=0,
        help="which launch of the variant, from 0 (default: 0)",
    )  # fmt: skip
    accesses.add_argument(
        "--place", type=values.place, metavar="X,Y,Z", default=(0, 0, 0),
        help="the block's place in the grid, from 0 (default: 0,0,0)",
    )  # fmt: skip
    accesses.add_argument(
        "--warp", type=values.count, metavar="W", default=0,
        help="which warp of the block, from 0 (default: 0)",
    )  # fmt: skip
    files = analyze.add_argument_group("files")
    common.plot(files, "draw the occupancy")
    common.csv(files, "write a row for each instruction (--sass, --diff) or access (--accesses)")
