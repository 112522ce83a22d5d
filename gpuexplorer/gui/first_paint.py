"""Open the window, say when it was first painted, and close it again.

``python -m gpuexplorer.gui.first_paint [ARGUMENT ...]`` prints seconds since 1970 and the names of
heavy modules that were loaded until then, which there should be none of. The benchmark of starting
and the check of packages run it.
"""

from __future__ import annotations

import sys
import time

from gpuexplorer.gui.app import create

HEAVY = ("torch", "cupy", "pyopencl", "matplotlib", "sqlalchemy")


def main(arguments: list[str]) -> int:
    """Open, print, close."""
    application, window = create(arguments)
    painted: list[float] = []

    def first() -> None:
        painted.append(time.time())
        window.close()
        application.quit()

    window.first_paint.disconnect()  # nothing of what follows the first paint is started
    window.first_paint.connect(first)
    code: int = application.exec()
    print(repr(painted[0]), *(name for name in HEAVY if name in sys.modules))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
