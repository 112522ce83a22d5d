"""Start the window: ``create`` makes it, ``main`` also runs it."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from msgspec.structs import replace
from PySide6.QtCore import QEvent, QLibraryInfo, QLocale, QTimer, QTranslator, Signal
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication

from gpuexplorer.core import language, resources
from gpuexplorer.core.errors import ExplorerError, without_frames
from gpuexplorer.core.language.available import VARIABLE as LANGUAGE_VARIABLE
from gpuexplorer.core.language.available import chosen
from gpuexplorer.core.shared_device import usual_sharing
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.gui import allocator, restart, scheduling, speech, typeface
from gpuexplorer.gui.engine import engine_at_start
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.session_suffix import SUFFIX
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.theme import make_theme
from gpuexplorer.workloads.loader import load, of_root


class Application(QApplication):
    """Qt's application that also tells which file was opened with it, in the Finder say.

    An event filter would see every event of every widget in Python; this method sees the
    application's own few.
    """

    file_opened = Signal(object)
    """The file's path."""

    def event(self, event: QEvent) -> bool:
        """Tell of a file to open, and leave everything else to Qt."""
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_opened.emit(Path(event.file()))
            return True
        return super().event(event)


log = logging.getLogger("gpuexplorer.gui")

DESKTOP_ID = "io.github.gpuexplorer.GPUExplorer"
"""The menu entry's name, by which desktops find the icon of an open window."""
SCALE = "QT_SCALE_FACTOR"
QT_WORDS = "qtWords"
SWITCH_S = 0.0001
"""How long another thread may keep the interpreter from the main thread (Python's own: 5 ms).

A paint takes it some thirty times: at 0.5 ms each it lasted 20 ms while views were loaded."""


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gpuexplorer", description="Open the window.")
    parser.add_argument("--kernels", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument(
        "--engine", "--python", dest="python", metavar="NAME|PATH", help="the engine's Python"
    )
    parser.add_argument("--threads", type=int, metavar="T", help="CPU threads work may use")
    parser.add_argument("--language", metavar="NAME", help="the language of the window")
    sessions = [word for word in argv if is_session(word)]
    options = parser.parse_known_args([word for word in argv if not is_session(word)])[0]
    options.session = Path(sessions[0]) if sessions else None
    return options


def is_session(word: str) -> bool:
    """Return whether an argument names a session file."""
    return word.lower().endswith(SUFFIX) and not word.startswith("-")


def create(argv: Sequence[str] = ()) -> tuple[QApplication, MainWindow]:
    """Make and show the window without entering the event loop.

    ``argv`` may begin with the program's name. Knows ``--kernels DIR``,
    ``--python NAME|PATH``, ``--threads T`` and the name of a session file; the rest is Qt's.
    """
    sys.setswitchinterval(SWITCH_S)
    allocator.share_heaps()
    scheduling.wake_soon()
    words = list(argv)
    if words and not words[0].startswith("-") and not is_session(words[0]):
        del words[0]
    options = _options(words)
    settings = Settings()
    asked = QLocale.system().uiLanguages()
    language.use(chosen(options.language, remembered=settings.language, system=asked))
    language.use_decimal_comma(QLocale.system().decimalPoint() == ",")
    existing = QApplication.instance()
    if existing is None:
        gc.freeze()  # what was imported stays, and need not be walked through
    application = (
        existing
        if isinstance(existing, QApplication)
        else _enlarged(settings.text_size, ["gpuexplorer", *words])
    )
    application.setApplicationName("gpuexplorer")
    application.setApplicationDisplayName("GPU Explorer")
    application.setDesktopFileName(DESKTOP_ID)
    application.setStyle("Fusion")
    icon = resources.folder() / "icons" / "gpuexplorer.svg"
    if icon.is_file():
        application.setWindowIcon(QIcon(str(icon)))
    typeface.choose(application)
    speech.speak()
    _translate_qt(application)
    look = make_theme(application, settings.theme, dressed=False)
    folders, unread = _kernel_folders(options.kernels, settings.kernel_folders)
    experiment = Experiment(load(folders))
    left = restart.taken()
    python, said = engine_at_start(options.python, settings)
    usual_sharing(waits=settings.waits_for_others, polite=settings.leaves_processor)
    engine = EngineOptions(python=python, threads=options.threads or settings.threads)
    if left is not None:  # what measured there measures on
        engine = replace(engine, python=left.python, threads=left.threads)
    window = MainWindow(Session(experiment, engine), settings, options.kernels)
    window.kernels.unread = unread
    window.insight.set_kernel_folders(folders)
    window.kernels.tell_unread(said)
    window.first_paint.connect(window.own_files.ask_at_start)
    window.first_paint.connect(window.panels.kernel.editing.restore)
    if left is not None:
        window.sessions.open_left(left)
    elif options.session is not None:
        window.sessions.open(options.session)
    if isinstance(application, Application):
        application.file_opened.connect(window.sessions.open_instead)
    look.dress()
    window.show()
    return application, window


def _translate_qt(application: QApplication) -> None:
    """Have Qt's own words, such as those of its dialogs' buttons, in the window's language."""
    before = application.findChild(QTranslator, QT_WORDS)
    if before is not None:
        application.removeTranslator(before)
        before.deleteLater()
    translator = QTranslator(application)
    translator.setObjectName(QT_WORDS)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(f"qtbase_{language.current()}", folder):
        application.installTranslator(translator)


def _enlarged(times: float, words: list[str]) -> Application:
    """Return the application, which draws everything so many times as large.

    Qt reads the factor from the environment, once; children shall not inherit it.
    """
    if times == 1.0:
        return Application(words)
    given = os.environ.get(SCALE)
    try:
        os.environ[SCALE] = str(times * float(given or 1.0))
        return Application(words)
    finally:
        if given is None:
            del os.environ[SCALE]
        else:
            os.environ[SCALE] = given


def _kernel_folders(
    given: list[Path], remembered: list[Path]
) -> tuple[list[Path], dict[Path, ExplorerError]]:
    """Return the folders that can be read, and why the others cannot."""
    good: list[Path] = []
    unread: dict[Path, ExplorerError] = {}
    for folder in dict.fromkeys([*given, *remembered]):
        try:
            of_root(folder)
        except ExplorerError as error:
            unread[folder] = without_frames(error)
        else:
            good.append(folder)
    return good, unread


def _catch_all(window: MainWindow) -> None:
    """Show an exception from a slot as a sentence instead of losing it."""

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        log.error("%s", text)
        sys.stderr.write(text)
        QTimer.singleShot(
            0,
            window,
            lambda: window.session.notice.emit(
                Notice("bad", f"Something in the window went wrong: {error}.", detail=text)
            ),
        )

    sys.excepthook = hook


class _Closing:
    """What Ctrl-C does: it closes a window between two events.

    Python's own handler raises wherever the interpreter is, in the middle of a repaint say.
    """

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    def __call__(self, *_: object) -> None:
        QTimer.singleShot(0, self._window, self._window.close)


def _close_on_interrupt(window: MainWindow) -> None:
    """Have Ctrl-C close this window, in place of one before it; as before where it is ignored."""
    present = signal.getsignal(signal.SIGINT)
    if present is signal.default_int_handler or isinstance(present, _Closing):
        signal.signal(signal.SIGINT, _Closing(window))


def main(argv: Sequence[str] | None = None) -> int:
    """Open the window and return the exit code when it is closed."""
    words = sys.argv[1:] if argv is None else argv
    try:
        application, window = create(words)
    except ExplorerError as error:
        print(f"gpuexplorer: error: {error}", file=sys.stderr)
        return error.exit_code
    _catch_all(window)
    _close_on_interrupt(window)
    ticks = QTimer()  # lets Python see Ctrl-C
    ticks.timeout.connect(lambda: None)
    ticks.start(500)
    code: int = application.exec()
    code = end(window, code)
    while window.restart.left is not None and window.restart.in_place:
        restart.leave(window.restart.left)
        window.deleteLater()
        application, window = create(without_language(words))
        _catch_all(window)
        _close_on_interrupt(window)
        code = end(window, application.exec())
    ticks.stop()
    if window.restart.left is not None:
        restart.start_again(words, window.restart.left)
    return code


def without_language(words: Sequence[str]) -> list[str]:
    """Return arguments for a window whose language was chosen in the one before."""
    os.environ.pop(LANGUAGE_VARIABLE, None)
    left, skip = [], False
    for word in words:
        if not skip and word != "--language" and not word.startswith("--language="):
            left.append(word)
        skip = word == "--language"
    return left


def end(window: MainWindow, code: int) -> int:
    """Close down after the event loop and return the exit code.

    The window is still open when Qt gave up because the display is gone. Its widgets cannot be
    taken down without one, so the process ends here, with everything stored.
    """
    display_is_gone = window.isVisible()
    window.close_down()
    if display_is_gone:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
