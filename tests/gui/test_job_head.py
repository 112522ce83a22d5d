"""The head of a job's view: buttons that come have their room at once."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuexplorer.gui.theme import make_theme
from gpuexplorer.gui.views.job_head import JobHead


def test_buttons_that_come_are_as_wide_as_their_words_before_anything_is_drawn(
    qtbot: QtBot, qapp: QApplication
) -> None:
    make_theme(qapp, "light")
    head = JobHead("probe", "probe")
    qtbot.addWidget(head)
    head.resize(head.sizeHint())
    usual = {"paused": False, "can_start": True, "can_continue": False, "can_copy": True}
    with qtbot.waitExposed(head):
        head.show()
    for running, again in ((True, False), (False, True), (True, True), (False, False)):
        head.show_state(running=running, again=again, **usual)
        for button in (head.start, head.pause, head.stop):
            if button.isVisible():
                assert button.width() >= button.sizeHint().width(), button.text()
        shown = [w for w in (head.copy, head.start, head.pause, head.stop) if w.isVisible()]
        assert shown[-1].geometry().right() == head.width() - 1
