"""The commands, and how a command line is read."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Container
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from gpuexplorer.cli import (
    cluster_options,
    compare_options,
    engines_options,
    history_options,
    jobs_options,
    lessons_options,
    run_options,
    study_options,
    sweep_options,
    tune_options,
)
from gpuexplorer.cli import common_options as common
from gpuexplorer.cli.help import HelpFormatter
from gpuexplorer.cli.knob_options import add_knob
from gpuexplorer.core.deadline import choose_deadline
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.shared_device import choose_sharing
from gpuexplorer.workloads.strict import suggestion

Give = Callable[[argparse.ArgumentParser], None]


def _nothing(command: argparse.ArgumentParser) -> None:
    """Give a command no options."""


def _jobs(command: argparse.ArgumentParser) -> None:
    jobs_options.add_options(command, common.without_engine)


def _engines(command: argparse.ArgumentParser) -> None:
    engines_options.add_options(command, common.without_engine)


def _cluster(command: argparse.ArgumentParser) -> None:
    cluster_options.add_options(command, common.without_engine)


def _lessons(command: argparse.ArgumentParser) -> None:
    lessons_options.add_options(command, common.everywhere)


def _workloads(command: argparse.ArgumentParser) -> None:
    command.add_argument("name", metavar="NAME", nargs="?", help="show this one in detail")


class Command(NamedTuple):
    """What one command is."""

    words: str
    """What it does."""
    module: str
    """The module of ``gpuexplorer.cli`` whose ``command`` runs it."""
    options: Give = _nothing
    epilog: str = ""
    shared: Give = common.everywhere
    """What it has as nearly every other does."""


TABLE: dict[str, Command] = {
    "devices": Command(
        "list the devices that can run work here, and what is missing for the others",
        "devices",
        common.add_devices,
    ),
    "engines": Command(
        "the Pythons that engines run in: what each has, and what it lacks",
        "engines",
        _engines,
        engines_options.EXAMPLES,
        shared=common.without_engine,
    ),
    "workloads": Command(
        "list the workloads, or show one in detail",
        "workloads",
        _workloads,
        epilog="example:\n  gpuexplorer workloads matmul",
    ),
    "run": Command(
        "measure one configuration",
        "run",
        run_options.add_run,
        run_options.RUN_EXAMPLES,
    ),
    "new": Command(
        "describe a CUDA file of your own, or begin one, so that everything can run it",
        "new",
        run_options.add_new,
        run_options.NEW_EXAMPLES,
        shared=_nothing,
    ),
    "sweep": Command(
        "measure every combination of the values that some knobs take",
        "sweep",
        sweep_options.add_options,
        sweep_options.EXAMPLES,
    ),
    "compare": Command(
        "measure configurations or stored runs in turns: faster, slower, or the same",
        "compare",
        compare_options.add_options,
        compare_options.EXAMPLES,
    ),
    "study": Command(
        "precision, switches, CPU against GPU, time against size, the ladder: measured in turns",
        "study",
        study_options.add_options,
        study_options.EXAMPLES,
        shared=_nothing,
    ),
    "ladder": Command(
        "the kernels of a workload as rungs, up to the libraries and the roof",
        "study",
        study_options.add_ladder,
        study_options.LADDER_EXAMPLES,
        shared=_nothing,
    ),
    "tune": Command(
        "search blocks and tunables for the fastest, and keep it for 'run --tuned'",
        "tune",
        tune_options.add_options,
        tune_options.EXAMPLES,
    ),
    "jobs": Command(
        "searches that run without this program (--detach): list, follow, collect, continue, end",
        "jobs",
        _jobs,
        jobs_options.EXAMPLES,
        shared=common.without_engine,
    ),
    "cluster": Command(
        "start, show and end workers on many GPUs, for 'sweep --cluster' and 'tune --cluster'",
        "cluster",
        _cluster,
        cluster_options.EXAMPLES,
        shared=common.without_engine,
    ),
    "operators": Command(
        "record what one iteration of a model calls: a table, a flame chart, a trace",
        "operators",
        run_options.add_operators,
        run_options.OPERATORS_EXAMPLES,
    ),
    "history": Command(
        "list, search, tag, star and delete the runs that were kept",
        "history",
        history_options.add_options,
        history_options.EXAMPLES,
    ),
    "export": Command(
        "write stored runs, or those of a file, in a format that other programs read",
        "export",
        history_options.add_export,
        history_options.EXPORT_EXAMPLES,
        shared=_nothing,
    ),
    "import": Command(
        "take runs from files into the history: ours, NVBench's, Kernel Tuner's",
        "import_",
        history_options.add_import,
        history_options.IMPORT_EXAMPLES,
    ),
    "report": Command(
        "write a page on a run, a sweep or a comparison that needs nothing but a browser",
        "report",
        history_options.add_report,
        history_options.REPORT_EXAMPLES,
        shared=_nothing,
    ),
    "lessons": Command(
        "questions to guess, measure and understand: list, read, check, export",
        "lessons",
        _lessons,
        lessons_options.EXAMPLES,
        shared=common.everywhere,
    ),
    "analyze": Command(
        "compile a kernel for GPUs that need not be here: registers, memory, occupancy",
        "analyze",
        run_options.add_analyze,
        run_options.ANALYZE_EXAMPLES,
    ),
    "check-kernels": Command(
        "compile, run and verify every variant of a folder of workloads",
        "check",
        common.add_check,
        common.CHECK_EXAMPLES,
    ),
    "calibrate": Command(
        "measure what a device can do at most, which every run is held against",
        "calibrate",
        common.add_calibrate,
        common.CALIBRATE_EXAMPLES,
    ),
    "selftest": Command(
        "test a device: kernels, memory, timing, telemetry, faults; 1 when any check fails",
        "selftest",
        common.add_selftest,
        common.SELFTEST_EXAMPLES,
    ),
    "doctor": Command(
        "check this installation and say what to do about each problem",
        "doctor",
    ),
    "engine": Command(
        "serve the measuring engine on standard input and output",
        "engine",
        shared=_nothing,
    ),
}
COMMANDS = {name: command.words for name, command in TABLE.items()}
"""What each command does."""

EXAMPLES = """examples:
  gpuexplorer                                       open the window
  gpuexplorer bench.gpux                            open it with a saved session
  gpuexplorer devices
  gpuexplorer run matmul --variant naive --size 512 --block 16x16 --seconds 2
  gpuexplorer run matmul --block 256x1 --json result.json --plot result.png
  gpuexplorer compare naive:16x16 tiled:16x16 --workload matmul --size 512
  gpuexplorer check-kernels my-kernels

