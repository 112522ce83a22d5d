"""The knobs of a request in one table, from which follow options, axes, words and commands.

A request can be seen three ways, and each is made from the others here:

- as a ``RunRequest``, complete, with its defaults;
- as the arguments of the Python API (``arguments_of``, ``request_of``);
- as values by axis (``values_of``, ``request_from``), flat, as a sweep varies them: ``{"variant":
  "naive", "size.N": 512, "block": (16, 16), "tunable.TILE": 16, "switch.compile": "default"}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

import msgspec

from gpuexplorer.core import limits, ranges
from gpuexplorer.core.config import EVEN_IF_WRONG, OWN_FILL, Block, Cache, RunConfig, RunRequest
from gpuexplorer.core.errors import InputError

TRANSFERS = "include_transfers"
"""The one switch that every variant has: the textbook program as a whole is timed."""
NOT_SWITCHES = (TRANSFERS, EVEN_IF_WRONG)
"""Entries of a request's ``switches`` that are no switch of a model."""


class ProblemArguments(TypedDict, total=False):
    """What is computed, and where."""

    variant: str | None
    size: int | Mapping[str, int] | None
    precision: str | None
    device: str
    seed: int
    threads: int | None


class ConditionArguments(ProblemArguments, total=False):
    """And under which conditions."""

    cache: Cache
    fill: str | None


class RequestArguments(ConditionArguments, total=False):
    """Every knob of a request, as the Python API takes it."""

    block: Sequence[int] | None
    tunables: Mapping[str, int] | None
    switches: Mapping[str, bool | str] | None
    include_transfers: bool


class Knob(msgspec.Struct, frozen=True):
    """One knob of a request."""

    field: str
    """Of ``RunRequest``, and the argument of the Python API."""
    axis: str
    """Its name as an axis; where it is ``named``, what stands before ``.NAME``."""
    option: str
    title: str
    """In words, as an axis is labelled; that of a named knob is its name."""
    read: Callable[[str], tuple[Any, ...]] = ranges.names
    """Reads several values from text; those of a switch are still words then."""
    within: limits.Whole | None = None
    """The range of its numbers; None for what is no number."""
    named: bool = False
    """Whether there are several by name: sizes, tunables, switches."""
    word: str = ""
    """Its key in a comparison's word; "" for what a comparison has for all."""

    @property
    def default(self) -> Any:
        """What stands for it in the Python API when nothing is given."""
        return None if self.named else getattr(_DEFAULTS, self.field, False)

    def values(self, text: str) -> tuple[Any, ...]:
        """Read several values, such as ``8,16,32`` or ``8:256:*2``, all in its range."""
        found = self.read(text)
        if (within := self.within) is not None:
            for value in found:
                if not within.least <= value <= within.most:
                    raise InputError(f"'{text}' holds {value}", remedy=f"use {within.words}")
        return found


_DEFAULTS = RunRequest(workload="")
KNOBS = (
    Knob("variant", "variant", "--variant", "variant", word="variant"),
    Knob("size", "size", "--size", "size", ranges.whole_numbers, limits.ANY_WHOLE, True, "size"),
    Knob("block", "block", "--block", "block", ranges.blocks, word="block"),
    *(
        Knob("block", f"block.{along}", f"--block-{along}", f"threads in {along}",
             ranges.whole_numbers, limits.SIDE)
        for along in "xyz"
    ),
    Knob("precision", "precision", "--precision", "precision", word="precision"),
    Knob("device", "device", "--device", "device", word="device"),
    Knob("tunables", "tunable", "--set", "tunable", ranges.whole_numbers, limits.ANY_WHOLE, True),
    Knob("cache", "cache", "--cache", "cache", word="cache"),
    Knob("fill", "fill", "--fill", "inputs", word="fill"),
    Knob("seed", "seed", "--seed", "seed", ranges.whole_numbers, limits.SEED, word="seed"),
    Knob("threads", "threads", "--threads", "CPU threads", ranges.whole_numbers, limits.THREADS),
    Knob("switches", "switch", "--switch", "switch", named=True),
    Knob(TRANSFERS, TRANSFERS, "--include-transfers", "transfers", word="transfers"),
)  # fmt: skip
"""In the order in which a command says them."""
DEFAULTS: dict[str, Any] = {knob.field: knob.default for knob in KNOBS}
"""What each argument of a request is when nothing is given."""
BY_AXIS = {knob.axis: knob for knob in KNOBS}
BLOCK_AXES = ("block.x", "block.y", "block.z")
PLAIN_AXES = ("precision", "variant", "device", "fill", "cache", "threads")
"""Axes that are a whole field of a request, apart from the block."""
OF_VARIANT = ("block", "tunables", "switches")
"""Fields of a request that mean something for one variant alone."""
NOT_AXES = ("seed", TRANSFERS)
"""Knobs that a sweep does not vary."""


def knob_of(name: str) -> tuple[Knob, str]:
    """Return the knob that an axis' name means, and its own name (``N`` of ``size.N``)."""
    found = find_knob(name)
    if found is None:
        raise no_axis(name)
    return found


