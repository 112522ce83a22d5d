"""The options of ``gpuexplorer jobs``."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gpuexplorer.cli import common_options as common

COMMANDS = {
    "list": "every detached job: where it is, how far, and what comes next",
    "follow": "say how far one is until it has ended; exit code 0 when it is done, 1 before that",
    "collect": "take what it has measured into the history, and show it",
    "continue": "have it measure what it lacks, as after a reboot of its machine",
    "end": "end it; what it has measured can be collected",
}
EXAMPLES = """examples:
  gpuexplorer sweep matmul --block-x 1:256 --block-y 1:16 --engine gpu --detach
  gpuexplorer tune matmul --variant tiled --sampler grid --detach
  gpuexplorer jobs
  gpuexplorer jobs follow 3f2a
  gpuexplorer jobs collect 3f2a
  gpuexplorer jobs end 3f2a --delete

A detached sweep or tuning is measured by its engine's machine without this program, also when this
one is switched off. Its results are there until they are collected; then it is deleted. A tuning is
collected once it has ended, and one that was interrupted continues with the looks that it took."""


def add_options(
    jobs: argparse.ArgumentParser, everywhere: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the commands with their options; without one, the list."""
    for name, parser in common.commands_of(jobs, COMMANDS, everywhere, usual="list").items():
        if name != "list":
            parser.add_argument("job", metavar="JOB", help="the beginning of its id")
        if name == "end":
            parser.add_argument("--delete", action="store_true", help="delete all of it as well")
