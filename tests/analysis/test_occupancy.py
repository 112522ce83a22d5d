"""Theoretical occupancy: published cases, and a second implementation of the same rules."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.analysis.occupancy import (
    LIMITS,
    MultiprocessorLimits,
    blocks_by_limit,
    occupancy,
    parse_architecture,
)

capabilities = st.sampled_from(sorted(LIMITS))
threads = st.integers(1, 1024)
registers = st.integers(1, 255)


def by_filling(limits: MultiprocessorLimits, size: int, regs: int, shared_B: int) -> int:
    """Place one block after the other until something runs out."""
    warps_a_block = math.ceil(size / 32)
    regs_a_warp = math.ceil(32 * regs / limits.register_unit) * limits.register_unit
    slots = limits.partitions * (limits.registers // limits.partitions // regs_a_warp)
    unit = limits.shared_unit_B
    shared_a_block = math.ceil((shared_B + limits.reserved_per_block_B) / unit) * unit
    if shared_B > limits.shared_per_block_B:
        return 0
    blocks = warps = used_B = 0
    while True:
        warps += warps_a_block
        used_B += shared_a_block
        too_many = blocks + 1 > limits.blocks or warps > limits.warps or warps > slots
        if too_many or used_B > limits.shared_B:
            return blocks
        blocks += 1


@given(capabilities, threads, registers, st.integers(0, 230 * 1024))
def test_the_formula_equals_filling_a_multiprocessor(
    capability: tuple[int, int], size: int, regs: int, shared_B: int
) -> None:
    limits = LIMITS[capability]
    found = occupancy(limits, size, regs, shared_B)
    assert found.blocks_per_multiprocessor == by_filling(limits, size, regs, shared_B)
    warps = found.blocks_per_multiprocessor * math.ceil(size / 32)
    assert found.occupancy == warps / limits.warps
    assert 0 <= found.occupancy <= 1


@given(capabilities, threads, registers, st.integers(0, 99 * 1024))
def test_the_limiter_is_what_has_no_room_for_another_block(
    capability: tuple[int, int], size: int, regs: int, shared_B: int
) -> None:
    limits = LIMITS[capability]
    found = occupancy(limits, size, regs, shared_B)
    rooms = blocks_by_limit(limits, size, regs, shared_B)
    assert rooms[found.limiter] == found.blocks_per_multiprocessor == min(rooms.values())


@given(capabilities, threads, st.integers(1, 254), st.integers(0, 64 * 1024))
def test_more_registers_or_shared_memory_never_fit_more_blocks(
    capability: tuple[int, int], size: int, regs: int, shared_B: int
) -> None:
    limits = LIMITS[capability]
    here = occupancy(limits, size, regs, shared_B).blocks_per_multiprocessor
    assert occupancy(limits, size, regs + 1, shared_B).blocks_per_multiprocessor <= here
    assert occupancy(limits, size, regs, shared_B + 512).blocks_per_multiprocessor <= here


@pytest.mark.parametrize(
    ("capability", "size", "regs", "shared_B", "blocks", "limiter"),
    [
        ((9, 0), 256, 32, 0, 8, "threads"),
        ((9, 0), 256, 64, 0, 4, "registers"),
        ((9, 0), 32, 16, 0, 32, "blocks"),
        ((9, 0), 128, 32, 100 * 1024, 2, "shared memory"),
        ((8, 6), 1024, 32, 0, 1, "threads"),
        ((8, 9), 256, 40, 0, 6, "threads"),
        ((7, 5), 256, 64, 0, 4, "threads"),
        ((8, 0), 1024, 255, 0, 0, "registers"),
        ((12, 0), 64, 32, 99 * 1024, 1, "shared memory"),
        ((12, 0), 64, 32, 100 * 1024, 0, "shared memory"),
        ((9, 0), 1025, 16, 0, 0, "threads"),
    ],
)
def test_known_cases(
    capability: tuple[int, int], size: int, regs: int, shared_B: int, blocks: int, limiter: str
) -> None:
    found = occupancy(LIMITS[capability], size, regs, shared_B)
    assert (found.blocks_per_multiprocessor, found.limiter) == (blocks, limiter)


def test_barriers_limit_from_hopper_on() -> None:
    found = occupancy(LIMITS[9, 0], 64, 16, 0, barriers=16)
    assert (found.blocks_per_multiprocessor, found.limiter) == (4, "barriers")
    assert occupancy(LIMITS[8, 0], 64, 16, 0, barriers=16).blocks_per_multiprocessor == 32


def test_an_unknown_register_count_does_not_limit() -> None:
    assert "registers" not in blocks_by_limit(LIMITS[9, 0], 256, 0, 0)


@pytest.mark.parametrize(("size", "regs", "shared_B"), [(0, 32, 0), (32, -1, 0), (32, 32, -1)])
def test_an_impossible_block_is_refused(size: int, regs: int, shared_B: int) -> None:
    with pytest.raises(ValueError, match="at least one thread"):
        occupancy(LIMITS[9, 0], size, regs, shared_B)


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("sm_75", (7, 5)), ("sm_90a", (9, 0)), ("sm_120", (12, 0)), ("sm_103f", (10, 3)),
        ("sm_9", None), ("compute_90", None), ("90", None), ("sm_xx", None),
    ],
)  # fmt: skip
def test_architecture_names(name: str, capability: tuple[int, int] | None) -> None:
    assert parse_architecture(name) == capability
