"""Imports once, and forks: half of a short process's time goes into its imports.

There are two kinds, the command line and the engine. ``tests/support/forks.py`` asks: it connects,
sends what to be and the three standard streams, and is told the process's number and, once it has
ended, its exit status.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

HEADER_B = 8
"""Before each message: how long it is."""
OF_THE_COMMAND_LINE = (
    "gpuexplorer.api", "gpuexplorer.charts.render", "gpuexplorer.history.sql.database",
    "matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg",
)  # fmt: skip
"""What commands import once they need it, beside what stands in ``cli``."""
OF_THE_ENGINE = (
    "gpuexplorer.engine.launcher", "gpuexplorer.engine.server",
    "gpuexplorer.backends.opencl.backend", "gpuexplorer.backends.opencl.drivers",
    "gpuexplorer.backends.opencl.runner", "gpuexplorer.backends.torch.backend",
    "gpuexplorer.backends.numpy", "gpuexplorer.backends.tensorflow.backend",
    "gpuexplorer.backends.jax.backend", "gpuexplorer.backends.keras.backend",
    "numpy.random", "platformdirs", "pytools.persistent_dict", "pytools.py_codegen",
)  # fmt: skip
"""What an engine imports until its first run on the CPU has begun."""


def receive(link: socket.socket) -> tuple[Any, list[int]]:
    """Return the next message and the descriptors that came with it; None at the end."""
    head, descriptors, _, _ = socket.recv_fds(link, HEADER_B, 3)
    if not head:
        return None, []
    length = int.from_bytes(head, "little")
    body = b""
    while len(body) < length:
        body += link.recv(length - len(body))
    return json.loads(body), list(descriptors)


def send(link: socket.socket, message: object, descriptors: tuple[int, ...] = ()) -> None:
    """Send a message, with descriptors."""
    body = json.dumps(message).encode()
    socket.send_fds(link, [len(body).to_bytes(HEADER_B, "little")], list(descriptors))
    link.sendall(body)


def import_command_line() -> None:
    """Import what commands need, and read the workloads."""
    import gpuexplorer.cli
    from gpuexplorer.workloads.loader import load

    here = [
        f"gpuexplorer.cli.{found.name}" for found in pkgutil.iter_modules(gpuexplorer.cli.__path__)
    ]
    for name in (*here, *OF_THE_COMMAND_LINE, "tests.support.forks"):
        importlib.import_module(name)
    load()


def command_line(arguments: list[str], engines: str | None) -> int:
    """Run a command; its engines are forks, too."""
    import gpuexplorer.cli
    from tests.support import forks

    if engines is not None:
        forks.fork_engines(lambda: engines)
    sys.argv[:] = ["gpuexplorer", *arguments]
    return gpuexplorer.cli.main()


def import_engine() -> None:
    """Import what an engine needs; no driver is loaded by that."""
    for name in OF_THE_ENGINE:
        importlib.import_module(name)


def engine(arguments: list[str], _: str | None) -> int:
    """Run an engine, which says first that a Python has begun."""
    from gpuexplorer.core.bootstrap import MARK
    from gpuexplorer.engine import launcher

    os.write(1, MARK + ".".join(map(str, sys.version_info[:3])).encode() + b"\x00\n")
    return launcher.main(arguments)


KINDS: Mapping[str, tuple[Callable[[], None], Callable[[list[str], str | None], int]]] = {
    "command line": (import_command_line, command_line),
    "engine": (import_engine, engine),
}


def be(
    run: Callable[[list[str], str | None], int], asked: Mapping[str, Any], streams: list[int]
) -> NoReturn:
    """Be the process that was asked for: with its streams, its folder and its environment.

    It ends as Python does, but for taking every module apart, which would copy their memory.
    """
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    code = 1
    try:
        code = run(asked["arguments"], asked["engines"])
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - told as Python itself would
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    """Fork whatever is asked for, until standard input ends."""
    importing, run = KINDS[sys.argv[1]]
    importing()
    assert len(os.listdir("/proc/self/task")) == 1, "of several threads a fork has one"
    gc.freeze()  # to look for garbage would copy the memory as well
    ended, signalled = os.pipe()
    for descriptor in (ended, signalled):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(signalled)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    running: dict[int, socket.socket] = {}
    with socket.socket(fileno=int(sys.argv[2])) as asking, selectors.DefaultSelector() as events:
        for source in (sys.stdin, asking, ended):
            events.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in events.select()}
            if ended in ready:
                os.read(ended, 1024)
                _tell_ends(running)
            if sys.stdin in ready:
                return 0
            if asking in ready:
                link, _ = asking.accept()
                asked, streams = receive(link)
                pid = os.fork()
                if pid == 0:
                    if asked["group"]:
                        os.setpgid(0, 0)
                    be(run, asked, streams)
                if asked["group"]:
                    _group(pid)
                for stream in streams:
                    os.close(stream)
                running[pid] = link
                send(link, pid)


def _group(pid: int) -> None:
    """Give a process a group of its own before anybody may ask for it."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass  # it has done so, and has ended


def _tell_ends(running: dict[int, socket.socket]) -> None:
    """Tell who asked for the processes that have ended how they did."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with running.pop(pid) as link:
            try:
                send(link, os.waitstatus_to_exitcode(status))
            except OSError:
                pass  # who asked has ended before


if __name__ == "__main__":
    sys.exit(main())
