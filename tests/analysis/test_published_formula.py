"""Occupancy against NVIDIA's published calculator: written a second time, and the header itself."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.analysis.occupancy import LIMITS, occupancy

CASES = 200_000
Ints = npt.NDArray[np.int64]

PUBLISHED = {
    # capability: threads/SM, blocks/SM, shared/SM, shared/block, reserved/block, unit, barriers
    (7, 5): (1024, 16, 65536, 65536, 0, 256, 0),
    (8, 0): (2048, 32, 167936, 166912, 1024, 128, 0),
    (8, 6): (1536, 16, 102400, 101376, 1024, 128, 0),
    (8, 7): (1536, 16, 167936, 166912, 1024, 128, 0),
    (8, 9): (1536, 24, 102400, 101376, 1024, 128, 0),
    (9, 0): (2048, 32, 233472, 232448, 1024, 128, 64),
    (10, 0): (2048, 32, 233472, 232448, 1024, 128, 64),
    (10, 3): (2048, 32, 233472, 232448, 1024, 128, 64),
    (12, 0): (1536, 24, 102400, 101376, 1024, 128, 24),
    (12, 1): (1536, 24, 102400, 101376, 1024, 128, 24),
}
"""The programming guide's table, in its own units."""

HARNESS = r"""
#include <stdio.h>
#include <string.h>
#include "cuda_occupancy.h"
int main(void)
{
    int major, minor, threads_SM, shared_SM, shared_block, reserved;
    int block, regs, fixed, dynamic, bars;
    while (scanf("%d %d %d %d %d %d %d %d %d %d %d", &major, &minor, &threads_SM, &shared_SM,
                 &shared_block, &reserved, &block, &regs, &fixed, &dynamic, &bars) == 11) {
        cudaOccDeviceProp p; cudaOccFuncAttributes f; cudaOccDeviceState s; cudaOccResult r;
        memset(&p, 0, sizeof p); memset(&f, 0, sizeof f); memset(&s, 0, sizeof s);
        p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
        p.maxThreadsPerMultiprocessor = threads_SM; p.regsPerBlock = 65536;
        p.regsPerMultiprocessor = 65536; p.warpSize = 32; p.sharedMemPerBlock = 49152;
        p.sharedMemPerMultiprocessor = shared_SM; p.numSms = 1;
        p.sharedMemPerBlockOptin = shared_block; p.reservedSharedMemPerBlock = reserved;
        f.maxThreadsPerBlock = 1024; f.numRegs = regs; f.sharedSizeBytes = fixed;
        f.partitionedGCConfig = PARTITIONED_GC_OFF;
        f.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; f.maxDynamicSharedSizeBytes = dynamic;
        f.numBlockBarriers = bars;
        s.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &f, &s, block, dynamic)) printf("-1\n");
        else printf("%d\n", r.activeBlocksPerMultiprocessor);
    }
    return 0;
}
"""


def random_launches() -> tuple[list[tuple[int, int]], dict[str, Ints]]:
    """Return capabilities, and launches that favour the edges of registers and shared memory."""
    rng = np.random.default_rng(20)
    which = rng.integers(0, len(PUBLISHED), CASES)
    capabilities = [list(PUBLISHED)[i] for i in which]
    most_B = np.array([PUBLISHED[c][3] for c in capabilities])
    fixed = np.minimum(rng.integers(0, 49153, CASES), most_B)
    dynamic = rng.integers(0, np.maximum(most_B - fixed, 0) + 1025)
    some = rng.random(CASES)
    fixed[some < 0.4] = 0
    dynamic[some < 0.6] = rng.integers(0, 2049, int((some < 0.6).sum()))
    return capabilities, {
        "threads": rng.integers(1, 1025, CASES),
        "registers": rng.integers(1, 256, CASES),
        "fixed": fixed,
        "dynamic": dynamic,
        "barriers": rng.integers(0, 17, CASES),
    }


def ours(capabilities: list[tuple[int, int]], launches: dict[str, Ints]) -> Ints:
    found = [
        occupancy(LIMITS[c], threads, registers, fixed + dynamic, barriers)
        for c, threads, registers, fixed, dynamic, barriers in zip(
            capabilities, *(launches[k].tolist() for k in launches), strict=True
        )
    ]
    shares = np.array([f.occupancy for f in found])
    blocks = np.array([f.blocks_per_multiprocessor for f in found])
    warps = np.array([PUBLISHED[c][0] // 32 for c in capabilities])
    assert np.array_equal(shares, blocks * np.ceil(launches["threads"] / 32) / warps)
    assert ((shares >= 0) & (shares <= 1)).all()
    return blocks


def test_the_table_is_the_published_one() -> None:
    assert set(LIMITS) == set(PUBLISHED)


def test_it_equals_the_published_formula_in_200000_random_cases() -> None:
    """The calculator's steps on whole arrays, register check of the hardware included."""
    capabilities, at = random_launches()
    table = np.array([PUBLISHED[c] for c in capabilities]).T
    threads_SM, blocks_SM, shared_SM, shared_block, reserved, unit, barriers_SM = table
    warps = np.ceil(at["threads"] / 32).astype(np.int64)

    by_warps = (threads_SM // 32) // warps
    regs_warp = (at["registers"] * 32 + 255) // 256 * 256
    by_registers = 4 * (16384 // regs_warp) // warps
    by_registers[regs_warp * ((warps + 3) // 4 * 4) > 65536] = 0
    taken = (at["fixed"] + at["dynamic"] + reserved + unit - 1) // unit * unit
    by_shared = np.where(taken > shared_block + reserved, 0, shared_SM // np.maximum(taken, 1))
    by_barriers = np.where(
        (barriers_SM > 0) & (at["barriers"] > 0), barriers_SM // np.maximum(at["barriers"], 1), 99
    )
    expected = np.min([by_warps, by_registers, by_shared, blocks_SM, by_barriers], axis=0)

    assert np.array_equal(ours(capabilities, at), expected)
    assert all((expected == k).any() for k in (0, 1, 2, 8, 16, 24, 32)), "the cases are all alike"


def header_folder() -> Path | None:
    """Return where ``cuda_occupancy.h`` stands: beside the runtime from pip, or in a toolkit."""
    for package in ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"):
        try:
            files = importlib.metadata.files(package) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in files:
            if file.name == "cuda_occupancy.h":
                return Path(str(file.locate())).parent
    toolkit = Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "include"
    return toolkit if (toolkit / "cuda_occupancy.h").is_file() else None


def test_it_equals_nvidias_own_header(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    folder = header_folder()
    if compiler is None or folder is None:
        pytest.skip("no C compiler, or no cuda_occupancy.h")
    source, program = tmp_path / "occupancy.c", tmp_path / "occupancy"
    source.write_text(HARNESS)
    subprocess.run([compiler, "-O1", f"-I{folder}", str(source), "-o", str(program)], check=True)
    capabilities, at = random_launches()
    properties = ([*c, *(PUBLISHED[c][i] for i in (0, 2, 3, 4))] for c in capabilities)
    rows = zip(properties, *(at[k].tolist() for k in at), strict=True)
    lines = "\n".join(" ".join(map(str, (*head, *launch))) for head, *launch in rows)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    theirs = np.array(done.stdout.split(), dtype=np.int64)
    assert (theirs >= 0).all()
    assert np.array_equal(ours(capabilities, at), theirs)
