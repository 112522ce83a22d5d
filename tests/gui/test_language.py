"""The window in another language: all of it, at every size, and switched while it is open."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from getpass import getuser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PySide6.QtCore import QLocale, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListView,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from gpuexplorer.core import language
from gpuexplorer.core.language import available
from gpuexplorer.core.language.figures import with_comma
from gpuexplorer.core.memory import PARTS
from gpuexplorer.core.operators import FAMILIES
from gpuexplorer.gui.code.versions import differences
from gpuexplorer.gui.operators_job import OperatorsJob
from gpuexplorer.gui.sweep_job import SweepJob
from gpuexplorer.gui.views.compare_job import CompareJob
from gpuexplorer.gui.views.tune import TuningJob
from tests.gui import looks
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until
from tests.gui.looking import dialogs, each_or_every, every_size, fill, sizes_in_turn, walk_sizes
from tests.support.made_up import untranslated
from tests.words.files import write_made_up

NAMES = {
    "Ctrl", "Del", "Esc", "Shift", "Tab", "bin", "freivalds", "hot", "matrixMul", "session",
    "Processor", "numpy", "pocl", "MSVC", "driver", "ncu", "openblas", "scipy", getuser(),
}  # fmt: skip
"""Keys, and names of what stands in the session and on the machine."""
CODE = ("gpu", "imp")
"""How what is copied begins: a command, a script."""
AS_THEY_ARE = {
    "copyCommandButton", "copyScriptButton", "language_en", "sweepValues_fill",
    "sweepValues_cache", "sweepValues_precision",
}  # fmt: skip
"""What shows commands, programs and the grammar of values."""
ROOMY = 1280
"""Pixels of its own that a window has at least which shows words 40 % longer than the English."""
SWITCH = """
import json, os, signal, sys
from msgspec.structs import replace
from pathlib import Path
from types import SimpleNamespace
from PySide6.QtCore import QTimer
from gpuexplorer.core.language import available
from gpuexplorer.core.language.figures import with_comma
from gpuexplorer.gui import app

available.folder = lambda: Path(sys.argv[1])
created, told = app.create, []

def create(words):
    application, window = created(words)
    knobs, live = window.session.experiment, window.commands.live
    window.session.live_at_start = False
    told.append({"live": live.text(), "pid": os.getpid(), "title": window.windowTitle()})
    told[-1]["threads"] = window.session.options.threads

    def look():
        if knobs.knobs.size.get("N") != 96:
            return
        learn = window.panels.learn.view
        if learn is None or learn.model.open is None:
            return
        timer.stop()
        told[-1]["lesson"] = [learn.model.open.name, learn.step]
        told[-1]["checked"] = [n for n, one in window.commands.languages.items() if one.isChecked()]
        if len(told) == 3:
            print(json.dumps(told))
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGINT)  # closes this window, as it does the first one
        else:
            window.commands.languages["made-up" if len(told) == 1 else "en"].trigger()

    timer = QTimer(window)
    timer.timeout.connect(look)
    window.first_paint.connect(lambda: timer.start(50))
    if len(told) == 1:
        knobs.set_size("N", 96)
        window.session.options = replace(window.session.options, threads=2)
        learn = window.panels.learn.made()
        learn.open_lesson(list(learn.model.lessons)[1])
        learn.show_step(2)
    return application, window

app.create = create
app.main(["--language", "system", "--threads", "1"])
"""

WHILE_MEASURING = """
import json, sys
from pathlib import Path
from types import SimpleNamespace
from PySide6.QtCore import QTimer
from gpuexplorer.core.language import available
from gpuexplorer.gui import app

available.folder = lambda: Path(sys.argv[1])
created, told = app.create, []

def create(words):
    application, window = created(words)
    session, lab = window.session, window.panels.lab
    session.live_at_start = False
    told.append({})
    asked = []

    def measure():
        if session.experiment.devices is None:
            return
        if "began" not in told[0]:
            session.experiment.set_size("N", 64)
            window.panels.places.show_view(lab)
            view = lab.lab.view_of("precision")
            view.form.turns.setValue(6)
            view.form.seconds.setValue(0.06)
            view.start_soon()
            told[0]["began"] = True
        view = lab.lab.view_of("precision")
        if view.running and view.model.progress is not None and not asked:
            asked.append(session.jobs.current)
            window.commands.languages["made-up"].trigger()
            told[0]["said"], told[0]["goes on"] = window.banner.text, asked[0].isRunning()
        elif asked and view.running:
            told[0]["words"] = view.head.words.text()

    def look():
        if lab.lab is None or lab.lab.view_of("precision").model.result is None:
            return
        view = lab.lab.view_of("precision")
        if not view.result.finding.text():
            return
        timer.stop()
        study = view.model.result
        told[1] |= {"runs": len(study.runs), "ended": study.stopped_by}
        told[1] |= {"finding": view.result.finding.text(), "live": window.commands.live.text()}
        told[1]["checked"] = [n for n, one in window.commands.languages.items() if one.isChecked()]
        print(json.dumps(told))
        window.close()

    timer = QTimer(window)
    timer.timeout.connect(measure if len(told) == 1 else look)
    window.first_paint.connect(lambda: timer.start(5))
    return application, window

