"""The commands and their options."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn, get_args

from gpuexplorer.core.config import BUILD_DEADLINE_VARIABLE, Cache
from gpuexplorer.core.errors import InputError
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE as HISTORY_VARIABLE
from gpuexplorer.workloads.manifest import FILLS
from gpuexplorer.workloads.strict import suggestion

MAX_SECONDS = 86_400.0

COMMANDS: dict[str, str] = {
    "devices": "list the devices that can run work here, and what is missing for the others",
    "engines": "the Pythons that engines run in: what each has, and what it lacks",
    "workloads": "list the workloads, or show one in detail",
    "run": "measure one configuration",
    "sweep": "measure every combination of the values that some knobs take",
    "compare": "measure configurations or stored runs in turns: faster, slower, or the same",
    "study": "precision against speed, what each switch buys, CPU against GPU: in turns",
    "tune": "search blocks and tunables for the fastest, and keep it for 'run --tuned'",
    "operators": "record what one iteration of a model calls: a table, a flame chart, a trace",
    "history": "list, search, tag, star and delete the runs that were kept",
    "export": "write stored runs, or those of a file, in a format that other programs read",
    "import": "take runs from files into the history: ours, NVBench's, Kernel Tuner's",
    "report": "write a page on a run, a sweep or a comparison that needs nothing but a browser",
    "analyze": "compile a kernel for GPUs that need not be here: registers, memory, occupancy",
    "check-kernels": "compile, run and verify every variant of a folder of workloads",
    "calibrate": "measure what a device can do at most, which every run is held against",
    "selftest": "test a device: kernels, memory, timing, telemetry, faults; 1 when any check fails",
    "doctor": "check this installation and say what to do about each problem",
    "engine": "serve the measuring engine on standard input and output",
}

EXAMPLES = """examples:
  gpuexplorer                                       open the window
  gpuexplorer bench.gpux                            open it with a saved session
  gpuexplorer devices
  gpuexplorer run matmul --variant naive --size 512 --block 16x16 --seconds 2
  gpuexplorer run matmul --block 256x1 --json result.json --plot result.png
  gpuexplorer compare naive:16x16 tiled:16x16 --workload matmul --size 512
  gpuexplorer check-kernels my-kernels

exit codes: 0 done, 1 the work failed or its result is wrong, 2 usage or input error,
3 nothing here can run it"""

RUN_EXAMPLES = """examples:
  gpuexplorer run matmul --size 512 --block 16x16 --seconds 2 --json -
  gpuexplorer run matmul --variant tiled --set TILE=16 --precision fp16
  gpuexplorer run matmul --variant naive --block 256x1 --plot run.svg --csv samples.csv
  gpuexplorer run mlp --variant torch --size B=32 --precision bf16 --switch compile=default
  gpuexplorer run mine --kernels ~/kernels --device cuda:0 --include-transfers"""


ANALYZE_EXAMPLES = """examples:
  gpuexplorer analyze kernel.cu --arch sm_90 --block 16x16
  gpuexplorer analyze kernel.cu --arch H100 --arch rtx4090 --set TILE=32 --plot occupancy.svg
  gpuexplorer analyze matmul --variant tiled --arch all --json -"""

CALIBRATE_EXAMPLES = """examples:
  gpuexplorer calibrate
  gpuexplorer calibrate --device cuda:0 --json ceilings.json
  gpuexplorer calibrate --threads 4 --quick"""

SELFTEST_EXAMPLES = """examples:
  gpuexplorer selftest --quick
  gpuexplorer selftest --device cuda:0 --json selftest.json
  gpuexplorer selftest --device cpu --section timing"""


class _Parser(argparse.ArgumentParser):
    """Raises InputError, so that a wrong option is one sentence like every other error."""

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"^argument (\S+?)(/\S+)?: ", r"\1: ", message)
        raise InputError(message, remedy=f"see '{self.prog} --help'")


def _function(module: str) -> Callable[[argparse.Namespace], int]:
    """Return a command's function, imported when it is called."""

    def call(options: argparse.Namespace) -> int:
        code: int = import_module(f"gpuexplorer.cli.{module}").command(options)
        return code

    return call


