"""Brackets of a CUDA source are matched in one pass, however many there are and however odd."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.compile.rewriter import rewrite
from gpuexplorer.workloads.cuda_source import CudaSource
from tests.support.kernels import RIGHT_BODY, TWICE

KERNEL = TWICE.format(body=RIGHT_BODY)
MANY = 50_000


@pytest.mark.parametrize(
    "odd", ["f(" * MANY, "f(" * MANY + ")" * MANY, "{" * MANY, "}" * MANY, "[(" * MANY]
)
def test_a_hundred_kilobytes_of_brackets_take_no_time(odd: str) -> None:
    source = f"#if 0\n{odd}\n#endif\n{KERNEL}"
    assert "twice" in rewrite("kernel.cu", {"kernel.cu": source}).kernels


def closing(text: str, opening: int) -> int | None:
    """Find a bracket's end as one does by hand: count up, and down again."""
    opens, closes = text[opening], {"(": ")", "{": "}", "[": "]"}[text[opening]]
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == opens) - (text[at] == closes)
        if depth == 0:
            return at
    return None


@given(st.text("(){}[]a ;", max_size=60))
def test_every_bracket_is_closed_by_the_one_that_counting_finds(text: str) -> None:
    source = CudaSource(text)
    for at, character in enumerate(source.code):
        if character in "({[":
            assert source.closing(at) == closing(source.code, at)
