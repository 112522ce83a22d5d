"""The options of ``gpuexplorer lessons``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.cli import common_options as common

COMMANDS = {
    "list": "every lesson with its length, and how far you are",
    "show": "read a lesson",
    "check": "measure what a lesson claims, or what you made of its exercise",
    "export": "write a lesson, with what is measured here, as a page or a session file",
    "progress": "write how far you are as a page or a JSON document",
}
EXAMPLES = """examples:
  gpuexplorer lessons
  gpuexplorer lessons show coalescing
  gpuexplorer lessons check coalescing
  gpuexplorer lessons check coalescing --exercise 32x8
  gpuexplorer lessons check my-lessons
  gpuexplorer lessons export coalescing lesson.html
  gpuexplorer lessons export coalescing lesson.gpux
  gpuexplorer lessons progress progress.html

A lesson is named, or is a folder with a lesson.toml, or a folder of such folders. 'check' measures
its claims: counted ones are the same everywhere, timed ones are true of the CPU device, too, and
claims of a card carry their source. The window's Learn shows lessons step by step.

exit codes: 0 every claim holds and the exercise is solved, 1 one is not or cannot be told, 2 usage
or input error, 3 nothing here can run it, 130 stopped"""


def add_options(
    lessons: argparse.ArgumentParser, everywhere: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Add the commands with their options; without one, the list."""
    for name, parser in common.commands_of(lessons, COMMANDS, everywhere, usual="list").items():
        if name == "show":
            parser.add_argument("lesson", metavar="LESSON", help="a name, or a folder of lessons")
        elif name == "export":
            parser.add_argument("lesson", metavar="LESSON", help="its name, or its folder")
        elif name == "check":
            parser.add_argument(
                "lessons", metavar="LESSON", nargs="+", help="a name, or a folder of lessons"
            )
            parser.add_argument(
                "--exercise", metavar="WORD",
                help="measure this configuration for the exercise, such as 32x8 or tiled:16x16, "
                "as 'compare' takes them",
            )  # fmt: skip
        if name == "export":
            parser.add_argument("file", metavar="FILE", type=Path, help="ends in .html or .gpux")
        elif name == "progress":
            parser.add_argument("file", metavar="FILE", type=Path, help="ends in .html or .json")