def _everywhere(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("everywhere")
    _json(group)
    _engine_options(group)


def _without_engine(command: argparse.ArgumentParser) -> None:
    """Give a command what every one has but the choice of an engine."""
    group = command.add_argument_group("everywhere")
    _json(group)
    _verbose(group)


def _json(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--json", nargs="?", const="-", metavar="F", default=None,
        help="write the result as JSON to a file, or to standard output (-, the default), which "
        "then carries nothing else",
    )  # fmt: skip


def _engine_options(group: argparse._ActionsContainer) -> None:
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
        "--deadline", type=seconds, metavar="S",
        help="how long building may take, a model's file included (default: 120 s)",
    )  # fmt: skip
    group.add_argument(
        "--python", metavar="NAME|PATH",
        help="the Python that runs the engine: a name from 'gpuexplorer engines', an interpreter, "
        "or an environment's folder (default: built-in, or as 'engines default' says)",
    )  # fmt: skip
    group.add_argument(
        "--history", metavar="FILE|URL",
        help="where runs are kept: a file, or postgresql://USER@HOST/DATABASE (default: what "
        "GPUEXPLORER_HISTORY_URL names, else a file in your data folder)",
    )  # fmt: skip
    _verbose(group)


def _verbose(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "-v", "--verbose", action="store_true", help="tracebacks and the engine's log"
    )


def _threads(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--threads", type=positive, metavar="T",
        help="CPU threads a kernel may use (default: all cores but one)",
    )  # fmt: skip


