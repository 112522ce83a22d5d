"""A space of configurations: axes over a request, and every point of it, legal or with a reason.

Nothing here runs: what is legal, the workload's manifest and the device's limits say.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

import msgspec

from gpuexplorer.core.axis_words import axis_title, value_words, values_words
from gpuexplorer.core.config import OWN_FILL, Cache, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.equal_parts import reusing
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.knobs import (
    BLOCK_AXES,
    NOT_AXES,
    PLAIN_AXES,
    find_knob,
    knob_of,
    no_axis,
    request_from,
)
from gpuexplorer.core.sweep import values_at
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.choose import complete, default_block, find_device
from gpuexplorer.workloads.manifest import FILLS, VariantSpec
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.switches import kept, of_model, read_switch
from gpuexplorer.workloads.workload import Workload

__all__ = ["BLOCK_AXES", "Axis", "Point", "Space", "value_words", "values_words"]

MAX_POINTS = 100_000
"""A space may have so many; more would take days, and were hardly meant."""


class Axis(msgspec.Struct, frozen=True):
    """One knob and the values it takes, in order.

    ``name``: ``size.N``, ``block`` (tuples of threads), ``block.x``, ``block.y``, ``block.z``,
    ``precision``, ``variant``, ``tunable.TILE``, X.
    """

    name: str
    values: tuple[Any, ...]

    @property
    def symbol(self) -> str:
        """The size's, the tunable's or the switch's own name; empty for every other axis."""
        found = find_knob(self.name)
        return found[1] if found is not None else ""

    @property
    def title(self) -> str:
        """The axis in words, such as ``threads in x`` or ``N``."""
        return axis_title(self.name)


class Point(msgspec.Struct, frozen=True):
    """One place of a space; exactly one of ``config`` and ``skipped`` is there.

    ``number`` counts in row-major order of the axes. ``config`` is complete, with the grid and
    every tunable, and its key is that of the run's document. ``skipped`` says in a sentence why it
    cannot run.
    """

    axes: Mapping[str, tuple[Any, ...]]
    number: int
    config: RunConfig | None
    skipped: str | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The axes' values there."""
        return values_at(self.axes, self.number)

    @property
    def words(self) -> str:
        """The point in a few words, such as ``N = 512 · block 16×16``."""
        return values_words(self.values)


