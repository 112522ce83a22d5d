"""What one block of a launch asks of memory, by running its source in Python, counted with sets.

Nothing here knows the program's own reader, recorder or counting.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gpuexplorer.workloads.fills import stored
from gpuexplorer.workloads.plan import KernelLaunch, Plan
from tests.support.cuda_in_step import Address, Block, Memory, Place, Request
from tests.support.cuda_reader import Function, Scalar, Structure, Type, read_source, size_of

Arrays = Mapping[str, npt.NDArray[np.uint8]]
"""The bytes of a plan's arrays."""


class Counted(NamedTuple):
    """What one place asks for: as ``AccessRow`` has it."""

    requests: int
    lanes: int
    used_B: int
    sectors: int
    least_sectors: int
    passes: int
    least_passes: int


def types_of(plan: Plan) -> dict[str, Type]:
    """Return the number formats of a plan's precision; bits of bf16 count as those of a half.

    That gives other values, of which no address follows.
    """
    bits = {"bf16": 16, "fp16": 16, "fp32": 32, "fp64": 64}[plan.config.precision]
    fours = {}
    for name, size in (("ushort4", 2), ("uint4", 4)):
        one = Scalar("u", size)
        members = {letter: (one, at * size) for at, letter in enumerate("xyzw")}
        fours[name] = Structure(members, 4 * size, 4 * size)
    accum = Scalar("f", max(bits, 32) // 8)
    return {"real": Scalar("f", bits // 8), "accum": accum, **fours}


def functions_of(plan: Plan, step: KernelLaunch) -> dict[str, Function]:
    """Read the source of a launch."""
    types = types_of(plan)
    macros = {name: str(value) for name, value in plan.defines.items()}
    macros["REAL_BITS"] = str(size_of(types["real"]) * 8)
    return read_source(plan.files[step.source], types, macros)


def arrays_of(plan: Plan, inputs: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays of a plan as they are before its first launch."""
    found = {a.name: np.zeros(a.nbytes, np.uint8) for a in plan.arrays}
    for name, values in inputs.items():
        bits = stored(plan.array(name), plan.config.precision, values)
        found[name][:] = bits.view(np.uint8).ravel()
    return found


def run_block(
    plan: Plan,
    step: KernelLaunch,
    functions: Mapping[str, Function],
    arrays: Arrays,
    place: tuple[int, int, int],
    warp: int = 0,
) -> tuple[Block, dict[str, Memory]]:
    """Run one block of a launch; return it, and its memory by the names of the source."""
    types: dict[str, Type] = {**types_of(plan), "int": Scalar("i", 4)}
    given: list[Any] = []
    memory: dict[str, Memory] = {}
    names = [name for name, _ in functions[step.entry].parameters]
    for name, one in zip(names, step.arguments, strict=True):
        if one.kind == "array":
            memory[name] = Memory("global", name, arrays[one.name])
            given.append(Address(memory[name], 0, types[plan.array(one.name).type]))
        else:
            given.append(int(one.value) if float(one.value).is_integer() else one.value)
    block = Block(functions, step.block, place, step.grid, warp, step.shared_B)
    block.run(step.entry, given)
    return block, {**memory, **{one.name: one for one in block.shared}}


def counted(
    requests: Mapping[Place, list[Request]], memory: Mapping[str, Memory]
) -> dict[Place, Counted]:
    """Count what the lanes of a warp touch, place by place."""
    rows: dict[Place, Counted] = {}
    for place, steps in requests.items():
        total = Counted(0, 0, 0, 0, 0, 0, 0)
        for asked in steps:
            new = count_of(asked, place.width_B, in_banks=memory[place.array].space == "shared")
            total = Counted(*(a + b for a, b in zip(total, new, strict=True)))
        rows[place] = total
    return rows


def count_of(asked: Request, width_B: int, *, in_banks: bool) -> Counted:
    """Count what one request asks for."""
    offsets = {offset for _, offset in asked}
    used = len(offsets) * width_B
    if in_banks:
        return Counted(1, len(asked), used, 0, 0, *_passes(asked, width_B))
    sectors = len({byte // 32 for offset in offsets for byte in range(offset, offset + width_B)})
    return Counted(1, len(asked), used, sectors, -(-used // 32), 0, 0)


def _passes(asked: Request, width_B: int) -> tuple[int, int]:
    """Count passes through 32 banks of 4 bytes: a half of the warp after the other for 8 bytes."""
    lanes_at_once = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width_B]
    passes = groups = 0
    for first in range(0, 32, lanes_at_once):
        words = {
            byte // 4
            for lane, offset in asked
            if first <= lane < first + lanes_at_once
            for byte in range(offset, offset + width_B)
        }
        if words:
            banks = [word % 32 for word in words]
            passes += max(banks.count(bank) for bank in set(banks))
            groups += 1
    return passes, groups
