"""The window's letters: those that the system or its user chose, or Inter where nobody did.

Three sizes, and figures of one width, so that numbers that change do not move.
"""

from __future__ import annotations

import sys

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication

from gpuexplorer.core import resources

SMALL, LARGE = 0.88, 2.1
"""Times the usual size."""
CHOSEN = sys.platform in ("win32", "darwin")
"""Whether the system has one font for interfaces, whatever its name."""
OURS = "Inter"
USUAL_HEIGHT = 15.0
"""Pixels of a line of text of 9 points, for which lengths are chosen."""
_factor = [1.0]
"""How many times as high lines are with the program's font."""
FILES = ("Inter-Regular.ttf", "Inter-SemiBold.ttf")


def choose(application: QApplication) -> None:
    """Give the program its font; what Inter lacks comes from the system's fonts."""
    font = application.font()
    if not (CHOSEN or _named(font)) and _load():
        font.setFamilies([OURS, *font.families()])
    font.setFeature(QFont.Tag("tnum"), 1)
    font.setFeature(QFont.Tag("calt"), 0)  # Inter would show the x of "16x16" in a path as ×
    application.setFont(font)
    _factor[0] = max(1.0, QFontMetricsF(font).height() / USUAL_HEIGHT)


def _named(font: QFont) -> bool:
    """Return whether its letters are those of the family that was asked for.

    A desktop asks for the one that it or its user chose. Elsewhere "Sans Serif" is asked for, and
    what is found is whatever comes first: one for reports, for formulas, or with few letters.
    """
    found, _, _foundry = QFontInfo(font).family().partition(" [")
    return found.casefold() == font.families()[0].casefold()


def for_text(pixels: float) -> int:
    """Return a length that was chosen for text of usual size, for the text that there is."""
    return round(pixels * _factor[0])


def _load() -> bool:
    """Return whether Inter is there, loaded from our files where it is not the system's."""
    if OURS not in QFontDatabase.families():
        for name in FILES:
            QFontDatabase.addApplicationFont(str(resources.folder() / "fonts" / name))
    return OURS in QFontDatabase.families()


def fixed() -> QFont:
    """Return the system's font for code, or one whose letters have one width where its have not.

    Where the language is Chinese the system may name one that has all signs and no such letters.
    """
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    if not QFontInfo(font).fixedPitch():
        found = filter(QFontDatabase.isFixedPitch, QFontDatabase.families())
        font.setFamilies([*sorted(found)[:1], *font.families()])
    return font


def small(font: QFont) -> QFont:
    """Return a font for what stands beside."""
    return _scaled(font, SMALL)


def large(font: QFont) -> QFont:
    """Return a font for a result."""
    return _scaled(font, LARGE)


def _scaled(font: QFont, size: float) -> QFont:
    made = QFont(font)
    made.setPointSizeF(font.pointSizeF() * size)
    return made
