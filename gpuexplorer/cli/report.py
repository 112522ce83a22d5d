"""``gpuexplorer report``: a page on runs that needs nothing but a browser."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.cli.chosen import choose
from gpuexplorer.cli.messages import say
from gpuexplorer.cli.output import check_targets
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import plural
from gpuexplorer.report.page import Report, write_report

ENDINGS = (".html", ".htm")


def command(options: argparse.Namespace) -> int:
    """Write the page."""
    if options.file.suffix.lower() not in ENDINGS:
        raise InputError(
            f"a report is a page, and '{options.file.name}' does not end like one",
            remedy="end it in .html",
        )
    return write(options.what, options.file)


def write(words: Sequence[str], path: Path) -> int:
    """Write the page on the runs that some words name, and say so."""
    check_targets(path)
    found = choose(words)
    write_report(
        Report(runs=found.runs, labels=found.labels, skipped=found.skipped, rests=found.rests),
        path,
    )
    runs = plural(len(found.runs), "{number} run", "{number} runs")
    say(f"wrote {path} (report on {runs})")
    return 0
