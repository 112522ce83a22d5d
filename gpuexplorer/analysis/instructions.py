"""A kernel's machine instructions with the source lines that they come from, and their kinds."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

Kind = Literal[
    "fp32",
    "fp64",
    "fp16",
    "tensor",
    "integer",
    "special function",
    "conversion",
    "move",
    "global load",
    "global store",
    "shared load",
    "shared store",
    "local load",
    "local store",
    "constant load",
    "atomic",
    "control",
    "other",
]
KIND_TITLES: dict[Kind, str] = {
    "fp32": "FP32",
    "fp64": "FP64",
    "fp16": "FP16",
    "tensor": "tensor",
    "integer": "integer",
    "special function": "special function",
    "conversion": "conversion",
    "move": "move",
    "global load": "global load",
    "global store": "global store",
    "shared load": "shared load",
    "shared store": "shared store",
    "local load": "local load",
    "local store": "local store",
    "constant load": "constant load",
    "atomic": "atomic",
    "control": "control",
    "other": "other",
}
"""What a reader sees of each kind, in the order of tables."""
USUAL_B = 4
"""What a thread moves with a memory instruction that names no width."""


class Place(msgspec.Struct, frozen=True):
    """A line of a file, counted from 1."""

    file: str
    line: int


Places = tuple[Place, ...]
"""Where code comes from: its own line first, then the lines that the function was inlined at."""


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """One SASS instruction; ``kind`` and ``width_B`` follow from its opcode and operands."""

    offset: int
    """Bytes from the start of the kernel's code."""
    predicate: str = ""
    """Under which it is executed, such as ``@!P0``; empty: always."""
    opcode: str
    operands: str = ""
    kind: Kind
    width_B: int | None = None
    """Bytes that a thread loads or stores; None for anything else."""
    places: Places = ()
    """For a routine that has no lines of its own, those of the first call of it."""
    target: int | None = None
    """Where a jump goes to, as an offset; None for anything else."""
    routine: str = ""
    """The function it stands in where that was not inlined; empty in the kernel itself."""
    live_registers: int | None = None
    """General registers of a thread that hold a value here which is still needed."""

    @property
    def text(self) -> str:
        """The instruction as it is written."""
        return " ".join(filter(None, (self.predicate, self.opcode, self.operands)))


class PtxLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of PTX, the intermediate language that SASS is made of."""

    text: str
    places: Places = ()


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """What a compiler made of one kernel, without the padding at the end of its code."""

    sass: tuple[Instruction, ...]
    ptx: tuple[PtxLine, ...] = ()


# ---- kinds
# By the opcode's first part (``LDG`` of ``LDG.E.128``); in the second table the first that fits.
# Source: the instruction sets from Turing to Blackwell in the manual of the CUDA binary utilities.

_MEMORY: dict[str, Kind] = {
    "LDG": "global load", "LDGSTS": "global load", "LD": "global load", "UBLKCP": "global load",
    "UTMALDG": "global load", "LDGDEPBAR": "control",
    "STG": "global store", "ST": "global store", "UTMASTG": "global store",
    "LDS": "shared load", "LDSM": "shared load", "STS": "shared store", "STSM": "shared store",
    "LDL": "local load", "STL": "local store",
    "LDC": "constant load", "LDCU": "constant load", "ULDC": "constant load",
    "ATOM": "atomic", "ATOMG": "atomic", "ATOMS": "atomic", "RED": "atomic", "REDG": "atomic",
    "REDAS": "atomic", "UTMAREDG": "atomic",
}  # fmt: skip
_OTHERS: tuple[tuple[Kind, str], ...] = (
    ("tensor", r"[A-Z0-9]*MMA|UTC[A-Z]*MMA|LDT|STT|LDTM|STTM|UTCCP"),
    ("fp64", r"D(ADD|MUL|FMA|SETP|MNMX)"),
    ("fp16", r"H(ADD2|MUL2|FMA2|SETP2?|SET2|MNMX2?|ADD|FMA)(_\w+)?"),
    ("special function", r"MUFU"),
    ("conversion", r"U?([FI]2[FIP]P?|F2FP|I2FP|FRND|F2IP|I2IP)"),
    ("move", r"U?MOV(32I|M)?|CS2UR?|CS2R|S2U?R|R2UR|UR2UP|P2U?R|R2P|SEL|USEL|PRMT|UPRMT|R2B"),
    ("fp32", r"F(ADD|MUL|FMA|SET|SETP|MNMX|SEL|CHK|SWZADD|RND)[23]?(32I)?|U?F(ADD|MUL|FMA)"),
    (
        "integer",
        r"V?U?(I(ADD3?|MAD|MUL|MNMX3?|SETP|ABS|DP4?A?|SCADD|ADD32I|ADDMNMX)|LEA|LOP3?|LOP32I"
        r"|P?LOP3|SHF|SHL|SHR|POPC|FLO|BREV|BFE|BFI|SGXT|BMSK|VABSDIFF4?|VOTEU)"
        r"|V(IADD|IADDMNMX|IMNMX3?|HMNMX)|UP?LOP3|PSETP|UPSETP",
    ),
    (
        "control",
        r"U?BRA|BR[XW]U?|JM[PX]U?|JMXU|EXIT|RET|CALL|BSSY|BSYNC|BREAK|BMOV|WARPSYNC|BAR|B2R"
        r"|MEMBAR|DEPBAR|ERRBAR|YIELD|NANOSLEEP|KILL|BPT|RPCMOV|SYNCS|WARPGROUP|ACQBULK"
        r"|PREEXIT|ENDCOLLECTIVE|COLLECTIVE|ELECT|CCTL\w*|FENCE|WARPGROUPSET|UCGABAR_\w+"
        r"|UTMACMDFLUSH|ARRIVES|NOP",
    ),
)
_KINDS = tuple((kind, re.compile(pattern)) for kind, pattern in _OTHERS)
_WIDTH = re.compile(r"\.(?:(128|64|ENL2\.256|256)|[US](8|16))(?=\.|$)")
_MOVE_OF_NUMBER = re.compile(r"U?R\w+, -?RZ, RZ, ")


def kind_of(opcode: str, operands: str = "") -> Kind:
    """Return what an instruction does; one that only moves a number is a move, whatever its unit.

    ``IMAD.MOV.U32`` and ``HFMA2 R8, -RZ, RZ, 0, 0`` are such.
    """
    first, _, rest = opcode.partition(".")
    if first in _MEMORY:
        return _MEMORY[first]
    if rest.startswith("MOV") or (first == "HFMA2" and _MOVE_OF_NUMBER.match(operands)):
        return "move"
    return next((kind for kind, words in _KINDS if words.fullmatch(first)), "other")


def width_of(opcode: str, kind: Kind) -> int | None:
    """Return the bytes that a thread loads or stores; None for anything else."""
    if not kind.endswith((" load", " store")) or opcode.startswith(("UBLKCP", "UTMA", "LDSM")):
        return None
    found = _WIDTH.search(opcode)
    if found is None:
        return USUAL_B
    return int((found[1] or found[2]).removeprefix("ENL2.")) // 8
