"""One engine process and its pipes: three small threads that never block the owner."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

from gpuexplorer.engine import protocol

LOG_LINES = 400


def engine_command(python: str | None, threads: int | None) -> list[str]:
    """Return the command that starts an engine: this program's own, or another interpreter's."""
    if getattr(sys, "frozen", False) and python is None:
        command = [sys.executable, "engine"]
    else:
        command = [python or sys.executable, "-m", "gpuexplorer.engine"]
    return command + (["--threads", str(threads)] if threads is not None else [])


def engine_environment() -> dict[str, str]:
    """Return the engine's environment: ours, with this package importable from anywhere."""
    environment = dict(os.environ)
    package_parent = str(Path(__file__).resolve().parents[2])
    path = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = f"{package_parent}{os.pathsep}{path}" if path else package_parent
    original = environment.pop("LD_LIBRARY_PATH_ORIG", None)
    if original is not None:  # a frozen program must not lend its libraries to others
        environment["LD_LIBRARY_PATH"] = original
    return environment


class EngineProcess:
    """A running engine.

    ``deliver`` is called from the reading thread with each message, and with None once the stream
    ended. Raises OSError when the command cannot be started.
    """

    def __init__(
        self,
        command: list[str],
        deliver: Callable[[EngineProcess, protocol.EngineMessage | None], None],
        log: Callable[[str], None],
    ) -> None:
        self._deliver = deliver
        self._log = log
        self.said: deque[str] = deque(maxlen=LOG_LINES)
        """The last lines of its standard error, and what it printed before the preamble."""
        self.sent_workloads: set[str] = set()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=engine_environment(),
            bufsize=-1,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
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
        """Queue a message; a process that is gone swallows it."""
        self._outgoing.put(protocol.frame(message))

    def _write(self) -> None:
        stream = cast(BinaryIO, self._process.stdin)
        try:
            while (data := self._outgoing.get()) is not None:
                stream.write(data)
                stream.flush()
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
            before = protocol.skip_to_preamble(stream)
            self._note(before.decode(errors="replace"))
            while (body := protocol.read_body(stream)) is not None:
                self._deliver(self, protocol.engine_decoder.decode(body))
        except (protocol.ProtocolError, msgspec.DecodeError, OSError, ValueError) as error:
            self._note(str(error))
        finally:
            self._deliver(self, None)

    def _drain_log(self) -> None:
        for line in cast(BinaryIO, self._process.stderr):
            self._note(line.decode(errors="replace"))

    def _note(self, text: str) -> None:
        for line in text.splitlines():
            if line.strip():
                self.said.append(line.rstrip())
                self._log(line.rstrip())

    def wait(self, timeout_s: float) -> int | None:
        """Return the exit status, or None when it still runs after ``timeout_s``."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def end(self, grace_s: float) -> int | None:
        """Close its input, kill it when it is not gone in time, and let go of its pipes."""
        self._outgoing.put(None)
        status = self.wait(grace_s) if grace_s > 0 else self._process.poll()
        if status is None:
            self._process.kill()
            status = self.wait(5.0)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(1.0)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        return status
