"""The Chinese letters that the program brings along: all that its texts need, and few others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from builder import chinese_font
from builder.chinese_font import DEBIANS, WEIGHTS, frequent_letters, letters, make, text_letters
from builder.errors import BuildError, CannotBuildHere
from fontTools.ttLib import TTFont

from gpuexplorer.core.fonts import CHINESE, files
from tests.support.payload import ROOT

AGAIN = "run PYTHONPATH=packaging python -m builder.chinese_font"
WEIGHT_OF = dict(zip(WEIGHTS, files(CHINESE), strict=True))
LINE = 1000
each_weight = pytest.mark.parametrize("weight", WEIGHTS)


@each_weight
def test_it_has_every_letter_of_the_texts_in_chinese(weight: str) -> None:
    has = TTFont(WEIGHT_OF[weight]).getBestCmap()
    lacking = "".join(sorted(letter for letter in text_letters() if ord(letter) not in has))
    assert not lacking, f"{WEIGHT_OF[weight].name} has no {lacking}: {AGAIN}"


@each_weight
def test_it_has_the_letters_that_users_write_most_and_no_others(weight: str) -> None:
    has = {chr(code) for code in TTFont(WEIGHT_OF[weight]).getBestCmap()}
    assert len(frequent_letters()) == 3755
    assert frequent_letters() | set("，。、；：？！（）《》【】“”‘’—…　０Ａｚ￥") <= has
    assert not set("aZ09 µ×±") & has, "Inter has them"
    assert len(has - letters()) < 40, f"many are not needed any more: {AGAIN}"
    assert WEIGHT_OF[weight].stat().st_size < 1_200_000


@each_weight
def test_a_line_of_it_is_no_higher_than_one_of_inter(weight: str) -> None:
    font = TTFont(WEIGHT_OF[weight])
    assert font["head"].unitsPerEm == LINE
    for ascent, descent, gap in (
        (font["hhea"].ascent, font["hhea"].descent, font["hhea"].lineGap),
        (font["OS/2"].sTypoAscender, font["OS/2"].sTypoDescender, font["OS/2"].sTypoLineGap),
    ):
        assert (ascent, descent, gap) == (880, -120, 0)
    sheet = font["glyf"]
    drawn = [sheet[font.getBestCmap()[ord(letter)]] for letter in frequent_letters()]
    over = [one for one in drawn if one.yMax > ascent or one.yMin < descent]
    assert not over, "no letter reaches out of its line"


@each_weight
def test_it_says_whose_it_is_and_has_a_name_of_its_own(weight: str) -> None:
    font = TTFont(WEIGHT_OF[weight])
    names = {record.nameID: str(record) for record in font["name"].names}
    assert names[1] == CHINESE and names[2] == weight
    assert not any("Noto" in names[number] for number in (1, 2, 3, 4, 6))
    assert "Adobe" in names[0]
    assert "SIL Open Font License" in names[13]
    notice = (WEIGHT_OF[weight].parent / "LICENSE.txt").read_text(encoding="utf-8")
    assert notice.startswith(names[0]) and "SIL OPEN FONT LICENSE Version 1.1" in notice


def test_where_the_original_is_not_one_sentence_says_where_to_have_it(tmp_path: Path) -> None:
    with pytest.raises(CannotBuildHere, match="install Debian's package fonts-noto-cjk"):
        make(tmp_path / "none.ttc", "Regular", "字")
    ran = subprocess.run(
        [sys.executable, "-m", "builder.chinese_font", str(tmp_path)],
        env={"PYTHONPATH": f"{ROOT / 'packaging'}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == CannotBuildHere.exit_code
    assert ran.stderr.startswith("chinese font: there is no Noto Sans CJK SC in ")


@pytest.mark.skipif(not DEBIANS.is_dir(), reason="needs Debian's package fonts-noto-cjk")
def test_the_same_letters_give_the_same_file_and_one_that_is_not_there_stops(
    tmp_path: Path,
) -> None:
    original = DEBIANS / "NotoSansCJK-Regular.ttc"
    for name in ("one", "two"):
        make(original, "Regular", "字体").save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(map(chr, TTFont(tmp_path / "one").getBestCmap())) == ["体", "字"]
    with pytest.raises(BuildError, match="has no \U0001f600; take it out of the texts"):
        make(original, "Regular", "字\U0001f600")


def test_the_texts_are_found() -> None:
    found = {str(path.relative_to(ROOT)) for one in chinese_font.TEXTS for path in ROOT.glob(one)}
    assert {"README.zh-CN.md", "resources/languages/zh_CN.po"} < found
    for folder in ("resources/help/", "resources/lessons/"):
        assert any(path.startswith(folder) for path in found)
