"""The options of ``gpuexplorer export``, ``report`` and ``import``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from gpuexplorer.cli import common_options as common
from gpuexplorer.exchange.formats import FORMATS, Table

WORDS_HELP = "a run's or a group's id from 'gpuexplorer history', or a file; may repeat"

EXPORT_EXAMPLES = """examples:
  gpuexplorer export 3f2a run.json
  gpuexplorer export 3f2a 9c01 samples.parquet
  gpuexplorer export sweep.json table.csv --table runs
  gpuexplorer export 3f2a run.nvbench.json          as NVBench writes it, samples beside it
  gpuexplorer export 3f2a run.trace.json            open it at ui.perfetto.dev
  gpuexplorer export 3f2a report.html               the same as 'gpuexplorer report'

The file's ending chooses the format: .json, .csv, .parquet, .nvbench.json, .trace.json, .html."""

REPORT_EXAMPLES = """examples:
  gpuexplorer report 3f2a run.html
  gpuexplorer report sweep.json sweep.html
  gpuexplorer report comparison.json comparison.html

The page needs no network and no other file. The runs are attached to it with every sample."""

IMPORT_EXAMPLES = """examples:
  gpuexplorer import result.json sweep.json
  gpuexplorer import nvbench.json                   with the -bin folder beside it
  gpuexplorer import kernel_tuner_cache.json

Read are documents and Parquet tables of GPU Explorer, NVBench's JSON (with its sample files, as
--jsonbin writes them) and Kernel Tuner's caches. A run that is in the history already is left
alone. A file that cannot be read as a whole is not imported; the others are."""


def _what(command: argparse.ArgumentParser, file: str) -> None:
    command.add_argument("what", metavar="ID|FILE", nargs="+", help=WORDS_HELP)
    command.add_argument("file", metavar=file, type=Path, help="the file to write")
    common.history(command)
    command.add_argument("-v", "--verbose", action="store_true", help="tracebacks")


def add_export(command: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    _what(command, "F")
    command.add_argument(
        "--format", choices=(*FORMATS, "html"),
        help="the format, where the file's ending does not say it",
    )  # fmt: skip
    command.add_argument(
        "--table", choices=get_args(Table), default="samples",
        help="of CSV and Parquet: a row for each sample (default), or one for each run",
    )  # fmt: skip


def add_report(command: argparse.ArgumentParser) -> None:
    """Add the options of ``report``."""
    _what(command, "F.html")


def add_import(command: argparse.ArgumentParser) -> None:
    """Add the options of ``import``."""
    command.add_argument(
        "files", metavar="F", type=Path, nargs="+", help="what to import; the format is found out"
    )
