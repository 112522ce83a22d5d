"""Writing to a pipe without a buffer of Python's own."""

from __future__ import annotations

from typing import BinaryIO


def write_all(stream: BinaryIO, data: bytes) -> None:
    """Write all of ``data``.

    An unbuffered stream takes a part alone when the process is suspended while it waits for room.
    """
    left = memoryview(data)
    while left:
        left = left[stream.write(left) :]