class Space(msgspec.Struct, frozen=True, dict=True):
    """Every combination of the axes' values, over a request that says the rest.

    InputError when an axis is empty, repeats a value or another axis' name, or is not a knob, and
    when there would be more than ``MAX_POINTS``.
    """

    base: RunRequest
    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        """Check what can be checked without the workload."""
        names = [axis.name for axis in self.axes]
        for axis in self.axes:
            _check_axis(axis)
            if names.count(axis.name) > 1:
                raise InputError(f"axis '{axis.name}' is given twice", remedy="join their values")
        if "block" in names and set(names) & set(BLOCK_AXES):
            raise InputError(
                "the block is given as a whole and by its dimensions",
                remedy="use --block, or --block-x, --block-y and --block-z",
            )
        if self.count > MAX_POINTS:
            raise InputError(
                f"the axes span {self.count} configurations, above the limit of {MAX_POINTS}",
                remedy="give fewer values",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def count(self) -> int:
        """How many points there are, legal or not."""
        return math.prod(self.shape)

    @cached_property
    def by_name(self) -> dict[str, Axis]:
        """The axes by their names."""
        return {axis.name: axis for axis in self.axes}

    @cached_property
    def values(self) -> dict[str, tuple[Any, ...]]:
        """The values of each axis by its name."""
        return {axis.name: axis.values for axis in self.axes}

    def points(self, workload: Workload, devices: DeviceList) -> list[Point]:
        """Return every point, as ``walk`` yields them."""
        return list(self.walk(workload, devices))

    def walk(self, workload: Workload, devices: DeviceList) -> Iterator[Point]:
        """Yield every point in row-major order of the axes: the last one changes fastest.

        A knob that a point's variant does not have (a block for a library call, another variant's
        tunable) changes nothing there: the first such point stands for all, the others say so.
        Next to nothing is kept of a point that was yielded: there may be a hundred thousand.

        Raises InputError or CannotRunHere for what is wrong with the whole request: a name that
        the workload does not know, a device that is not there.
        """
        self._check_names(workload, devices)
        seen: dict[bytes, int] = {}
        before: RunConfig | None = None
        for number in range(self.count):
            values = values_at(self.values, number)
            config, skipped = self._config(values, workload, devices)
            if config is not None:
                first = seen.setdefault(_digest(config), number)
                if first != number:
                    skipped, config = _same_as(values_at(self.values, first), values, config), None
                else:
                    config = before = reusing(config, before)
            yield Point(self.values, number, config, skipped)

    def request(self, values: Mapping[str, Any], workload: Workload) -> RunRequest:
        """Return what is asked for at a point; InputError for an unknown variant."""
        base = self.base
        changes: dict[str, Any] = {n: values[n] for n in PLAIN_AXES if n in values}
        name = changes.get("variant", base.variant) or workload.manifest.first_variant
        variant = workload.variant(name)
        given = request_from("", {n: v for n, v in values.items() if n not in BLOCK_AXES})
        first = next(iter(workload.manifest.sizes))
        size = {n: v for n, v in base.size.items() if n or first not in given.size} | given.size
        tunables, switches = base.tunables | given.tunables, base.switches | given.switches
        if "variant" in self.by_name:  # each variant takes the knobs that it has
            tunables = {n: v for n, v in tunables.items() if n in variant.tunables}
            switches = kept(switches, variant)
        changes |= {"variant": name, "size": size, "tunables": tunables, "switches": switches}
        changes["block"] = self._block(values, variant)
        return msgspec.structs.replace(base, **changes)

    def _config(
        self, values: Mapping[str, Any], workload: Workload, devices: DeviceList
    ) -> tuple[RunConfig | None, str | None]:
        try:
            config = complete(self.request(values, workload), workload, devices)
            device = find_device(devices, config.device)
            if device.threads is None and config.threads is not None:
                config = msgspec.structs.replace(config, threads=None)
            return make_plan(workload, config, device).config, None
        except ExplorerError as error:
            return None, error.what

    def _block(self, values: Mapping[str, Any], variant: VariantSpec) -> tuple[int, ...] | None:
        """Return the block asked for; None leaves it to a variant that has no block to choose."""
        if not variant.dimensions and "variant" in self.by_name:
            return None
        if "block" in values:
            return tuple(values["block"])
        if not any(name in values for name in BLOCK_AXES):
            return self.base.block
        start = (*self.base.block, 1, 1)[:3] if self.base.block else default_block(variant)
        x, y, z = start or (1, 1, 1)
        return (
            values.get("block.x", x),
            values.get("block.y", y),
            values.get("block.z", z),
        )

    def _check_names(self, workload: Workload, devices: DeviceList) -> None:
        """Refuse names that no point could use."""
        manifest = workload.manifest
        first = self.base.variant or manifest.first_variant
        names = self.by_name["variant"].values if "variant" in self.by_name else (first,)
        variants = {name: workload.variant(name) for name in names}
        for axis in self.axes:
            kind = axis.name.partition(".")[0]
            if kind == "size" and axis.symbol not in manifest.sizes:
                raise InputError(
                    f"workload '{workload.name}' has no size '{axis.symbol}'",
                    remedy=suggestion(axis.symbol, manifest.sizes),
                )
            if kind == "block" and not any(v.dimensions for v in variants.values()):
                raise InputError(
                    f"variant '{names[0]}' chooses its own blocks", remedy="leave the block out"
                )
            if kind == "precision":
                _known(axis, manifest.precisions, f"workload '{workload.name}' has no precision")
            if kind == "tunable":
                offered = {
                    name: None
                    for variant in variants.values()
                    for name, tunable in variant.tunables.items()
                    if tunable.formula is None
                }
                if axis.symbol not in offered:
                    raise InputError(
                        f"no variant of this sweep has a tunable '{axis.symbol}' to choose",
                        remedy=suggestion(axis.symbol, offered),
                    )
            if kind == "switch":
                _check_switch(axis, variants)
            if kind == "fill":
                _known(axis, (OWN_FILL, *FILLS), "no input distribution")
            if kind == "cache":
                _known(axis, get_args(Cache), "no cache state")
        if "device" not in self.by_name:
            find_device(devices, self.base.device)
        if "precision" not in self.by_name and self.base.precision is not None:
            _known(
                Axis("precision", (self.base.precision,)),
                manifest.precisions,
                f"workload '{workload.name}' has no precision",
            )


def read_axis(name: str, text: str) -> Axis:
    """Return an axis with the values that a text names; InputError for what is none."""
    knob, symbol = knob_of(name)
    values = knob.read(text)
    if knob.axis == "switch":
        values = tuple(dict.fromkeys(read_switch(symbol, word) for word in values))
    return Axis(name, values)


def _check_axis(axis: Axis) -> None:
    knob, symbol = knob_of(axis.name)
    if knob.named != bool(symbol) or knob.field in NOT_AXES:
        raise no_axis(axis.name)
    if not axis.values:
        raise InputError(f"axis '{axis.name}' has no values", remedy="give one at least")
    if knob.within is not None and not knob.named:
        for value in axis.values:
            knob.within.check(value, f"a value of axis '{axis.name}'")
    if len(set(axis.values)) < len(axis.values):
        raise InputError(f"axis '{axis.name}' names a value twice", remedy="name each once")


def _check_switch(axis: Axis, variants: Mapping[str, VariantSpec]) -> None:
    """Refuse a switch that no variant of the sweep has, and values that it cannot take."""
    offered = {
        switch.name: switch
        for variant in variants.values()
        if variant.model is not None
        for switch in of_model(variant.model)
    }
    if axis.symbol not in offered:
        raise InputError(
            f"no variant of this sweep has a switch '{axis.symbol}'",
            remedy=suggestion(axis.symbol, offered),
        )
    for value in axis.values:
        offered[axis.symbol].require(value)


def _known(axis: Axis, known: Sequence[str] | Mapping[str, Any], what: str) -> None:
    for value in axis.values:
        if value not in known:
            raise InputError(f"{what} '{value}'", remedy=suggestion(str(value), known))


def _digest(config: RunConfig) -> bytes:
    """Return what stands for a configuration's key and is a twentieth of it."""
    return hashlib.blake2b(config.key.encode(), digest_size=16).digest()


def _same_as(first: Mapping[str, Any], values: Mapping[str, Any], config: RunConfig) -> str:
    """Say why a point is the same experiment as an earlier one with the values ``first``."""
    differ = {n: v for n, v in first.items() if values[n] != v}
    titles = listed(axis_title(name) for name in differ) or "this"
    return (
        f"variant '{config.variant}' on {config.device} does not depend on {titles}: it is "
        f"measured once, at {values_words(differ)}"
    )
