"""One engine process and its pipes: three small threads that never block the owner."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO, cast

import msgspec

from gpuexplorer.core import frozen
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.shared_device import FAR_NICE, niceness
from gpuexplorer.engine import protocol
from gpuexplorer.engine.cores import check_threads
from gpuexplorer.engine.idle import core_waits_s
from gpuexplorer.engine.interpreters import find_interpreter
from gpuexplorer.engine.machine import ALIVE_EVERY_S, Machine, far_engine
from gpuexplorer.engine.program import far_bootstrap
from gpuexplorer.engine.surroundings import environment_for, own_environment

LOG_LINES = 400
LONGEST_LINE_B = 4096
"""A longer line of its output is taken as several."""
LOGGED_A_SECOND = 200
"""Lines of its output that are logged a second; the rest is dropped."""


class EngineStart(msgspec.Struct, frozen=True):
    """How an engine is started: its command and its environment.

    ``label`` is what a run says of it, None for this program's own interpreter.
    """

    command: list[str]
    environment: dict[str, str]
    label: str | None = None
    machine: Machine | None = None
    """Where it runs; None on this one."""

    @property
    def place(self) -> str:
        """What runs it, in words: an interpreter's path, with the machine if it is another."""
        if self.machine is None:
            return self.command[0]
        return f"{self.machine.python} on {self.machine.host}"


def engine_start(
    python: str | None, threads: int | None, *, framed: bool = True, compiles: bool = False
) -> EngineStart:
    """Return how an engine is started in this program's own interpreter, or in another.

    ``python`` is a word for an engine (see ``interpreters``); ``framed`` says that its standard
    output carries frames; ``compiles`` starts the compiler's process in its place. Raises
    InputError for a word that means none, and for more threads than there are, CannotRunHere for
    one on another machine without an ssh.
    """
    chosen = find_interpreter(python)
    machine = chosen.machine if chosen is not None else None
    if machine is None:
        check_threads(threads)
    nice = niceness(0 if machine is None else FAR_NICE)
    arguments = [
        *_arguments(threads),
        *(["--nice", str(nice)] if nice else []),
        *(["--compile"] if compiles else []),
    ]
    if machine is not None and chosen is not None:
        named = os.environ.get(BUILD_DEADLINE_VARIABLE)
        words = far_engine(
            machine,
            far_bootstrap(),
            [*(["--framed"] if framed else []), frozen.ENGINE, *arguments],
            {BUILD_DEADLINE_VARIABLE: named} if named else {},
        )
        command = machine.command(words)
        return EngineStart(command, own_environment(), chosen.label, machine)
    if chosen is None or chosen.is_own:
        label = None if chosen is None else chosen.label
        command = frozen.engine_command(*arguments, framed=framed)
        return EngineStart(command, own_environment(), label)
    command = module_command(frozen.ENGINE, *arguments, python=str(chosen.path), framed=framed)
    return EngineStart(command, environment_for(chosen.path), chosen.label)


def engine_command(threads: int | None, *, framed: bool = False) -> list[str]:
    """Return the command of an engine in the interpreter, or the frozen program, that runs this."""
    return frozen.engine_command(*_arguments(threads), framed=framed)


def _arguments(threads: int | None) -> list[str]:
    return ["--threads", str(threads)] if threads is not None else []


def begin(launch: EngineStart) -> subprocess.Popen[bytes]:
    """Start an engine's process, in a group of its own, with a pipe for each stream."""
    return subprocess.Popen(
        launch.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=launch.environment,
        bufsize=-1,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        process_group=0 if os.name == "posix" else None,
    )


