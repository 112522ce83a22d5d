"""Draw a chart in a process of its own: ``python -m gpuexplorer.charts SPEC OUT [light|dark]``.

SPEC is a ChartSpec as msgpack, ``-`` standard input. The window exports this way, so that it need
not import a plotter. One sentence goes to standard error when it fails, and the exit code tells.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from gpuexplorer.charts.render import render
from gpuexplorer.charts.spec import decode
from gpuexplorer.charts.style import THEMES
from gpuexplorer.core.errors import ExplorerError, InputError


def main(argv: list[str]) -> int:
    """Draw one chart and return the exit code."""
    try:
        if not 2 <= len(argv) <= 3 or (len(argv) == 3 and argv[2] not in THEMES):
            raise InputError(
                "wrong arguments",
                remedy="usage: python -m gpuexplorer.charts SPEC|- OUT.png|svg|pdf [light|dark]",
            )
        try:
            data = sys.stdin.buffer.read() if argv[0] == "-" else Path(argv[0]).read_bytes()
            spec = decode(data)
        except OSError as error:
            raise InputError(f"cannot read {argv[0]}: {error.strerror}") from None
        except msgspec.DecodeError as error:
            raise InputError(f"{argv[0]} is not a chart: {error}") from None
        render(spec, Path(argv[1]), theme=argv[2] if len(argv) == 3 else "light")
    except ExplorerError as error:
        print(f"gpuexplorer: error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
