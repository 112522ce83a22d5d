"""``python -m gpuexplorer``: the same as the command ``gpuexplorer``."""

from __future__ import annotations

import sys

from gpuexplorer.cli import main

if __name__ == "__main__":
    sys.exit(main())
