"""The command line, imported once: each command runs in a process of its own that is forked here.

Half of the time of a short command goes into imports, which a fork has from the beginning. It is
asked by ``tests/support/cli.py``.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

import gpuexplorer.cli
from gpuexplorer.workloads.loader import load

HEADER_B = 8
"""Before each message: how long it is."""
LATE = (
    "gpuexplorer.api", "gpuexplorer.charts.render", "gpuexplorer.history.sql.database",
    "matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg",
)  # fmt: skip
"""What commands import once they need it, beside what stands in ``cli``."""


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


def command(asked: Mapping[str, Any], descriptors: list[int]) -> NoReturn:
    """Be the process of a command: with its streams, its folder and its environment.

    It ends as Python does, but for taking every module apart, which would copy their memory.
    """
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[:] = ["gpuexplorer", *asked["arguments"]]
    code = 1
    try:
        code = gpuexplorer.cli.main()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
    except BaseException:  # noqa: BLE001 - told as Python itself would
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> int:
    """Run commands one after another, until nobody asks any more."""
    here = [
        f"gpuexplorer.cli.{found.name}" for found in pkgutil.iter_modules(gpuexplorer.cli.__path__)
    ]
    for name in (*here, *LATE):
        importlib.import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "of several threads a fork has one"
    load()
    gc.freeze()  # to look for garbage would copy the memory as well
    with socket.socket(fileno=int(sys.argv[1])) as link:
        while True:
            asked, descriptors = receive(link)
            if asked is None:
                return 0
            pid = os.fork()
            if pid == 0:
                link.close()
                command(asked, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            send(link, pid)
            _, status = os.waitpid(pid, 0)
            send(link, os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    sys.exit(main())
