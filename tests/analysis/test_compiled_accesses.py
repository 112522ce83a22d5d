"""What a compiler made of the accesses that the source asks for, in words."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.analysis.compiled_accesses import compiled_accesses, differences, made_of
from gpuexplorer.analysis.instructions import Instruction
from gpuexplorer.core.accesses import AccessRow, ArraySpace, RequestKind
from tests.analysis.test_listing import OWN, listing, one


def row(kind: RequestKind, space: ArraySpace = "global", width_B: int = 4, requests: int = 1,
        text: str = "A[i]") -> AccessRow:  # fmt: skip
    return AccessRow(
        source="inlined.cu", line=9, text=text, array="A", space=space, kind=kind,
        width_B=width_B, requests=requests, lanes=32 * requests, used_B=128,
    )  # fmt: skip


def code(*opcodes: str, jump: int | None = None) -> list[Instruction]:
    """Return instructions of line 9, 16 bytes each, and a jump back to the one of that number."""
    names = [*opcodes, *(["BRA"] if jump is not None else [])]
    made = [msgspec.structs.replace(one(o, 9), offset=16 * i) for i, o in enumerate(names)]
    if jump is not None:
        made[-1] = msgspec.structs.replace(made[-1], target=16 * jump)
    return made


@pytest.mark.parametrize(
    ("rows", "instructions", "said"),
    [
        ([row("read")], code("LDG.E"), ()),
        ([row("read", requests=64)], code("LDG.E", jump=0), ()),
        ([row("read", requests=4)], code(*["LDG.E"] * 4), ()),
        ([row("read", requests=4)], code("LDG.E.128"),
         ("Line 9: the compiler makes a load of 4 elements at a time (LDG.E.128), 16 B a lane.",)),
        ([row("read", "shared", requests=2)], code("LDS.64"),
         ("Line 9: the compiler makes a load of 2 elements at a time (LDS.64), 8 B a lane.",
          "Line 9: 8 B a lane go in 2 phases of the warp through the banks.")),
        ([row("read", width_B=16)], code(*["LDG.E"] * 4),
         ("Line 9: 16 B a lane come in 4 accesses of 4 B (LDG.E).",)),
        ([row("read", requests=64)], code("LDG.E", "FFMA", jump=1),
         ("Line 9: the text asks 64 times and sm_80 has 1 instruction outside of any loop (LDG.E): "
          "the compiler moved it out of the loop.",)),
        ([row("write")], code("LDG.E"),
         ("Line 9: sm_80 has no global store there for A[i]; the compiler keeps it in a register "
          "or does it at another line.",)),
        ([row("read", requests=8), row("read", requests=8, text="A[i + 1]")],
         code("LDG.E", jump=0),
         ("Line 9: the text names 2 elements to load and sm_80 has 1 instruction (LDG.E): the rest "
          "of global memory there stays in registers.",)),
        ([row("write", "shared"), row("read")], code("LDGSTS.E"), ()),
        ([row("read", "shared")], code("LD.E"), ()),
        ([row("atomic")], code("REDG.E.ADD.F32"), ()),
    ],
)  # fmt: skip
def test_differences_are_told_line_by_line(
    rows: list[AccessRow], instructions: list[Instruction], said: tuple[str, ...]
) -> None:
    compiled = compiled_accesses(listing(*instructions), OWN)
    assert differences(rows, compiled) == said


def test_what_stands_in_a_loop_is_counted() -> None:
    compiled = compiled_accesses(listing(*code("LDG.E", "LDG.E", "STG.E", jump=1)), OWN)
    loads = made_of(compiled, row("read"))
    assert [(o.opcode, o.instructions, o.in_loop) for o in loads] == [("LDG.E", 2, 1)]
