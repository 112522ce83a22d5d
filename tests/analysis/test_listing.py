"""What a listing comes to: in words, by line, and beside another one."""

from __future__ import annotations

import msgspec
import pytest

from gpuexplorer.analysis.instructions import Code, Instruction, Place, kind_of, width_of
from gpuexplorer.analysis.listing import (
    KernelListing,
    by_line,
    kernel_listing,
    line_differences,
    remarks,
)
from gpuexplorer.analysis.static import KernelFigures
from tests.analysis.test_sass_text import real_sass

OWN = ("inlined.cu",)


def listing(
    *instructions: Instruction, precision: str = "fp32", **figures: int | None
) -> KernelListing:
    """Return a kernel of these instructions."""
    told: dict[str, int | None] = {
        "registers_per_thread": 22, "static_shared_B": 256, "local_B": 0, "spill_store_B": 0,
        "spill_load_B": 0, "barriers": 1, "max_threads_per_block": None, **figures,
    }  # fmt: skip
    code = Code(sass=instructions)
    kernel = msgspec.convert(
        {"name": "k", "source": "inlined.cu", "arch": "sm_80", **told}, KernelFigures
    )
    kernel = msgspec.structs.replace(kernel, code=code)
    return kernel_listing(kernel, subject="inlined.cu", precision=precision, tunables={})


def one(opcode: str, line: int, file: str = "inlined.cu", live: int = 3) -> Instruction:
    kind = kind_of(opcode)
    return Instruction(
        offset=0, opcode=opcode, kind=kind, width_B=width_of(opcode, kind),
        places=(Place(file, line),), live_registers=live,
    )  # fmt: skip


def test_a_real_kernel_in_words() -> None:
    found = listing(*real_sass(), local_B=32)
    assert found.most_live_registers == max(o.live_registers or 0 for o in found.sass)
    assert sum(found.mix.values()) == len(found.sass)
    assert found.mix["global store"] == 2
    words = remarks(found)
    assert words[0] == "At most 21 registers of a thread are alive at once, at line 13."
    assert words[1] == (
        "An array of a thread lies in local memory, as its index is known only at run time, "
        "at line 13."
    )
    assert words[2] == "Vectorised: 1 global load of 16 bytes a thread (LDG.E.128), at line 24."
    assert len(words) == 3


def test_spills_are_told_with_their_lines() -> None:
    found = listing(one("STL", 4), one("LDL", 7), one("LDL", 9), spill_store_B=4, spill_load_B=8)
    assert (
        "Registers did not suffice: 4 bytes of a thread are moved to local memory, at line 4, "
        "and 8 bytes back, at lines 7 and 9."
    ) in remarks(found)
    assert "Nothing was spilled to local memory." in remarks(listing(one("LDG.E", 1)))


def test_a_double_is_no_vector_of_floats() -> None:
    wide = one("LDG.E.64", 3)
    assert any("8 bytes" in words for words in remarks(listing(wide)))
    assert remarks(listing(wide, precision="fp64"))[-1] == (
        "No access is vectorised: none moves more than 8 bytes a thread."
    )


def test_instructions_stand_at_the_users_line_and_headers_come_last() -> None:
    inlined = Instruction(
        offset=16, opcode="HADD2", kind="fp16",
        places=(Place("cuda_fp16.hpp", 900), Place("inlined.cu", 7)),
    )  # fmt: skip
    only_header = one("MOV", 12, "cuda_fp16.hpp")
    found = by_line([only_header, inlined, one("EXIT", 9), one("MOV", 7)], OWN)
    assert [(p.file, p.line, len(ones)) for p, ones in found.items()] == [
        ("inlined.cu", 7, 2), ("inlined.cu", 9, 1), ("cuda_fp16.hpp", 12, 1),
    ]  # fmt: skip


def test_two_listings_differ_in_the_opcodes_of_lines() -> None:
    first = listing(one("LDG.E", 3), one("LDG.E", 3), one("EXIT", 4), one("NOP", 5))
    second = listing(one("LDG.E.64", 3), one("EXIT", 4), one("NOP", 5))
    (difference,) = line_differences(first, second, OWN)
    assert difference.place == Place("inlined.cu", 3)
    assert (difference.first, difference.second) == ({"LDG.E": 2}, {"LDG.E.64": 1})
    assert line_differences(first, first, OWN) == []


def test_a_kernel_that_was_compiled_without_its_listing_has_none() -> None:
    figures = msgspec.convert(
        {
            "name": "k", "source": "k.cu", "arch": "sm_80", "registers_per_thread": 1,
            "static_shared_B": 0, "local_B": 0, "spill_store_B": None, "spill_load_B": None,
            "barriers": None, "max_threads_per_block": None,
        },
        KernelFigures,
    )  # fmt: skip
    with pytest.raises(ValueError, match="without its listing"):
        kernel_listing(figures, subject="k.cu", precision="fp32", tunables={})
