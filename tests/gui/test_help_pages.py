"""A page of the help, or of a lesson, reads as it was meant, in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtGui import QTextBlock, QTextDocument, QTextFormat
from PySide6.QtWidgets import QApplication

from gpuexplorer.core import resources
from gpuexplorer.core.language.available import languages
from gpuexplorer.core.text import joined
from gpuexplorer.gui.help import PAGES
from gpuexplorer.lessons.text import text_file

LEFT = re.compile(r"\*|`|\]\(|\|\s*-+\s*\|")
"""A mark of Markdown that became none."""
APART = re.compile("[\u4e00-\u9fff] +[\u4e00-\u9fff]")
"""A space where a language has none."""
CODE = int(QTextFormat.Property.BlockCodeLanguage)
LINK = re.compile(r"(?<!!)\[[^]]*\]\(([^)]+)\)")


def pages(language: str) -> dict[str, str]:
    """Return the Markdown of every page of help and lessons as it is shown in a language."""
    found = {name: resources.text("help", f"{name}.md", language=language) for name in PAGES}
    for folder in sorted((resources.folder() / "lessons").iterdir()):
        path = text_file(folder, language)
        if path.is_file():
            found[folder.name] = path.read_text(encoding="utf-8")
    return {name: joined(text) for name, text in found.items()}


def prose(markdown: str) -> Iterator[str]:
    """Yield each block of a page as it is read, but for code, which is a C in a sentence."""
    document = QTextDocument()
    document.setMarkdown(markdown)
    block = document.begin()
    while block.isValid():
        if not block.blockFormat().hasProperty(CODE):
            yield "".join(words_of(block))
        block = block.next()


def words_of(block: QTextBlock) -> Iterator[str]:
    """Yield what stands in a block, and C for code."""
    places = block.begin()
    while not places.atEnd():
        fragment = places.fragment()
        yield "C" if fragment.charFormat().fontFixedPitch() else fragment.text()
        places += 1


@pytest.mark.parametrize("language", languages())
def test_no_mark_is_left_in_a_page_and_no_space_stands_between_wide_letters(
    qapp: QApplication, language: str
) -> None:
    shown = pages(language)
    assert len(shown) > len(PAGES)
    wrong = [
        f"{name}: {found[0]!r} in {words!r}"
        for name, markdown in shown.items()
        for words in prose(markdown)
        for found in (*LEFT.finditer(words), *APART.finditer(words))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("markdown", "left"),
    [
        ("**固定：**配置", "**固定：**配置"),
        ("**固定**：配置 `a * b`", "固定：配置 C"),
        ("工作负\n载", "工作负 载"),
    ],
)
def test_what_became_no_emphasis_is_seen(qapp: QApplication, markdown: str, left: str) -> None:
    (words,) = prose(markdown)
    assert words == left
    assert bool(LEFT.search(words) or APART.search(words)) == (not left.endswith("C"))


@pytest.mark.parametrize("language", languages())
def test_each_link_leads_to_a_page_or_to_the_web(language: str) -> None:
    targets = {
        (name, target)
        for name, markdown in pages(language).items()
        for target in LINK.findall(markdown)
    }
    assert len(targets) > 20
    lost = {
        (name, target)
        for name, target in targets
        if target.removesuffix(".md") not in PAGES and not target.startswith("https://")
    }
    assert not lost
