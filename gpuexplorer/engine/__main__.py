"""``python -m gpuexplorer.engine``: the engine on standard input and output."""

from __future__ import annotations

import sys

from gpuexplorer.engine.launcher import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
