"""The product's rungs for a GPU: the instructions they rest on, no spills, room for two blocks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from gpuexplorer.analysis.sass_text import read_sass
from gpuexplorer.compile.disassembler import disassemble
from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.workloads.loader import load
from tests.support.crossed import crossed

MATMUL = load()["matmul"]
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
COPIES = 3 * 2
"""Loops that copy a piece: two before the work for each stage but one, and two in it."""


def compiled(variant: str, arch: str, precision: str) -> tuple[Counter[str], int, int]:
    """Return how often each instruction stands there, the registers, and the bytes spilled."""
    spec = MATMUL.variant(variant)
    (step,) = spec.launch
    width, height = (int(n) for n in (*step.block, 1)[:2])
    sides = {"WIDTH": width, "HEIGHT": height}
    defines = {
        name: sides[name] if tunable.formula is not None else tunable.default or tunable.values[0]
        for name, tunable in spec.tunables.items()
    }
    made = compile_kernels(
        step.source, MATMUL.source.files, arch,
        precision=precision, defines=defines, entries=[step.entry],
    )  # fmt: skip
    kernel = made.kernels[step.entry]
    assert kernel.resources is not None
    listed = disassemble(made.code)
    (instructions,) = read_sass(listed.with_lines, listed.with_registers).values()
    names = Counter(one.opcode for one in instructions)
    spilled = sum(n for name, n in names.items() if name.startswith(("LDL", "STL")))
    return names, kernel.resources.registers_per_thread, spilled


def count(names: Counter[str], *parts: str) -> int:
    """Return how many instructions have all of some parts in their name."""
    return sum(n for name, n in names.items() if set(parts) <= set(name.split(".")))


@pytest.mark.parametrize(
    ("variant", "arch"),
    crossed(["vectorized", "double_buffered", "pipelined", "warp_tiled"], ARCHITECTURES),
)
def test_the_rungs_of_fp32_rest_on_wide_accesses_and_multiply_adds(variant: str, arch: str) -> None:
    names, registers, spilled = compiled(variant, arch, "fp32")
    assert spilled == 0
    copies = count(names, "LDGSTS", "128")
    read, written, used = (count(names, name, "128") for name in ("LDG", "STS", "LDS"))
    multiplied = count(names, "FFMA")
    match variant:
        case "vectorized":  # a piece of each tile; 8 k with two fours of rows and two of columns
            assert (read, written, used, multiplied) == (2, 1, 32, 8 * 64)
        case "double_buffered":  # the same, and once more before the loop
            assert (read, written, used, multiplied) == (4, 2, 32, 8 * 64)
        case "pipelined":  # of two pieces a row of 8 + 8; 4 k at a time
            assert (copies if arch != "sm_75" else read) == COPIES
            assert (used, multiplied) == (8 + 4 * 2, 4 * 64)
        case "warp_tiled":  # two k at a time, whose elements of A come as 8 bytes
            assert (copies if arch != "sm_75" else read) == COPIES
            assert (used, count(names, "LDS", "64"), multiplied) == (2 * 2, 8, 2 * 64)
            assert registers <= 128, "only one block of 256 threads has room"
    if variant in ("pipelined", "warp_tiled") and arch != "sm_75":
        assert read == 0, "a copy goes through registers"
        assert count(names, "LDGDEPBAR") == 3


@pytest.mark.parametrize(
    ("variant", "precision"),
    crossed(["double_buffered", "pipelined", "warp_tiled"], ["fp64", "fp16"]),
)
def test_the_rungs_of_other_precisions_spill_nothing(variant: str, precision: str) -> None:
    names, _, spilled = compiled(variant, "sm_80", precision)
    assert spilled == 0
    assert count(names, "DFMA" if precision == "fp64" else "FFMA") >= 64


@pytest.mark.parametrize(("variant", "arch"), crossed(["wmma", "mma"], ARCHITECTURES))
def test_the_tensor_cores_multiply_and_their_operands_come_by_ldmatrix(
    variant: str, arch: str
) -> None:
    arch = "sm_80" if (variant, arch) == ("mma", "sm_75") else arch
    names, registers, spilled = compiled(variant, arch, "fp16")
    assert spilled == 0 and registers <= 128
    multiplied = sum(n for name, n in names.items() if name.startswith("HMMA"))
    # 64 x 32 elements a warp in 16 x 8 at a time, for two steps of 16 k; half as much before sm_80.
    assert multiplied == 2 * 4 * 4 * (2 if arch == "sm_75" else 1)
    loads = sum(n for name, n in names.items() if name.startswith("LDSM"))
    assert loads == 2 * (4 + 2) * (2 if arch == "sm_75" else 1)
    assert count(names, "LDGSTS", "128") == (0 if arch == "sm_75" else COPIES)


# ---- what no CPU can run, as a model: the places that the source's own macros name


def place(source: str, macro: str, **constants: int) -> Callable[..., int]:
    """Return a macro of a kernel's source as a function of whole numbers."""
    text = MATMUL.source.files[source]
    found = re.search(rf"#define {macro}\(([\w, ]+)\) (.+)", text)
    assert found is not None
    names = [name.strip() for name in found[1].split(",")]
    code = compile(found[2].replace("/", "//"), macro, "eval")
    return lambda *values: int(eval(code, dict(constants), dict(zip(names, values, strict=True))))


