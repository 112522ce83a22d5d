"""What the user chooses once in a menu, and the window remembers from then on."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from gpuexplorer.core.shared_device import POLITE, choose_sharing, niceness, when_shared
from gpuexplorer.gui.actions import Commands, when
from gpuexplorer.gui.engine import EngineChoice
from gpuexplorer.gui.idle_calibration import IdleCalibration
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.restart import Restart
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import Choice, theme


class Choices(QObject):
    """Does what the commands of choices say, now and at each start; ``notice`` as of a session."""

    notice = Signal(object)

    def __init__(
        self,
        session: Session,
        settings: Settings,
        engine: EngineChoice,
        idle_calibration: IdleCalibration,
        restart: Restart,
    ) -> None:
        super().__init__(session)
        self.settings = settings
        self._session = session
        self._engine, self._idle_calibration = engine, idle_calibration
        self._restart = restart
        self._text_size = settings.text_size
        """That the window is drawn with."""
        self._language = settings.language
        """That the window is in."""
        self._language_waits = False
        """Whether the window changes its language once the job has ended."""
        session.jobs.taken_back.connect(
            lambda: QTimer.singleShot(0, self, self._language_is_due)  # its result is shown by then
        )

    def connect_commands(self, commands: Commands) -> None:
        """Set the commands as it was chosen last, and follow them from now on."""
        settings = self.settings
        for action, on, choose in (
            (commands.live_at_start, settings.live_at_start, self._set_live_at_start),
            (commands.calibrates_when_idle, settings.calibrates_when_idle, self._set_calibrates),
            (commands.waits_for_others, when_shared() == "wait", self._set_waits_for_others),
            (commands.leaves_processor, niceness(0) > 0, self._set_leaves_processor),
        ):
            action.setChecked(on)
            action.toggled.connect(choose)
        commands.themes[settings.theme].setChecked(True)
        commands.text_sizes[settings.text_size].setChecked(True)
        for choice, action in commands.themes.items():
            when(action, partial(self.choose_theme, choice))
        for size, action in commands.text_sizes.items():
            when(action, partial(self._choose_text_size, size))
        commands.languages[settings.language].setChecked(True)
        for name, action in commands.languages.items():
            when(action, partial(self._choose_language, name))

    def choose_theme(self, choice: Choice) -> None:
        """Use these colours, now and from now on."""
        self.settings.theme = choice
        theme().choose(choice)

    def _choose_text_size(self, size: float) -> None:
        """Draw text and everything else so many times as large from the next start on."""
        self.settings.text_size = size
        text = f"Text is {size * 100:.0f} % of its usual size from the next start on."
        if size == self._text_size:
            self.notice.emit(None)
        else:
            self.notice.emit(Notice("info", text, (("Restart now", self._restart.begin),)))

    def _choose_language(self, name: str) -> None:
        """Have the window made again in this language, with everything that it shows."""
        self.settings.language = name
        job = self._session.jobs.current
        self._language_waits = job is not None and name != self._language
        if name == self._language:
            self.notice.emit(None)
        elif job is None:
            self._restart.begin(in_place=True)
        else:
            words = f"The language changes once the engine is free: it is busy {job.doing}."
            self.notice.emit(Notice("info", words))

    def _language_is_due(self) -> None:
        """Change to the language that waited for the job, unless a dialog is open."""
        waited, self._language_waits = self._language_waits, False
        if not waited or not self._restart.possible:
            return
        begin = partial(self._restart.begin, in_place=True)
        if QApplication.activeModalWidget() is None:
            begin()
        else:
            words = "The engine is free, and the language can change."
            self.notice.emit(Notice("info", words, (("Change it", begin),)))

    def _set_live_at_start(self, on: bool) -> None:
        """Measure by itself from now on when the window opens, or not."""
        self.settings.live_at_start = on

    def _set_calibrates(self, on: bool) -> None:
        """Calibrate a new device in brief from now on when nothing is measured, or not."""
        self.settings.calibrates_when_idle = on
        self._idle_calibration.follow()

    def _set_waits_for_others(self, on: bool) -> None:
        """Have runs wait from now on until nobody else uses the device, or not."""
        self.settings.waits_for_others = on
        choose_sharing("wait" if on else "warn", None)
        self._session.ask_again()  # so that it stops waiting, or begins to

    def _set_leaves_processor(self, on: bool) -> None:
        """Have the engine leave the processor to other programs from now on, or not."""
        self.settings.leaves_processor = on
        choose_sharing(None, POLITE if on else 0)
        self._engine.restart()
