"""Run a module in another Python: ``PYTHON -I watched.py [--pip PATH] MODULE [ARGUMENT...]``.

Standard library alone, and no import of ours. It ends at once when its standard input does: no pip
goes on installing after whoever started it was killed. With ``--pip`` the module ``pip`` and
nothing else is taken from PATH, a wheel or the folder that pip stands in, so that pip can install
into an environment that has none.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder


class _Pip:
    """Finds pip in one place."""

    def __init__(self, place: str) -> None:
        self._place = place

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        """Find pip itself; its parts are then found below it."""
        return PathFinder.find_spec(fullname, [self._place]) if fullname == "pip" else None


def _end_with_input() -> None:
    with suppress(OSError):
        while os.read(0, 1 << 12):  # not through sys.stdin, whose lock the end would wait for
            pass
    os._exit(1)


def main(arguments: list[str]) -> None:
    """Run the module that the arguments name."""
    if arguments[0] == "--pip":
        sys.meta_path.insert(0, _Pip(arguments[1]))
        arguments = arguments[2:]
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.argv[:] = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
