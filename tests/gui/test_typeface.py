"""The window's letters: the system's where they are made for it, else those brought along."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtGui import (
    QFont,
    QFontDatabase,
    QFontInfo,
    QFontMetricsF,
    QImage,
    QPainter,
    QRawFont,
)
from PySide6.QtWidgets import QApplication

from gpuexplorer.core import language, resources
from gpuexplorer.core.fonts import CHINESE, FILES, LATIN, files
from gpuexplorer.gui import typeface


@pytest.fixture(autouse=True)
def _put_back(qapp: QApplication) -> Iterator[None]:
    before = QFont(qapp.font())
    yield
    qapp.setFont(before)


@pytest.mark.parametrize("asked", ["Sans Serif", "Helvetica 2", "No Such Family"])
def test_letters_that_nobody_asked_for_give_way_to_ours(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, asked: str
) -> None:
    monkeypatch.setattr(typeface, "CHOSEN", False)
    qapp.setFont(QFont(asked, 9))
    typeface.choose(qapp)
    assert QFontInfo(qapp.font()).family() == "Inter"
    assert qapp.font().families()[1:] == [asked], "what it lacks comes from the system's"
    assert qapp.font().pointSizeF() == 9
    typeface.choose(qapp)
    assert qapp.font().families().count("Inter") == 1


@pytest.mark.parametrize("family", ["DejaVu Sans", "dejavu sans", "Inter"])
def test_a_font_that_was_chosen_stays(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    assert typeface._load(LATIN)
    if QFontInfo(QFont(family)).family().casefold() != family.casefold():
        pytest.skip(f"no {family} here")
    monkeypatch.setattr(typeface, "CHOSEN", False)
    qapp.setFont(QFont(family, 11))
    typeface.choose(qapp)
    assert qapp.font().families() == [family]


@pytest.fixture
def chinese() -> Iterator[None]:
    language.use("zh_CN")
    yield
    language.use(language.ENGLISH)


def test_in_chinese_ours_follow_inter_and_leave_with_the_language(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, chinese: None
) -> None:
    monkeypatch.setattr(typeface, "CHOSEN", False)
    qapp.setFont(QFont("Sans Serif", 9))
    for _ in range(2):
        typeface.choose(qapp)
        assert qapp.font().families() == [LATIN, CHINESE, "Sans Serif"]
    assert QFontMetricsF(qapp.font()).height() == QFontMetricsF(QFont(LATIN, 9)).height()
    assert typeface.fixed().families()[-1] == CHINESE
    language.use(language.ENGLISH)
    typeface.choose(qapp)
    assert qapp.font().families() == [LATIN, "Sans Serif"]
    assert CHINESE not in typeface.fixed().families()


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("one_font", [True, False], ids=["of the system", "of the user"])
def test_in_chinese_a_chosen_font_keeps_the_systems_letters_where_there_are_any(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, chinese: None, has: bool, one_font: bool
) -> None:
    monkeypatch.setattr(typeface, "CHOSEN", one_font)
    monkeypatch.setattr(typeface, "_named", lambda font: True)
    monkeypatch.setattr(typeface, "_system_has_chinese", lambda: has)
    qapp.setFont(QFont("Cantarell", 11))
    typeface.choose(qapp)
    assert qapp.font().families() == ["Cantarell", *([] if has else [CHINESE])]


def test_a_system_with_one_font_for_interfaces_gives_its_own(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typeface, "CHOSEN", True)
    qapp.setFont(QFont(".NamedByTheSystemAlone", 11))
    typeface.choose(qapp)
    assert qapp.font().families() == [".NamedByTheSystemAlone"]


@pytest.mark.parametrize("weight", [QFont.Weight.Normal, QFont.Weight.DemiBold])
def test_figures_have_one_width_so_that_they_do_not_move(
    qapp: QApplication, weight: QFont.Weight
) -> None:
    assert typeface._load(LATIN)
    typeface.choose(qapp)
    font = QFont(qapp.font())
    font.setFamilies(["Inter"])
    font.setWeight(weight)
    assert QFontInfo(font).family() == "Inter"
    widths = {round(QFontMetricsF(font).horizontalAdvance(d * 10), 3) for d in "0123456789"}
    assert len(widths) == 1


def test_code_has_letters_of_one_width_where_the_systems_font_for_it_has_not(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert typeface._load(LATIN)
    assert not QFontInfo(QFont("Inter")).fixedPitch()
    monkeypatch.setattr(QFontDatabase, "systemFont", lambda _: QFont("Inter", 9))
    font = QFontMetricsF(typeface.fixed())
    assert font.horizontalAdvance("iiii") == font.horizontalAdvance("MMMM")
    assert "Inter" in typeface.fixed().families(), "what it lacks comes from the system's"


def test_bold_words_are_those_of_the_heavier_font_and_not_smeared(qapp: QApplication) -> None:
    assert typeface._load(LATIN)
    drawn = []
    for weight in (QFont.Weight.Bold, QFont.Weight.DemiBold, QFont.Weight.Normal):
        image = QImage(200, 30, QImage.Format.Format_Grayscale8)
        image.fill(255)
        font = QFont("Inter", 11)
        font.setWeight(weight)
        painter = QPainter(image)
        painter.setFont(font)
        painter.drawText(4, 20, "Drivers 1.25×")
        painter.end()
        drawn.append(image)
    assert drawn[0] == drawn[1] != drawn[2]


def test_there_are_three_sizes(qapp: QApplication) -> None:
    usual = QFont("Inter", 10)
    assert typeface.small(usual).pointSizeF() < 10 < typeface.large(usual).pointSizeF()
    assert usual.pointSizeF() == 10


def test_its_licence_lies_beside_it() -> None:
    folder = resources.folder() / "fonts"
    assert "SIL OPEN FONT LICENSE" in (folder / "LICENSE.txt").read_text(encoding="utf-8")
    assert set(folder.rglob("*.ttf")) == {file for family in FILES for file in files(family)}
    assert all((file.parent / "LICENSE.txt").is_file() for file in folder.rglob("*.ttf"))
    assert sum(path.stat().st_size for path in folder.glob("*.ttf")) < 200_000


def test_it_has_the_letters_of_the_window(qapp: QApplication) -> None:
    assert typeface._load(LATIN)
    assert "Inter" in QFontDatabase.families()
    raw = QRawFont.fromFont(QFont("Inter", 10))
    assert [c for c in "aZ09µ×±–→−≤≥²·…«»éß✓★●" if not raw.supportsCharacter(ord(c))] == []
