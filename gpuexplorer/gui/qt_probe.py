"""Load Qt and print its version, in a process of its own: Qt may end the one that loads it.

With the word ``x11`` also load the plugin for X11, which needs more of the system's libraries.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import PySide6
from PySide6 import QtWidgets  # noqa: F401 - to load it is what this is for

PLUGIN = "Qt/plugins/platforms/libqxcb.so"


def main(arguments: list[str]) -> int:
    """Load and print; OSError names a library that is missing."""
    plugin = Path(PySide6.__file__).parent / PLUGIN
    if "x11" in arguments and plugin.is_file():
        ctypes.CDLL(str(plugin))
    print(PySide6.__version__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
