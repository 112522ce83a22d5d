"""What counted accesses of shipped kernels come to: advice, requested bytes, what is left out."""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest

from gpuexplorer.analysis.advice.accesses import access_advice, scattered
from gpuexplorer.core.accesses import WARP, AccessLook, AccessProfile, AccessRequests
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.sheet import Medium
from gpuexplorer.measure.laboratory import Laboratory
from gpuexplorer.measure.recordings import count_accesses
from gpuexplorer.results.accesses import place_words, sheet_of
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.planning import make_plan
from tests.backends.opencl_support import device
from tests.support.situations import situation

pytestmark = pytest.mark.skipif("Portable" in device().driver, reason="notes need C++ for OpenCL")


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    return Laboratory(1)


FIRST = AccessLook()


def counted(
    laboratory: Laboratory, name: str, variant: str, look: AccessLook = FIRST, **knobs: Any
) -> AccessProfile:
    workload = pick(load([]), name)
    chosen = {"precision": "fp32", **knobs}
    request = RunRequest(workload=name, variant=variant, device=device().id, threads=1, **chosen)
    config = complete(request, workload, laboratory.devices())
    return count_accesses(laboratory, workload, config, Mock(), look)


def test_a_product_that_reads_along_rows_needs_no_advice(laboratory: Laboratory) -> None:
    profile = counted(laboratory, "matmul", "naive", size={"N": 64}, block=(32, 8))
    assert access_advice(profile) == ()
    assert place_words(profile).startswith("warp 0 of 8 in block 0,0,0 of a grid of 2")
    shared = counted(laboratory, "matmul", "naive", size={"N": 64}, block=(16, 16))
    assert access_advice(shared) == ()  # of A, half a warp reads one element


def test_scattered_lines_and_idle_lanes_are_named_with_what_to_change(
    laboratory: Laboratory,
) -> None:
    profile = counted(laboratory, "matmul", "uncoalesced", size={"N": 64}, block=(5, 20))
    first, *others, idle = access_advice(profile)
    advice = scattered(situation(gathered={"accesses": [profile]}))
    assert advice is not None and advice.title == "A warp fetches more than it uses"
    assert first.startswith("Line 9 fetches") and "swap x and y in its index" in first
    assert all(said.startswith("Line ") for said in others)
    assert idle.startswith("28 of the 128 lanes of a block have no thread")


def test_what_to_change_fits_the_block_and_the_places_of_the_lanes(laboratory: Laboratory) -> None:
    rows = counted(laboratory, "softmax", "naive", size={"B": 64, "D": 100}, block=(32,))
    assert all(
        "400 B apart: let neighbouring threads take neighbouring elements (an element" in said
        for said in access_advice(rows)
    )
    assert len(access_advice(rows)) == 4
    shared = counted(laboratory, "matmul", "naive", size={"N": 64}, block=(4, 8))
    first = access_advice(shared)[0]
    assert (
        "for the 4 lanes along x want the same element, and those of the next row one 256 B"
        in first
    )
    assert first.endswith("make the block wider along x.")
    sparse = counted(laboratory, "spmv", "scalar", block=(128,))
    assert any("for its lanes want scattered elements" in said for said in access_advice(sparse))


def test_bank_conflicts_are_named_with_their_array(laboratory: Laboratory) -> None:
    profile = counted(laboratory, "transpose", "tiled", size={"N": 64}, block=(32, 8))
    (said,) = access_advice(profile)
    assert said.startswith("Line 25 takes 32 passes a request through the banks where 1 would do")
    assert "rows of tile" in said
    advice = scattered(situation(gathered={"accesses": [profile]}))
    assert advice is not None and advice.title == "A warp waits for its banks"
    padded = counted(laboratory, "transpose", "padded", size={"N": 64}, block=(32, 8))
    assert access_advice(padded) == ()


@pytest.mark.parametrize(
    ("name", "variant", "size", "block"),
    [
        ("matmul", "naive", 64, (16, 16)),
        ("matmul", "uncoalesced", 64, (32, 8)),
        ("matmul", "tiled", 64, (16, 16)),
        ("transpose", "naive", 64, (16, 16)),
        ("transpose", "tiled", 64, (32, 8)),
        ("transpose", "padded", 64, (32, 8)),
        ("stream", "copy", 1024, (64,)),
        ("stream", "scale", 1024, (64,)),
        ("stream", "add", 1024, (64,)),
        ("stream", "triad", 1024, (64,)),
        ("vector_add", "direct", 1024, (64,)),
        ("vector_add", "grid_stride", 1024, (64,)),
    ],
)
def test_counted_bytes_are_those_that_the_manifest_says_are_requested(
    laboratory: Laboratory, name: str, variant: str, size: int, block: tuple[int, ...]
) -> None:
    profile = counted(laboratory, name, variant, size={"N": size}, block=block)
    plan = make_plan(pick(load([]), name), profile.config, device())
    assert profile.requested_B("read") == plan.requested_read_B
    assert profile.requested_B("written") == plan.requested_write_B


