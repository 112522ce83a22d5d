"""Run a user's Python file: its prints kept short, its failures told with file and line.

Here and nowhere else foreign code runs. Whatever it does, the engine's thread gets one of our
errors: an exception, ``exit()``, a missing package and a wrong return value each have a sentence.
What ends the process itself (``os._exit``, a crash, a loop that never returns) the client tells.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import linecache
import sys
import traceback
import types
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpuexplorer.backends.frameworks import pip_install
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError, WorkFailed
from gpuexplorer.core.units import count

KEPT_LINES = 12
"""Lines that are kept of what the file prints."""
LINE_LETTERS = 240
_READ_LETTERS = 1 << 14
"""Letters looked at of one print: more are never kept."""
FRAMES = 6
"""Calls within the file that stand in an error's details."""


class Tail(io.TextIOBase):
    """A stream that keeps its last lines, however much is written."""

    def __init__(self) -> None:
        self.letters = 0
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._open = ""

    def writable(self) -> bool:
        """Return that it takes text."""
        return True

    def write(self, text: str) -> int:
        """Take text in; returns its length."""
        self.letters += len(text)
        *whole, self._open = (self._open + text[-_READ_LETTERS:]).split("\n")
        self._lines.extend(line[-LINE_LETTERS:] for line in whole[-KEPT_LINES:])
        self._open = self._open[-LINE_LETTERS:]
        return len(text)

    def fileno(self) -> int:
        """Return the descriptor for what is written past Python: the engine's log."""
        return 2

    def words(self) -> str:
        """Return the last lines, and how much was left out."""
        lines = [*self._lines, *([self._open] if self._open else [])][-KEPT_LINES:]
        text = "\n".join(lines)
        left = self.letters - len(text) - 1
        return f"({count(left)} letters before)\n{text}" if left > 0 else text


class UserProgram:
    """A user's file in this process.

    ``origin`` is what it is called in messages: its path on the user's machine.
    """

    def __init__(self, text: str, origin: str) -> None:
        self._text, self.origin = text, origin
        self.printed = Tail()

    def load(self) -> types.ModuleType:
        """Import the file; raises whatever it raises (see ``running``)."""
        name = f"own_file_{abs(hash(self._text)):x}"
        module = types.ModuleType(name)
        module.__file__ = self.origin
        # For tracebacks, and for what reads a function's source.
        linecache.cache[self.origin] = (
            len(self._text), None, self._text.splitlines(keepends=True), self.origin,
        )  # fmt: skip
        sys.modules[name] = module
        importlib.invalidate_caches()  # a package installed since is found
        exec(compile(self._text.encode(), self.origin, "exec"), module.__dict__)
        return module

    @contextlib.contextmanager
    def running(self, doing: str) -> Iterator[None]:
        """Run foreign code: what it prints is kept short, whatever it raises becomes an error."""
        failure: ExplorerError
        try:
            with (
                contextlib.redirect_stdout(self.printed),
                contextlib.redirect_stderr(self.printed),
            ):
                yield
            return
        except ExplorerError:
            raise
        except SystemExit as error:
            failure = self._exited(error, doing)
        except BaseException as error:  # noqa: BLE001 - also what a user's code calls its own
            failure = self._explained(error, doing)
        raise failure  # outside the handler: the foreign frames, and the arrays in them, are gone

    # ---- what went wrong

    def _exited(self, error: SystemExit, doing: str) -> WorkFailed:
        call = "exit()" if error.code is None else f"exit({error.code!r})"
        return WorkFailed(
            f"{self._place(error)}: {call} was called while {doing}",
            remedy="let it return instead; the file has no program around it to end",
            detail=self._detail(error),
        )

    def _explained(self, error: BaseException, doing: str) -> ExplorerError:
        place, detail = self._place(error), self._detail(error)
        first = (str(error).strip().splitlines() or [""])[0][:LINE_LETTERS]
        if isinstance(error, ModuleNotFoundError) and error.name:
            return self._package_missing(error.name, place, detail)
        if isinstance(error, SyntaxError):
            return InputError(
                f"{error.filename or self.origin}:{error.lineno or 1}: {error.msg}",
                remedy=f"the engine's Python is {sys.version.split()[0]}; correct the file",
                detail=detail,
            )
        failed = self.device_error(error, place, doing, first, detail)
        if failed is not None:
            return failed
        said = f"{type(error).__name__}: {first}" if first else type(error).__name__
        own = bool(self._frames(error))  # otherwise a package stumbled over it
        return WorkFailed(
            f"{place}: {said} (while {doing})",
            remedy="correct the file" if own else "see where with -v",
            detail=detail,
        )

    def device_error(
        self, error: BaseException, place: str, doing: str, first: str, detail: str
    ) -> ExplorerError | None:
        """Return what a device did to the file, which a subclass may know; None for its own."""
        return None

    def _package_missing(self, name: str, place: str, detail: str) -> CannotRunHere:
        package = name.partition(".")[0]
        folder = Path(self.origin).parent
        try:
            beside = (folder / f"{package}.py").exists() or (folder / package).is_dir()
        except OSError:
            beside = False
        if beside:
            return CannotRunHere(
                f"{place}: it imports '{name}', which lies next to it and does not come along",
                remedy="put what it needs into the one file, or install it as a package",
                detail=detail,
            )
        return CannotRunHere(
            f"{place}: it needs the package '{package}', which the engine's Python does not have",
            remedy=f"install it with {pip_install(package)}",
            detail=detail,
        )

    def _frames(self, error: BaseException) -> list[traceback.FrameSummary]:
        found = traceback.extract_tb(error.__traceback__)
        return [frame for frame in found if frame.filename == self.origin]

    def _place(self, error: BaseException) -> str:
        """Return file and line of the user's own that the error went through last."""
        frames = self._frames(error)
        return f"{self.origin}:{frames[-1].lineno}" if frames else self.origin

    def _detail(self, error: BaseException) -> str:
        """Return the calls within the file, the error in full, and what was printed last."""
        frames = self._frames(error)
        lines = [
            f"{self.origin}:{frame.lineno} in {frame.name}: {frame.line or ''}".rstrip(": ")
            for frame in frames[-FRAMES:]
        ]
        lines += traceback.format_exception_only(error)
        printed = self.printed.words()
        if printed:
            lines += ["It printed last:", printed]
        return "\n".join(line.rstrip() for line in lines)

    def show_printed(self) -> None:
        """Say in the engine's log what the file printed last."""
        printed = self.printed.words()
        if printed:
            print(f"{self.origin} printed:\n{printed}", file=sys.stderr, flush=True)


def kind_words(value: Any) -> str:
    """Return what a value is, such as ``a list`` or ``None``."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
