"""``gpuexplorer-window``: the window alone, also for a start without a console.

On Windows such a program has no standard streams: what would be said there is shown in a box.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from gpuexplorer.cli.messages import report
from gpuexplorer.cli.streams import prepare_streams
from gpuexplorer.cli.window import NoWindow, open_window
from gpuexplorer.core.errors import CannotRunHere, ExplorerError

TITLE = "GPU Explorer"


def main(argv: Sequence[str] | None = None) -> int:
    """Open the window and return the exit code when it is closed; 3 where none can be."""
    said = io.StringIO() if sys.stderr is None else None
    if said is not None:
        sys.stderr = said
    prepare_streams()
    code = _open(list(sys.argv[1:] if argv is None else argv))
    if said is not None and code != 0:
        show_box(said.getvalue().strip() or f"{TITLE} ended with status {code}.")
    return code


def _open(arguments: list[str]) -> int:
    try:
        return open_window(arguments)
    except NoWindow as error:
        return report(
            CannotRunHere(
                f"no window can open here: {error}",
                remedy="'gpuexplorer doctor' in a terminal says what is missing",
            )
        )
    except ExplorerError as error:
        return report(error)


def show_box(text: str) -> None:
    """Show a message where there is no console: a box, and on Windows alone."""
    if sys.platform == "win32":
        import ctypes

        ctypes.windll.user32.MessageBoxW(None, text, TITLE, 0x10)  # MB_ICONERROR
