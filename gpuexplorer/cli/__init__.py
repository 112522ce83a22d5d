"""The command line: one file a command, over the same engine as the window.

Importing this imports neither a window nor a plotter nor a framework.
"""

from __future__ import annotations

import _thread
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuexplorer.cli.detach import Collecting

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None, *, collecting: Collecting | None = None) -> int:
    """Run the command line and return its exit code; errors are one sentence each.

    ``collecting`` is the job whose results the command takes instead of measuring.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["engine"]:
        from gpuexplorer.engine.launcher import main as engine_main

        return engine_main(arguments[1:])
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _unraisable
    ended_by: list[int] = []

    def end(number: int, frame: object) -> None:
        ended_by.append(number)
        raise KeyboardInterrupt

    try:
        if argv is None:
            handle_end(end)
        code = _run(arguments, collecting)
        if argv is None:  # done: an interrupt during Python's end would replace the exit code
            handle_end(signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # at any moment, the imports below included
        code = EXIT_INTERRUPTED
    return 128 + ended_by[0] if ended_by and code == EXIT_INTERRUPTED else code


def handle_end(handler: Any) -> None:
    """Have the system's word to end handled, such as a closed terminal's or a time limit's.

    As it comes, Python would end at once: without a result, with files begun.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _unraisable(lost: Any) -> None:
    """Raise an interrupt again that came while Python was in a callback, which cannot raise it."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_thread.interrupt_main, ())  # here it could not be raised either
    else:
        sys.__unraisablehook__(lost)


def _run(arguments: list[str], collecting: Collecting | None) -> int:
    from gpuexplorer.cli.language import speak
    from gpuexplorer.cli.messages import report
    from gpuexplorer.cli.streams import failure, is_closed_pipe, prepare_streams

    prepare_streams()
    verbose = "-v" in arguments or "--verbose" in arguments
    try:
        speak(arguments)
        code = _command(arguments, collecting)
    except Exception as error:  # noqa: BLE001 - whatever it is, the user is told in one sentence
        code = report(error, verbose=verbose)
    unwritten = failure()
    if unwritten is None:
        return code
    if is_closed_pipe(unwritten):  # a reader that has had enough is no failure
        return code or EXIT_BROKEN_PIPE
    from gpuexplorer.exchange import write_error

    return report(write_error(Path("standard output"), unwritten), verbose=verbose)


def _command(arguments: list[str], collecting: Collecting | None) -> int:
    from gpuexplorer.cli.parser import parse
    from gpuexplorer.core.errors import InputError

    try:
        options = parse(arguments)
        options.collecting = collecting
        if collecting is not None:
            collecting.place_files(options)
        elif _names_files(options):  # a job has them as they were
            from gpuexplorer.cli.own_files import take_files

            take_files(options)
        try:
            code: int = options.command_function(options)
        except InputError:
            if manifest := getattr(options, "new_manifest", None):
                from gpuexplorer.cli.own_files import take_back

                take_back(manifest)
            raise
    except SystemExit as end:  # argparse after --help
        return end.code if isinstance(end.code, int) else 0
    return code


def _names_files(options: Any) -> bool:
    """Whether a command names a Python or a CUDA file as what it is to run."""
    words = [getattr(options, "workload", None), *getattr(options, "kernels", ())]
    return any(str(word).lower().endswith((".py", ".cu")) for word in words if word is not None)
