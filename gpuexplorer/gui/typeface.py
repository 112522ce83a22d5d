"""The window's letters: those that the system or its user chose, or Inter where nobody did.

In Chinese ours stand behind Inter, with lines as high as its own, whatever the system has (many a
system would give Japanese forms in lines higher by a third); behind a font that was chosen stand
the system's letters, and ours where it has none. Nothing is loaded before it is needed.

Three sizes, and figures of one width, so that numbers that change do not move.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from PySide6.QtGui import QAction, QFont, QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication

from gpuexplorer.core.fonts import CHINESE, LATIN, files, in_chinese, is_wide

SMALL, LARGE = 0.88, 2.1
"""Times the usual size."""
CHOSEN = sys.platform in ("win32", "darwin")
"""Whether the system has one font for interfaces, whatever its name."""
USUAL_HEIGHT = 15.0
"""Pixels of a line of text of 9 points, for which lengths are chosen."""
_factor = [1.0]
"""How many times as high lines are with the program's font."""


def choose(application: QApplication) -> None:
    """Give the program its font; what Inter lacks comes from the system's fonts."""
    font = application.font()
    families = [name for name in font.families() if name != CHINESE]
    if not (CHOSEN or _named(font)) and _load(LATIN):
        families.insert(0, LATIN)
    if in_chinese() and (families[0] == LATIN or not _system_has_chinese()) and _load(CHINESE):
        families.insert(1, CHINESE)
    font.setFamilies(families)
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


def _load(family: str) -> bool:
    """Return whether a family is there, loaded from our files where it is not the system's."""
    if family not in QFontDatabase.families():
        for file in files(family):
            QFontDatabase.addApplicationFont(str(file))
    return family in QFontDatabase.families()


def _system_has_chinese() -> bool:
    found = QFontDatabase.families(QFontDatabase.WritingSystem.SimplifiedChinese)
    return bool(set(found) - {CHINESE})


def show_names(actions: Sequence[QAction]) -> None:
    """Have names of languages shown in their own letters, also where the system has none."""
    for action in actions:
        if is_wide(action.text()) and not _system_has_chinese() and _load(CHINESE):
            font = QApplication.font()
            font.setFamilies([*dict.fromkeys([*font.families(), CHINESE])])
            action.setFont(font)


def fixed() -> QFont:
    """Return the system's font for code, or one whose letters have one width where its have not.

    Where the language is Chinese the system may name one that has all signs and no such letters.
    """
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    if not QFontInfo(font).fixedPitch():
        found = filter(QFontDatabase.isFixedPitch, QFontDatabase.families())
        font.setFamilies([*sorted(found)[:1], *font.families()])
    if CHINESE in QApplication.font().families():
        font.setFamilies([*font.families(), CHINESE])
    font.setHintingPreference(QFont.HintingPreference.PreferFullHinting)  # underscores are seen
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
