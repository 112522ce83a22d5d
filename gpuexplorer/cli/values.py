"""The values that options take, read from their text."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable
from typing import Any, TypeVar

from gpuexplorer.core import limits
from gpuexplorer.core.errors import InputError
from gpuexplorer.search import ranges

T = TypeVar("T")


def option(read: Callable[[str], T]) -> Callable[[str], T]:
    """Return a reader whose InputError the parser tells with the option's name."""

    def typed(text: str) -> T:
        try:
            return read(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return typed


seconds = option(limits.SECONDS.read)
samples = option(limits.SAMPLES.read)
rounds = option(limits.ROUNDS.read)
threads = option(limits.THREADS.read)
seed = option(limits.SEED.read)
count = option(limits.COUNT.read)
rows = option(limits.ROWS.read)


def several(of: limits.Whole) -> Callable[[str], tuple[int, ...]]:
    """Return a reader of ``8,16,32`` or ``8:256:*2``, all of them within a range."""

    def read(text: str) -> tuple[int, ...]:
        found = ranges.whole_numbers(text)
        for value in found:
            if not of.least <= value <= of.most:
                raise InputError(f"'{text}' holds {value}", remedy=f"use {of.words}")
        return found

    return option(read)


def noise(text: str) -> float:
    """Read a share such as ``0.5%`` or ``0.005``, above 0 and below 1."""
    words = text.strip()
    try:
        value = float(words.removesuffix("%")) / (100 if words.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not limits.NOISE.holds(value):
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


class Settings(argparse.Action):
    """Gathers what a repeated option says of each name; a name twice is refused."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take in one ``NAME=VALUE``, as the option's type has read it."""
        known = list(getattr(namespace, self.dest))
        name, value = values
        if any(name == other for other, _ in known):
            raise argparse.ArgumentError(self, f"{name} is given twice")
        setattr(namespace, self.dest, [*known, (name, value)])


def _pair(text: str, example: str) -> tuple[str, int]:
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*=\s*(-?\d{1,18})\s*", text, re.ASCII)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form {example}")
    return match[1], int(match[2])
