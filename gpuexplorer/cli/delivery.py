"""What becomes of a result once it is measured: shown, written and kept, each by itself.

A measurement took time that cannot be had again. Whatever fails afterwards (a chart, a file, the
history, advice) is said in one line, and everything else is done all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gpuexplorer.cli.messages import report, say, sentence_of
from gpuexplorer.cli.output import STDOUT, json_path, write_document

T = TypeVar("T")


class Delivery:
    """Takes one step after another and remembers what failed.

    ``code`` is the exit code as far as it went: 0, or that of the first step that failed although
    it was asked for.
    """

    def __init__(self, *, json: str | None = None, verbose: bool = False) -> None:
        """``json`` is what ``--json`` says: with ``-`` nothing else goes to standard output."""
        self._json, self._verbose = json, verbose
        self._written: list[Path] = []
        self.code = 0

    def show(self, step: Callable[[], object]) -> None:
        """Print something, unless JSON has standard output for itself."""
        if self._json != STDOUT:
            self.attempt(step)

    def document(self, made: Callable[[], bytes]) -> None:
        """Write the document to where ``--json`` points, if it was given."""
        if self._json is not None and self.attempt(lambda: write_document(self._json, made())):
            path = json_path(self._json)
            self._written += [path] if path is not None else []

    def file(self, path: Path | None, write: Callable[[Path], object]) -> None:
        """Write a file that was asked for; nothing for None."""
        if path is not None and self.attempt(lambda: write(path)):
            self._written.append(path)

    def besides(self, lost: str, step: Callable[[], T]) -> T | None:
        """Do a step the user did not name; ``lost`` says what is missing where it fails."""
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - the result is there, whatever this is
            say(f"gpuexplorer: warning: {lost}: {sentence_of(error)}")
            return None

    def say_written(self) -> None:
        """Say which files were written, unless JSON is on standard output."""
        for path in self._written if self._json != STDOUT else ():
            say(f"wrote {path}")

    def attempt(self, step: Callable[[], object]) -> bool:
        """Do a step the user named; report what it raises, return whether it was possible."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the others are done all the same
            code = report(error, verbose=self._verbose)
            self.code = self.code or code
            return False
        return True
