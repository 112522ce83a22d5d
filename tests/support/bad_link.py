"""A way between two programs of this machine that delays, stalls and drops, as a bad network."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from contextlib import suppress

CHUNK_B = 1 << 16


class BadLink:
    """Passes connections to ``port`` on to another; ``delay_s`` holds for each direction."""

    def __init__(self, to_port: int, delay_s: float = 0.0) -> None:
        self.delay_s = delay_s
        self._to_port = to_port
        self._open = threading.Event()
        self._open.set()
        self._sockets: list[socket.socket] = []
        self._closed = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def stall(self) -> None:
        """Pass nothing on any more, and close nothing."""
        self._open.clear()

    def flow(self) -> None:
        """Pass everything on again."""
        self._open.set()

    @property
    def tried(self) -> bool:
        """Whether somebody has connected since it was begun or dropped."""
        return bool(self._sockets)

    def drop(self) -> None:
        """Break every connection."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()

    def close(self) -> None:
        """End it."""
        self._closed = True
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.drop()
        self._open.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                ours, _ = self._server.accept()
                try:
                    theirs = socket.create_connection(("127.0.0.1", self._to_port))
                except OSError:
                    ours.close()
                    continue
                for one in (ours, theirs):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += [ours, theirs]
                for pair in ((ours, theirs), (theirs, ours)):
                    _Direction(self, *pair)

    def wait(self) -> None:
        """Wait while the link stalls."""
        self._open.wait()


class _Direction:
    """What one side sends, on its way to the other."""

    def __init__(self, link: BadLink, source: socket.socket, target: socket.socket) -> None:
        self._link, self._source, self._target = link, source, target
        self._under_way: deque[tuple[float, bytes]] = deque()
        self._more = threading.Condition()
        for step in (self._take, self._give):
            threading.Thread(target=step, daemon=True).start()

    def _take(self) -> None:
        data = b"?"
        while data:
            try:
                data = self._source.recv(CHUNK_B)
            except OSError:
                data = b""
            with self._more:
                self._under_way.append((time.monotonic() + self._link.delay_s, data))
                self._more.notify()

    def _give(self) -> None:
        while True:
            with self._more:
                while not self._under_way:
                    self._more.wait()
                due, data = self._under_way.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            self._link.wait()
            try:
                if not data:
                    self._target.shutdown(socket.SHUT_RDWR)
                    return
                self._target.sendall(data)
            except OSError:
                return
