"""Run a program from another Python: ``PYTHON -I watched.py PROGRAM [ARGUMENT...]``.

Standard library alone, and no import of ours. The program is killed when this one's standard input
ends: nothing continues to install after its parent was killed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress


def main(command: list[str]) -> int:
    """Run the program that the arguments name; return its exit status."""
    # What this Python ignores the program ignores as well: a file that becomes too large is an
    # error to tell, not a signal that ends it.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, restore_signals=False)

    def end_with_input() -> None:
        with suppress(OSError):
            while os.read(0, 1 << 12):  # not through sys.stdin, whose lock the end would wait for
                pass
        process.kill()

    threading.Thread(target=end_with_input, daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
