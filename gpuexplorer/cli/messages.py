"""How the command line speaks: one sentence for an error, and the consoles for everything else."""

from __future__ import annotations

import os
import re
import sys
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.language import tr
from gpuexplorer.core.text import visible

if TYPE_CHECKING:
    from rich.console import Console

OURS = "gpuexplorer: "
"""What tells our lines from those of other programs; it stays in every language."""
ERROR = "gpuexplorer: error: "
"""The same of an error: whatever reads our lines knows these words."""
DETAIL_LINES = 12
PLAIN_WIDTH = 120
"""Columns when the output is not a terminal."""
_TELLING = re.compile(r"\b(error|fatal|undefined|warning)\b", re.IGNORECASE)


def report(error: Exception, *, verbose: bool = False) -> int:
    """Say an error in one sentence on standard error and return its exit code.

    With ``verbose`` the traceback, also the engine's, and the whole detail follow.
    """
    told = told_of(error)
    say_as_is(f"{ERROR}{tr(sentence_of(error))}")
    for line in told.detail.splitlines() if verbose else shorten(told.detail):
        say_as_is(f"  {line}")
    if verbose:
        say_as_is("".join(traceback.format_exception(error)).rstrip())
    return told.exit_code


def told_of(error: Exception) -> ExplorerError:
    """Return what a user is told of an error, whatever it is."""
    if isinstance(error, ExplorerError):
        return error
    if isinstance(error, OSError):
        why = error.strerror or str(error)
        named = error.filename is not None
        return WorkFailed(f"cannot use {error.filename}: {why}" if named else f"it failed: {why}")
    if isinstance(error, MemoryError):
        return WorkFailed("there is not enough memory for it", remedy="end other programs")
    return WorkFailed(
        f"internal error: {type(error).__name__}: {error}",
        remedy="please report it with the output of the same command and -v",
    )


def sentence_of(error: Exception) -> str:
    """Return an error as one line."""
    return " ".join(str(told_of(error)).split("\n"))


def say(text: str) -> None:
    """Print one line on standard error, in the language of the process."""
    rest = text.removeprefix(OURS)
    say_as_is(f"{text[: len(text) - len(rest)]}{tr(rest)}")


def say_as_is(text: str) -> None:
    """Print lines on standard error: a compiler's, say; a closed one is no reason to fail."""
    with suppress(OSError, ValueError):
        print(visible(text), file=sys.stderr, flush=True)


def tell(text: str = "") -> None:
    """Print lines on standard output, at once, in the language of the process."""
    print(visible(tr(text)), flush=True)


def shorten(detail: str, most: int = DETAIL_LINES) -> list[str]:
    """Return the lines of a compiler's log that tell what is wrong, with what they quote."""
    lines = [line.rstrip() for line in detail.splitlines() if line.strip()]
    if len(lines) <= most:
        return lines
    telling = [i for i, line in enumerate(lines) if _TELLING.search(line)]
    wanted = sorted({j for i in telling for j in (i, i + 1, i + 2) if j < len(lines)})
    chosen = [lines[i] for i in wanted] or lines
    left = len(lines) - min(len(chosen), most)
    return [*chosen[:most], tr(f"... {left} more lines, shown with -v")]


def output_console() -> Console:
    """Return the console for results: standard output."""
    from gpuexplorer.cli.console import VisibleConsole

    return VisibleConsole(highlight=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def error_console() -> Console:
    """Return the console for progress: standard error."""
    from gpuexplorer.cli.console import VisibleConsole

    return VisibleConsole(stderr=True, highlight=False)


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether progress can be drawn: the stream (standard error) is a terminal that moves back."""
    stream = sys.stderr if stream is None else stream
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