@pytest.mark.parametrize("pieces", [2, 4, 8])
def test_the_places_of_a_tile_s_pieces_are_each_taken_once_and_meet_all_banks(pieces: int) -> None:
    for source, macro in (("warp_tiled.cu", "PLACE"), ("mma.cu", "PLACE_A")):
        at = place(source, macro, PIECES=pieces)
        taken = {at(row, piece) for row in range(128) for piece in range(pieces)}
        assert taken == set(range(128 * pieces)), "two pieces share a place"
        for row in range(0, 128, 8):  # what eight threads read at once: eight groups of four banks
            for piece in range(pieces):
                assert {at(row + i, piece) % 8 for i in range(8)} == set(range(8))
    at = place("mma.cu", "PLACE_B")
    assert {at(k, piece) for k in range(64) for piece in range(16)} == set(range(64 * 16))
    for k in range(0, 64, 8):
        for piece in range(16):
            assert {at(k + i, piece) % 8 for i in range(8)} == set(range(8))


Numbers = npt.NDArray[np.float64]


def ldmatrix(memory: Numbers, places: list[int], *, turned: bool) -> Numbers:
    """Return what each of 32 threads gets of four matrices: (thread, matrix, two elements).

    PTX: thread t of row t // 4 holds elements 2 (t % 4) and the next; turned, of the transposed.
    """
    found = np.empty((32, 4, 2))
    for m in range(4):
        rows = np.array([memory[8 * p : 8 * p + 8] for p in places[8 * m : 8 * m + 8]])
        matrix = rows.T if turned else rows
        for t in range(32):
            found[t, m] = matrix[t // 4, 2 * (t % 4) : 2 * (t % 4) + 2]
    return found


def mma(a: Numbers, b: Numbers) -> Numbers:
    """Return the sums of m16n8k16 by thread: (32, 4), from the fragments of PTX's tables."""
    left, right = np.empty((16, 16)), np.empty((16, 8))
    for t in range(32):
        group, four = t // 4, t % 4
        for i in range(8):  # a0 to a7
            row = group + 8 * (i % 4 >= 2)
            left[row, four * 2 + i % 2 + 8 * (i >= 4)] = a[t].reshape(-1)[i]
        for i in range(4):  # b0 to b3
            right[four * 2 + i % 2 + 8 * (i >= 2), group] = b[t].reshape(-1)[i]
    product = left @ right
    return np.array([
        [product[t // 4 + 8 * (i >= 2), t % 4 * 2 + i % 2] for i in range(4)] for t in range(32)
    ])  # fmt: skip


@pytest.mark.parametrize("pieces", [4, 8])
def test_the_fragments_of_mma_multiply_a_warp_s_tile_right(pieces: int) -> None:
    """Tiles laid down, read by ldmatrix, multiplied and written as the kernel's places say."""
    depth = pieces * 8
    generator = np.random.default_rng(0)
    a, b = generator.integers(-4, 5, (128, depth)), generator.integers(-4, 5, (depth, 128))
    at_a, at_b = place("mma.cu", "PLACE_A", PIECES=pieces), place("mma.cu", "PLACE_B")
    lane_row, lane_piece = place("mma.cu", "LANE_ROW"), place("mma.cu", "LANE_PIECE")
    sum_row, sum_col = place("mma.cu", "SUM_ROW"), place("mma.cu", "SUM_COL")
    tile_a, tile_b = np.full(128 * depth, np.nan), np.full(depth * 128, np.nan)
    for row in range(128):
        for piece in range(pieces):
            tile_a[at_a(row, piece) * 8 :][:8] = a[row, piece * 8 : piece * 8 + 8]
    for k in range(depth):
        for piece in range(16):
            tile_b[at_b(k, piece) * 8 :][:8] = b[k, piece * 8 : piece * 8 + 8]
    top, left = 64, 96  # the last warp's
    c = np.zeros((64, 32))
    for k in range(0, depth, 16):
        for i in range(4):
            rows = [at_a(top + i * 16 + lane_row(t), k // 8 + lane_piece(t)) for t in range(32)]
            part_a = ldmatrix(tile_a, rows, turned=False)
            for j in range(4):
                piece = (left + j // 2 * 16) // 8
                rows = [at_b(k + lane_row(t), piece + lane_piece(t)) for t in range(32)]
                part_b = ldmatrix(tile_b, rows, turned=True)[:, j % 2 * 2 : j % 2 * 2 + 2]
                sums = mma(part_a, part_b)
                for t in range(32):
                    for m in range(4):
                        c[i * 16 + sum_row(t, m), j * 8 + sum_col(t, m)] += sums[t, m]
    np.testing.assert_array_equal(c, a[top : top + 64] @ b[:, left : left + 32])
