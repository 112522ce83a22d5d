"""A program under test that does what it is told: one JSON line in, one out.

Its standard output belongs to the answers; whatever else writes there goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

START_S = 60.0


class Gone(Exception):
    """The puppet has ended."""


class Hung(Exception):
    """The puppet did not answer in time."""


class Puppet:
    """The driver's side: starts a module as a program and asks it."""

    def __init__(
        self, module: str, folder: Path, environment: Mapping[str, str], said: Path, *words: str
    ) -> None:
        self._said = said
        self._read = 0
        with said.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *words], cwd=folder,
                env={**environment, "PYTHONFAULTHANDLER": "1"},
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stream,
                start_new_session=True,
            )  # fmt: skip
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._listen, name="puppet", daemon=True).start()
        self.wait(START_S)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                self._answers.put(line)
        self._answers.put(b"")

    @property
    def pid(self) -> int:
        """Its process number."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def tell(self, do: str, **words: Any) -> None:
        """Have it do something; ``wait`` returns what came of it."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"do": do, **words}).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Gone from None

    def wait(self, limit_s: float) -> dict[str, Any]:
        """Return the next answer; raises Gone and Hung."""
        try:
            line = self._answers.get(timeout=limit_s)
        except Empty:
            raise Hung from None
        if not line:
            self._answers.put(line)
            raise Gone
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, do: str, limit_s: float, **words: Any) -> dict[str, Any]:
        """Have it do something and return what came of it."""
        self.tell(do, **words)
        return self.wait(limit_s)

    def said(self) -> list[str]:
        """Return what it wrote on standard error since the last look."""
        with self._said.open("rb") as stream:
            stream.seek(self._read)
            data = stream.read()
        self._read += len(data)
        return data.decode(errors="replace").splitlines()

    def abort(self) -> list[str]:
        """End it where it hangs; return what it wrote, and where its threads were."""
        if self.alive:
            self.process.send_signal(signal.SIGABRT)
        self.process.wait()
        return self.said()

    def end(self, limit_s: float) -> int | None:
        """Close its input and wait; return its exit status, None when it had to be killed."""
        if self.process.stdin is not None:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def wait_gone(self, limit_s: float) -> bool:
        """Wait until it has ended; return whether it did."""
        limit = time.monotonic() + limit_s
        while self.alive and time.monotonic() < limit:
            time.sleep(0.01)
        return not self.alive


class Strings:
    """The puppet's side: reads what it is told and answers."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)
        self._in = os.fdopen(os.dup(0), "rb", buffering=0)
        self._rest = b""

    def fileno(self) -> int:
        """Return the descriptor that becomes readable."""
        return self._in.fileno()

    def answer(self, **words: Any) -> None:
        """Say what came of it."""
        try:
            self._out.write(json.dumps(words).encode() + b"\n")
        except OSError:
            pass

    def read(self) -> list[dict[str, Any]] | None:
        """Return what it was told; None once nobody tells it anything any more."""
        data = self._in.read(65536)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]
