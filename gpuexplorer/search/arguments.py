"""The arguments of the Python API, each read by its name.

Scripts and notebooks hand over NumPy's numbers and arrays, paths, single values where there could
be several. What can be meant is taken; anything else is an InputError that names the argument,
before any work.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from gpuexplorer.core import limits
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import DEFAULTS, knob_of
from gpuexplorer.core.limits import refusal, unwrapped
from gpuexplorer.core.result import RunResult

P = ParamSpec("P")
R = TypeVar("R")
Reader = Callable[[object, str], Any]
"""Returns an argument as a call uses it; told the value and the argument's name."""

MOST_VALUES = 100_000
MOST_TEXT = 10_000


def arguments(**own: Reader) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have every argument of a public function read by its name; ``own`` are those it has apart."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = full_signature(function)
        readers = {n: own[n] if n in own else READERS[n] for n in signature.parameters}

        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> R:
            bound = signature.bind(*given, **named)
            for name, value in bound.arguments.items():
                bound.arguments[name] = readers[name](value, name)
            return function(*bound.args, **bound.kwargs)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def full_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return a function's signature with each knob of its ``**knobs`` as an argument by itself."""
    signature = inspect.signature(function, eval_str=True)
    made: list[inspect.Parameter] = []
    for one in signature.parameters.values():
        if one.kind is not inspect.Parameter.VAR_KEYWORD:
            made.append(one)
            continue
        (which,) = get_args(one.annotation)
        hints = get_type_hints(which)
        first = next((i for i, p in enumerate(made) if p.kind is p.KEYWORD_ONLY), len(made))
        made[first:first] = [
            inspect.Parameter(name, one.KEYWORD_ONLY, default=default, annotation=hints[name])
            for name, default in DEFAULTS.items()
            if name in hints
        ]
    return signature.replace(parameters=made)


# ---- single values


def text(value: object, name: str) -> str:
    """Return a text that says something."""
    if not isinstance(value, str) or "\0" in value or len(value) > MOST_TEXT:
        raise refusal(value, name, "a text")
    if not value.strip():
        raise refusal(value, name, "a text that is not empty")
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a character, which nothing can write
        raise refusal(value, name, "a text") from None
    return str(value)


def place(value: object, name: str) -> str:
    """Return a name or a path as text."""
    path = value
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
    if not isinstance(path, str):
        raise refusal(value, name, "a name or a path")
    return text(path, name)


def flag(value: object, name: str) -> bool:
    """Return True or False, and nothing that merely counts as one of them."""
    plain = unwrapped(value)
    if not isinstance(plain, bool):
        raise refusal(value, name, "True or False")
    return plain


def callback(value: object, name: str) -> Any:
    """Return a function to call meanwhile."""
    if not callable(value):
        raise refusal(value, name, "a function")
    return value


def setting(value: object, name: str) -> bool | int | float | str:
    """Return a switch's value."""
    plain = unwrapped(value)
    if isinstance(plain, bool | str):
        return plain
    if isinstance(plain, int):
        return limits.ANY_WHOLE.check(plain, name)
    raise refusal(value, name, "True, False or a word")


def history(value: object, name: str) -> bool | str:
    """Return where runs are kept: in the user's own history, in the one named, or nowhere."""
    return flag(value, name) if isinstance(unwrapped(value), bool) else place(value, name)


def contestants(value: object, name: str) -> tuple[str | RunResult, ...]:
    """Return what takes part in a comparison: words, and runs at hand."""
    assert isinstance(value, tuple)  # as a call hands over what has no name
    return tuple(
        one if isinstance(one, RunResult) else text(one, f"contestant {number}")
        for number, one in enumerate(value, start=1)
    )


def subject(value: object, name: str) -> str | Path:
    """Return a source as a path, or a workload's name."""
    return Path(place(value, name)) if isinstance(value, os.PathLike) else text(value, name)


# ---- several values


def optional(read: Reader) -> Reader:
    """Return a reader that takes None as well."""
    return lambda value, name: None if value is None else read(value, name)


def several(read: Reader, wanted: str) -> Reader:
    """Return a reader of several values as a tuple; a single one stands for itself."""

    def read_all(value: object, name: str) -> tuple[Any, ...]:
        if is_several(value):
            found = items(value, name, wanted)
            return tuple(read(one, f"{name}[{i}]") for i, one in enumerate(found))
        if value is None or isinstance(value, Mapping | bytes | bytearray):
            raise refusal(value, name, wanted)
        return (read(value, name),)

    return read_all


def some(read: Reader) -> Reader:
    """Return a reader that refuses none at all."""

    def read_some(value: object, name: str) -> Any:
        found = read(value, name)
        if not found:
            raise InputError(f"{name} is empty", remedy="give one at least")
        return found

    return read_some