class EngineProcess:
    """A running engine.

    ``deliver`` is called from the reading thread with each message, and with None once the stream
    ended. Raises OSError when the command cannot be started.
    """

    def __init__(
        self,
        launch: EngineStart,
        deliver: Callable[[EngineProcess, protocol.EngineMessage | None], None],
        log: Callable[[str], None],
    ) -> None:
        self._deliver = deliver
        self._log = log
        self.launch = launch
        self.output: deque[str] = deque(maxlen=LOG_LINES)
        """The last lines of its standard error, and what it printed before the preamble."""
        self.python: str | None = None
        """The version that the Python wrote before anything else; None where no Python ran."""
        self.flooded = False
        """Whether it was given up because it printed too much before it answered."""
        self.ending = False
        """Whether nothing that it still says is waited for."""
        self.answers_as: int | None = None
        """The number that the engine says it has: another one where a script started it."""
        self.sent_workloads: set[str] = set()
        self._second, self._logged = 0, 0
        self._noting = threading.Lock()
        self._process = begin(launch)
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sending = threading.Lock()
        self._unwritten = 0
        """Messages that the writing thread has not written yet."""
        self._threads = [
            threading.Thread(target=target, name=f"engine-{name}", daemon=True)
            for name, target in (
                ("reader", self._read),
                ("writer", self._write),
                ("log", self._drain_log),
            )
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def send(self, message: protocol.Message) -> None:
        """Write or queue a message; a process that is gone swallows it."""
        data = protocol.frame(message)
        with self._sending:
            stream = cast(BinaryIO, self._process.stdin)
            alone = self.launch.machine is None and not self._unwritten  # else the thread writes
            if not (alone and protocol.write_at_once(stream, data)):
                self._unwritten += 1
                self._outgoing.put(data)

    def _write(self) -> None:
        stream = cast(BinaryIO, self._process.stdin)
        every_s = None if self.launch.machine is None else ALIVE_EVERY_S
        alive = protocol.frame(protocol.Alive())
        try:
            while True:
                try:
                    data = self._outgoing.get(timeout=every_s)
                except queue.Empty:
                    data = alive
                if data is None:
                    break
                stream.write(data)
                stream.flush()
                if data is not alive:
                    with self._sending:
                        self._unwritten -= 1
        except (OSError, ValueError):
            pass  # the reading thread tells that the process is gone
        finally:
            try:
                stream.close()
            except OSError:
                pass

    def _read(self) -> None:
        stream = cast(BinaryIO, self._process.stdout)
        try:
            self._take_beginning(protocol.skip_to_preamble(stream))
            while (body := protocol.read_body(stream)) is not None:
                self._deliver(self, protocol.engine_decoder().decode(body))
        except protocol.NoEngine as nothing:
            self.flooded = nothing.flooded
            self._take_beginning(nothing.output)
        except (protocol.ProtocolError, msgspec.DecodeError, OSError, ValueError) as error:
            self._note(str(error))
        finally:
            self._deliver(self, None)

    def _take_beginning(self, before: bytes) -> None:
        self.python, rest = protocol.split_mark(before)
        self._note(rest[-LOG_LINES * LONGEST_LINE_B :].decode(errors="replace"))

    def _drain_log(self) -> None:
        stream = cast(BinaryIO, self._process.stderr)
        while line := stream.readline(LONGEST_LINE_B):
            self._note(line.decode(errors="replace"))

    def _note(self, text: str) -> None:
        for line in text.splitlines():
            if not line.strip():
                continue
            with self._noting:
                self.output.append(line.rstrip()[:LONGEST_LINE_B])
                second = int(time.monotonic())
                if second != self._second:
                    self._second, self._logged = second, 0
                self._logged += 1
                told = self._logged
            if told < LOGGED_A_SECOND:
                self._log(line.rstrip())
            elif told == LOGGED_A_SECOND:
                self._log("... it prints more than is shown here")

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status, or None when it still runs after ``timeout_s``."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def is_suspended(self) -> bool:
        """Return whether the process is suspended (SIGSTOP), so that it cannot answer."""
        import psutil

        for pid in {self.pid, self.answers_as or self.pid}:
            with suppress(psutil.Error, OSError):
                ours = pid == self.pid or (os.name == "posix" and os.getpgid(pid) == self.pid)
                if ours and psutil.Process(pid).status() == psutil.STATUS_STOPPED:
                    return True
        return False

    def core_waits_s(self) -> dict[str, float]:
        """Return how long each of its threads has waited for a core so far, in seconds.

        Empty where that is not known, as on another machine.
        """
        return core_waits_s(self.answers_as or self.pid) if self.launch.machine is None else {}

    def end(self, grace_s: float) -> int | None:
        """Close its input, kill it when it is not gone in time, and let go of its pipes."""
        self.ending = True
        self._outgoing.put(None)
        status = self.wait(grace_s) if grace_s > 0 else self._process.poll()
        if status is None:
            self._kill()
            status = self.wait(5.0)
        if not self._let_go():  # something that it started still holds its pipes
            self._kill()
            self._let_go()
        return status

    def _kill(self) -> None:
        """End the process and what it has started: a script's Python, a profiler, a compiler."""
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()

    def _let_go(self) -> bool:
        """Wait for the threads and close the pipes; False when one is still read from."""
        others = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in others:
            thread.join(1.0)
        if any(thread.is_alive() for thread in others):
            return False
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        return True
