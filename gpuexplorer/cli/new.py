"""``gpuexplorer new``: the manifest of a CUDA file of one's own, or a first file to begin with."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.own_files import answers_of, describe
from gpuexplorer.cli.workloads import print_workload
from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.loader import kernel_workload
from gpuexplorer.workloads.own_kernel import is_kernel_file

FIRST_FILE = """\
// y = a x + y, an element a thread: a kernel to begin with.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
FIRST_ANSWERS = Answers(reference={"": "a * x + y"})


def command(options: argparse.Namespace) -> int:
    """Write what is missing of a file and its manifest, and show what it is now."""
    path: Path = options.file
    if not is_kernel_file(path):
        raise InputError(f"{path}: not a CUDA file", remedy="give a name that ends in .cu")
    answers = answers_of(options)
    if not path.exists():
        if answers:
            raise InputError(
                f"{path}: there is no such file",
                remedy=f"leave --reference out to have a first kernel written to {path}",
            )
        with atomic_file(path) as stream:
            stream.write(FIRST_FILE.encode())
        say(f"gpuexplorer: wrote {path}")
        answers = FIRST_ANSWERS
    if answers:
        describe(path, answers)
    print_workload(kernel_workload(path))
    output_console().print(f"\nMeasure it: gpuexplorer run {path}", style="dim", markup=False)
    return 0
