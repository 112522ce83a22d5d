"""The values that options take, read from their text."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, TypeVar

from gpuexplorer.core import limits, ranges
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import Knob

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
nice = option(limits.NICENESS.read)
seed = option(limits.SEED.read)
count = option(limits.COUNT.read)
rows = option(limits.ROWS.read)


def several(knob: Knob) -> Callable[[str], tuple[Any, ...]]:
    """Return a reader of a knob's values, such as ``8,16,32`` or ``8:256:*2``, all in its range."""
    return option(knob.values)


def several_by_name(knob: Knob) -> Callable[[str], tuple[str, tuple[Any, ...]]]:
    """Return a reader of ``TILE=8,16`` or ``compile=off,default``."""
    example = "TILE=8,16" if knob.axis == "tunable" else "compile=off,default"

    def read(name: str, text: str) -> tuple[Any, ...]:
        found = knob.read(text)
        if knob.axis == "switch":
            return tuple(dict.fromkeys(_switch(name, word) for word in found))
        return found

    return _by_name(read, knob.axis, example)


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


block = option(ranges.block)


def place(text: str) -> tuple[int, ...]:
    """Read a block's place in the grid, such as ``3,1``; the axes left out are 0."""
    found = [option(limits.COUNT.read)(part) for part in text.split(",")]
    if len(found) > 3:
        raise argparse.ArgumentTypeError(f"'{text}' is not one to three numbers such as 3,1,0")
    return (*found, 0, 0)[:3]


def size(text: str) -> dict[str, int]:
    """Read ``512`` (the first size symbol) or ``N=512,M=64``."""
    found = option(ranges.sizes)(text)
    if any(len(values) > 1 for values in found.values()) or ("" in found and len(found) > 1):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form 512 or N=512,M=64")
    return {symbol: values[0] for symbol, values in found.items()}


def _switch(name: str, text: str) -> bool | str:
    from gpuexplorer.workloads.switches import read_switch

    return read_switch(name, text)


def _by_name(
    read: Callable[[str, str], T], noun: str, example: str
) -> Callable[[str], tuple[str, T]]:
    """Return a reader of ``NAME=VALUE``, as ``read`` takes the two."""

    def typed(text: str) -> tuple[str, T]:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name.isidentifier():
            raise InputError(f"'{text}' names no {noun}: it is not of the form {example}")
        return name, read(name, value)

    return option(typed)


setting = _by_name(lambda _, text: limits.ANY_WHOLE.read(text), "tunable", "TILE=16")


def switch(text: str) -> tuple[str, bool | str]:
    """Read ``compile=default``, ``cuda_graph=on``, or ``cuda_graph`` alone, which turns it on."""
    whole = text if "=" in text else f"{text}=on"
    return _by_name(_switch, "switch", "compile=default")(whole)


class GatherSettings(argparse.Action):
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


class GatherSizes(argparse.Action):
    """Gathers sizes by symbol over repeated options."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Take in the sizes of one option."""
        try:
            found = ranges.sizes(str(values))
        except InputError as error:
            raise argparse.ArgumentError(self, str(error)) from None
        known = getattr(namespace, self.dest)
        twice = next((symbol for symbol in found if symbol in known), None)
        if twice is not None:
            raise argparse.ArgumentError(self, f"size {twice or 'N'} is given twice")
        setattr(namespace, self.dest, {**known, **found})
