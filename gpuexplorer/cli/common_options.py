"""Options that several commands have, each written once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from gpuexplorer.cli import values
from gpuexplorer.core.config import Cache
from gpuexplorer.workloads.manifest import FILLS

Group = argparse._ActionsContainer
ALL_BUT_ONE = "all cores but one"


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
        "--python", metavar="NAME|PATH",
        help="the Python that runs the engine: a name from 'gpuexplorer engines', an interpreter, "
        "or an environment's folder (default: built-in, or as 'engines default' says)",
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


# ---- what to run


def what_to_run(what: Group) -> None:
    """Give a group the options that say which configuration of a workload is meant."""
    variant(what)
    size(what)
    what.add_argument(
        "--block", type=values.block, metavar="XxY[xZ]", help="threads per block, such as 16x16"
    )
    what.add_argument(
        "--precision", metavar="P",
        help="fp64, fp32 or fp16; of a framework's model also tf32, bf16, fp8_e4m3, int8, "
        "autocast_bf16 or autocast_fp16",
    )  # fmt: skip
    device(what)
    what.add_argument(
        "--set", type=values.setting, action=values.Settings, default=[], metavar="TUNABLE=VALUE",
        help="a compile-time parameter of the variant; may repeat",
    )  # fmt: skip
    what.add_argument(
        "--switch", type=values.switch, action=values.Settings, default=[], metavar="NAME=VALUE",
        help="how a framework runs its model, such as compile=default or cuda_graph (on); may "
        "repeat, and 'gpuexplorer workloads NAME' lists them",
    )  # fmt: skip
    fill(what)
    seed(what)
    include_transfers(what)


def workload(command: argparse.ArgumentParser) -> None:
    """Add the workload's name."""
    command.add_argument("workload", metavar="WORKLOAD", help="a name from 'gpuexplorer workloads'")


def variant(what: Group) -> None:
    """Add the variant."""
    what.add_argument("--variant", metavar="V", help="which implementation (default: the first)")


def size(what: Group) -> None:
    """Add one problem size."""
    what.add_argument(
        "--size", type=values.size, default={}, metavar="N|N=..,M=..",
        help="problem size, by symbol",
    )  # fmt: skip


def device(what: Group) -> None:
    """Add the device."""
    what.add_argument(
        "--device", default="auto", metavar="D",
        help="an id from 'gpuexplorer devices', or cuda, cpu, auto (default)",
    )  # fmt: skip


def fill(what: Group) -> None:
    """Add the distribution of the inputs."""
    what.add_argument(
        "--fill", metavar="F",
        help=f"inputs: {', '.join(FILLS)} (default: as the workload's manifest says)",
    )  # fmt: skip


def seed(what: Group, of: str = "of the inputs") -> None:
    """Add the seed of what chance decides."""
    what.add_argument("--seed", type=values.seed, default=1, metavar="S", help=f"{of} (default: 1)")


def include_transfers(what: Group) -> None:
    """Add the switch that times the transfers too."""
    what.add_argument(
        "--include-transfers", action="store_true",
        help="each sample runs the whole textbook program, host to device and back",
    )  # fmt: skip


# ---- how to measure


def cache(how: Group) -> None:
    """Add what the caches hold when a launch begins."""
    how.add_argument(
        "--cache", choices=get_args(Cache), default="hot",
        help="hot: launch after launch on the same arrays (default); cold: the last-level cache is "
        "emptied before each launch",
    )  # fmt: skip


def threads(how: Group, default: str = ALL_BUT_ONE) -> None:
    """Add the number of CPU threads."""
    how.add_argument(
        "--threads", type=values.threads, metavar="T",
        help=f"CPU threads a kernel may use (default: {default})",
    )  # fmt: skip


def yes(how: Group, without: str = "") -> None:
    """Add the agreement to long launches, and what becomes of them without it."""
    consequence = f"; without it {without}" if without else ""
    how.add_argument(
        "--yes", action="store_true",
        help=f"agree to launches that take longer than 2 s{consequence}",
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