def no_axis(name: str) -> InputError:
    """Return what is said of a name that is no axis."""
    plain = ", ".join((*BLOCK_AXES, *PLAIN_AXES))
    return InputError(
        f"'{name}' is no axis of a sweep",
        remedy=f"use size.N, tunable.NAME, switch.NAME, block, {plain}",
    )


def find_knob(name: str) -> tuple[Knob, str] | None:
    """Return what ``knob_of`` does; None for a name that is no axis."""
    if name in BY_AXIS:
        return (BY_AXIS[name], "") if not BY_AXIS[name].named else None
    kind, dot, symbol = name.partition(".")
    knob = BY_AXIS.get(kind)
    return (knob, symbol) if knob is not None and knob.named and dot else None


# ---- a request, seen one way and another


def request_of(workload: str, **given: Unpack[RequestArguments]) -> RunRequest:
    """Return the request that arguments make; a plain size is the first symbol's."""
    fields: dict[str, Any] = {**given}
    transfers = {TRANSFERS: True} if fields.pop(TRANSFERS, False) else {}
    size, block = fields.get("size"), fields.get("block")
    fields["size"] = {"": size} if isinstance(size, int) else dict(size or {})
    fields["block"] = tuple(block) if block is not None else None
    fields["tunables"] = dict(fields.get("tunables") or {})
    fields["switches"] = {**(fields.get("switches") or {}), **transfers}
    return RunRequest(workload=workload, **fields)


def request_like(config: RunConfig) -> RunRequest:
    """Return the request that a configuration answers."""
    return RunRequest(**{name: getattr(config, name) for name in RunRequest.__struct_fields__})


def arguments_of(request: RunRequest | RunConfig) -> dict[str, Any]:
    """Return what a request says, as arguments of the Python API: what differs from the default."""
    fields = {name: getattr(request, name) for name in _DEFAULTS.__struct_fields__}
    fields[TRANSFERS] = bool(request.switches.get(TRANSFERS, False))
    fields["switches"] = {n: v for n, v in request.switches.items() if n not in NOT_SWITCHES}
    if request.block is not None:
        fields["block"] = short_block(request.block)
    if request.fill == OWN_FILL:
        fields["fill"] = None
    fields |= {n: None for n in ("size", "tunables", "switches") if not fields[n]}
    return {name: fields[name] for name, default in DEFAULTS.items() if fields[name] != default}


def by_axis(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of the Python API as values by axis."""
    found: dict[str, Any] = {}
    for knob in KNOBS:
        if knob.named:
            own = arguments.get(knob.field) or {}
            found |= {f"{knob.axis}.{symbol}": value for symbol, value in own.items()}
        elif knob.axis == knob.field and knob.field in arguments:
            found[knob.axis] = arguments[knob.field]
    return found


def values_of(request: RunRequest | RunConfig) -> dict[str, Any]:
    """Return what a request says by axis: what differs from the default."""
    return by_axis(arguments_of(request))


def request_from(workload: str, values: Mapping[str, Any]) -> RunRequest:
    """Return the request that values by axis make; no threads along single axes of a block."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        knob, symbol = knob_of(name)
        assert name not in BLOCK_AXES
        if knob.named:
            found.setdefault(knob.field, {})[symbol] = value
        else:
            found[knob.field] = value
    return request_of(workload, **found)


# ---- values as text


def switch_value(value: object) -> str:
    """Return a switch's value as the command line takes it: ``on``, ``off``, or its word."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def block_words(block: Block, sign: str = "×") -> str:
    """Return ``16×16`` for (16, 16, 1); two axes are always named."""
    return sign.join(map(str, short_block(block)))


def short_block(block: Sequence[int]) -> tuple[int, ...]:
    """Return a block without the ones at its end, but with two dimensions at least."""
    x, y, z = (*block, 1, 1)[:3]
    return (x, y) if z == 1 else (x, y, z)


def value_text(value: object) -> str:
    """Return one value of a knob as the command line takes it."""
    if isinstance(value, tuple):
        return "x".join(map(str, short_block(value)))
    return switch_value(value)


def values_text(values: Sequence[Any]) -> str:
    """Return values in the grammar of ranges, as short as they can be said."""
    if values and all(isinstance(v, int) and not isinstance(v, bool) for v in values):
        return ranges.numbers_text(values)
    return ",".join(map(value_text, values))


def option_words(values: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the command line's words for the values of each axis, several where a sweep varies it.

    Whatever the order of ``values``, they stand in the table's.
    """
    words: list[str] = []
    for knob in KNOBS:
        texts = []
        for name, several in values.items():
            found, symbol = knob_of(name)
            if found is knob:
                text = values_text(several)
                texts.append(f"{symbol}={text}" if symbol else text)
        if knob.field == TRANSFERS:
            words += [knob.option] if "on" in texts else []
        elif texts and knob.field == "size":
            words += [knob.option, ",".join(texts)]
        else:
            words += [word for text in texts for word in (knob.option, text)]
    return words


def request_words(request: RunRequest | RunConfig, without: Sequence[str] = ()) -> list[str]:
    """Return the command line's words for a request, apart from some kinds of axes."""
    values = values_of(request)
    return option_words({n: (v,) for n, v in values.items() if n.partition(".")[0] not in without})
