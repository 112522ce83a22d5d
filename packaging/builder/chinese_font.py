"""Make the Chinese letters that the program brings along: ``resources/fonts/chinese/*.ttf``.

``PYTHONPATH=packaging python -m builder.chinese_font``, with Debian's package fonts-noto-cjk
installed; to be run again after a text got a letter that they lack, which a test says. They are a
part of Noto Sans CJK SC: every letter of the texts in Chinese, the 3,755 most frequent characters
of GB 2312 (its level 1), so that what users write themselves shows as well, and punctuation; no
Latin letters, which Inter has. What is left is 1.0 MB for each weight, 0.7 MB in a package.

Three things are other than in the original. The outlines are TrueType's, since Matplotlib can
put no others into a PDF. A line is as high as the letters (1.0 em, 1.45 there), so that Inter
alone decides how high one of the window is, which is so as high in Chinese as in English. And the
name is another one, as that of anything that is not Noto any more: a system that has the original
keeps it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fontTools.pens.cu2quPen import Cu2QuPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTCollection, TTFont, newTable

from builder.errors import BuildError, CannotBuildHere
from gpuexplorer.core.fonts import CHINESE, files, is_wide

ROOT = Path(__file__).resolve().parents[2]
TEXTS = (
    "resources/**/*zh_CN*.md", "resources/**/*zh_CN*.po", "resources/**/*zh_CN*.toml",
    "README.zh-CN.md",
)  # fmt: skip
DEBIANS = Path("/usr/share/fonts/opentype/noto")
ORIGINAL = "Noto Sans CJK SC"
WEIGHTS = ("Regular", "Bold")
QUOTES_AND_DASHES = "“”‘’…—"
"""Inter has them, too; among Chinese letters they are as wide as these."""
ASCENT, DESCENT = 880, -120
"""Of 1000: the square that a Chinese letter fills."""
OFF_BY = 1.0
"""Of 1000: how far an outline may be off the original's."""
NAMES = {"copyright": 0, "maker": 8, "designer": 9, "licence": 13, "licence address": 14}
DROPPED = ("BASE", "GDEF", "GPOS", "GSUB", "VORG", "vhea", "vmtx")
"""Vertical lines, and forms for other languages."""


def text_letters() -> set[str]:
    """Return each Chinese letter of the texts that the program shows, and of its README."""
    paths = [path for pattern in TEXTS for path in sorted(ROOT.glob(pattern))]
    return {
        letter for path in paths for letter in path.read_text(encoding="utf-8") if is_wide(letter)
    }


def frequent_letters() -> set[str]:
    """Return the characters of GB 2312's level 1: rows 16 to 55 of its table."""
    rows, cells = range(0xA0 + 16, 0xA0 + 56), range(0xA1, 0xFF)
    table = bytes(value for row in rows for cell in cells for value in (row, cell))
    return set(table.decode("gb2312", errors="ignore"))  # five cells of the last row are empty


def punctuation() -> set[str]:
    """Return the marks of Chinese texts, and the forms of ASCII that are as wide as a letter."""
    blocks = (range(0x3000, 0x3020), range(0xFF01, 0xFF5F), range(0xFFE0, 0xFFE7))
    return {chr(code) for block in blocks for code in block} | set(QUOTES_AND_DASHES)


def letters() -> set[str]:
    """Return all letters that the font is to have."""
    return text_letters() | frequent_letters() | punctuation()


def make(original: Path, weight: str, wanted: Iterable[str]) -> TTFont:
    """Return the part of a weight of Noto Sans CJK SC that has the ``wanted`` letters.

    Raises BuildError where it lacks one.
    """
    font = _face(original)
    wanted = set(wanted)
    lacking = sorted(letter for letter in wanted if ord(letter) not in font.getBestCmap())
    if lacking:
        raise BuildError(
            f"{original} has no {' '.join(lacking)}; take {'it' if len(lacking) == 1 else 'them'} "
            "out of the texts, or another version of the font"
        )
    options = Options(
        layout_features=[], hinting=False, notdef_outline=True, name_IDs=list(NAMES.values())
    )
    options.drop_tables = [*options.drop_tables, *DROPPED]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=map(ord, wanted))
    subsetter.subset(font)
    _with_curves_of_second_degree(font)
    _as_high_as_its_letters(font)
    _named(font, weight)
    return font


