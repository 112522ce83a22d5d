"""The client of the compiler's process: started for one request, ended with it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from gpuexplorer.analysis.static import CompileAnswer, CompileRequest, KernelFigures, Refusal
from gpuexplorer.core.errors import Cancelled, CannotRunHere, ExplorerError, InputError, WorkFailed
from gpuexplorer.engine.process import engine_start


class Compiler:
    """Compiles in a child process; ``python`` is a word for its engine, None for the built-in."""

    def __init__(self, python: str | None = None) -> None:
        self._python = python
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def figures(self, requests: Sequence[CompileRequest]) -> list[list[KernelFigures]]:
        """Return what the kernels of each request take, in the requests' order.

        Raises InputError, CannotRunHere or WorkFailed as the compiler says, Cancelled after
        ``cancel``.
        """
        if not requests:
            return []
        answered, said, status = self._exchange(msgspec.msgpack.encode(list(requests)))
        try:
            answer = msgspec.msgpack.decode(answered, type=CompileAnswer)
        except msgspec.DecodeError:
            lines = said.strip().splitlines()
            why = lines[-1] if lines else f"it ended with status {status}"
            raise WorkFailed(
                f"the compiler's process gave no answer: {why}",
                remedy="see 'gpuexplorer doctor'",
                detail=said,
            ) from None
        if answer.refusal is not None:
            raise _error(answer.refusal)
        return answer.figures

    def cancel(self) -> None:
        """Give up what is being compiled; may be called from any thread."""
        with self._lock:
            self._cancelled = True
            if self._process is not None:
                with suppress(OSError):
                    self._process.kill()

    def _exchange(self, request: bytes) -> tuple[bytes, str, int]:
        """Run the process; return its answer, what it printed, and its exit status."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            try:
                launch = engine_start(self._python, None, framed=False, compiles=True)
                process = subprocess.Popen(
                    launch.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=launch.environment,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            except (InputError, CannotRunHere) as error:
                raise CannotRunHere(
                    f"the compiler's process cannot be started: {error.what}", remedy=error.remedy
                ) from None
            except OSError as error:
                raise CannotRunHere(
                    f"the compiler's process cannot be started: {error.strerror or error}",
                    remedy="check the interpreter's path",
                ) from None
            self._process = process
        try:
            answered, said = process.communicate(request)
        finally:
            with self._lock:
                self._process = None
                cancelled = self._cancelled
            if process.poll() is None:  # interrupted
                process.kill()
                process.communicate()
        if cancelled:
            raise Cancelled
        return answered, said.decode(errors="replace"), process.returncode


def _error(refusal: Refusal) -> ExplorerError:
    kinds: dict[int, type[ExplorerError]] = {2: InputError, 3: CannotRunHere}
    kind = kinds.get(refusal.exit_code, WorkFailed)
    return kind(refusal.what, remedy=refusal.remedy, detail=refusal.detail)
