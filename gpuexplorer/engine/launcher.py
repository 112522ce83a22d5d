"""Start the engine's process: streams and thread limits first, everything heavy afterwards."""

from __future__ import annotations

import argparse
import io
import os
import re
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gpuexplorer.core.bootstrap import EXIT_UNSUITABLE, REQUIRED, install_command, refusal
from gpuexplorer.core.frozen import is_frozen
from gpuexplorer.engine.cores import default_threads, usable_cores

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_SPIN_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
SPIN = "20"
"""NumPy's BLAS waits for more work at full speed, for 2 to the power of so many cycles: 0.4 ms, in
which the next of several calls in a row begins. By itself it does so for a tenth of a second, and
takes a core from the launches that follow the check of a result."""
OOM_ADJUSTMENT = Path("/proc/self/oom_score_adj")
_SHORT_OF_MEMORY = re.compile(
    r"cannot allocate memory|failed to map segment|out of memory", re.IGNORECASE
)
"""How Linux's loader says that a library has no room."""
GOES_FIRST = 500
"""Of -1000 (never) to 1000 (before all others); a process has 0 by itself."""


def go_first(adjustment: Path = OOM_ADJUSTMENT) -> None:
    """Have Linux end this process, and not the window, when the machine runs out of memory."""
    try:
        if int(adjustment.read_text(encoding="ascii")) < GOES_FIRST:
            adjustment.write_text(str(GOES_FIRST), encoding="ascii")
    except (OSError, ValueError):
        pass  # another system, or one that keeps this to itself


def limit_threads(threads: int) -> None:
    """Say how many threads libraries may use; they read it when NumPy and PyTorch are imported."""
    for name in _THREAD_VARIABLES:
        os.environ[name] = str(threads)
    os.environ.setdefault(_SPIN_VARIABLE, SPIN)


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Keep private copies of descriptors 0 and 1 and point the public ones elsewhere.

    No library's print can then corrupt the stream of frames: 0 reads the null device and 1 writes
    to standard error.
    """
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(incoming.fileno(), os.O_BINARY)
        msvcrt.setmode(outgoing.fileno(), os.O_BINARY)
    return incoming, outgoing


class Listening(io.RawIOBase):
    """A stream that ends as well when nothing comes for ``silence_s`` seconds."""

    def __init__(self, descriptor: int, silence_s: float) -> None:
        self._descriptor, self._silence_s = descriptor, silence_s

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read what there is; 0 at the end, or after the silence."""
        # What came while this process was kept from looking counts: it is asked before it is late.
        ready, _, _ = select.select([self._descriptor], [], [], self._silence_s)
        return os.readv(self._descriptor, [buffer]) if ready else 0


def main(argv: list[str]) -> int:
    """Run the engine until its input ends.

    With ``--compile`` answer one compile request instead, with ``--profile FILE`` run the launch
    that a file asks for, for a profiler. ``--silence S``: nothing heard for so many seconds is the
    end of the input, and ends what the engine has started as well.
    """
    parser = argparse.ArgumentParser(prog="gpuexplorer engine")
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--silence", type=float, metavar="S")
    parser.add_argument("--nice", type=int, default=0, metavar="N")
    options = parser.parse_args(argv)
    threads = min(max(1, options.threads), usable_cores())
    limit_threads(threads)
    if options.profile is not None:
        from gpuexplorer.engine.profile import run_file

        return run_file(options.profile, threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    go_first()
    if options.nice and hasattr(os, "nice"):  # which Windows has not
        os.nice(options.nice)
    incoming, outgoing = take_streams()
    if options.silence is not None and not options.compile:
        incoming = io.BufferedReader(Listening(os.dup(incoming.fileno()), options.silence))
    if options.compile:
        from gpuexplorer.compile.service import serve

        return serve(incoming, outgoing)

    try:
        from gpuexplorer.engine.server import Server
    except Exception as error:  # noqa: BLE001 - a broken library breaks in its own way
        outgoing.write(_unloadable(error))
        return EXIT_UNSUITABLE
    return Server(incoming, outgoing, threads, alone=options.silence is not None).serve()


def _unloadable(error: Exception) -> bytes:
    """Return what is said of a Python whose libraries are there and do not load."""
    cause: BaseException = error
    while cause.__cause__ is not None:  # NumPy puts a page of advice around it
        cause = cause.__cause__
    if isinstance(cause, MemoryError) or _SHORT_OF_MEMORY.search(str(cause)):
        return refusal("there is not enough memory to start the engine", "end other programs")
    first = (str(cause).strip().splitlines() or [type(cause).__name__])[0]
    remedy = f"install them again with: {install_command(list(REQUIRED), again=True)}"
    return refusal(
        f"{sys.executable} cannot load what an engine needs: {first}",
        "install GPU Explorer again" if is_frozen() else remedy,
        traceback.format_exc(),
    )
