"""Detached searches: where they are, how far each is, and what it has measured by now.

Here and on another machine they are looked after by the same program, ``far_side``. What this
machine knows of each stands below ``jobs`` in the data folder, until it has been collected.
"""

from __future__ import annotations

import base64
import math
import os
import secrets
import shutil
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.core import frozen
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.shared_device import FAR_NICE, niceness
from gpuexplorer.core.text import brief
from gpuexplorer.core.units import count, plural
from gpuexplorer.engine.interpreters import BUILT_IN, find_interpreter
from gpuexplorer.engine.machine import Machine
from gpuexplorer.engine.program import far_bootstrap
from gpuexplorer.environments import far
from gpuexplorer.environments.far_talk import NoPython, request
from gpuexplorer.exchange.files import atomic_file, read_file
from gpuexplorer.search import detached
from gpuexplorer.search.detached import Outcome, Work, encode, read_outcome, read_work

SCHEMA = "gpuexplorer/detached/1"
ABOUT = "about.json"
MOST_B = 1 << 20
AT_ONCE = 200
"""Answers that are fetched with one request."""
ANSWER_S = 60.0
"""How long a machine may take to say how far a job is: what it has to do for that is little."""


class Detached(msgspec.Struct, frozen=True, kw_only=True):
    """What this machine knows of a detached search."""

    schema: str = SCHEMA
    id: str
    title: str
    """What it measures, in a few words."""
    arguments: list[str]
    """The command that began it, without ``--detach``; it may hold a store's password."""
    engine: str
    """The word for its engine."""
    address: str = ""
    """The other machine, with the Python there; empty: this one."""
    python: str = ""
    """The Python here; empty: this program's own."""
    total: int
    """Configurations; 0 for a tuning, which finds its way as it goes."""
    nice: int = 0
    """How much it leaves the processor to others."""
    created_utc: str
    group: str = ""
    """What the history keeps it as; empty until something of it was collected."""
    began_in: str = ""
    """The folder in which the command was given, which its files are relative to; empty: not
    known."""

    @property
    def machine(self) -> Machine | None:
        """The other machine that it is on."""
        return Machine.read(self.address) if self.address else None

    @property
    def where(self) -> str:
        """Where it runs, in a word."""
        machine = self.machine
        return machine.host if machine is not None else "here"

    @property
    def folder(self) -> Path:
        """Its folder on this machine."""
        return folder_here() / self.id

    @property
    def _place(self) -> str:
        """Its folder where it runs."""
        return f"{far.JOBS}/{self.id}" if self.address else str(self.folder)


class DetachedState(msgspec.Struct, frozen=True, kw_only=True):
    """How far a detached search is."""

    running: bool
    done: int
    """Configurations that were measured or cannot be."""
    stopped: bool
    """Whether it was told to end."""
    said: str = ""
    """The last lines that it printed."""
    finished: bool
    """Whether nothing is missing."""
    rebooted: bool = False
    """Whether its machine was started anew since it began or was continued."""


def folder_here() -> Path:
    """Return where this machine keeps what it knows of them."""
    return data_folder() / "jobs"


class UnreadableJob(WorkFailed):
    """A detached search of which this version cannot read what it is; its folder stays."""

    def __init__(self, folder: Path, why: str) -> None:
        file = folder / ABOUT
        super().__init__(
            f"detached job {folder.name} cannot be read: {file}: {why}",
            remedy="look after it with the version of GPU Explorer that began it; or delete "
            f"{folder}, and with it what is not collected yet",
        )
        self.id = folder.name


def list_detached(
    on_unreadable: Callable[[UnreadableJob], None] = lambda error: None,
) -> list[Detached]:
    """Return every detached search that was not collected, the oldest first."""
    found = []
    for path in sorted(folder_here().glob(f"*/{ABOUT}")):
        try:
            about = msgspec.json.decode(read_file(path, MOST_B), type=Detached)
            if about.schema != SCHEMA:
                raise msgspec.DecodeError(f"it is of another version, '{brief(about.schema)}'")
        except (ExplorerError, msgspec.DecodeError) as error:
            why = error.what if isinstance(error, ExplorerError) else str(error)
            on_unreadable(UnreadableJob(path.parent, why))
        else:
            found.append(about)
    return sorted(found, key=lambda one: one.created_utc)


def find_detached(word: str) -> Detached:
    """Return the search whose id begins so; InputError where there is none, or several."""
    unreadable: list[UnreadableJob] = []
    every: list[Detached | UnreadableJob] = [*list_detached(unreadable.append), *unreadable]
    found = [one for one in every if word and one.id.startswith(word)]
    if len(found) != 1:
        raise InputError(
            f"several detached jobs begin with '{word}'"
            if found
            else f"no detached job is called '{word}'",
            remedy="see 'gpuexplorer jobs'",
        )
    (one,) = found
    if isinstance(one, UnreadableJob):
        raise one
    return one


