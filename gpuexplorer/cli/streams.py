"""Standard streams that every command can rely on: open, and able to take any text to the end."""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from typing import Any

_PLAIN = {
    "µ": "u", "×": "x", "·": "|", "–": "-", "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "≈": "~",
    "∞": "inf", "°": "deg ", "±": "+-", "²": "^2", "³": "^3", "…": "...", "✓": "ok", "✗": "x",
    "‘": "'", "’": "'", "“": '"', "”": '"', "\u202f": " ", "\u00a0": " ",
}  # fmt: skip
"""What stands for our characters where the terminal or the file has no such letter."""
_CLOSED_PIPE = (errno.EPIPE, *([errno.EINVAL] if sys.platform == "win32" else []))
"""How a system says that a pipe has no reader any more."""


class Lasting(io.RawIOBase):
    """A descriptor that takes whatever is written, also when it has no reader any more.

    Whether a reader has had enough (``| head -1``), or a disk is full, must not decide what else a
    command does, such as writing the files that were asked for. The first failure is kept in
    ``failed``, and what comes after it is dropped.
    """

    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self.failed: OSError | None = None

    def write(self, data: Any) -> int | None:
        """Write, and say that all was written once something could not be."""
        if self.failed is None:
            try:
                return self._raw.write(data)
            except OSError as error:
                self.failed = error
        return memoryview(data).nbytes

    def writable(self) -> bool:
        """Return that it takes what is written."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._raw.fileno()

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return self._raw.isatty()

    @property
    def name(self) -> object:
        """What the interpreter calls it."""
        return self._raw.name


def prepare_streams() -> None:
    """Open the standard streams that are closed, and let none of them fail in the middle of work.

    A descriptor that the caller closed would otherwise be the next file or pipe that is opened, and
    a library's print would end up there. ``failure`` tells at the end what could not be written.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    codecs.register_error("gpuexplorer", _plain)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, io.TextIOWrapper):
            continue
        if stream is getattr(sys, f"__{name}__") and _file(stream) is not None:
            stream = _lasting(stream)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        stream.reconfigure(errors="gpuexplorer")


def failure() -> OSError | None:
    """Write out what waits for standard output; return why some of it could not be written."""
    try:
        sys.stdout.flush()
    except OSError as error:  # of a stream that a program set in place of its own
        return error
    raw = _raw(sys.stdout) if isinstance(sys.stdout, io.TextIOWrapper) else None
    return raw.failed if isinstance(raw, Lasting) else None


def is_closed_pipe(error: OSError) -> bool:
    """Return whether a stream could not be written because it has no reader any more."""
    return error.errno in _CLOSED_PIPE


def _raw(stream: io.TextIOWrapper) -> object:
    """Return what a stream writes to below its buffer."""
    return getattr(stream.buffer, "raw", stream.buffer)


def _file(stream: io.TextIOWrapper) -> io.FileIO | None:
    """Return a stream's file; None for a console or another stand-in."""
    raw = _raw(stream)
    return raw if isinstance(raw, io.FileIO) else None


def _lasting(stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """Return a stream of the same kind to the same file that never fails."""
    encoding, errors = stream.encoding, stream.errors
    line_buffering, write_through = stream.line_buffering, stream.write_through
    buffer: Any = stream.detach()
    unbuffered = isinstance(buffer, io.FileIO)  # as ``python -u`` has it
    raw = Lasting(buffer if unbuffered else buffer.detach())
    return io.TextIOWrapper(
        raw if unbuffered else io.BufferedWriter(raw),
        encoding=encoding,
        errors=errors,
        newline=None if sys.platform == "win32" else "\n",
        line_buffering=line_buffering,
        write_through=write_through,
    )


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Write what cannot be encoded in plain letters, or as its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    parts = (_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in found)
    return "".join(parts), error.end
