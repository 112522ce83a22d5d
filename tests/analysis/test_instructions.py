"""Kinds of instructions, from Turing to Blackwell."""

from __future__ import annotations

import pytest

from gpuexplorer.analysis.instructions import KIND_TITLES, Kind, kind_of

KINDS: dict[Kind, str] = {
    "fp32": "FADD FMUL FFMA FSETP.GT.AND FMNMX FSEL FCHK FADD2 FFMA2 FMNMX3",
    "fp64": "DADD DMUL DFMA DSETP.NEU.AND",
    "fp16": "HADD2 HMUL2.BF16_V2 HFMA2 HSETP2.BF16_V2.GT.AND HMNMX2 HADD2.F32 HFMA2.MMA",
    "tensor": "HMMA.16816.F32 IMMA.16832.S8.S8 DMMA.884 HGMMA.64x64x16.F32 UTCHMMA QMMA.16832 OMMA",
    "integer": "IADD3 IADD3.X IMAD.WIDE IMAD.IADD ISETP.GE.AND LEA.HI.X LOP3.LUT SHF.R.U32.HI "
    "UIADD3 ULEA UIMAD ULOP3.LUT USHF.L.U32 UISETP.NE.AND VIADD VIMNMX PLOP3.LUT POPC FLO.U32 "
    "BREV SGXT VIADDMNMX IABS IMNMX IDP.4A.S8.S8 UPLOP3.LUT",
    "special function": "MUFU.RCP MUFU.EX2",
    "conversion": "F2I.NTZ I2F F2F.F64.F32 F2FP.PACK_AB I2FP.F32.S32 I2F.U32.RP FRND",
    "move": "MOV UMOV IMAD.MOV.U32 CS2R S2R S2UR R2UR SEL USEL PRMT",
    "global load": "LDG.E LDG.E.128.CONSTANT LDGSTS.E.BYPASS.128 LD.E UBLKCP UTMALDG.2D",
    "global store": "STG.E.64 ST.E UTMASTG.2D",
    "shared load": "LDS.U.128 LDSM.16.M88.4",
    "shared store": "STS.64 STSM.16.M88.4",
    "local load": "LDL.LU",
    "local store": "STL.128",
    "constant load": "LDC ULDC.64 LDCU.64",
    "atomic": "ATOM.E.ADD ATOMG.E.CAS ATOMS.ADD RED.E.ADD.F32.FTZ.RN.STRONG.GPU REDG.E.ADD",
    "control": "BRA BRX BSSY BSYNC BSYNC.RECONVERGENT EXIT RET.REL.NODEC CALL.REL.NOINC "
    "BAR.SYNC.DEFER_BLOCKING WARPSYNC MEMBAR.SC.GPU DEPBAR.LE NOP YIELD NANOSLEEP BPT.TRAP "
    "LDGDEPBAR SYNCS.EXCH.64 WARPGROUP.ARRIVE UBRA ERRBAR CCTL.IVALL",
    "other": "SHFL.DOWN VOTE.ANY MATCH.ALL",
}


@pytest.mark.parametrize("kind", KIND_TITLES)
def test_opcodes_of_a_kind(kind: Kind) -> None:
    assert {opcode: kind_of(opcode) for opcode in KINDS[kind].split()} == dict.fromkeys(
        KINDS[kind].split(), kind
    )


def test_what_only_moves_a_number_is_a_move() -> None:
    assert kind_of("HFMA2", "R8, -RZ, RZ, 0, 0") == "move"
    assert kind_of("HFMA2.MMA", "R2, -RZ, RZ, 0, 2.384185791015625e-07") == "move"
    assert kind_of("HFMA2", "R8, R3, R4, R8") == "fp16"
