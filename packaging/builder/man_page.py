"""The manual page, written from the command line's own parser: a new option is in it by itself."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator

SHARED = "everywhere"
"""The title of the group of options that nearly every command has; it is explained once."""

ENVIRONMENT = {
    "GPUEXPLORER_HISTORY_URL": "Where runs are kept, as --history names it.",
    "GPUEXPLORER_DATA_DIR": "The folder of the history, of calibrations and of managed engines.",
    "GPUEXPLORER_CONFIG_DIR": "The folder of the settings.",
    "GPUEXPLORER_CACHE_DIR": "The folder of compiled kernels.",
    "GPUEXPLORER_OPENCL_CPU": "The CPU's OpenCL driver: intel, pocl or system; else the first that "
    "works.",
}
FILES = {
    "~/.local/share/gpuexplorer/": "The history of runs, calibrations and managed engines.",
    "~/.config/gpuexplorer/": "Settings and the names of engines.",
    "~/.cache/gpuexplorer/": "Compiled kernels. It may be deleted at any time.",
    "*.gpux": "Sessions, which the window saves and opens.",
}
EXIT_STATUS = {
    "0": "Done.",
    "1": "The work failed, or its result is wrong.",
    "2": "A mistake in the command or in a file that it names.",
    "3": "Nothing here can run it.",
}


def man_page(version: str, epoch: int, parser: argparse.ArgumentParser | None = None) -> str:
    """Return the page of section 1 in roff; ``parser`` is the program's unless another is given."""
    if parser is None:
        from gpuexplorer.cli.parser import build_parser

        parser = build_parser()
    day = time.strftime("%Y-%m-%d", time.gmtime(epoch))
    lines = [
        f'.TH GPUEXPLORER 1 "{day}" "GPU Explorer {version}" "User Commands"',
        ".SH NAME",
        r"gpuexplorer \- turn a knob, see the hardware answer",
        ".SH SYNOPSIS",
        r".B gpuexplorer",
        r"[\fIOPTION\fR ...] [\fISESSION\fR.gpux]",
        ".br",
        r".B gpuexplorer",
        r"\fICOMMAND\fR [\fIOPTION\fR ...]",
        ".SH DESCRIPTION",
        "A laboratory for compute kernels: pick a workload, a kernel, a problem size, the threads",
        "per block and a precision, and see real timings and memory traffic. Without a command the",
        "window opens, with a saved session if one is named.",
        ".SH OPTIONS",
        *_options(parser, of_all=True),
        ".SH COMMANDS",
    ]
    for name, said, command in _commands(parser):
        lines += _command(f"gpuexplorer {name}", said, command)
    shared = _shared(parser)
    if shared:
        lines += [".SH OPTIONS EVERYWHERE", "Commands that have these say so.", *shared]
    lines += _pairs("EXIT STATUS", EXIT_STATUS)
    lines += _pairs("ENVIRONMENT", ENVIRONMENT)
    lines += _pairs("FILES", FILES)
    if parser.epilog:
        lines += [".SH EXAMPLES", *_verbatim(_examples(parser.epilog))]
    return "\n".join(lines) + "\n"


def _commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Yield each command's name, its line in the list, and its parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield name, said.get(name, ""), command


def _command(name: str, said: str, command: argparse.ArgumentParser) -> list[str]:
    """Return a command's part of the page, and that of each command of its own."""
    names = " ".join(_arguments(command))
    own = list(_commands(command))
    rest = " ".join(filter(None, (r"[\fIOPTION\fR ...]", names, r"[\fICOMMAND\fR]" * bool(own))))
    lines = [f".SS {escape(name.removeprefix('gpuexplorer '))}", f".B {escape(name)}", rest, ".PP"]
    words = command.description or said
    lines += [escape(words[:1].upper() + words[1:]).rstrip(".") + "."]
    lines += _options(command)
    shared = [escape(a.option_strings[-1]) for a in _group_actions(command, SHARED)]
    if shared:
        lines += [".PP", f"Also {', '.join(shared)}: see OPTIONS EVERYWHERE."]
    if command.epilog:
        lines += [".PP", "Examples:", ".PP", ".RS", *_verbatim(_examples(command.epilog)), ".RE"]
    for child, told, parser in own:
        lines += _command(f"{name} {child}", told, parser)
    return lines


def _arguments(parser: argparse.ArgumentParser) -> list[str]:
    """Return how each word without a dash is written."""
    formatter = parser._get_formatter()
    return [
        rf"\fI{escape(formatter._format_args(action, action.dest.upper()))}\fR"
        for action in parser._get_positional_actions()
        if not isinstance(action, argparse._SubParsersAction)
    ]


def _options(parser: argparse.ArgumentParser, *, of_all: bool = False) -> list[str]:
    """Return the explained words and options of a parser, without those that all commands have."""
    lines: list[str] = []
    for group in parser._action_groups:
        if group.title == SHARED:
            continue
        for action in group._group_actions:
            usual = isinstance(action, argparse._HelpAction) and not of_all
            listed = isinstance(action, argparse._SubParsersAction)
            if action.help and not usual and not listed:
                lines += _explained(parser, action)
    return lines


def _shared(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of the group that commands share, from the command that has most."""
    commands = [command for _, _, command in _commands(parser)]
    fullest = max(commands, key=lambda c: len(_group_actions(c, SHARED)), default=parser)
    return [
        line for action in _group_actions(fullest, SHARED) for line in _explained(fullest, action)
    ]


def _group_actions(parser: argparse.ArgumentParser, title: str) -> list[argparse.Action]:
    return [a for g in parser._action_groups if g.title == title for a in g._group_actions]


def _explained(parser: argparse.ArgumentParser, action: argparse.Action) -> list[str]:
    formatter = parser._get_formatter()
    if action.option_strings:
        head = ", ".join(rf"\fB{escape(option)}\fR" for option in action.option_strings)
        if action.nargs != 0:
            words = formatter._format_args(action, action.dest.upper())
            head += rf" \fI{escape(words)}\fR"
    else:
        head = rf"\fI{escape(formatter._format_args(action, action.dest.upper()))}\fR"
    said = formatter._expand_help(action) if action.help else ""
    return [".TP", head, escape(" ".join(said.split()))]


def _pairs(title: str, pairs: dict[str, str]) -> list[str]:
    lines = [f".SH {title}"]
    for name, said in pairs.items():
        lines += [".TP", rf"\fB{escape(name)}\fR", escape(said)]
    return lines


def _examples(epilog: str) -> list[str]:
    """Return the indented lines of an epilogue: the commands in it."""
    return [line[2:].rstrip() for line in epilog.splitlines() if line.startswith("  ")]


def _verbatim(lines: list[str]) -> list[str]:
    return [".nf", *map(escape, lines), ".fi"]


def escape(text: str) -> str:
    """Return text as roff prints it: a dash that can be copied, nothing taken for a request."""
    safe = text.replace("\\", r"\e").replace("-", r"\-")
    safe = re.sub(r"~", r"\\(ti", safe)
    safe = re.sub(r"\^", r"\\(ha", safe)
    return rf"\&{safe}" if safe.startswith((".", "'")) else safe
