"""Chinese words where the system has no Chinese font: drawn with the letters brought along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from gpuexplorer.core.fonts import CHINESE

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="other systems have no fontconfig"
)
FONTCONFIG = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""
LOOK = """
import json, sys
from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction, QFont, QFontDatabase, QTextLayout
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QAbstractButton, QMenu, QTabBar
from gpuexplorer.core.fonts import CHINESE, is_wide
from gpuexplorer.gui import app, typeface

application = QApplication([])
if sys.argv[1]:
    application.setFont(QFont(sys.argv[1], 9))
systems = QFontDatabase.families(QFontDatabase.WritingSystem.SimplifiedChinese)
application, window = app.create([])
said, boxes, used = set(), set(), set()

def draw(text, font):
    layout = QTextLayout(" ".join(text.split()), font)
    layout.beginLayout()
    line = layout.createLine()
    layout.endLayout()
    said.add(text)
    for run in layout.glyphRuns():
        used.add(run.rawFont().familyName())
        if 0 in run.glyphIndexes():
            boxes.add(text)
    return line.height()

def draw_all():
    for label in window.findChildren(QLabel):
        draw(label.text(), label.font())
    for button in window.findChildren(QAbstractButton):
        draw(button.text(), button.font())
    for bar in window.findChildren((QTabBar)):
        for at in range(bar.count()):
            draw(bar.tabText(at), bar.font())
    for menu in window.findChildren(QMenu):
        menu.aboutToShow.emit()
        for action in menu.actions():
            own = action.font().resolve(menu.font())
            draw(action.text(), own)

at_start = CHINESE in QFontDatabase.families()
for view in window.panels.places.views:
    window.panels.places.show_view(view)
    application.processEvents()
draw_all()
code = typeface.fixed()
draw("// 每个线程", code)
heights = [draw(text, application.font()) for text in ("Measure", "测量，测量")]
print(json.dumps({
    "systems": systems, "said": len(said), "wide": sum(map(is_wide, said)), "boxes": sorted(boxes),
    "at start": at_start, "used": sorted(used), "heights": heights,
    "families": application.font().families(),
}))
window.session.live_at_start = False
QTimer.singleShot(0, window.close)
application.exec()
"""


def look(folder: Path, language: str, chosen: str = "") -> dict[str, Any]:
    """Say what a window is drawn with where Matplotlib's fonts are all that the system has."""
    fonts, script = folder / "fonts.conf", folder / "look.py"
    brought = Path(mpl.get_data_path()) / "fonts" / "ttf"
    fonts.write_text(FONTCONFIG.format(fonts=brought, cache=folder / "cache"), encoding="utf-8")
    script.write_text(LOOK, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), chosen], capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, "FONTCONFIG_FILE": str(fonts), "GPUEXPLORER_LANGUAGE": language,
             "QT_QPA_PLATFORM": "offscreen"},
        timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["systems"] == [], "there is no Chinese font but ours"
    return found


@pytest.mark.parametrize("chosen", ["", "DejaVu Sans"])
def test_every_word_of_the_window_is_drawn_where_the_system_has_no_chinese(
    tmp_path: Path, chosen: str
) -> None:
    found = look(tmp_path, "zh_CN", chosen)
    assert found["wide"] > 150 and found["boxes"] == []
    assert CHINESE in found["used"]
    first = chosen or "Inter"
    assert found["families"][:2] == [first, CHINESE]
    assert len(set(found["heights"])) == 1, "a line is as high in Chinese as in English"


def test_a_window_in_english_loads_no_chinese_until_languages_are_shown(tmp_path: Path) -> None:
    found = look(tmp_path, "en")
    assert not found["at start"] and CHINESE not in found["families"]
    assert found["wide"] == 3, "the language's own name, and the two texts of this test"
    assert found["boxes"] == [] and CHINESE in found["used"]
