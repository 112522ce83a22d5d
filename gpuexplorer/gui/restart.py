"""Start again with everything that is shown, for what a start alone can change.

A language needs no other process: the window is made again in this one.

The session goes into a file for that; beside it the next start is told what no session file says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QMainWindow

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.frozen import ON_WINDOWS, is_frozen, module_command
from gpuexplorer.engine.surroundings import own_environment
from gpuexplorer.gui.model.session_suffix import SUFFIX
from gpuexplorer.gui.notice import Notice, capital, engine_busy
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.session_file import Left, SessionFiles

VARIABLE = "GPUEXPLORER_RESTARTED"
"""Tells the next start what was left; its children shall not inherit it."""


def taken() -> Left | None:
    """Return what the window before left for this one, once; None for nothing."""
    told = os.environ.pop(VARIABLE, None)
    try:
        return msgspec.json.decode(told, type=Left) if told is not None else None
    except msgspec.MsgspecError:
        return None


class Restart(QObject):
    """Leaves the session, and closes the window for the next start."""

    notice = Signal(object)

    def __init__(
        self,
        window: QMainWindow,
        session: Session,
        sessions: SessionFiles,
        may_close: Callable[[], bool],
    ) -> None:
        """``may_close`` asks what has to be asked before the window goes, but for the session."""
        super().__init__(window)
        self._window, self._session, self._sessions = window, session, sessions
        self._may_close = may_close
        self.left: Left | None = None
        """What the next start shows, once the window closes for it."""
        self.in_place = False
        """Whether that is another window of this process."""

    @property
    def possible(self) -> bool:
        """Whether the window is still there."""
        return self._window.isVisible()

    def begin(self, *, in_place: bool = False) -> None:
        """Leave the session as it is, then close the window; nothing is closed if that fails."""
        self.in_place = in_place
        if self._session.jobs.current is not None:
            self.notice.emit(engine_busy(self._session.jobs.current.doing))
        elif self._may_close():
            file = data_folder() / f"restart-{os.getpid()}{SUFFIX}"
            self._sessions.leave(file, partial(self._go, file))

    def _go(self, file: Path, outcome: object) -> None:
        if isinstance(outcome, ExplorerError):
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}.", detail=outcome.detail))
            return
        path = "" if self._sessions.path is None else str(self._sessions.path)
        options = self._session.options
        self.left = Left(
            str(file), path, self._sessions.modified, self._session.live,
            python=options.python, threads=options.threads,
        )  # fmt: skip
        self._window.close()


def leave(left: Left) -> None:
    """Leave a session to the next window of this process."""
    os.environ[VARIABLE] = _told(left)


def _told(left: Left) -> str:
    return msgspec.json.encode(left).decode()


def start_again(arguments: Sequence[str], left: Left) -> None:
    """Start the program with the arguments it had, in place of this one where a system can."""
    words = [word for word in arguments if not word.lower().endswith(SUFFIX)]
    command = [sys.executable, *words] if is_frozen() else module_command("gpuexplorer", *words)
    environment = own_environment() | {VARIABLE: _told(left)}
    if ON_WINDOWS:
        subprocess.Popen(command, env=environment)
    else:
        os.execve(command[0], command, environment)
