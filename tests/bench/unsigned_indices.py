"""What does it cost that threadIdx and its kin are unsigned? The ratio, in turns, on the CPU.

    python tests/bench/unsigned_indices.py [--rounds R] [--quick]

The same kernels run as they stand, with CUDA's unsigned indices, and with every index converted to
int by hand, with which Intel's compiler has the least to prove. Exit 1 when a kernel as it stands
takes more than 1.03 times as long.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from typing import Any

import numpy as np

from gpuexplorer.backends.base import Runner
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload, WorkloadSource
from tests.backends.opencl_support import ready_runner

ALLOWED = 1.03
SIZE = 512
BATCH_S = 0.03
TEXTBOOK = """
__global__ void matrixMul(const real *A, const real *B, real *C, int N)
{
    __shared__ real tileA[16][16];
    __shared__ real tileB[16][16];
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 16 + threadIdx.x;
    accum sum = 0;
    for (int t = 0; t < N / 16; t++) {
        tileA[threadIdx.y][threadIdx.x] = A[row * N + t * 16 + threadIdx.x];
        tileB[threadIdx.y][threadIdx.x] = B[(t * 16 + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
        __syncthreads();
    }
    C[row * N + col] = sum;
}
"""
REGISTERS = """
__global__ void matrixMul(const real *A, const real *B, real *C, int N)
{
    int row = (blockIdx.y * blockDim.y + threadIdx.y) * 8;
    int col = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    if ((blockIdx.y + 1) * blockDim.y * 8 > N || (blockIdx.x + 1) * blockDim.x * 2 > N) return;
    accum sums[8][2] = {};
    for (int k = 0; k < N; k++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 2; j++)
                sums[i][j] += A[(row + i) * N + k] * B[k * N + col + j * blockDim.x];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 2; j++) C[(row + i) * N + col + j * blockDim.x] = sums[i][j];
}
"""
KERNELS: dict[str, tuple[str, str]] = {
    "naive": ("naive", ""),
    "tiled": ("tiled", ""),
    "textbook": ("naive", TEXTBOOK),
    "registers": ("naive", REGISTERS),
}
"""The variant of the product, and what takes the place of its source."""


def product(variant: str, text: str, signed: bool) -> Workload:
    """Return the product with one source changed."""
    source = load()["matmul"].source
    name = f"{variant}.cu"
    text = text or source.files[name]
    if signed:
        text = re.sub(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\b", r"(int)\g<0>", text)
    return Workload(WorkloadSource(manifest=source.manifest, files={**source.files, name: text}))


def ratio(kernel: str, rounds: int) -> dict[str, Any]:
    """Return how much longer a kernel takes as it stands, and its speed."""
    variant, text = KERNELS[kernel]
    runners: dict[bool, Runner] = {}
    for signed in (True, False):
        made, _ = ready_runner(
            product(variant, text, signed), variant=variant, size={"N": SIZE}, precision="fp32"
        )
        made.launch(2)
        made.check_guards()
        runners[signed] = made
    count = max(1, int(BATCH_S / float(runners[True].launch(2).seconds.min())))
    ratios, best = [], []
    for turn in range(rounds):
        order = (True, False) if turn % 2 else (False, True)
        taken = {signed: _batch_s(runners[signed], count) for signed in order}
        ratios.append(taken[False] / taken[True])
        best.append(taken[False])
    for made in runners.values():
        made.free()
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return {
        "kernel": kernel, "ratio": round(float(middle), 4),
        "quartiles": [round(float(q), 4) for q in (low, high)],
        "gflops": round(2 * SIZE**3 / min(best) * 1e-9, 1),
    }  # fmt: skip


def _batch_s(runner: Runner, count: int) -> float:
    """Return the processor's time of one launch: what another program takes is not counted."""
    before = time.process_time()
    runner.launch(count)
    return (time.process_time() - before) / count


def main() -> int:
    """Print each kernel's ratio; return 1 for one that is too large."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    found = [ratio(kernel, 8 if options.quick else options.rounds) for kernel in KERNELS]
    for each in found:
        print(json.dumps(each))
    return int(any(each["ratio"] > ALLOWED for each in found))


if __name__ == "__main__":
    sys.exit(main())