exit codes: 0 done, 1 the work failed or its result is wrong, 2 usage or input error,
3 nothing here can run it, 130 stopped by Ctrl-C, 129 by a closed terminal, 143 by kill or a time
limit, 141 nobody read what it printed"""


class _Parser(argparse.ArgumentParser):
    """Raises InputError, so that a wrong option is one sentence like every other error."""

    def __init__(self, *words: Any, **options: Any) -> None:
        super().__init__(*words, **{"formatter_class": HelpFormatter} | options)

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (\S+?)(/\S+)?: ", r"\1: ", message)
        raise InputError(message, remedy=f"see '{self.prog} --help'")


def _function(module: str) -> Callable[[argparse.Namespace], int]:
    """Return a command's function, imported when it is called."""

    def call(options: argparse.Namespace) -> int:
        code: int = import_module(f"gpuexplorer.cli.{module}").command(options)
        return code

    return call


def build_parser(named: Container[str] = TABLE) -> argparse.ArgumentParser:
    """Return the command line's parser; only the commands ``named`` have their options.

    What a command's options are made of, such as every kind of study, is imported for it alone.
    """
    from gpuexplorer import __version__

    parser = _Parser(
        prog="gpuexplorer",
        description="Turn a knob, see the hardware answer. Without a command the window opens.",
        epilog=EXAMPLES,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpuexplorer {__version__}")
    window = parser.add_argument_group("window")
    common.engine(window)
    add_knob(window, "threads")
    parser.set_defaults(command_function=_function("window"))
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", parser_class=_Parser, action=common.Commands
    )
    for name, command in TABLE.items():
        made = commands.add_parser(
            name,
            help=command.words,
            description=command.words[0].upper() + command.words[1:] + ".",
            epilog=command.epilog,
            allow_abbrev=False,
        )
        made.set_defaults(command_function=_function(command.module))
        if name in named:
            command.options(made)
            command.shared(made)
    return parser


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse a command line; InputError for whatever is wrong, with what could have been meant."""
    given = arguments
    first = next(iter(arguments), "")
    if first not in COMMANDS:
        sessions = [word for word in arguments if is_session(word)]
        if len(sessions) > 1:
            raise InputError(
                f"{len(sessions)} session files", remedy="name one; each window shows one session"
            )
        arguments = [word for word in arguments if not is_session(word)]
        first = next(iter(arguments), "")
    if first and not first.startswith("-") and first not in COMMANDS:
        raise InputError(f"no command '{first}'", remedy=suggestion(first, COMMANDS))
    parser = build_parser(named=arguments)
    options, extra = parser.parse_known_args(arguments)
    if extra:
        raise InputError(
            f"unknown argument '{extra[0]}'", remedy=_remedy(parser, arguments, extra[0])
        )
    options.arguments = given
    if getattr(options, "deadline", None):  # for the engines that this program starts
        choose_deadline(options.deadline)
    choose_sharing(getattr(options, "when_shared", None), getattr(options, "nice", None))
    if getattr(options, "history", None):  # for whatever opens the history in this program
        from gpuexplorer.history.place import ENVIRONMENT_VARIABLE

        os.environ[ENVIRONMENT_VARIABLE] = options.history
    return options


def is_session(word: str) -> bool:
    """Return whether an argument names a session file, which the window opens."""
    return word.lower().endswith(".gpux") and not word.startswith("-")


def _remedy(parser: argparse.ArgumentParser, arguments: list[str], unknown: str) -> str:
    """Return what an unknown option could have meant; commands may have commands of their own."""
    for word in arguments:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction) and word in action.choices:
                parser = action.choices[word]
    known = [o for a in parser._actions for o in a.option_strings if o.startswith("--")]
    if unknown.startswith("-"):
        return suggestion(unknown.partition("=")[0], known)
    return f"see '{parser.prog} --help'"
