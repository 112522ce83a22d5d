"""The help of a command line, in the language of the process, in lines that fit the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from gpuexplorer.core import language
from gpuexplorer.core.language import tr
from gpuexplorer.core.text import wrapped

ARGPARSE = (
    "usage",
    "positional arguments",
    "options",
    "show this help message and exit",
    "show program's version number and exit",
    "expected one argument",
    "expected at least one argument",
    "expected {number} argument",
    "expected {number} arguments",
    "invalid {type} value: {value}",
    "invalid choice: {value} (choose from {choices})",
    "ignored explicit argument {value}",
    "not allowed with argument {other}",
    "the following arguments are required: {names}",
    "one of the arguments {names} is required",
)
"""What Python's own parser of command lines says."""


class HelpFormatter(argparse.HelpFormatter):
    """Help as argparse writes it; text of several lines stays as it is."""

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """Add how the command is called."""
        begins = "".join((tr("usage"), ": ")) if prefix is None else prefix
        super().add_usage(usage, actions, groups, begins)

    def start_section(self, heading: str | None) -> None:
        """Begin a group of options."""
        super().start_section(heading and tr(heading))

    def add_text(self, text: str | None) -> None:
        """Add what stands above or below the options."""
        super().add_text(text and tr(text))

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return action.help and tr(action.help)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "".join(indent + line for line in text.splitlines(keepends=True))
        return "\n".join(indent + line for line in self._split_lines(text, width))

    def _split_lines(self, text: str, width: int) -> list[str]:
        if language.current() == language.ENGLISH:
            return super()._split_lines(text, width)
        return wrapped(" ".join(text.split()), width)
