"""The options of ``gpuexplorer engines``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

COMMANDS = {
    "list": "the engines that have a name, and what each says it has",
    "find": "look for Pythons: environments around this folder, conda, pyenv, uv, the system's",
    "add": "give an interpreter or an environment a name, and check it",
    "check": "start one and show its frameworks, versions and devices, or why it does not start",
    "remove": "forget one; its environment stays as it is",
    "default": "use one wherever --python says nothing else, here and in the window",
}

EXAMPLES = """examples:
  gpuexplorer engines
  gpuexplorer engines find
  gpuexplorer engines add tf ~/envs/tensorflow
  gpuexplorer engines check ~/miniconda3/envs/jax/bin/python --json -
  gpuexplorer engines default tf
  gpuexplorer run mlp --variant tensorflow --python tf
  gpuexplorer compare torch,engine=torch-2.11 torch,engine=torch-2.13 --workload mlp

An engine is the process that measures. It runs in this program's own Python (the name for it is
built-in), or in any other that has NumPy and msgspec: then it has that Python's frameworks. The
names stand in engines.json in your settings folder."""


def add_options(
    engines: argparse.ArgumentParser, everywhere: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the commands with their options; without one, the list."""
    engines.set_defaults(action="list", quick=False)
    made = engines.add_subparsers(
        title="commands", metavar="COMMAND", dest="action", parser_class=type(engines)
    )
    parsers = {}
    for name, words in COMMANDS.items():
        parser = made.add_parser(
            name, help=words, description=words[0].upper() + words[1:] + ".", allow_abbrev=False
        )
        parser.set_defaults(action=name)
        everywhere(parser)
        parsers[name] = parser
    parsers["list"].add_argument(
        "--quick", action="store_true", help="names and paths alone; start nothing"
    )
    parsers["find"].add_argument(
        "--check", action="store_true", help="start each one too, and say what it has"
    )
    parsers["add"].add_argument("name", metavar="NAME")
    parsers["add"].add_argument(
        "path", metavar="PATH", help="an interpreter, or an environment's folder"
    )
    parsers["add"].add_argument(
        "--no-check", action="store_true", help="take it as it is; start nothing"
    )
    parsers["check"].add_argument(
        "engine", metavar="NAME|PATH", help="an engine's name, built-in, or a path"
    )
    for name in ("remove", "default"):
        parsers[name].add_argument("name", metavar="NAME")
