"""A page in another language calls what the window shows as that window does."""

from __future__ import annotations

import pytest

from gpuexplorer.core import resources
from gpuexplorer.core.language.catalogue import Entry
from tests.words import files
from tests.words.page_names import names, names_amiss
from tests.words.sentences import ROOT

TOLD = {
    (english, ""): Entry(english, "", [told])
    for english, told in (
        ("&File", "文件(&F)"), ("Open session…", "打开会话…"), ("Code", "代码"), ("Stop", "停止"),
        ("&Stop", "停下(&S)"), ("source", "来源"), ("Live", "实时"),
    )
}  # fmt: skip


@pytest.mark.parametrize(
    ("page", "own", "amiss"),
    [
        ("*File → Open session…* reads it", "用“文件 → 打开会话”读取", None),
        ("*File > Open\nsession* reads it", "用“文件 > 打开会\n话”读取", None),
        (
            "*File → Open session* reads it",
            "用“文件 → 打开文件”读取",
            "not called '文件 → 打开会话'",
        ),
        ("*Code › Gone* reads it", "用“代码 › 没有”读取", "shows no 'Gone'"),
        ("**Stop** ends it", "**停止**结束它", None),
        ("**Stop** ends it", "**停下**结束它", None),
        ("**Stop** ends it", "**终止**结束它", "not called '停"),
        ("the *source* and *nothing of it*", "源代码", None),
        ("`*Stop*` and\n```\n*Live*\n```", "", None),
    ],
)
def test_a_name_is_that_of_the_window(page: str, own: str, amiss: str | None) -> None:
    found = list(names_amiss(page, own, names(TOLD)))
    assert len(found) == (amiss is not None)
    assert (amiss or "") in "".join(found)


def test_the_names_of_a_page_that_is_empty_are_all_amiss() -> None:
    known = names(files.read(files.file_of("zh_CN"))[1])
    page = (resources.folder() / "help" / "tuning.md").read_text(encoding="utf-8")
    assert len(list(names_amiss(page, "", known))) >= 8


def test_the_chinese_readme_calls_things_as_the_window_does() -> None:
    pages = [ROOT.parent / name for name in ("README.md", "README.zh-CN.md")]
    english, own = (page.read_text(encoding="utf-8") for page in pages)
    known = names(files.read(files.file_of("zh_CN"))[1])
    assert len(list(names_amiss(english, "", known))) >= 10
    assert list(names_amiss(english, own, known)) == []
