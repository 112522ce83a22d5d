"""The values that options take, read from their text."""

from __future__ import annotations

import argparse
import math
import re

from gpuexplorer.core.errors import InputError

MAX_SECONDS = 86_400.0


def whole(text: str) -> int:
    """Read a whole number from 0 on."""
    if not re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """Read a whole number from 1 on."""
    if whole(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def seconds(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a number of seconds above 0 and up to {MAX_SECONDS:.0f}"
        )
    return value


def noise(text: str) -> float:
    """Read a share such as ``0.5%`` or ``0.005``, above 0 and below 1."""
    words = text.strip()
    try:
        value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share such as 0.5%")
    return value


def block(text: str) -> tuple[int, ...]:
    """Read threads per block, such as ``16x16`` or ``8x8x4``."""
    parts = re.split("[x×]", text.strip().lower())
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\d{1,9}", p, re.ASCII) for p in parts):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not one to three whole numbers joined by x, such as 16x16"
        )
    return tuple(map(int, parts))


def size(text: str) -> dict[str, int]:
    """Read ``512`` (the first size symbol) or ``N=512,M=64``."""
    if re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII):
        return {"": int(text)}
    pairs = [_pair(part, "512 or N=512,M=64") for part in text.split(",")]
    if len(dict(pairs)) < len(pairs):
        raise argparse.ArgumentTypeError(f"'{text}' gives a size twice")
    return dict(pairs)


def setting(text: str) -> tuple[str, int]:
    """Read ``TILE=16``."""
    return _pair(text, "TILE=16")


def switch(text: str) -> tuple[str, bool | str]:
    """Read ``compile=default``, ``cuda_graph=on``, or ``cuda_graph`` alone, which turns it on."""
    from gpuexplorer.workloads.switches import read_switch

    name, equals, value = text.partition("=")
    try:
        return name.strip(), read_switch(name.strip(), value if equals else "on")
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _pair(text: str, example: str) -> tuple[str, int]:
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d{1,18})\s*", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form {example}")
    return match[1], int(match[2])
