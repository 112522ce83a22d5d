"""Options that several commands have, each written once."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuexplorer.cli import values
from gpuexplorer.cli.knob_options import add_knob, add_knobs
from gpuexplorer.core.shared_device import FAR_NICE, WHEN_SHARED

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
    group.add_argument(
        "--when-shared", choices=WHEN_SHARED,
        help="when others use the device: warn (default), or wait until it is free; Ctrl-C ends "
        "the waiting",
    )  # fmt: skip
    group.add_argument(
        "--nice", type=values.nice, metavar="N",
        help="how much the engine leaves the processor to others, 0 to 19 (default: 0, "
        f"on another machine {FAR_NICE})",
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
    language(group)


def language(group: Group) -> None:
    """Add the language; what speaks reads it before there is a parser (``cli.language``)."""
    group.add_argument(
        "--language", metavar="NAME",
        help="the language to speak, such as en or zh_CN; files are the same in all (default: what "
        "GPUEXPLORER_LANGUAGE names, else the system's)",
    )  # fmt: skip


if TYPE_CHECKING:
    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]
else:
    _Commands = argparse._SubParsersAction


class Commands(_Commands):
    """The commands of a parser; what was given before the command counts for it.

    argparse itself puts the command's defaults in its place: ``--history FILE run`` would keep the
    run elsewhere.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Read the command and its options; InputError for a given one that it does not have."""
        given = [
            (action, getattr(namespace, action.dest))
            for action in parser._actions
            if action.option_strings
            and getattr(namespace, action.dest, action.default) != action.default
        ]
        super().__call__(parser, namespace, values, option_string)
        name = values[0] if values else ""
        for action, value in given:
            same = _option(self.choices[name], action.dest)
            if same is None:
                self.choices[name].error(f"'{name}' has no option {action.option_strings[0]}")
            later = getattr(namespace, action.dest)
            if isinstance(value, list):
                setattr(namespace, action.dest, [*value, *later])
            elif later == same.default:
                setattr(namespace, action.dest, value)


def _option(parser: argparse.ArgumentParser, dest: str) -> argparse.Action | None:
    """Return the option of a command, or of one of its own commands, that sets a name."""
    for action in parser._actions:
        if action.option_strings and action.dest == dest:
            return action
        if isinstance(action, Commands):
            for inner in action.choices.values():
                if (found := _option(inner, dest)) is not None:
                    return found
    return None


def commands_of(
    parent: argparse.ArgumentParser,
    words: Mapping[str, str],
    shared: Callable[[argparse.ArgumentParser], None],
    *,
    usual: str | None = None,
) -> dict[str, argparse.ArgumentParser]:
    """Give a command commands of its own, and return their parsers by name.

    ``words`` say what each does, ``shared`` adds what all of them have, and ``usual`` is the one
    that runs where none is named; without it one has to be.
    """
    made = parent.add_subparsers(
        title="commands", metavar="COMMAND", dest="action", parser_class=type(parent),
        action=Commands, required=usual is None,
    )  # fmt: skip
    parent.set_defaults(action=usual)
    parsers = {}
    for name, does in words.items():
        parser = parsers[name] = made.add_parser(
            name, help=does, description=does[0].upper() + does[1:] + ".", allow_abbrev=False
        )
        parser.set_defaults(action=name)
        shared(parser)
    return parsers


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


def detach(way: Group) -> None:
    """Add what measures without this program; ``jobs`` collects it."""
    way.add_argument(
        "--detach", action="store_true",
        help="measure without this program, on the engine's machine, also when this one is "
        "switched off; see 'gpuexplorer jobs'",
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


CHECK_EXAMPLES = "example:\n  gpuexplorer check-kernels my-kernels"

CALIBRATE_EXAMPLES = """examples:
  gpuexplorer calibrate
  gpuexplorer calibrate --device cuda:0 --json ceilings.json
  gpuexplorer calibrate --threads 4 --quick"""

SELFTEST_EXAMPLES = """examples:
  gpuexplorer selftest --quick
  gpuexplorer selftest --device cuda:0 --json selftest.json
  gpuexplorer selftest --device cpu --section timing"""


def add_devices(devices: argparse.ArgumentParser) -> None:
    """Add the options of ``devices``."""
    add_knob(devices, "threads")


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of ``check-kernels``."""
    check.add_argument(
        "folder", metavar="DIR", type=Path, help="a workload's folder, or one of many"
    )
    add_knobs(check, "device", "threads")


def add_calibrate(calibrate: argparse.ArgumentParser) -> None:
    """Add the options of ``calibrate``."""
    add_knob(calibrate, "device")
    calibrate.add_argument(
        "--quick", action="store_true", help="smaller arrays, fewer and shorter runs"
    )
    add_knob(calibrate, "threads")


def add_selftest(selftest: argparse.ArgumentParser) -> None:
    """Add the options of ``selftest``."""
    add_knob(selftest, "device")
    selftest.add_argument(
        "--quick", action="store_true",
        help="each variant and precision at its most telling sizes only, each variant with one "
        "unusual block: about a minute on a CPU",
    )  # fmt: skip
    selftest.add_argument(
        "--section", action="append", default=[], metavar="NAME",
        help="only this part: kernels, memory, occupancy, timing, ceilings, telemetry or recovery; "
        "may repeat",
    )  # fmt: skip
    add_knob(selftest, "threads")
