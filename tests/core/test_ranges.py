"""Values as they are written: lists, ranges, and what is refused in one sentence."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core import ranges
from gpuexplorer.core.errors import InputError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("7", (7,)),
        ("1,2,4", (1, 2, 4)),
        ("1:256:*2", (1, 2, 4, 8, 16, 32, 64, 128, 256)),
        ("3:100:*3", (3, 9, 27, 81)),
        ("16:64:+16", (16, 32, 48, 64)),
        ("1:10:+4", (1, 5, 9)),
        ("5:8", (5, 6, 7, 8)),
        ("1:8:×2,6,8:24:+8", (1, 2, 4, 8, 6, 16, 24)),
        ("-2:2:+2", (-2, 0, 2)),
        ("4,4,4", (4,)),
        ("8:8:*2", (8,)),
    ],
)
def test_numbers(text: str, values: tuple[int, ...]) -> None:
    assert ranges.whole_numbers(text) == values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no value"),
        ("1,,2", "no value"),
        ("a", "'a' is no value"),
        ("1:2:3", "no value"),
        ("1.5", "no value"),
        ("9:3:+1", "ends before it begins"),
        ("1:8:+0", "does not advance"),
        ("1:8:*1", "does not grow"),
        ("0:8:*2", "does not grow"),
        ("1:99999999999:+1", "too many values"),
        ("1e3", "no value"),
        ("٣", "no value"),
    ],
)
def test_what_is_no_number_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        ranges.whole_numbers(text)


@given(st.text(max_size=30))
def test_any_text_is_values_or_an_error(text: str) -> None:
    for read in (ranges.whole_numbers, ranges.sizes, ranges.blocks, ranges.names):
        try:
            found = read(text)
        except InputError:
            continue
        assert found


@given(st.integers(1, 1000), st.integers(2, 9), st.integers(1, 10**6))
def test_a_growing_range_holds_all_its_steps_and_no_more(first: int, by: int, span: int) -> None:
    last = first + span
    values = ranges.whole_numbers(f"{first}:{last}:*{by}")
    assert values[0] == first
    assert all(b == a * by for a, b in pairwise(values))
    assert values[-1] <= last < values[-1] * by


def test_sizes_by_symbol() -> None:
    assert ranges.sizes("256,512") == {"": (256, 512)}
    assert ranges.sizes("N=64:256:*2,M=32") == {"N": (64, 128, 256), "M": (32,)}
    assert ranges.sizes("N=64,M=32,48") == {"N": (64,), "M": (32, 48)}
    for text, said in (("N=1,N=2", "given twice"), ("3x=1", "names no size"), ("N=", "no value")):
        with pytest.raises(InputError, match=said):
            ranges.sizes(text)


def test_blocks_and_names() -> None:
    assert ranges.blocks("16x16,32×8,64") == ((16, 16, 1), (32, 8, 1), (64, 1, 1))
    assert ranges.blocks("8x8x4,8X8X4") == ((8, 8, 4),)
    for text in ("16x", "axb", "1x1x1x1", "16x16,"):
        with pytest.raises(InputError, match="is no block"):
            ranges.blocks(text)
    assert ranges.names(" fp32 ,fp16,fp32") == ("fp32", "fp16")
    with pytest.raises(InputError, match="names nothing"):
        ranges.names("a,,b")
