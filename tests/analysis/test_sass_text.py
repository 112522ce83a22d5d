"""What nvdisasm prints, read: a real listing, and made-up ones of every form it has."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.analysis.instructions import Instruction, Place, PtxLine, kind_of, width_of
from gpuexplorer.analysis.ptx_text import read_ptx
from gpuexplorer.analysis.sass_text import plain_name, read_sass

LISTINGS = Path(__file__).parent / "listings"
KERNEL = "_Z1kPKfPfP6__halfi"


def text_of(name: str) -> str:
    return (LISTINGS / name).read_text(encoding="utf-8")


def base(path: str) -> str:
    return path.removeprefix("/build/")


def real_sass() -> tuple[Instruction, ...]:
    """Return the kernel of ``inlined.cu`` as nvdisasm 13.5 lists it for sm_80."""
    lines, registers = (text_of(f"inlined_sm_80.{part}.txt") for part in ("lines", "registers"))
    (kernel,) = read_sass(lines, registers, base).values()
    return kernel


def at(offset: int) -> Instruction:
    return next(one for one in real_sass() if one.offset == offset)


# ---- a real listing


def test_every_instruction_has_a_place_and_its_live_registers() -> None:
    sass = real_sass()
    assert [one.offset for one in sass] == list(range(0, 0x1120, 16))
    assert all(one.places and one.live_registers is not None for one in sass)
    assert max(one.live_registers or 0 for one in sass) <= 22
    assert (at(0x40).live_registers, at(0xF0).live_registers) == (4, 5)


def test_inlined_code_is_followed_to_the_line_that_called() -> None:
    nested = at(0xC0)
    assert (nested.opcode, nested.operands, nested.kind) == ("FFMA", "R0, R0, R3.reuse, 1", "fp32")
    assert [(p.file, p.line) for p in nested.places] == [
        ("inlined.cu", 4), ("inlined.cu", 8), ("inlined.cu", 20),
    ]  # fmt: skip
    assert at(0x110).places == (Place("inlined.cu", 20),)


def test_functions_that_were_not_inlined_are_named() -> None:
    assert at(0x360).routine == ""
    assert (at(0x380).routine, at(0x380).places) == ("far", (Place("inlined.cu", 13),))
    slow = at(0xA90)
    assert slow.routine == "__cuda_sm3x_div_rn_noftz_f32_slowpath"
    assert slow.places == (Place("inlined.cu", 22),), "the line of the division that needs it"


def test_widths_predicates_and_kinds() -> None:
    wide = at(0x300)
    assert (wide.opcode, wide.width_B, wide.kind) == ("LDG.E.128", 16, "global load")
    assert (at(0x2B0).opcode, at(0x2B0).width_B) == ("LDG.E.U16", 2)
    assert (at(0x110).kind, at(0x110).width_B) == ("shared store", 4)
    assert (at(0x360).kind, at(0x360).width_B) == ("atomic", None)
    assert (at(0x200).predicate, at(0x200).opcode, at(0x200).kind) == ("@!P0", "BRA", "control")
    assert at(0x200).text == "@!P0 BRA `(.L_x_1)"


def test_the_padding_is_left_out_and_work_that_does_nothing_in_between_is_not() -> None:
    lines = (
        '\t.section\t.text.k,"ax",@progbits\n.text.k:\n'
        "        /*0000*/                   NOP ;\n        /*0010*/                   EXIT ;\n"
        ".L_x_0:\n        /*0020*/                   BRA `(.L_x_0);\n"
        "        /*0030*/                   NOP;\n"
    )
    assert [one.opcode for one in read_sass(lines, "")["k"]] == ["NOP", "EXIT"]


def test_ptx_has_the_same_chains_of_lines() -> None:
    (kernel,) = read_ptx(text_of("inlined_sm_80.ptx"), base).values()

    def line(text: str) -> PtxLine:
        return next(one for one in kernel if text in one.text)

    assert kernel[0].text.startswith(".visible .entry")
    assert [p.line for p in line("fma.rn.f32 \t%f3".expandtabs(4)).places] == [4, 8, 20]
    assert [p.line for p in line("ld.global.v4.f32").places] == [24]
    assert not [one for one in kernel if one.text.lstrip().startswith(".loc ")]
    called = next(i for i, one in enumerate(kernel) if one.text.startswith(".func"))
    assert kernel[called - 1].text == "}", "the function that is called stands behind the kernel"
    assert "add.f16" in " ".join(one.text for one in kernel[:called]), "assembly is in its place"


# ---- made-up ones


PATHS = st.sampled_from(["/a/k.cu", "C:\\work\\k.cu", "/usr/include/h.hpp", "ü b.cu"])
PLACES = st.lists(
    st.builds(Place, PATHS, st.integers(1, 99_999)), min_size=1, max_size=4, unique=True
)
OPERANDS = st.sampled_from(
    ["", "R0, R1, c[0x0][0x160]", "[R2.64+0x4], R9", "P0, PT, |R3|, +INF , PT"]
)
CODE = st.lists(
    st.tuples(
        st.sampled_from(["", "@P0", "@!UP3"]),
        st.sampled_from(["LDG.E.128", "FFMA", "STS.U16", "BAR.SYNC.DEFER_BLOCKING", "EXIT"]),
        OPERANDS,
        PLACES,
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=12,
)


def mark_lines(places: list[Place]) -> list[str]:
    """Return places as nvdisasm writes them: a comment each, with where it was inlined."""
    marks = []
    for place, outer in zip(places, [*places[1:], None], strict=True):
        inlined = f' inlined at "{outer.file}", line {outer.line}' if outer else ""
        marks.append(f'\t//## File "{place.file}", line {place.line}{inlined}')
    return marks


@given(CODE, st.sampled_from(["k", "_Z1kPf", "_ZN2ns1kIfEEvPT_"]))
def test_what_is_printed_is_what_is_read(
    code: list[tuple[str, str, str, list[Place], int]], symbol: str
) -> None:
    head = ["\t.target\tsm_90", f'\t.section\t.text.{symbol},"ax",@progbits', f".text.{symbol}:"]
    lines, registers = list(head), list(head)
    for number, (predicate, opcode, operands, places, live) in enumerate(code):
        words = f"        /*{number * 16:04x}*/  {predicate:>12} {opcode} {operands} ;"
        lines += [*mark_lines(places), words]
        registers.append(f"{words}    // | {live or '':^5} |        |   3    |")
    found = read_sass("\n".join(lines), "\n".join(registers))[symbol]
    assert [(o.predicate, o.opcode, o.operands.strip(), list(o.places)) for o in found] == [
        (predicate, opcode, operands.strip(), places)
        for predicate, opcode, operands, places, _ in code
    ]
    assert [one.live_registers for one in found] == [live for *_, live in code]
    assert [one.kind for one in found] == [kind_of(c[1], c[2]) for c in code]
    assert [one.offset for one in found] == [number * 16 for number in range(len(code))]


@given(st.text(), st.text())
def test_no_text_whatever_makes_it_fail(first: str, second: str) -> None:
    section = '\t.section\t.text.k,"ax",@progbits\n'
    assert isinstance(read_sass(section + first, section + second), dict)
    assert isinstance(read_ptx(".visible .entry k(\n)\n{\n" + first + "\n}\n" + second), dict)


# ---- names


def test_names_of_functions_are_plain() -> None:
    assert plain_name("$_Z1kPf$_Z3farfi") == "far"
    assert plain_name("$_Z1kPf$_ZN2ns4deep3farEf") == "ns::deep::far"
    assert plain_name("$__internal_0_$__cuda_sm20_div_u64") == "__cuda_sm20_div_u64"
    assert plain_name("") == ""
    assert width_of("LDG.E.ENL2.256", "global load") == 32
