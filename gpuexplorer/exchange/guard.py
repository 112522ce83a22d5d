"""A look over JSON text from elsewhere before it is decoded: how deep, how much, nothing twice.

A decoder builds what a text describes, and a few bytes can describe gigabytes; most decoders also
take the last of two equal keys in silence. This looks at the text alone and keeps nothing of it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.core.errors import InputError

MOST_DEPTH = 32
MOST_VALUES = 16_000_000
"""Values and keys in one text: four runs of the greatest length."""
MOST_TEXT_B = 1 << 20
"""The longest single string."""
SAID = 200
"""Characters of a decoder's sentence that are repeated."""

_TOKEN = re.compile(
    rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|:|[^"{}\[\]:]++',
    re.DOTALL,
)


def look_over(
    data: bytes, path: Path, *, most_values: int = MOST_VALUES, most_text_B: int = MOST_TEXT_B
) -> None:
    """Raise InputError for text nested too deeply, with too many values, or a key twice.

    Text that is not JSON passes: what is wrong with it, the decoder says.
    """
    keys: list[set[bytes]] = []
    latest = b""
    values = expected = 0
    for match in _TOKEN.finditer(data):
        if match.start() != expected:
            return
        expected = match.end()
        token = match.group()
        first = token[0]
        if first == 0x22:  # a string
            if len(token) > most_text_B:
                raise _refuse(path, data, match.start(), "a text is too long")
            latest = token
            values += 1
        elif first == 0x3A:  # a colon: what stood before is a key
            if not keys:
                return
            key = json.dumps(_plain(latest)).encode() if b"\\" in latest else latest
            if key in keys[-1]:
                name = latest[:60].decode(errors="replace")
                raise _refuse(path, data, match.start(), f"the key {name} stands there twice")
            keys[-1].add(key)
        elif first in b"{[":
            values += 1
            keys.append(set())
            if len(keys) > MOST_DEPTH:
                raise _refuse(path, data, match.start(), "it is nested too deeply")
        elif first in b"}]":
            if not keys:
                return
            keys.pop()
        else:
            values += token.count(b",")
        if values > most_values:
            raise _refuse(path, data, match.start(), f"it holds more than {most_values:,} values")


def _plain(text: bytes) -> Any:
    """Return a string without its escapes, so that two ways to write a key are one key."""
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")


def _refuse(path: Path, data: bytes, at: int, what: str) -> InputError:
    line = data.count(b"\n", 0, at) + 1
    return InputError(
        f"{path} cannot be read: {what} (line {line})",
        remedy="export it again from the program that wrote it",
    )


def not_readable(path: Path, what: str, error: Exception) -> InputError:
    """Return what a user is told of text that does not decode as ``what``."""
    said = " ".join(str(error).split())
    said = said if len(said) <= SAID else said[:SAID] + "…"
    return InputError(
        f"{path} cannot be read as {what}: {said}",
        remedy="export it again from the program that wrote it",
    )


def decode_any(data: bytes, path: Path, what: str) -> Any:
    """Decode JSON text that was looked over; InputError when it is not JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise not_readable(path, what, error) from None
