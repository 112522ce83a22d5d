"""nvdisasm: found or named as missing, asked once, and its refusals told."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from gpuexplorer.compile import disassembler
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.compile.disassembler import disassemble, file_name, find_disassembler
from gpuexplorer.core.errors import CannotRunHere, WorkFailed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")


@pytest.fixture
def toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the place of a toolkit's nvdisasm, the only one there could be; it is not there."""
    monkeypatch.setattr(disassembler, "PACKAGE", "no-such-distribution")
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "cuda"))
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))
    path = tmp_path / "cuda" / "bin" / "nvdisasm"
    path.parent.mkdir(parents=True)
    return path


def write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_without_it_one_sentence_says_what_to_install(toolkit: Path) -> None:
    with pytest.raises(CannotRunHere) as caught:
        disassemble(b"cubin")
    assert str(caught.value) == (
        "nvdisasm, which lists a kernel's instructions, is not installed; "
        "pip install 'no-such-distribution'"
    )


def test_a_toolkits_own_is_asked_twice_and_then_remembered(toolkit: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    write(toolkit, f'echo "$1 $2" >> "{asked}"; echo "of $1"')
    assert find_disassembler() == toolkit
    for _ in range(2):
        found = disassemble(b"cubin")
        assert (found.with_lines, found.with_registers) == ("of -gi\n", "of -lrm\n")
    assert sorted(asked.read_text(encoding="utf-8").split("\n")) == ["", "-gi -c", "-lrm count"]


def test_instructions_are_told_where_no_registers_can_be_followed(toolkit: Path) -> None:
    said = "nvdisasm error   : Cannot print life ranges as flow analysis is disabled"
    write(toolkit, f'test "$1" = -gi && echo "of $1" || {{ echo "{said}" >&2; exit 1; }}')
    found = disassemble(b"of NVRTC 12")
    assert (found.with_lines, found.with_registers) == ("of -gi\n", "")


def test_its_refusal_is_told(toolkit: Path) -> None:
    write(toolkit, 'echo "nvdisasm fatal : unsupported" >&2; exit 1')
    with pytest.raises(WorkFailed, match="does not list this kernel: nvdisasm fatal : unsupported"):
        disassemble(b"cubin")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/build/k.cu", "k.cu"),
        ("C:\\Users\\x\\k.cu", "k.cu"),
        ("k.cu", "k.cu"),
        ("/build/sub/k.cu", "sub/k.cu"),
        ("/build/cuda/std/cmath", "cuda/std/cmath"),
        ("/build/named-0-elsewhere", "größe.cu"),
        ("/elsewhere/other.h", "/elsewhere/other.h"),
    ],
)
def test_files_have_their_names_again(path: str, name: str) -> None:
    known = {n: n for n in ("k.cu", "sub/k.cu", "cuda/std/cmath", "cmath")}
    assert file_name(path, {**known, "named-0-elsewhere": "größe.cu"}) == name
