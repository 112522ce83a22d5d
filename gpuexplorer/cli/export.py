"""``gpuexplorer export``: runs from the history, or from a file, in a format others read."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli.chosen import choose
from gpuexplorer.cli.messages import say
from gpuexplorer.cli.output import STDOUT, check_targets
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import plural
from gpuexplorer.exchange.formats import (
    TITLES,
    check_format,
    format_of,
    write_runs,
)

HTML = (".html", ".htm")


def command(options: argparse.Namespace) -> int:
    """Write the file."""
    path: Path = options.file
    if str(path) == STDOUT:
        raise InputError("an export goes to a file", remedy="give a file name")
    check_targets(path)
    if options.format == "html" or (not options.format and path.suffix.lower() in HTML):
        from gpuexplorer.cli.report import write

        return write(options.what, path)
    chosen = options.format or format_of(path)
    check_format(path, chosen)
    found = choose(options.what)
    write_runs(
        found.runs, path, chosen, table=options.table, labels=found.labels, skipped=found.skipped
    )
    runs = plural(len(found.runs), "{number} run", "{number} runs")
    say(f"wrote {path} ({TITLES[chosen]}, {runs})")
    return 0
