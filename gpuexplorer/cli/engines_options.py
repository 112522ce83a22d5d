"""The options of ``gpuexplorer engines``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.cli import common_options as common

COMMANDS = {
    "list": "the engines that have a name, and what each says it has",
    "find": "look for Pythons: environments around this folder, conda, pyenv, uv, the system's",
    "add": "give an interpreter, an environment or an engine on another machine a name; check it",
    "check": "start one and show its frameworks, versions and devices, or why it does not start",
    "update": "bring this version of GPU Explorer to an engine on another machine",
    "remove": "forget one; its environment stays as it is, unless it was made by this program",
    "default": "use one wherever --python says nothing else, here and in the window",
    "kinds": "the environments that can be made here, those for this machine's GPUs first",
    "create": "make an environment of a kind: sizes first, then download, installation, self-test",
    "fetch": "fill a folder with a kind's wheels, for a machine without internet",
    "clean": "delete unfinished environments and kept downloads",
}

EXAMPLES = """examples:
  gpuexplorer engines
  gpuexplorer engines find
  gpuexplorer engines add tf ~/envs/tensorflow
  gpuexplorer engines add gpu ssh://me@gpubox --kind cuda13
  gpuexplorer run matmul --engine gpu
  gpuexplorer engines check ~/miniconda3/envs/jax/bin/python --json -
  gpuexplorer engines default tf
  gpuexplorer engines kinds
  gpuexplorer engines create cuda13 --yes
  gpuexplorer engines create cuda13-torch --from /media/stick/wheels --name lab
  gpuexplorer run mlp --variant tensorflow --python tf
  gpuexplorer compare torch,engine=torch-2.11 torch,engine=torch-2.13 --workload mlp

An engine is the process that measures. It runs in this program's own Python (the name for it is
built-in), or in any other that has NumPy and msgspec: then it has that Python's frameworks. On
another machine it is reached by your own ssh, and everything of it stands there below
~/.local/share/gpuexplorer. The names stand in engines.json in your settings folder."""


def add_options(
    engines: argparse.ArgumentParser, everywhere: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the commands with their options; without one, the list."""
    engines.set_defaults(quick=False)
    parsers = common.commands_of(engines, COMMANDS, everywhere, usual="list")
    parsers["list"].add_argument(
        "--quick", action="store_true", help="names and paths alone; start nothing"
    )
    parsers["find"].add_argument(
        "--check", action="store_true", help="start each one too, and say what it has"
    )
    parsers["add"].add_argument("name", metavar="NAME")
    parsers["add"].add_argument(
        "path", metavar="PATH|ADDRESS",
        help="an interpreter, an environment's folder, or ssh://USER@HOST[:PORT] for an engine on "
        "another machine, which is set up there",
    )  # fmt: skip
    parsers["add"].add_argument(
        "--no-check", action="store_true", help="take it as it is; start nothing"
    )
    far = parsers["add"].add_argument_group("on another machine")
    far.add_argument(
        "--kind", metavar="KIND",
        help="the environment to make there (default: what its GPU's driver serves best)",
    )  # fmt: skip
    far.add_argument(
        "--python", metavar="PATH", help="the Python there to make it with; without --kind, to use"
    )
    for group in (far, parsers["update"]):
        group.add_argument(
            "--from", dest="source", metavar="FOLDER",
            help="copy the wheels from this folder here; nothing is fetched there",
        )  # fmt: skip
    far.add_argument(
        "-y", "--yes", action="store_true", help="agree to the set-up without being asked"
    )
    parsers["remove"].add_argument(
        "--keep", action="store_true", help="leave what was set up on another machine there"
    )
    parsers["check"].add_argument(
        "engine", metavar="NAME|PATH", help="an engine's name, built-in, or a path"
    )
    for name in ("update", "remove", "default"):
        parsers[name].add_argument("name", metavar="NAME")
    _add_making(parsers["create"], parsers["fetch"])


def _add_making(create: argparse.ArgumentParser, fetch: argparse.ArgumentParser) -> None:
    for parser in (create, fetch):
        parser.add_argument("kind", metavar="KIND", help="one that 'engines kinds' lists")
        parser.add_argument(
            "--python", metavar="PATH",
            help="the Python that it is made with (default: the newest that libraries support)",
        )  # fmt: skip
        parser.add_argument(
            "-y", "--yes", action="store_true", help="agree to the download without being asked"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show the packages and sizes; fetch nothing"
        )
    fetch.add_argument("folder", metavar="FOLDER", type=Path, help="where the wheels are put")
    create.add_argument(
        "--from", dest="source", metavar="FOLDER",
        help="take the wheels from this folder; nothing is fetched from anywhere",
    )  # fmt: skip
    create.add_argument("--name", metavar="NAME", help="what to call it (default: after its kind)")
    create.add_argument(
        "--anyway", action="store_true", help="make it though nothing of it could run here"
    )