CONVOLUTION = {"B": 2, "C": 2, "K": 5, "H": 9, "R": 5}
HEADS = {"B": 1, "H": 2, "S": 21, "D": 9}


@pytest.mark.parametrize(
    ("name", "variant", "size", "block", "more"),
    [
        ("attention", "naive", HEADS, (8, 4), {}),
        ("attention", "online", HEADS, (8,), {}),
        ("attention", "tiled", HEADS, (8,), {"tunables": {"QUERIES": 2, "KEYS": 6}}),
        ("softmax", "naive", {"B": 5, "D": 45}, (4,), {}),
        ("softmax", "block_row", {"B": 5, "D": 45}, (48,), {}),
        ("softmax", "online", {"B": 5, "D": 45}, (32, 2), {}),
        ("softmax", "kept", {"B": 5, "D": 45}, (32, 3), {}),
        ("softmax", "kept", {"B": 5, "D": 64}, (32, 3), {}),
        ("layer_norm", "kept", {"B": 2, "S": 3, "D": 45}, (32, 4), {}),
        ("conv2d", "direct", CONVOLUTION, (8, 2), {}),
        ("conv2d", "direct", {"B": 1, "C": 2, "K": 3, "H": 4, "R": 11}, (8, 2), {}),
        ("conv2d", "tiled", CONVOLUTION, (8, 2), {}),
        ("conv2d", "implicit_gemm", CONVOLUTION, (8, 2), {}),
        ("conv2d", "implicit_gemm", CONVOLUTION, (8, 4), {"tunables": {"COLS": 3}}),
        ("matmul", "tiled", {"N": 21}, (8, 8), {}),
        ("matmul", "register_tile", {"N": 37}, (8, 4), {}),
        ("matmul", "packed", {"N": 37}, (8, 4), {}),
        ("matmul", "panels", {"N": 21}, (8, 3), {}),
        ("matmul", "panels", {"N": 21}, (8, 3), {"precision": "fp16"}),
        ("matmul", "cache_blocked", {"N": 21}, (4, 2, 3), {}),
        ("matmul", "cache_blocked", {"N": 21}, (4, 2, 3), {"precision": "fp16"}),
        ("matmul", "block_2d", {"N": 37}, (16, 16), {}),
        ("transpose", "padded", {"N": 37}, (32, 8), {}),
        ("vector_add", "grid_stride", {"N": 333}, (48,), {}),
        ("reduction", "tree", {"N": 333}, (48,), {}),
        ("scan", "hillis_steele", {"N": 333}, (32,), {}),
        ("scan", "work_efficient", {"N": 333}, (32,), {}),
        ("scan", "shuffle", {"N": 333}, (32,), {}),
        ("spmv", "lanes", {"N": 333, "K": 7}, (128,), {}),
        ("stencil2d", "tiled", {"H": 37, "W": 41}, (8, 3), {}),
        ("stencil2d", "column", {"H": 37, "W": 41}, (8, 3), {}),
        ("stencil3d", "queue", {"D": 9, "H": 13, "W": 11}, (8, 3), {}),
    ],
)
def test_that_holds_where_blocks_do_not_divide_the_sizes(
    laboratory: Laboratory,
    name: str,
    variant: str,
    size: dict[str, int],
    block: tuple[int, ...],
    more: dict[str, Any],
) -> None:
    first = counted(laboratory, name, variant, size=size, block=block, **more)
    plan = make_plan(pick(load([]), name), first.config, device())
    read_B = written_B = 0.0
    for launch, step in enumerate(plan.steps):
        for x, y, z in np.ndindex(*step.grid):
            look = AccessLook(launch=launch, block=(x, y, z))
            profile = counted(laboratory, name, variant, look, size=size, block=block, **more)
            blocks = math.prod(profile.grid)
            read_B += (profile.requested_B("read") or 0) / blocks
            written_B += (profile.requested_B("written") or 0) / blocks
    assert read_B == pytest.approx(plan.requested_read_B, rel=1e-12)
    assert written_B == pytest.approx(plan.requested_write_B, rel=1e-12)


def test_what_is_left_out_is_said_below_the_table(laboratory: Laboratory) -> None:
    whole = counted(laboratory, "matmul", "naive", size={"N": 64}, block=(32, 8))
    assert whole.limits == ()
    unknown = {"block_B": None, "block_read_B": None, "block_written_B": None}
    arrays = tuple(msgspec.structs.replace(one, **unknown) for one in whole.arrays)
    few = AccessRequests.of([0] * 7, [[0] * WARP] * 7)
    cut = msgspec.structs.replace(whole, arrays=arrays, lost=1234, requests=few)
    notes = " ".join(sheet_of(cut).notes)
    assert "1\u202f234 later accesses of these lanes found no room" in notes
    assert "the first 7 of 129 requests" in notes
    assert "the block's bytes are not known" in notes and "Requested bytes" not in notes
    columns, rows = sheet_of(whole).records()
    assert dict(zip(columns, next(rows), strict=True))["used_B"] == 256
    assert len(sheet_of(whole).columns_on(Medium.TERMINAL)) == 10