def _face(original: Path) -> TTFont:
    """Return the face for simplified Chinese out of a collection; CannotBuildHere without one."""
    if original.is_file():
        for font in TTCollection(str(original), recalcTimestamp=False).fonts:
            if font["name"].getDebugName(1) == ORIGINAL:
                return font
    raise CannotBuildHere(
        f"there is no {ORIGINAL} in {original}; install Debian's package fonts-noto-cjk, or name "
        "the folder that has its files"
    )


def _with_curves_of_second_degree(font: TTFont) -> None:
    """Turn the outlines of a font into TrueType's."""
    drawn, order = font.getGlyphSet(), font.getGlyphOrder()
    outlines = newTable("glyf")
    outlines.glyphOrder, outlines.glyphs = order, {}
    for name in order:
        pen = TTGlyphPen(None)
        drawn[name].draw(Cu2QuPen(pen, OFF_BY, reverse_direction=True))
        outlines.glyphs[name] = pen.glyph()
    del font["CFF "]
    font["glyf"], font["loca"] = outlines, newTable("loca")
    limits = font["maxp"]
    limits.tableVersion, limits.maxZones = 0x00010000, 1
    for none in (
        "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs",
        "maxStackElements", "maxSizeOfInstructions", "maxComponentElements",
    ):  # fmt: skip
        setattr(limits, none, 0)
    font["post"].formatType = 3.0  # without names of glyphs
    font.sfntVersion = "\0\1\0\0"


def _as_high_as_its_letters(font: TTFont) -> None:
    line, windows = font["hhea"], font["OS/2"]
    line.ascent, line.descent, line.lineGap = ASCENT, DESCENT, 0
    windows.sTypoAscender, windows.sTypoDescender, windows.sTypoLineGap = ASCENT, DESCENT, 0
    windows.version = 4
    windows.fsSelection |= 1 << 7  # these are the ones to use
    windows.ulCodePageRange1, windows.ulCodePageRange2 = 1 << 18, 0  # simplified Chinese


def _named(font: TTFont, weight: str) -> None:
    """Give a font our name, and keep whose it is and under which licence."""
    names = font["name"]
    full = CHINESE if weight == "Regular" else f"{CHINESE} {weight}"
    version = f"Version 1.000; made of {ORIGINAL} {weight} {font['head'].fontRevision:.3f}"
    names.names = [record for record in names.names if record.langID == 0x409]
    for number, words in {
        1: CHINESE, 2: weight, 3: f"1.000;{full}", 4: full, 5: version,
        6: f"{CHINESE.replace(' ', '')}-{weight}",
    }.items():  # fmt: skip
        names.setName(words, number, 3, 1, 0x409)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the font in each weight."""
    parser = argparse.ArgumentParser(description="Make the Chinese letters of the program.")
    parser.add_argument("folder", nargs="?", type=Path, default=DEBIANS, help="has Noto Sans CJK")
    folder: Path = parser.parse_args(arguments).folder
    try:
        wanted = letters()
        for weight, path in zip(WEIGHTS, files(CHINESE), strict=True):
            font = make(folder / f"NotoSansCJK-{weight}.ttc", weight, wanted)
            path.parent.mkdir(parents=True, exist_ok=True)
            font.save(path)
            size_MB = path.stat().st_size / 1e6
            print(f"{path.relative_to(ROOT)}: {len(wanted):,} letters, {size_MB:.2f} MB")
    except BuildError as error:
        print(f"chinese font: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