def by_name(read: Reader, wanted: str) -> Reader:
    """Return a reader of a mapping from names to values."""

    def read_all(value: object, name: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise refusal(value, name, wanted)
        return {
            text(key, f"a name in {name}"): read(one, f"{name}['{key}']")
            for key, one in value.items()
        }

    return read_all


def is_several(value: object) -> bool:
    """Return whether a value holds others: a list, an array with axes, whatever can be gone
    through but a text or a mapping.
    """
    if isinstance(value, str | bytes | bytearray | Mapping | os.PathLike):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def items(value: Any, name: str, wanted: str) -> list[Any]:
    """Return what a value holds; InputError for what cannot be gone through, or has no end."""
    try:
        found = list(islice(iter(value), MOST_VALUES + 1))
    except Exception as error:  # noqa: BLE001 - whatever an object of the caller's does
        raise InputError(f"{name} cannot be gone through ({error})", remedy=wanted) from None
    if len(found) > MOST_VALUES:
        raise InputError(f"{name} has more than {MOST_VALUES} values", remedy="give fewer")
    return found


def size(value: object, name: str) -> dict[str, int]:
    """Return sizes by their symbols; a plain number is that of the first, the empty one."""
    if isinstance(value, Mapping):
        found: dict[str, int] = _whole_by_name(value, name)
        return found
    return {"": limits.ANY_WHOLE.check(value, name)}


def block(value: object, name: str) -> tuple[int, ...]:
    """Return threads per block along x, y, z."""
    sides = items(value, name, BLOCK) if is_several(value) else [value]
    if not 1 <= len(sides) <= 3 or isinstance(sides[0], str):
        raise refusal(value, name, BLOCK)
    return tuple(limits.SIDE.check(one, f"{name}[{i}]") for i, one in enumerate(sides))


def folders(value: object, name: str) -> tuple[str, ...]:
    """Return folders of workloads; one may stand alone."""
    found: tuple[str, ...] = several(place, "a folder, or several in a list")(value, name)
    return found


def axes(value: object, name: str) -> dict[str, tuple[Any, ...]]:
    """Return the values of each axis of a sweep, by its name."""
    if not isinstance(value, Mapping):
        raise refusal(value, name, "a mapping such as {'size': [256, 512]}")
    return {
        text(key, f"a name in {name}"): _axis(str(key))(one, f"{name}['{key}']")
        for key, one in value.items()
    }


def _axis(axis: str) -> Reader:
    """Return the reader of an axis' values, by the knob it is."""
    knob, _ = knob_of("size." if axis == "size" else axis)
    if knob.within is not None:
        return several(knob.within.check, WHOLE)
    if axis == "block":
        return _blocks
    if knob.axis == "switch":
        return several(setting, "words, True or False in a list")
    return several(text, "texts in a list")


def _blocks(value: object, name: str) -> tuple[tuple[int, ...], ...]:
    if not is_several(value):
        raise refusal(value, name, "blocks in a list, such as [(16, 16), (32, 8)]")
    return tuple(block(one, f"{name}[{i}]") for i, one in enumerate(items(value, name, BLOCK)))


WHOLE = "whole numbers in a list"
BLOCK = "one to three numbers of threads, such as (16, 16)"
_names = several(text, "texts in a list")
_whole_by_name = by_name(limits.ANY_WHOLE.check, "a mapping such as {'N': 512}")
_sides = optional(several(limits.SIDE.check, WHOLE))
choices_by_name = by_name(several(limits.ANY_WHOLE.check, WHOLE), "a mapping such as {'TILE': [8]}")
"""Tunables with the values to choose among."""

READERS: dict[str, Reader] = {
    "allow_long": flag,
    "arch": some(_names),
    "axes": axes,
    "block": optional(block),
    "block_x": _sides,
    "block_y": _sides,
    "block_z": _sides,
    "cache": text,
    "cluster": optional(place),
    "contestants": contestants,
    "defines": optional(_whole_by_name),
    "device": text,
    "devices": optional(some(_names)),
    "dynamic_shared_B": limits.COUNT.check,
    "entries": _names,
    "evaluations": optional(limits.EVALUATIONS.check),
    "fail_if_slower": optional(limits.NOISE.check),
    "fill": optional(text),
    "history": history,
    "include_transfers": flag,
    "kernels": folders,
    "kind": text,
    "launch": limits.COUNT.check,
    "look_at": optional(_names),
    "max_noise": optional(limits.NOISE.check),
    "on_progress": optional(callback),
    "on_round": optional(callback),
    "on_step": optional(callback),
    "on_tuning": optional(callback),
    "order": optional(_names),
    "order_seed": limits.SEED.check,
    "place": several(limits.COUNT.check, WHOLE),
    "precision": optional(text),
    "precisions": optional(some(_names)),
    "python": optional(place),
    "racing": flag,
    "resume": flag,
    "rounds": optional(limits.ROUNDS.check),
    "sampler": text,
    "samples": optional(limits.SAMPLES.check),
    "seconds": limits.SECONDS.check,
    "seed": limits.SEED.check,
    "shapes": flag,
    "size": optional(size),
    "sizes": optional(several(limits.ANY_WHOLE.check, WHOLE)),
    "slower_by": optional(limits.NOISE.check),
    "stored": flag,
    "subject": subject,
    "switches": optional(by_name(setting, "a mapping such as {'compile': 'default'}")),
    "symbol": optional(text),
    "threads": optional(limits.THREADS.check),
    "tolerance": limits.NOISE.check,
    "trust": flag,
    "try_threads": several(limits.THREADS.check, WHOLE),
    "tunables": optional(_whole_by_name),
    "variant": optional(text),
    "variants": optional(some(_names)),
    "warp": limits.COUNT.check,
    "workload": place,
}
"""How each argument is read, wherever it stands."""
