"""One conversation with another machine while an engine is set up there."""

from __future__ import annotations

import math
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.core.bootstrap import PACKAGE
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.units import quantity
from gpuexplorer.engine import link
from gpuexplorer.engine.machine import Machine
from gpuexplorer.engine.surroundings import own_environment
from gpuexplorer.environments.children import GRACE_S, NO_WINDOW, POLL_S
from gpuexplorer.environments.progress import check

SCRIPT = Path(PACKAGE, "environments", "far_side.py")
_READ_SCRIPT = "import sys;exec(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())))"
"""What a Python there is started with: the script follows on its input, after its length."""
KEPT_LINES = 50
NOT_RUN = (126, 127)
"""What shells return for a program that cannot be run, or is not there."""

Answer = dict[str, Any]


class NoPython(CannotRunHere):
    """The Python that was to do something there is gone."""


def ask(
    machine: Machine, words: Sequence[str], cancel: threading.Event | None = None, given: str = ""
) -> str | None:
    """Return what a program there prints, None when it fails; raises as ``Talk`` does."""
    with Talk(machine, words, cancel) as talk:
        talk.send(given.encode())
        talk.end_input()
        text = "".join(talk.lines())
        return text if talk.status == 0 else None


def request(
    machine: Machine | None,
    python: str,
    wanted: Answer,
    cancel: threading.Event | None = None,
    on_answer: Callable[[Answer, Talk], None] = lambda answer, talk: None,
    *,
    answer_s: float = math.inf,
) -> Answer:
    """Have ``far_side`` do something in a Python there; return its last answer.

    ``machine`` None is this one, in this program's own Python. ``on_answer`` is told the answers
    before it. Raises as ``Talk`` does, NoPython, and WorkFailed for what went wrong there, or does
    not end within ``answer_s``.
    """
    where = machine.host if machine is not None else "this machine"
    words, script = [python, "-I", "-c", _READ_SCRIPT], b""
    if machine is None:
        words = module_command("gpuexplorer.environments.far_side")
    else:
        text = SCRIPT.read_bytes()
        script = b"%d\n" % len(text) + text
    with Talk(machine, words, cancel, bulk=wanted["action"] == "put") as talk:
        talk.send(script + msgspec.json.encode(wanted) + b"\n")
        for line in talk.lines(answer_s):
            try:
                answer = msgspec.json.decode(line, type=dict[str, Any])
            except msgspec.DecodeError:
                continue  # what a login shell printed
            if "error" in answer:
                raise _error(where, answer)
            if answer.get("done"):
                return answer
            on_answer(answer, talk)
    if talk.status in NOT_RUN:
        raise NoPython(
            f"{where} has no {python} any more", remedy="set the engine up there once more"
        )
    raise WorkFailed(
        f"what was asked of {where} ended without an answer: {talk.last}",
        remedy="start again; what is there is kept",
        detail="\n".join(talk.said),
    )


