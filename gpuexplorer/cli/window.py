"""``gpuexplorer`` without a command: the window, or the same exploration in the terminal."""

from __future__ import annotations

import argparse

from gpuexplorer.cli.display import HOW_TO_GET_A_WINDOW, why_no_window
from gpuexplorer.cli.messages import say
from gpuexplorer.cli.parser import is_session
from gpuexplorer.core.errors import CannotRunHere


def command(options: argparse.Namespace) -> int:
    """Open the window; where none can be, say why and explore in the terminal."""
    reason = why_no_window()
    if reason is None:
        try:
            from gpuexplorer.gui.app import main as open_window
        except ImportError as error:  # a system library that Qt needs
            reason = f"Qt cannot be loaded ({error})"
        else:
            return open_window(options.arguments)
    sessions = [word for word in options.arguments if is_session(word)]
    if sessions:
        raise CannotRunHere(
            f"cannot show {sessions[0]} here: {reason}", remedy=" or ".join(HOW_TO_GET_A_WINDOW)
        )
    say(f"gpuexplorer: no window here, {reason}: exploring in the terminal instead")

    from gpuexplorer.cli.explore import explore

    return explore(options)