def build_parser() -> argparse.ArgumentParser:
    """Return the whole command line's parser."""
    from gpuexplorer import __version__
    from gpuexplorer.cli import sweep_options  # which reads values as this module does

    parser = _Parser(
        prog="gpuexplorer",
        description="Turn a knob, see the hardware answer. Without a command the window opens.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"gpuexplorer {__version__}")
    window = parser.add_argument_group("window")
    _engine_options(window)
    _threads(window)
    parser.set_defaults(command_function=_function("window"))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)

    def add(name: str, module: str, epilog: str = "") -> _Parser:
        command: _Parser = commands.add_parser(
            name,
            help=COMMANDS[name],
            description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.set_defaults(command_function=_function(module))
        return command

    devices = add("devices", "devices")
    _threads(devices)
    from gpuexplorer.cli import engines_options

    engines = add("engines", "engines", engines_options.EXAMPLES)
    engines_options.add_options(engines, _without_engine)
    _without_engine(engines)
    workloads = add("workloads", "workloads", "example:\n  gpuexplorer workloads matmul")
    workloads.add_argument("name", metavar="NAME", nargs="?", help="show this one in detail")
    run = add("run", "run", RUN_EXAMPLES)
    _add_run(run)
    sweep = add("sweep", "sweep", sweep_options.EXAMPLES)
    sweep_options.add_options(sweep)
    from gpuexplorer.cli import compare_options

    compare = add("compare", "compare", compare_options.EXAMPLES)
    compare_options.add_options(compare)
    from gpuexplorer.cli import study_options

    study_options.add_options(add("study", "study", study_options.EXAMPLES), _everywhere)
    from gpuexplorer.cli import tune_options

    tune = add("tune", "tune", tune_options.EXAMPLES)
    tune_options.add_options(tune)
    from gpuexplorer.cli import operators_options

    operators = add("operators", "operators", operators_options.EXAMPLES)
    operators_options.add_options(operators)
    from gpuexplorer.cli import history_options

    history = add("history", "history", history_options.EXAMPLES)
    history_options.add_options(history, _everywhere)
    from gpuexplorer.cli import exchange_options

    exchange_options.add_export(add("export", "export", exchange_options.EXPORT_EXAMPLES))
    take = add("import", "import_", exchange_options.IMPORT_EXAMPLES)
    exchange_options.add_import(take)
    exchange_options.add_report(add("report", "report", exchange_options.REPORT_EXAMPLES))
    analyze = add("analyze", "analyze", ANALYZE_EXAMPLES)
    _add_analyze(analyze)
    check = add("check-kernels", "check", "example:\n  gpuexplorer check-kernels my-kernels")
    check.add_argument(
        "folder", metavar="DIR", type=Path, help="a workload's folder, or one of many"
    )
    check.add_argument("--device", default="auto", metavar="D", help="where to run (default: auto)")
    _threads(check)
    calibrate = add("calibrate", "calibrate", CALIBRATE_EXAMPLES)
    calibrate.add_argument(
        "--device", default="auto", metavar="D", help="what to calibrate (default: auto)"
    )
    calibrate.add_argument(
        "--quick", action="store_true", help="smaller arrays, fewer and shorter runs"
    )
    _threads(calibrate)
    selftest = add("selftest", "selftest", SELFTEST_EXAMPLES)
    _add_selftest(selftest)
    doctor = add("doctor", "doctor")
    for command in (
        devices,
        workloads,
        run,
        sweep,
        tune,
        compare,
        operators,
        history,
        take,
        analyze,
        check,
        calibrate,
        selftest,
        doctor,
    ):
        _everywhere(command)
    add("engine", "engine")  # for the help's list; ``main`` starts it before anything is parsed
    return parser


def _add_selftest(selftest: argparse.ArgumentParser) -> None:
    selftest.add_argument(
        "--device", default="auto", metavar="D",
        help="an id from 'gpuexplorer devices', or cuda, cpu, auto (default)",
    )  # fmt: skip
    selftest.add_argument(
        "--quick", action="store_true",
        help="each variant and precision at its most telling sizes only: about a minute on a CPU",
    )  # fmt: skip
    selftest.add_argument(
        "--section", action="append", default=[], metavar="NAME",
        help="only this part: kernels, memory, occupancy, timing, ceilings, telemetry or recovery; "
        "may repeat",
    )  # fmt: skip
    _threads(selftest)


def what_to_run(what: argparse._ActionsContainer) -> None:
    """Give a group the options that say which configuration of a workload is meant."""
    what.add_argument("--variant", metavar="V", help="which implementation (default: the first)")
    what.add_argument(
        "--size", type=size, default={}, metavar="N|N=..,M=..", help="problem size, by symbol"
    )
    what.add_argument(
        "--block", type=block, metavar="XxY[xZ]", help="threads per block, such as 16x16"
    )
    what.add_argument(
        "--precision", metavar="P",
        help="fp64, fp32 or fp16; of a framework's model also tf32, bf16, fp8_e4m3, int8, "
        "autocast_bf16 or autocast_fp16",
    )  # fmt: skip
    what.add_argument(
        "--device", default="auto", metavar="D",
        help="an id from 'gpuexplorer devices', or cuda, cpu, auto (default)",
    )  # fmt: skip
    what.add_argument(
        "--set", type=setting, action="append", default=[], metavar="TUNABLE=VALUE",
        help="a compile-time parameter of the variant; may repeat",
    )  # fmt: skip
    what.add_argument(
        "--switch", type=switch, action="append", default=[], metavar="NAME=VALUE",
        help="how a framework runs its model, such as compile=default or cuda_graph (on); may "
        "repeat, and 'gpuexplorer workloads NAME' lists them",
    )  # fmt: skip
    what.add_argument(
        "--fill", metavar="F",
        help=f"inputs: {', '.join(FILLS)} (default: as the workload's manifest says)",
    )  # fmt: skip
    what.add_argument(
        "--seed", type=whole, default=1, metavar="S", help="of the inputs (default: 1)"
    )
    what.add_argument(
        "--include-transfers", action="store_true",
        help="each sample runs the whole textbook program, host to device and back",
    )  # fmt: skip


def _add_run(run: argparse.ArgumentParser) -> None:
    run.add_argument("workload", metavar="WORKLOAD", help="a name from 'gpuexplorer workloads'")
    what = run.add_argument_group("what to run")
    what_to_run(what)
    what.add_argument(
        "--tuned", action="store_true",
        help="the block and tunables that 'gpuexplorer tune' found for this problem and hardware",
    )  # fmt: skip
    how = run.add_argument_group("how to measure")
    how.add_argument(
        "--seconds", type=seconds, metavar="S",
        help="sample for this long (default: until the median is known to 0.5 %%, at most 5 s)",
    )  # fmt: skip
    how.add_argument(
        "--noise", type=noise, metavar="P%",
        help="sample until the median is known to this, such as 0.1%%, or until more samples do "
        "not help; at most --seconds (default: 60)",
    )  # fmt: skip
    how.add_argument(
        "--cache", choices=get_args(Cache), default="hot",
        help="hot: launch after launch on the same arrays (default); cold: the last-level cache is "
        "emptied before each launch",
    )  # fmt: skip
    how.add_argument(
        "--ncu", action="store_true",
        help="also run one launch under Nsight Compute and say exactly how many bytes it moves "
        "(NVIDIA GPUs; needs ncu and the right to use the GPU's counters)",
    )  # fmt: skip
    _threads(how)
    how.add_argument(
        "--yes", action="store_true", help="agree to launches that take longer than 2 s"
    )
    files = run.add_argument_group("files")
    files.add_argument(
        "--no-history", action="store_true", help="do not keep the run in the history"
    )
    files.add_argument("--csv", type=Path, metavar="F", help="write every sample as a table")
    files.add_argument(
        "--plot", type=Path, metavar="F.png|svg|pdf", help="draw times, distribution and traffic"
    )


def _add_analyze(analyze: argparse.ArgumentParser) -> None:
    analyze.add_argument(
        "subject", metavar="FILE.cu|WORKLOAD", help="a CUDA source, or a name from 'workloads'"
    )
    what = analyze.add_argument_group("what to compile")
    what.add_argument(
        "--arch", action="append", default=[], metavar="A",
        help="such as sm_90, or a GPU such as H100, or all; may repeat (default: all)",
    )  # fmt: skip
    what.add_argument(
        "--block", type=block, metavar="XxY[xZ]",
        help="threads per block (default: the variant's; 256 for a file)",
    )  # fmt: skip
    what.add_argument("--precision", metavar="P", help="what real is: fp64, fp32 or fp16")
    what.add_argument(
        "--set", type=setting, action="append", default=[], metavar="MACRO=VALUE",
        help="a macro of the file, or a tunable of the variant; may repeat",
    )  # fmt: skip
    file = analyze.add_argument_group("of a file")
    file.add_argument(
        "--dynamic-shared", type=whole, metavar="B", help="dynamic shared memory a block, in bytes"
    )
    file.add_argument(
        "--entry", action="append", default=[], metavar="NAME",
        help="only this kernel, or one of a template such as 'scale<4>'; may repeat",
    )  # fmt: skip
    workload = analyze.add_argument_group("of a workload")
    workload.add_argument("--variant", metavar="V", help="which one (default: the first)")
    workload.add_argument(
        "--size", type=size, default={}, metavar="N|N=..,M=..", help="problem size, by symbol"
    )
    files = analyze.add_argument_group("files")
    files.add_argument("--plot", type=Path, metavar="F.png|svg|pdf", help="draw the occupancy")


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
    parser = build_parser()
    options, extra = parser.parse_known_args(arguments)
    if extra:
        raise InputError(
            f"unknown argument '{extra[0]}'", remedy=_remedy(parser, arguments, extra[0])
        )
    options.arguments = given
    if getattr(options, "deadline", None):  # for the engines that this program starts
        os.environ[BUILD_DEADLINE_VARIABLE] = str(options.deadline)
    if getattr(options, "history", None):  # for whatever opens the history in this program
        os.environ[HISTORY_VARIABLE] = options.history
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


# ---- values


def whole(text: str) -> int:
    """Read a whole number from 0 on."""
    if not re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number from 1 on."""
    if whole(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a number of seconds above 0 and up to {MAX_SECONDS:.0f}"
        )
    return value


def noise(text: str) -> float:
    """Read a share such as ``0.5%`` or ``0.005``, above 0 and below 1."""
    words = text.strip()
    try:
        value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share such as 0.5%")
    return value


def block(text: str) -> tuple[int, ...]:
    """Read threads per block, such as ``16x16`` or ``8x8x4``."""
    parts = re.split("[x×]", text.strip().lower())
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\d{1,9}", p, re.ASCII) for p in parts):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not one to three whole numbers joined by x, such as 16x16"
        )
    return tuple(map(int, parts))


def size(text: str) -> dict[str, int]:
    """Read ``512`` (the first size symbol) or ``N=512,M=64``."""
    if re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII):
        return {"": int(text)}
    pairs = [_pair(part, "512 or N=512,M=64") for part in text.split(",")]
    if len(dict(pairs)) < len(pairs):
        raise argparse.ArgumentTypeError(f"'{text}' gives a size twice")
    return dict(pairs)


def setting(text: str) -> tuple[str, int]:
    """Read ``TILE=16``."""
    return _pair(text, "TILE=16")


def switch(text: str) -> tuple[str, bool | str]:
    """Read ``compile=default``, ``cuda_graph=on``, or ``cuda_graph`` alone, which turns it on."""
    from gpuexplorer.workloads.switches import read_switch

    name, equals, value = text.partition("=")
    try:
        return name.strip(), read_switch(name.strip(), value if equals else "on")
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _pair(text: str, example: str) -> tuple[str, int]:
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d{1,18})\s*", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form {example}")
    return match[1], int(match[2])


def is_terminal() -> bool:
    """Whether progress can be drawn: standard error is a terminal."""
    return sys.stderr.isatty()