app.create = create
app.main(["--language", "system"])
"""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the made-up language, in which windows are opened."""
    path = tmp_path / "made-up.po"
    write_made_up(path)
    monkeypatch.setenv("GPUEXPLORER_LANGUAGE", str(path))
    return path


def texts(root: QWidget) -> Iterator[tuple[str, str]]:
    """Yield what is said in a window, with who says it: words, tips, and what a reader is told."""
    for widget in (root, *root.findChildren(QWidget)):
        who = looks.describe(widget)
        name = widget.objectName()
        if not widget.isVisible() or name in AS_THEY_ARE or name.startswith("lesson"):
            continue
        yield f"tip of {who}", widget.toolTip()
        yield f"name of {who}", widget.accessibleName()
        yield f"description of {who}", widget.accessibleDescription()
        if hasattr(widget, "spoken"):
            for part in re.split("[:;] ", widget.spoken()):
                if not part[:1].isdigit():  # a figure with its unit
                    yield f"sentence of {who}", part
        if isinstance(widget, QLabel | QAbstractButton):
            yield who, widget.text()
        elif isinstance(widget, QLineEdit):
            yield who, widget.placeholderText()
        elif isinstance(widget, QComboBox):
            yield from ((who, widget.itemText(at)) for at in range(widget.count()))
        elif isinstance(widget, QTabBar):
            yield from ((who, widget.tabText(at)) for at in range(widget.count()))
        elif isinstance(widget, QAbstractItemView) and not isinstance(widget, QHeaderView):
            yield from _cells(who, widget)
    for action in root.findChildren(QAction):
        if action.objectName() not in AS_THEY_ARE and action.text() != "Export...":  # pyqtgraph's
            yield f"action {action.objectName()}", f"{action.text()}\n{action.toolTip()}"


def _cells(who: str, view: QAbstractItemView) -> Iterator[tuple[str, str]]:
    model = view.model()
    roles = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole)
    for column in range(1 if isinstance(view, QListView) else model.columnCount()):
        for role in roles:
            yield who, str(model.headerData(column, Qt.Orientation.Horizontal, role) or "")
            for row in range(min(model.rowCount(), 40)):
                yield who, str(model.index(row, column).data(role) or "")


