"""The options of ``gpuexplorer cluster``, and those by which a search is spread over one."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.cli import common_options as common
from gpuexplorer.cli import values

COMMANDS = {
    "up": "start a cluster here, over SSH or as jobs; stay until Ctrl-C or 'cluster down'",
    "show": "the workers of a cluster and what they measure on",
    "down": "end a cluster: its workers, its scheduler, and the 'cluster up' that started it",
}

EXAMPLES = """examples:
  gpuexplorer cluster up --local 4
  gpuexplorer cluster up --ssh hosts.txt --remote-python /opt/gpuexplorer/bin/python
  gpuexplorer cluster up --slurm 16 --partition gpu --time 04:00:00
  gpuexplorer cluster show
  gpuexplorer sweep matmul --block-x 1:256:*2 --cluster ~/.local/share/gpuexplorer/cluster
  gpuexplorer tune matmul --variant tiled --cluster ~/.local/share/gpuexplorer/cluster
  gpuexplorer cluster down

Each worker measures on one GPU and uses Dask distributed (the extra 'cluster'). What is said
between workers, scheduler and clients is encrypted, and all have to show the certificate that 'up'
makes in its folder. Whoever has the files of that folder can run any program as you on every
worker: copy it to your own machines only."""


def add_options(
    cluster: argparse.ArgumentParser, everywhere: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the commands with their options."""
    parsers = common.commands_of(cluster, COMMANDS, everywhere)
    for name in ("show", "down"):
        parsers[name].add_argument(
            "cluster", metavar="CLUSTER", nargs="?",
            help="a cluster.toml, its folder, or tls://HOST:PORT (default: the one that 'cluster "
            "up' has started here)",
        )  # fmt: skip
    _add_up(parsers["up"])


def _add_up(up: argparse.ArgumentParser) -> None:
    where = up.add_argument_group("where the workers are").add_mutually_exclusive_group(
        required=True
    )
    where.add_argument(
        "--local", type=int, metavar="N", help="on this machine, one for each of its GPUs"
    )
    where.add_argument(
        "--ssh", type=Path, metavar="HOSTS.TXT",
        help="on machines over SSH: a file with [USER@]HOST[:PORT] and how many workers, a line "
        "each; the first has the scheduler as well",
    )  # fmt: skip
    where.add_argument("--slurm", type=int, metavar="N", help="in so many jobs of SLURM")
    ssh = up.add_argument_group("machines over SSH")
    ssh.add_argument(
        "--remote-python", metavar="PATH",
        help="the Python there, with the same GPU Explorer (default: the path of this one)",
    )  # fmt: skip
    slurm = up.add_argument_group("jobs of SLURM")
    slurm.add_argument("--partition", metavar="P", help="the partition (sbatch -p)")
    slurm.add_argument("--account", metavar="A", help="who is charged (sbatch -A)")
    slurm.add_argument("--time", metavar="H:M:S", default="01:00:00", help="default: 01:00:00")
    slurm.add_argument("--memory", metavar="SIZE", default="16GB", help="default: 16GB")
    slurm.add_argument("--cores", type=int, metavar="N", default=4, help="CPU cores (default: 4)")
    slurm.add_argument(
        "--gres", metavar="G", default="gpu:1", help="what the worker gets (default: gpu:1)"
    )
    slurm.add_argument(
        "--directive", metavar="WORDS", action="append", default=[],
        help="another line for sbatch, such as '--constraint=a100'; may repeat",
    )  # fmt: skip
    slurm.add_argument(
        "--host", metavar="ADDRESS", help="the address of this machine that the jobs reach"
    )
    files = up.add_argument_group("files and ports")
    files.add_argument(
        "--folder", type=Path, metavar="DIR",
        help="where certificates and cluster.toml are written, on a disk that the workers see "
        "(default: cluster in your data folder)",
    )  # fmt: skip
    files.add_argument(
        "--port", type=int, metavar="P", default=0, help="the scheduler's (default: a free one)"
    )


def add_cluster(way: argparse._ActionsContainer) -> None:
    """Add the option by which a search is spread over a cluster."""
    way.add_argument(
        "--cluster", metavar="CLUSTER",
        help="measure on all workers of a cluster: its cluster.toml, the folder of that, or "
        "tls://HOST:PORT; see 'gpuexplorer cluster --help'",
    )  # fmt: skip
    way.add_argument(
        "--slower-by", type=values.noise, metavar="P%",
        help="measure again what a worker of the cluster measured whose reference took longer than "
        "usual by this (default: 10%%)",
    )  # fmt: skip
