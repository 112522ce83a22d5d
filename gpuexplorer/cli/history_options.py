"""The options of the commands on kept runs: ``history``, ``export``, ``import`` and ``report``."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import get_args

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values

LIMIT = 30

COMMANDS = {
    "show": "show one run: its figures, its tags and note, how to repeat it",
    "star": "star runs; a starred run is a baseline to compare with",
    "unstar": "take stars away",
    "tag": "give runs a tag",
    "untag": "take a tag away",
    "note": "write a note on a run; an empty one takes it away",
    "delete": "take runs out of the list; undelete brings them back",
    "undelete": "bring back what was deleted last, or all runs of one deletion",
    "purge": "remove what was deleted for good and give its room back",
}

EXAMPLES = """examples:
  gpuexplorer history
  gpuexplorer history --search "matmul 16x16" --sort median --ascending
  gpuexplorer history --workload matmul --tag thesis --json -
  gpuexplorer history show 1a2b3c4d
  gpuexplorer history tag 1a2b3c4d 5e6f7a8b thesis
  gpuexplorer history --history postgresql://me@server/team

A run is named by its id or the beginning of it. The history is a file in your data folder unless
--history or GPUEXPLORER_HISTORY_URL names another file or a team's PostgreSQL."""


def add_options(history: argparse.ArgumentParser) -> None:
    """Add the options of the list, and the commands on runs with theirs."""
    from gpuexplorer.history.model import SORTS

    which = history.add_argument_group("which runs")
    which.add_argument(
        "--search", default="", metavar="TEXT",
        help="words that all occur in the configuration, the device, the tags or the note",
    )  # fmt: skip
    which.add_argument("--workload", metavar="W")
    which.add_argument("--variant", metavar="V")
    which.add_argument("--precision", metavar="P")
    which.add_argument("--device", metavar="D", help="a device's id or its name")
    which.add_argument("--machine", metavar="M", help="the machine that measured, by its name")
    which.add_argument("--person", metavar="P", help="who measured, by the user's name there")
    which.add_argument("--tag", metavar="T")
    which.add_argument("--starred", action="store_true", default=None, help="only starred runs")
    which.add_argument("--group", metavar="ID", help="the runs of one sweep or tuning")
    which.add_argument(
        "--since", type=moment, metavar="DATE", help="no earlier than this, such as 2026-01-31"
    )
    which.add_argument("--deleted", action="store_true", help="those that were deleted instead")
    how = history.add_argument_group("in which order")
    how.add_argument("--sort", choices=SORTS, default="time", help="by what (default: time)")
    how.add_argument("--ascending", action="store_true", help="the earliest or smallest first")
    how.add_argument(
        "--limit", type=values.count, default=LIMIT, metavar="N", help=f"at most so many ({LIMIT})"
    )
    how.add_argument(
        "--offset", type=values.count, default=0, metavar="N", help="leave out so many first"
    )
    _add_commands(history)


def _add_commands(history: argparse.ArgumentParser) -> None:
    parsers = common.commands_of(history, COMMANDS, common.everywhere, usual="list")
    for name in ("show", "note"):
        parsers[name].add_argument("id", metavar="ID")
    for name in ("star", "unstar", "tag", "untag", "delete"):
        parsers[name].add_argument("ids", metavar="ID", nargs="+")
    for name in ("tag", "untag"):
        parsers[name].add_argument("name", metavar="TAG")
    parsers["note"].add_argument("text", metavar="TEXT")
    parsers["undelete"].add_argument(
        "deletion", metavar="NUMBER", nargs="?", type=values.count,
        help="of a deletion, as 'delete' said it (default: the latest)",
    )  # fmt: skip


def moment(text: str) -> datetime:
    """Read a date or a time; without a zone it is this machine's."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a date such as 2026-01-31, or a time such as 2026-01-31T12:00"
        ) from None


# ---- export, import and report


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
    common.language(command)


def add_export(command: argparse.ArgumentParser) -> None:
    """Add the options of ``export``."""
    from gpuexplorer.exchange.formats import FORMATS, Table

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