class Talk:
    """A program there, its input and the lines that it prints.

    Raises CannotRunHere where ssh does not get there, WorkFailed when the link breaks, Cancelled.
    """

    def __init__(
        self,
        machine: Machine | None,
        words: Sequence[str],
        cancel: threading.Event | None = None,
        *,
        bulk: bool = False,
    ) -> None:
        self._machine, self._cancel = machine, cancel
        self.said: list[str] = []
        """The last lines that it and ssh printed as errors."""
        self.status: int | None = None
        self._answered = False
        self._printed: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._outgoing: queue.Queue[bytes | None] = queue.Queue(maxsize=8)
        self._process = subprocess.Popen(
            list(words) if machine is None else machine.command(words, bulk=bulk),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=own_environment(), creationflags=NO_WINDOW,
            process_group=0 if os.name == "posix" else None,
        )  # fmt: skip
        self._listener = threading.Thread(target=self._listen, name="far", daemon=True)
        for thread in (
            self._listener,
            threading.Thread(target=self._read, name="far", daemon=True),
            threading.Thread(target=self._write, name="far", daemon=True),
        ):
            thread.start()

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *ended: object) -> None:
        self.end_input(wait=False)
        try:
            self._process.wait(0.0 if any(ended) else GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                if os.name == "posix":
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._process.wait()

    @property
    def last(self) -> str:
        """The last line of its errors."""
        return self.said[-1] if self.said else "it said nothing"

    def send(self, data: bytes) -> None:
        """Give it bytes, in pieces that are waited for."""
        for start in range(0, len(data), 1 << 18):
            piece = data[start : start + (1 << 18)]
            while True:
                check(self._cancel)
                try:
                    self._outgoing.put(piece, timeout=POLL_S)
                    break
                except queue.Full:
                    if self._process.poll() is not None:
                        return  # the reading side tells why

    def end_input(self, *, wait: bool = True) -> None:
        """End its input."""
        with suppress(queue.Full):
            self._outgoing.put(None, timeout=GRACE_S if wait else 0.01)

    def lines(self, within_s: float = math.inf) -> Iterator[str]:
        """Return what it prints, line by line, to its end; ``status`` is known then.

        Raises WorkFailed where the end does not come ``within_s``.
        """
        until = time.monotonic() + within_s
        while True:
            try:
                line = self._printed.get(timeout=POLL_S)
            except queue.Empty:
                check(self._cancel)
                if time.monotonic() > until:
                    raise self._silent(within_s) from None
                continue
            if line is None:
                break
            self._answered = True
            yield line
        self.status = self._process.wait()
        self._listener.join(GRACE_S)
        if self._machine is not None and link.is_of_link(self.status):
            raise self._link_failed(self._machine)

    def _silent(self, seconds: float) -> ExplorerError:
        where = self._machine.host if self._machine is not None else "this machine"
        return WorkFailed(
            f"{where} did not answer within {seconds:g} s",
            remedy="see in a terminal there whether programs start",
            detail="\n".join(self.said),
        )

    def _link_failed(self, machine: Machine) -> ExplorerError:
        detail = "\n".join(self.said)
        if self._answered:
            return WorkFailed(
                f"the link to {machine.host} is lost",
                remedy="start again; what is there is kept",
                detail=detail,
            )
        what, remedy = link.not_reached(machine, self.said)
        return CannotRunHere(what, remedy=remedy, detail=detail)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(OSError, ValueError):
            for line in self._process.stdout:
                self._printed.put(line.decode(errors="replace"))
        self._printed.put(None)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with suppress(OSError, ValueError):
            for line in self._process.stderr:
                if line.strip():
                    self.said = [*self.said[-KEPT_LINES:], line.decode(errors="replace").strip()]

    def _write(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with suppress(OSError, ValueError):
            while (data := self._outgoing.get()) is not None:
                stream.write(data)
                stream.flush()
        with suppress(OSError, ValueError):
            stream.close()


def _error(host: str, answer: Answer) -> ExplorerError:
    """Return what went wrong there as an error."""
    if answer["error"] == "full":
        missing_B, path = answer.get("missing_B") or 0, answer.get("path", "")
        missing = quantity(missing_B, "B")
        return WorkFailed(
            f"the disk of {host} with {path} is full: about {missing} are missing"
            if missing_B
            else f"the disk of {host} with {path} is full",
            remedy="free some space there and start again; what is there is kept",
        )
    if answer["error"] == "uv":
        text = str(answer.get("what", ""))
        reason = " ".join(text.partition("error:")[2].split()) or " ".join(text.split())[-300:]
        return WorkFailed(
            f"the environment cannot be made on {host}: {reason[:300]}",
            remedy="check its network, or take the wheels from a folder here (--from FOLDER)",
            detail=text,
        )
    return WorkFailed(
        f"what was asked of {host} failed: {answer.get('what', '')}", remedy="try it again"
    )