def begin(
    title: str, work: Work, arguments: list[str], engine: str | None, group: str = ""
) -> Detached:
    """Begin a search that goes on by itself; raises as ``far_talk.request`` does.

    ``group`` is the one of the history that it continues.
    """
    chosen = find_interpreter(engine)
    machine = chosen.machine if chosen is not None else None
    if machine is None and sys.platform == "win32":
        raise InputError(
            "nothing is measured without this program on Windows yet", remedy="leave --detach out"
        )
    about = Detached(
        id=secrets.token_hex(4),
        title=title,
        arguments=arguments,
        engine=engine or BUILT_IN,
        address=str(machine) if machine is not None else "",
        python="" if chosen is None or chosen.is_own or machine is not None else str(chosen.path),
        total=len(work.configs),
        nice=niceness(FAR_NICE if machine is not None else 0),
        created_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        group=group,
        began_in=_here(),
    )
    about.folder.mkdir(parents=True, mode=0o700)
    data = encode(work)
    with atomic_file(about.folder / detached.WORK) as stream:
        stream.write(data)
    asked_to_start = False
    try:
        if machine is not None:
            _ask(about, {"action": "write", "name": detached.WORK, "data": _text(data)})
        _note(about)  # what runs is in the list, whatever ends this program now
        asked_to_start = True
        start(about)
    except BaseException as error:
        try:
            forget(about)
        except ExplorerError:
            if asked_to_start:
                raise WorkFailed(
                    f"whether job {about.id} is measured on {about.where} is not known: {error}",
                    remedy=f"see 'gpuexplorer jobs' once {about.where} answers, and end it there",
                ) from None
            shutil.rmtree(about.folder, ignore_errors=True)
        raise
    return about


def _here() -> str:
    """Return the present folder; nothing for one that is gone, or that no document can name."""
    try:
        here = os.getcwd()
        here.encode()
    except (OSError, UnicodeEncodeError):
        return ""
    return here


def keep_group(about: Detached, group: str) -> None:
    """Note what the history keeps it as, so that all of it is collected into that."""
    if group != about.group:
        _note(msgspec.structs.replace(about, group=group))


def _note(about: Detached) -> None:
    with atomic_file(about.folder / ABOUT, private=True) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(about), indent=2) + b"\n")


def go_on(about: Detached) -> None:
    """Have it go on, as after it was ended or its machine was started anew.

    This version measures, which is brought to the machine where it is another than began the job.
    """
    if about.machine is not None:
        far.send_program(about.machine, about.machine.python)
        if (about.folder / detached.ANSWERS).is_dir():
            detached.drop_passing(about.folder)  # so that what comes of them now is fetched
    start(about)


def start(about: Detached) -> None:
    """Start what measures it, in the very version of this program."""
    machine = about.machine
    if machine is None:
        command = frozen.module_command(detached.MODULE, about._place, python=about.python)
    else:
        command = [machine.python, far_bootstrap(), detached.MODULE, about._place]
    if about.nice:
        command += ["--nice", str(about.nice)]
    _ask(about, {"action": "start", "command": command})


def state_of(about: Detached, cancel: threading.Event | None = None) -> DetachedState:
    """Return how far it is; raises where its machine cannot be reached."""
    told = _ask(about, {"action": "state"}, cancel, ANSWER_S)
    return DetachedState(
        running=told["running"],
        done=told["answers"],
        stopped=told["stopped"],
        said=told["said"],
        finished=told["finished"] or (not told["running"] and 0 < about.total <= told["answers"]),
        rebooted=told["rebooted"],
    )


def measured_in(folder: Path) -> Detached | None:
    """Return a search that is being measured by a Python of this machine in a folder; or None."""
    for one in list_detached():
        if one.python and Path(one.python).is_relative_to(folder) and state_of(one).running:
            return one
    return None


def end(about: Detached) -> None:
    """End it now; what it has measured stays."""
    _ask(about, {"action": "stop"})


def progress_words(about: Detached, done: int) -> str:
    """Say how much is done, such as ``12 of 40 configurations``."""
    if about.total:
        shown, total = count(done), count(about.total)
        return f"{shown} of {total} configurations"
    return plural(done, "{number} run", "{number} runs")


def work_of(about: Detached) -> Work:
    """Return what it measures; WorkFailed where that cannot be read."""
    path = about.folder / detached.WORK
    try:
        return read_work(path.read_bytes())
    except (OSError, msgspec.DecodeError) as error:
        raise WorkFailed(
            f"{path}, which says what job {about.id} measures, cannot be read",
            remedy="collect it with the version of GPU Explorer that began it",
            detail=str(error),
        ) from None


def outcomes(about: Detached) -> list[Outcome]:
    """Return what it has measured by now, brought here; WorkFailed for what cannot be read."""
    answers = about.folder / detached.ANSWERS
    answers.mkdir(exist_ok=True)
    if about.address:
        more = True
        while more:
            have = [path.name for path in detached.answer_files(about.folder)]
            told = _ask(about, {"action": "fetch", "have": have, "most": AT_ONCE})
            for name, data in told["files"].items():
                with atomic_file(answers / Path(name).name) as stream:
                    stream.write(base64.b64decode(data))
            more = bool(told["files"])
    return [_read(about, path) for path in detached.answer_files(about.folder)]


def _read(about: Detached, path: Path) -> Outcome:
    try:
        return read_outcome(path.read_bytes())
    except msgspec.DecodeError as error:
        raise WorkFailed(
            f"{path}, which job {about.id} has measured, cannot be read",
            remedy="collect it with the version of GPU Explorer that began it, or delete this file "
            "and where the job was measured, and have it continue",
            detail=str(error),
        ) from None


def forget(about: Detached) -> None:
    """Delete it, here and where it runs."""
    _ask(about, {"action": "stop"})
    _ask(about, {"action": "forget"})
    shutil.rmtree(about.folder, ignore_errors=True)


def _ask(
    about: Detached,
    wanted: dict[str, Any],
    cancel: threading.Event | None = None,
    answer_s: float = math.inf,
) -> dict[str, Any]:
    asked, machine = {**wanted, "folder": about._place}, about.machine
    if machine is None:
        return request(None, sys.executable, asked, cancel, answer_s=answer_s)
    try:
        return request(machine, machine.python, asked, cancel, answer_s=answer_s)
    except NoPython:  # its engine was removed; what it has measured is there all the same
        python, _ = far.find_python(machine, "", cancel)
        return request(machine, python, asked, cancel, answer_s=answer_s)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
