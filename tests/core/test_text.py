"""Text from elsewhere is shown without what a terminal or a reader would obey."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.text import (
    _FIRST_WIDE,
    _NARROW_PIECE,
    _PIECE,
    REPLACEMENT,
    joined,
    path_text,
    visible,
    visible_json,
)

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_what_a_terminal_obeys_is_replaced_and_the_rest_stays() -> None:
    assert (
        visible("\x1b[31mred\x1b]0;t\x07") == f"{REPLACEMENT}[31mred{REPLACEMENT}]0;t{REPLACEMENT}"
    )
    assert (
        visible("12 µs ± 2 % · 16×16 → é 日本 שלום 👩‍🔬")
        == "12 µs ± 2 % · 16×16 → é 日本 שלום 👩‍🔬"
    )
    assert visible("two\r\nlines\tand\rback") == f"two\nlines\tand{REPLACEMENT}back"
    assert visible("a\ud800b\x9bm\x7f") == f"a{REPLACEMENT}b{REPLACEMENT}m{REPLACEMENT}"


@given(st.text(st.characters() | st.sampled_from(TURNING + "\x1b\x07\x9b\u2028")))
def test_nothing_is_left_that_orders_anything(text: str) -> None:
    shown = visible(text)
    for character in shown:
        category = unicodedata.category(character)
        assert category not in ("Cc", "Cs", "Zl", "Zp") or character in "\n\t"
        assert character not in TURNING
    assert visible(shown) == shown
    shown.encode()
    assert visible(text) == text or not text.isprintable()


@given(st.text(st.characters() | st.sampled_from(TURNING + "\r\n\t\x1b\ufffe\uffff")))
def test_each_unsafe_character_is_a_sign_and_no_other(text: str) -> None:
    def sign(char: str) -> str:
        is_unsafe = unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") and char not in "\n\t"
        return REPLACEMENT if is_unsafe or char in TURNING + "\ufffe\uffff" else char

    assert visible(text) == "".join(map(sign, text.replace("\r\n", "\n")))


@given(st.text(st.characters(max_codepoint=ord(_FIRST_WIDE) - 1) | st.sampled_from("# \n\t*`—“”…")))
def test_text_without_wide_characters_is_broken_and_joined_as_any_other(text: str) -> None:
    assert _NARROW_PIECE().findall(text) == _PIECE().findall(text)
    assert joined(text) == text
    assert joined(f"{text}\n\n载") == f"{text}\n\n载"


@given(st.recursive(st.text() | st.sampled_from(["\x9b31m", TURNING]), st.lists))
def test_json_on_a_terminal_says_the_same(value: object) -> None:
    data = json.dumps(value, ensure_ascii=False).encode(errors="ignore")
    shown = visible_json(data)
    assert json.loads(shown) == json.loads(data)
    assert visible(shown.decode()) == shown.decode()


def test_a_path_that_is_no_text_can_be_written_all_the_same() -> None:
    assert path_text(Path("a\udcffb")) == "a\\udcffb"
    assert path_text("kernels/é") == "kernels/é"


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ("工作负\n载", "工作负载"),
        ("工作，\n  负载", "工作，负载"),
        ("打开\n“文件”", "打开“文件”"),
        ("“文件”\n打开", "“文件”打开"),
        ("**固定**\n配置", "**固定**配置"),
        ("见\n[阶梯](ladder.md)\n一页", "见[阶梯](ladder.md)一页"),
        ("有 11 位。\n**fp16 的**误差", "有 11 位。**fp16 的**误差"),
        ("运行：\n`make`", "运行：`make`"),
        ("运行\nGPU 上", None),
        ("占用 CPU\n时", None),
        ("what is “shown”\n“here”", None),
        ("# 扫描\n测量", None),
        ("- 甲\n- 乙", None),
        ("1. 甲\n2. 乙", None),
        ("- 甲。\n1. 乙。\n2. 丙", None),
        ("运行：\n```sh\nmake\n```", None),
        ("| 甲 |\n| 乙 |", None),
        ("甲\n\n乙", None),
        ("```sh\nrun # 甲\n乙\n```\n丙", None),
        ("    run  # 甲\n    乙", None),
    ],
)
def test_lines_are_joined_where_a_language_has_no_spaces_and_nowhere_else(
    lines: str, shown: str | None
) -> None:
    assert joined(lines) == (lines if shown is None else shown)
