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
from gpuexplorer.core.text import brief

MOST_DEPTH = 32
MOST_VALUES = 16_000_000
"""Values and keys in one text: four runs of the greatest length."""
MOST_TEXT_B = 16 << 20
"""The longest single string: what kernels printed is much of a document."""

_OPENING = (b"{", b"[")
_CLOSING = (b"}", b"]")
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_OTHER = rb'[^"{}\[\]:]'
_TOKEN = re.compile(
    rb"(" + _TEXT + rb")\s*+:(" + _OTHER + rb"*+)|" + _TEXT + rb"|[{}\[\]]|" + _OTHER + rb"++",
    re.DOTALL,
)
"""A key with what follows up to the next text or bracket; a text; a bracket; anything between."""


def look_over(
    data: bytes, path: Path, *, most_values: int = MOST_VALUES, most_text_B: int = MOST_TEXT_B
) -> None:
    """Raise InputError for text nested too deeply, with too many values, or a key twice.

    Text that is not JSON passes: what is wrong with it, the decoder says.
    """
    keys: list[set[bytes]] = []
    values = expected = 0
    for match in _TOKEN.finditer(data):
        if match.start() != expected:
            return
        expected = match.end()
        key = match[1]
        if key is not None:
            if len(key) > most_text_B:
                raise _refuse(path, data, match.start(), "a text is too long")
            if not keys:
                return
            name = json.dumps(_plain(key)).encode() if b"\\" in key else key
            if name in keys[-1]:
                words = " ".join(key[:60].decode(errors="replace").split())
                raise _refuse(path, data, match.start(), f"the key {words} stands there twice")
            keys[-1].add(name)
            values += 1 + match[2].count(b",")
        else:
            token = match[0]
            if token in _OPENING:
                values += 1
                keys.append(set())
                if len(keys) > MOST_DEPTH:
                    raise _refuse(path, data, match.start(), "it is nested too deeply")
            elif token in _CLOSING:
                if not keys:
                    return
                keys.pop()
            elif token[0] == 0x22:
                values += 1
                if len(token) > most_text_B:
                    raise _refuse(path, data, match.start(), "a text is too long")
            else:
                values += token.count(b",")
        if values > most_values:
            raise _refuse(path, data, match.start(), f"it holds more than {most_values:,} values")


def check_text(data: bytes, path: Path) -> None:
    """Raise InputError for bytes that are no text in UTF-8; decoders look at few of them."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path} cannot be read: it is not text in UTF-8 (line {line})",
            remedy="export it again from the program that wrote it",
        ) from None


def check_characters(document: Any, path: Path) -> None:
    """Raise InputError for a decoded document with halves of characters: nothing can write them."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{path} cannot be read: a text in it holds half of a character",
            remedy="export it again from the program that wrote it",
        ) from None


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
    return InputError(
        f"{path} cannot be read as {what}: {brief(str(error))}",
        remedy="export it again from the program that wrote it",
    )


def decode_any(data: bytes, path: Path, what: str) -> Any:
    """Decode JSON text that was looked over; InputError when it is not JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise not_readable(path, what, error) from None