def test_nothing_that_is_said_is_left_in_english(
    qtbot: QtBot, made_up: Path, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with a decimal comma no figure has a point."""
    german = QLocale("de_DE")
    monkeypatch.setattr(QLocale, "system", lambda: german)
    window = fill(qtbot, open_window())
    assert language.current() == "made-up"
    left: dict[str, str] = {}

    def look(root: QWidget) -> None:
        for who, text in texts(root):
            if untranslated(text, *NAMES) or (with_comma(text) != text and text[:3] not in CODE):
                left[text] = who

    places = window.panels.places
    for view in places.views:
        places.show_view(view)
        looks.settle()
        look(window)
    for dialog in dialogs(qtbot, window):
        look(dialog)
    language.use_decimal_comma(False)
    assert not left, "\n".join(f"{who}: {text}" for text, who in left.items())


@each_or_every
def test_chinese_cuts_nothing_and_overlaps_nothing_at_any_size(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, open_window: OpenWindow, every: bool
) -> None:
    monkeypatch.setenv("GPUEXPLORER_LANGUAGE", "zh_CN")
    wrong = [
        one
        for one in walk(
            qtbot, open_window, lambda number: every_size() if every else sizes_in_turn(number)
        )
        if "in chip" not in one  # which is as wide in English
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.long
@each_or_every
def test_longer_words_cut_nothing_and_overlap_nothing_in_a_window_that_is_not_small(
    qtbot: QtBot, made_up: Path, open_window: OpenWindow, every: bool
) -> None:
    roomy = [one for one in every_size() if one[1].width() >= ROOMY]
    wrong = [
        one
        for one in walk(
            qtbot, open_window, lambda number: roomy if every else [roomy[number % len(roomy)]]
        )
        if " is cut to " not in one  # a tip has the whole
        and ("Table in" not in one or not one.endswith("out of sight at the right"))  # scrolled
    ]
    assert not wrong, "\n".join(wrong)


def walk(
    qtbot: QtBot,
    open_window: OpenWindow,
    sizes: Callable[[int], Iterable[tuple[str, QSize]]],
) -> list[str]:
    """Say what is wrong in each view and dialog at the sizes that go with its number."""
    window = fill(qtbot, open_window())
    window.panels.welcome.close_button.click()
    places, wrong = window.panels.places, list[str]()
    for number, view in enumerate(places.views):
        places.show_view(view)
        looks.settle()
        wrong += walk_sizes(window, places.title_of(view), sizes(number), exact=True)
    for number, dialog in enumerate(dialogs(qtbot, window)):
        wrong += walk_sizes(dialog, dialog.windowTitle(), sizes(number), exact=False)
    return wrong


def test_names_of_views_in_a_session_are_the_same_in_every_language(
    qtbot: QtBot, made_up: Path, open_window: OpenWindow
) -> None:
    window = open_window()
    until(qtbot, lambda: window.session.experiment.devices is not None)
    places = window.panels.places
    places.show_view(window.panels.sweep)
    assert places.title_of(places.current) == "Sweep"
    assert places.view_bar.tabText(places.view_bar.currentIndex()) == "⟦Šŵéép⟧"
    assert places.titled("Block map") is window.panels.block_map


def switched(tmp_path: Path, text: str) -> list[dict[str, Any]]:
    """Return what a script told that opens the window and has it change to ``made-up``."""
    write_made_up(tmp_path / "made-up.po")
    script = tmp_path / "switch.py"
    script.write_text(text, encoding="utf-8")
    environ = {k: v for k, v in os.environ.items() if k not in ("GPUEXPLORER_LANGUAGE", "LANGUAGE")}
    environ |= {"QT_QPA_PLATFORM": "offscreen", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True,
        encoding="utf-8", env=environ, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_language_is_switched_in_the_open_window_which_shows_the_same(tmp_path: Path) -> None:
    first, other, back = switched(tmp_path, SWITCH)
    assert first["pid"] == other["pid"] == back["pid"]
    assert (first["live"], other["live"], back["live"]) == ("Live", "⟦Ļîvé⟧", "Live")
    assert [one["checked"] for one in (first, other, back)] == [["system"], ["made-up"], ["en"]]
    assert first["title"] == other["title"] == back["title"]
    assert (first["threads"], other["threads"], back["threads"]) == (1, 2, 2)
    assert first["lesson"][1] == 2 and first["lesson"] == other["lesson"] == back["lesson"]


def test_a_language_waits_for_a_job_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    before, after = switched(tmp_path, WHILE_MEASURING)
    assert before["goes on"], "what is measured is measured to its end"
    assert before["said"] == (
        "The language changes once the engine is free: it is busy measuring precisions."
    )
    assert re.match(r"(\d+ of \d+ runs.*|Starting)", before.get("words", "Starting"))
    assert after["ended"] == "done" and after["runs"] >= 2
    assert after["finding"].startswith("⟦"), after["finding"]
    assert (after["live"], after["checked"]) == ("⟦Ļîvé⟧", ["made-up"])


def test_without_another_language_there_is_none_to_choose(
    open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(available, "folder", lambda: tmp_path)
    window = open_window()
    assert [*window.commands.languages] == ["system", "en"]
    assert window.findChild(QWidget, "languageMenu") is None


def test_parts_of_memory_and_what_a_job_did_are_told() -> None:
    jobs = (SweepJob, TuningJob, CompareJob, OperatorsJob)
    said = [*PARTS.values(), *FAMILIES.values(), *(job.done for job in jobs)]
    language.use("zh_CN")
    try:
        assert [words for words in said if language.tr(words) == words] == []
    finally:
        language.use(language.ENGLISH)


def test_differences_of_a_version_are_headed_in_the_windows_language() -> None:
    source = SimpleNamespace(files={"a.cu": "x\n"})
    version: Any = SimpleNamespace(number=2, workload=SimpleNamespace(source=source))
    language.use("zh_CN")
    try:
        changes = differences(version, {"a.cu": "y\n"})
        assert changes.splitlines()[:2] == ["--- 第 2 版", "+++ 现在的文本"]
        assert differences(version, {"a.cu": "x\n"}) == "没有差异。"
    finally:
        language.use(language.ENGLISH)
