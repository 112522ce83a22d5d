"""Options that several commands have, each written once."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpuexplorer.cli import values

Group = argparse._ActionsContainer


# ---- everywhere


def everywhere(command: argparse.ArgumentParser) -> None:
    """Give a command what every one has that starts an engine or opens the history."""
    group = command.add_argument_group("everywhere")
    _json(group)
    engine(group)


def without_engine(command: argparse.ArgumentParser) -> None:
    """Give a command what every one has but the choice of an engine."""
    group = command.add_argument_group("everywhere")
    _json(group)
    _verbose(group)


def _json(group: Group) -> None:
    group.add_argument(
        "--json", nargs="?", const="-", metavar="F", default=None,
        help="write the result as JSON to a file, or to standard output (-, the default), which "
        "then carries nothing else",
    )  # fmt: skip


def engine(group: Group) -> None:
    """Add what says which engine measures, what it may run, and where runs are kept."""
    group.add_argument(
        "--kernels", metavar="DIR", type=Path, action="append", default=[],
        help="a folder of your own workloads, or a model's Python file; may repeat, and wins over "
        "shipped names",
    )  # fmt: skip
    group.add_argument(
        "--trust", action="store_true",
        help="agree to run the model files that are named, and remember them",
    )  # fmt: skip
    group.add_argument(
        "--deadline", type=values.seconds, metavar="S",
        help="how long building may take, a model's file included (default: 120 s), and a launch "
        "before it counts as hung (default: 10 s, with --yes 120 s)",
    )  # fmt: skip
    group.add_argument(
        "--engine", "--python", dest="python", metavar="NAME|PATH",
        help="the Python that runs the engine: a name from 'gpuexplorer engines', an interpreter, "
        "an environment's folder, or an engine on another machine (default: built-in, or as "
        "'engines default' says)",
    )  # fmt: skip
    history(group)
    _verbose(group)


def history(group: Group) -> None:
    """Add where runs are kept."""
    group.add_argument(
        "--history", metavar="FILE|URL",
        help="where runs are kept: a file, or postgresql://USER@HOST/DATABASE (default: what "
        "GPUEXPLORER_HISTORY_URL names, else a file in your data folder)",
    )  # fmt: skip


def _verbose(group: Group) -> None:
    group.add_argument(
        "-v", "--verbose", action="store_true", help="tracebacks and the engine's log"
    )


# ---- what to run, and how


def workload(command: argparse.ArgumentParser) -> None:
    """Add the workload's name."""
    command.add_argument("workload", metavar="WORKLOAD", help="a name from 'gpuexplorer workloads'")


def yes(how: Group, without: str = "") -> None:
    """Add the agreement to long launches, and what becomes of them without it."""
    how.add_argument(
        "--yes", action="store_true",
        help=f"agree to launches that take longer than 2 s; without it {without}"
        if without
        else "agree to launches that take longer than 2 s",
    )  # fmt: skip


# ---- files


def plot(files: Group, words: str) -> None:
    """Add the picture."""
    files.add_argument("--plot", type=Path, metavar="F.png|svg|pdf", help=words)


def csv(files: Group, words: str) -> None:
    """Add the table."""
    files.add_argument("--csv", type=Path, metavar="F", help=words)


def no_history(files: Group, what: str = "the runs") -> None:
    """Add what leaves runs out of the history."""
    files.add_argument(
        "--no-history", action="store_true", help=f"do not keep {what} in the history"
    )
