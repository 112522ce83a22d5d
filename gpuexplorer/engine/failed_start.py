"""Why an engine did not start, in one sentence each, with what to do about it."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable

import msgspec

import gpuexplorer
from gpuexplorer.core.bootstrap import FILE, OLDEST_PYTHON
from gpuexplorer.engine import link, protocol
from gpuexplorer.engine.death import signal_name
from gpuexplorer.engine.process import EngineProcess, EngineStart

NOT_FOUND = 127
"""A shell's status for a program that is not there."""
LAST_LINES = 12
"""Of its own output, shown below the sentence."""
_REASONS = {
    errno.ENOENT: ("there is no such file", "check the interpreter's path"),
    errno.ENOTDIR: ("there is no such file", "check the interpreter's path"),
    errno.EACCES: ("it is not executable", "choose an interpreter, such as FOLDER/bin/python"),
    errno.EPERM: ("it may not be executed", "choose another interpreter"),
    errno.ENOEXEC: (
        "it is no program that this machine runs", "choose an interpreter, such as bin/python",
    ),
}  # fmt: skip


class FailedStart(msgspec.Struct, frozen=True):
    """What is said of an engine that did not start."""

    reason: str
    remedy: str = ""
    detail: str = ""


def cannot_run(launch: EngineStart, error: OSError) -> FailedStart:
    """Say why the system could not start the command."""
    python = launch.command[0]
    known = _REASONS.get(error.errno or 0)
    reason, remedy = known or (error.strerror or str(error), "choose another interpreter")
    if error.errno == errno.ENOENT and launch.label is not None:
        reason = "the file, or the program that its first line names, is not there"
    return FailedStart(f"the engine cannot be started: {python}: {reason}", remedy)


def ended(process: EngineProcess, status: int | None) -> FailedStart:
    """Say how a process ended that never answered."""
    python = process.launch.place
    output = list(process.output)
    how = _status(status)
    detail = last_lines(process)
    machine = process.launch.machine
    if machine is not None and process.python is None and not process.flooded:
        if link.is_of_link(status):
            return FailedStart(*link.not_reached(machine, output), detail)
        if status == NOT_FOUND or "No such file" in "\n".join(output):
            return FailedStart(*not_set_up(process.launch, output), detail)
    if process.flooded:
        return FailedStart(
            f"{python} was ended: it printed more than 1 MiB before an engine answered",
            "choose an interpreter that prints nothing when it starts",
            detail,
        )
    if process.python is not None:
        last = output[-1] if output else "it said nothing"
        return FailedStart(
            f"the engine ended before it answered, {how}: {last}"
            if process.launch.label is None
            else f"the engine in {python} (Python {process.python}) ended before it answered, "
            f"{how}: {last}",
            detail=detail,
        )
    text = "\n".join(output)
    if FILE in text and "No such file" in text:
        return FailedStart(
            f"{python} runs where this program's files are not, in a container or on another "
            "machine",
            f"make {FILE} readable there, or install GPU Explorer {gpuexplorer.__version__} there",
            detail,
        )
    if FILE in text and "SyntaxError" in text:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return FailedStart(
            f"{python} is a Python older than 3.8, and an engine needs {oldest} or newer",
            "choose another interpreter",
            detail,
        )
    return FailedStart(
        f"{python} did not run as a Python: it ended {how} before the first line: {output[-1]}"
        if output
        else f"{python} did not run as a Python: it ended {how} before the first line",
        "choose a Python interpreter, such as FOLDER/bin/python",
        detail,
    )


def not_set_up(launch: EngineStart, output: Iterable[str]) -> tuple[str, str]:
    """Return what another machine lacks, its Python or this very version, and what to do."""
    assert launch.machine is not None
    update = f"update it there with: gpuexplorer engines update {launch.label}"
    if any("bootstrap.py" in line for line in output):
        return (
            f"{launch.machine.host} does not have GPU Explorer {gpuexplorer.__version__} as it is "
            "here",
            update,
        )
    return f"{launch.machine.host} has no {launch.machine.python} any more", update


def silent(process: EngineProcess, seconds: float) -> FailedStart:
    """Say that a process did not answer in time."""
    python = process.launch.place
    if process.launch.label is None:
        what = f"the engine did not answer within {seconds:g} s"
    elif process.python is not None:
        what = f"the engine in {python} did not answer within {seconds:g} s"
    else:
        what = (
            f"the engine in {python} did not answer within {seconds:g} s and ran no line of Python"
        )
    return FailedStart(what, detail=last_lines(process))


def another_version(process: EngineProcess, welcome: protocol.Welcome) -> FailedStart | None:
    """Say that an engine is not of this very version; None when it is."""
    same = welcome.version == gpuexplorer.__version__
    if welcome.protocol == protocol.PROTOCOL and same:
        return None
    return FailedStart(
        f"the engine speaks protocol {welcome.protocol} (GPU Explorer {welcome.version}) and this "
        f"program {protocol.PROTOCOL} (GPU Explorer {gpuexplorer.__version__})",
        "close this program and start it again, or install the same version for both",
        last_lines(process),
    )


def refused(message: protocol.Refused) -> FailedStart:
    """Say why a Python cannot be an engine, as it says itself."""
    return FailedStart(message.what, message.remedy, message.detail)


def last_lines(process: EngineProcess) -> str:
    """Return what a process printed last."""
    return "\n".join(list(process.output)[-LAST_LINES:])


def _status(status: int | None) -> str:
    if status is None:
        return "or closed its output"
    if status < 0 and sys.platform != "win32":
        return f"killed by {signal_name(-status)}"
    return f"with status {status}"
