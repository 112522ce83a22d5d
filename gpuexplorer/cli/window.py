"""``gpuexplorer`` without a command: the window, or the same exploration in the terminal."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Sequence

from gpuexplorer.cli import handle_end
from gpuexplorer.cli.display import HOW_TO_GET_A_WINDOW, why_no_window
from gpuexplorer.cli.messages import say
from gpuexplorer.cli.parser import is_session
from gpuexplorer.core.errors import CannotRunHere


class NoWindow(Exception):
    """No window can open here; the message says why."""


def open_window(arguments: Sequence[str]) -> int:
    """Open the window and return the exit code when it is closed; NoWindow where none can be."""
    reason = why_no_window()
    if reason is not None:
        raise NoWindow(reason)
    try:
        from gpuexplorer.gui.app import main
    except ImportError as error:  # a system library that Qt needs
        raise NoWindow(f"Qt cannot be loaded ({error})") from error
    handle_end(signal.SIG_DFL)  # what it has to keep, it has kept
    return main(arguments)


def command(options: argparse.Namespace) -> int:
    """Open the window; where none can be, say why and explore in the terminal."""
    try:
        return open_window(options.arguments)
    except NoWindow as error:
        reason = str(error)
    sessions = [word for word in options.arguments if is_session(word)]
    if sessions:
        raise CannotRunHere(
            f"cannot show {sessions[0]} here: {reason}", remedy=" or ".join(HOW_TO_GET_A_WINDOW)
        )
    say(f"gpuexplorer: no window here, {reason}: exploring in the terminal instead")

    from gpuexplorer.cli.explore import explore

    return explore(options)
