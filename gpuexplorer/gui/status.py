"""The status bar: engine, device, what goes on, and how fast."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QStatusBar

from gpuexplorer.core.language import tr
from gpuexplorer.core.text import visible
from gpuexplorer.core.units import count, quantity
from gpuexplorer.engine.interpreters import engine_words
from gpuexplorer.engine.protocol import STAGES
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.speech import announce
from gpuexplorer.gui.widgets.words import Words

STATUS_MS = 250
MESSAGE_MS = 4000
WIDEST_RATE = "answered in 000 ms   000 000 samples/s"
DEVICE_TIP = "The device that the shown run uses"
ENGINE_WORDS = {
    "not started": "engine not started",
    "starting": "engine starting…",
    "restarting": "engine restarting…",
    "ready": "engine ready",
    "lost": "no engine",
}


class StatusLine(QStatusBar):
    """Shows what a session is at."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._answered = ""
        self.setSizeGripEnabled(False)
        self._engine = self._label("engineLabel", "The process that measures")
        self._device = self._label("deviceLabel", DEVICE_TIP)
        self._activity = Words()
        self._activity.setObjectName("activityLabel")
        self._activity.setToolTip(tr("What the engine does now"))
        self._activity.setContentsMargins(8, 1, 14, 1)
        self.addWidget(self._activity, 1)
        self._rate = Words()
        self._rate.setObjectName("rateLabel")
        self._rate.setAlignment(Qt.AlignmentFlag.AlignRight)
        widest = self._rate.fontMetrics().horizontalAdvance(tr(WIDEST_RATE))
        self._rate.set_width(widest + 20)
        self._rate.setToolTip(
            tr("Launches timed a second, and how fast the last knob was answered")
        )
        self._rate.setContentsMargins(0, 1, 10, 1)
        self.addPermanentWidget(self._rate)
        self._timer = QTimer(self)
        self._timer.setInterval(STATUS_MS)
        self._timer.timeout.connect(self._show_rate)
        self._timer.start()

    def _label(self, name: str, tooltip: str) -> Words:
        label = Words()
        label.ask_for_all()
        label.setObjectName(name)
        label.setToolTip(tr(tooltip))
        label.setContentsMargins(8, 1, 14, 1)
        self.addWidget(label)
        return label

    def say(self, words: str, milliseconds: int = MESSAGE_MS) -> None:
        """Show a sentence for a while, instead of everything at the left."""
        told = visible(tr(words))
        self.showMessage(told, milliseconds)
        announce(self, told)

    def answered(self, seconds: float) -> None:
        """Note how long the last knob's answer took."""
        self._answered = f"answered in {quantity(seconds, 's', 2)}"

    def show_state(self) -> None:
        """Show engine, device and what goes on."""
        session = self._session
        words = ENGINE_WORDS[session.engine_state]
        if session.options.python is not None:  # which one, where it is not the built-in one
            name = engine_words(session.options.python)
            words = words.replace("engine", f"engine {name}", 1)
        self._engine.setText(tr(words))
        self._engine.setToolTip(tr(session.engine_words or "The process that measures"))
        device = session.device
        facts = [f"{device.name} ({device.id})" if device else "no device yet"]
        if session.others(gpu=True):
            facts.append("shared with others")
        self._device.setText(tr(" · ".join(facts)))
        others = session.others()
        self._device.setToolTip(tr(f"{DEVICE_TIP}\n{capital(others)}." if others else DEVICE_TIP))
        waits = session.waits_for_others
        who = session.others(working=True) if waits else ""
        self._activity.setText(tr(f"{STAGES['wait']}: {who}" if who else session.activity))

    def _show_rate(self) -> None:
        self.show_state()
        rate = self._session.samples_per_s if self._session.live else None
        parts = [self._answered] if self._answered else []
        if rate is not None:
            parts.append(
                f"{count(round(rate))} samples/s" if rate >= 10 else f"{rate:.1f} samples/s"
            )
        self._rate.setText(tr("   ".join(parts)))

    def close_down(self) -> None:
        """End the timers."""
        self._timer.stop()
        self.clearMessage()
