"""What a source includes: files beside it are put in place, nothing else of a machine is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource, blank
from gpuexplorer.workloads.includes import inline_includes
from gpuexplorer.workloads.loader import kernel_sources

FIRST = '#line 1 "k.cu"\n'
KERNEL = "__global__ void k(float *A) { A[0] = 1; }\n"


def test_included_files_are_put_in_place_under_their_own_name() -> None:
    flat = inline_includes(
        "k.cu", {"k.cu": 'int a;\n#include "h.cuh"\nint oops;\n', "h.cuh": "int b;\nint c;"}
    )
    source = CudaSource(flat)
    assert source.where(flat.index("int a")) == "k.cu:1"
    assert source.where(flat.index("int c")) == "h.cuh:2"
    assert source.where(flat.index("int oops")) == "k.cu:3"


def test_a_file_included_once_appears_once() -> None:
    files = {
        "k.cu": '#include "a.h"\n#include "b.h"\n',
        "a.h": '#pragma once\n#include "b.h"\n',
        "b.h": "#pragma once\nint b;\n",
    }
    assert inline_includes("k.cu", files).count("int b;") == 1


def test_files_that_include_each_other_are_refused() -> None:
    files = {"k.cu": '#include "a.h"\n', "a.h": '#include "k.cu"\n'}
    with pytest.raises(WorkFailed, match="never end"):
        inline_includes("k.cu", files)


def test_an_include_in_a_comment_is_not_one() -> None:
    text = '/*\n#include "h.cuh"\n*/'
    assert inline_includes("k.cu", {"k.cu": text, "h.cuh": "int b;"}) == FIRST + text


# ---- files elsewhere

ELSEWHERE = [
    '#include "/etc/passwd"', "#include </etc/passwd>", '#  include\t"/etc/passwd" // beside',
    '#include "C:\\Users\\me\\keys"', '#include "~/.ssh/id_rsa"',
]  # fmt: skip
HIDDEN = [
    '#define SECRET "/etc/passwd"\n#include SECRET', '%:include "/etc/passwd"',
    '??=include "/etc/passwd"', '#include \\\n"/etc/passwd"', '#inc\\\nlude "/etc/passwd"',
    '#inc??/\nlude "/etc/passwd"', '#include /* a remark */ "/etc/passwd"',
    '/* a remark */ #include "/etc/passwd"', '#include_next "/etc/passwd"',
    '#import "/etc/passwd"', '#embed "/etc/passwd"', "// a remark\r#import </etc/passwd>",
    "int x = L'/*';\n#import </etc/passwd>\n// */",
    "int x = 1'0'/*';\n#import </etc/passwd>\n// */",
]  # fmt: skip


@pytest.mark.parametrize("line", ELSEWHERE)
def test_a_file_that_lies_elsewhere_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(WorkFailed, match=r"^k.cu:2: '\S+' does not lie beside the source"):
        inline_includes("k.cu", {"k.cu": f"\n{line}\n{KERNEL}"})


@pytest.mark.parametrize("text", HIDDEN)
def test_an_include_that_hides_its_file_is_refused(text: str) -> None:
    with pytest.raises(WorkFailed, match=r"^k.cu:[12]: which file is included here cannot be told"):
        inline_includes("k.cu", {"k.cu": f"{text}\n{KERNEL}"})


def test_compilers_read_no_file_of_the_folder_they_run_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret.h").write_text("a secret\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text = f'#include "secret.h"\n#include "../{tmp_path.name}/secret.h"\n{KERNEL}'
    assert "k" in compile_kernels("k.cu", {"k.cu": text}, "sm_90").kernels
    with pytest.raises(WorkFailed, match=r"put secret.h beside the source, or correct it"):
        compile_kernels("k.cu", {"k.cu": f'#include "secret.h"\n{KERNEL}int x = y;\n'}, "sm_90")
    assert rewrite("k.cu", {"k.cu": f'#include "secret.h"\n{KERNEL}'}).without == ("secret.h",)


def test_a_link_that_leads_elsewhere_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (tmp_path / "secret.h").write_text("a secret\n", encoding="utf-8")
    (folder / "beside.h").write_text("int x;\n", encoding="utf-8")
    try:
        (folder / "link.h").symlink_to(tmp_path / "secret.h")
        (folder / "near.h").symlink_to(folder / "beside.h")
    except OSError:
        pytest.skip("links are not to be made here")
    path = folder / "k.cu"
    path.write_text(f'#include "link.h"\n#include <near.h>\n{KERNEL}', encoding="utf-8")
    assert set(kernel_sources(path)) == {"k.cu", "near.h"}


@pytest.mark.parametrize(
    "text", ["int x = 1'000'000; // it's", "char c = 'a'; char d = u8'\\''; int y = 0xA'B;"]
)
def test_apostrophes_in_numbers_and_around_characters_are_told_apart(text: str) -> None:
    source = f"{text}\nint z;"
    assert blank(source).endswith("\nint z;")
    assert ("'" in blank(source)) == ("1'000" in text or "0xA" in text)


@given(st.text(alphabet="a \\\"'\n", max_size=30), st.sampled_from("\"'"))
def test_a_literal_reaches_to_its_quote_or_to_the_end_of_its_line(text: str, quote: str) -> None:
    end = 0
    while end < len(text) and text[end] not in f"{quote}\n":
        end += 2 if text[end] == "\\" else 1
    closed = end < len(text) and text[end] == quote
    end = min(end + closed, len(text))
    spaces = "".join("\n" if c == "\n" else " " for c in quote + text[:end])
    assert blank(quote + text) == spaces + blank(text[end:])
