"""A package index on this machine: pages, files in parts, and answers as slow as a test wants."""

from __future__ import annotations

import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from gpuexplorer.environments.locked import plain
from tests.support.wheels import sha256

CHUNK_B = 1 << 16


class PackageIndex:
    """Serves the wheels of a folder; use it in a ``with`` statement.

    ``hold_after_B`` stops every file after so many bytes until ``go_on`` is set, or until the
    other side has gone. ``certificate``, with its key, has it speak TLS.
    """

    def __init__(
        self, folder: Path, *, hold_after_B: int | None = None, certificate: Path | None = None
    ) -> None:
        self.folder, self.hold_after_B = folder, hold_after_B
        self.go_on, self.held = threading.Event(), threading.Event()
        self.asked: list[tuple[str, int]] = []
        """The files that were asked for, and from which byte on."""
        self.password: str | None = None
        """What has to be said to get a file, as in the address USER:PASSWORD@HOST."""
        self.break_after_B: int | None = None
        """How many bytes the next connection brings before it breaks; the others are whole."""
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_HEAD(self) -> None:
                index.answer(self, body=False)

            def do_GET(self) -> None:
                index.answer(self, body=True)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        self._hashes: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._hashes = {path.name: sha256(path) for path in self.folder.glob("*.whl")}
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        """The index's address for pip."""
        user = f"user:{self.password}@" if self.password else ""
        return f"{self._scheme}://{user}127.0.0.1:{self._server.server_address[1]}/simple/"

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        """Answer with a page or with a file."""
        # A proxy is asked for whole addresses.
        kind, _, name = urlsplit(request.path).path.strip("/").partition("/")
        if kind == "simple":
            self._page(request, name)
        elif (self.folder / name).is_file():
            self._file(request, self.folder / name, body)
        else:
            request.send_error(404)

    def _page(self, request: BaseHTTPRequestHandler, name: str) -> None:
        files = [f for f in self._hashes if plain(f.partition("-")[0]) == plain(name)]
        if not files:
            request.send_error(404)
            return
        links = (f'<a href="/files/{f}#sha256={self._hashes[f]}">{f}</a>' for f in files)
        data = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
        request.send_response(200)
        request.send_header("Content-Type", "text/html")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    def _file(self, request: BaseHTTPRequestHandler, path: Path, body: bool) -> None:
        if self.password is not None and "Authorization" not in request.headers:
            request.send_error(401)
            return
        data = path.read_bytes()
        told = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        start = int(told[1]) if told else 0
        end = int(told[2]) + 1 if told and told[2] else len(data)
        request.send_response(206 if told else 200)
        if told:
            request.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        request.send_header("Content-Length", str(end - start))
        request.send_header("Accept-Ranges", "bytes")
        request.end_headers()
        if body:
            self.asked.append((path.name, start))
            self._send(request, data, start, end)

    def _send(self, request: BaseHTTPRequestHandler, data: bytes, start: int, end: int) -> None:
        limit, self.break_after_B = self.break_after_B, None
        for at in range(start, end, CHUNK_B):
            if limit is not None and at >= limit:
                return
            if self.hold_after_B is not None and at >= self.hold_after_B:
                self.held.set()
                self.go_on.wait()
            try:
                request.wfile.write(data[at : min(end, at + CHUNK_B)])
            except OSError:
                return
