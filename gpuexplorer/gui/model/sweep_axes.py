"""What a sweep can vary, offered from the knobs as they stand, and the space of what was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gpuexplorer.core.axis_words import axis_title
from gpuexplorer.core.config import OWN_FILL
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.offer import Offer
from gpuexplorer.gui.model.block import AXES
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.knobs import power_below
from gpuexplorer.search.space import BLOCK_AXES, Axis, Space, read_axis
from gpuexplorer.workloads.manifest import FILLS

FIRST_LARGEST = 1024
"""Sizes are offered up to this at first, or to twice the present one."""
FIRST_SIZES = 5
COMMON_BLOCKS = ((8, 8), (16, 16), (32, 8), (32, 32), (64, 4), (256, 1), (1, 256))


class AxisOffer(msgspec.Struct, frozen=True):
    """One knob that a sweep may vary.

    ``kind`` is ``numbers`` and ``blocks`` (values or ranges in the command line's grammar) or
    ``choice`` (names); ``text`` are the values offered at first. ``choices`` can be ticked, some
    with a reason why they cannot run here.
    """

    name: str
    title: str
    kind: str
    text: str
    tip: str
    choices: tuple[Offer, ...] = ()


GRAMMAR = "values such as 64,128, or a range: 1:256:*2 doubles, 16:64:+16 adds, 1:8 takes each"


def offers(experiment: Experiment) -> list[AxisOffer]:
    """Return what the present workload and variant let a sweep vary, in the panel's order."""
    found = [*_sizes(experiment), *_blocks(experiment)]
    variant = experiment.variant
    for name, tunable in variant.tunables.items():
        if tunable.formula is None and len(tunable.values) > 1:
            choices = tuple(Offer(str(v), str(v)) for v in tunable.values)
            found.append(
                AxisOffer(f"tunable.{name}", name, "numbers", _join(c.name for c in choices),
                          f"{tunable.title or name}: a compile-time value of the kernel", choices)
            )  # fmt: skip
    found += _switches(experiment)
    found.append(_named("precision", "precision", experiment.precision_offers(),
                        "The number format of the arrays"))  # fmt: skip
    found.append(_named("variant", "variant", experiment.variant_offers(),
                        "Implementations of the workload"))  # fmt: skip
    devices = experiment.devices.devices if experiment.devices is not None else ()
    call = experiment.variant.call
    able = [d for d in devices if (call in d.libraries if call else d.runs_kernels)]
    runs = [Offer(d.id, f"{d.name} ({d.id})") for d in able]
    if len(runs) > 1:
        found.append(_named("device", "device", runs, "Where it runs"))
    fills = [Offer(OWN_FILL, "the workload's own"), *(Offer(f, f) for f in FILLS)]
    tip = "What the input arrays hold"
    found.append(AxisOffer("fill", "inputs", "choice", _join(FILLS), tip, tuple(fills)))
    caches = tuple(experiment.cache_offers())
    found.append(
        AxisOffer("cache", "caches", "choice", _join(c.name for c in caches if c.reason is None),
                  "Hot as left behind, or emptied before each launch", caches)
    )  # fmt: skip
    return found


def first_choice(experiment: Experiment) -> tuple[str, ...]:
    """Return the axes that are ticked at first: the block's, or the size where there is none."""
    if experiment.dimensions >= 2:
        return BLOCK_AXES[:2]
    if experiment.dimensions == 1:
        return BLOCK_AXES[:1]
    return (f"size.{next(iter(experiment.workload.manifest.sizes))}",)


def _sizes(experiment: Experiment) -> list[AxisOffer]:
    found = []
    for symbol, spec in experiment.workload.manifest.sizes.items():
        high = min(spec.max, max(FIRST_LARGEST, 2 * experiment.knobs.size[symbol]))
        high = power_below(high)
        low = max(high >> (FIRST_SIZES - 1), 1)
        while low < spec.min:
            low *= 2
        text = f"{low}:{high}:*2" if low < high else str(spec.default)
        title = f"size {symbol}"
        tip = f"{spec.title or symbol}, {spec.min} to {spec.max}; {GRAMMAR}"
        found.append(AxisOffer(f"size.{symbol}", title, "numbers", text, tip))
    return found


def _blocks(experiment: Experiment) -> list[AxisOffer]:
    dimensions = experiment.dimensions
    if not dimensions:
        return []
    found = []
    limits = experiment.limits
    for axis in range(dimensions):
        most = power_below(min(limits.max_block[axis], limits.max_threads_per_block))
        high = min(most, 256 if axis == 0 else 16 if axis == 1 else 4)
        tip = f"Threads of a block along {AXES[axis]}; {GRAMMAR}"
        title = f"threads {AXES[axis]}"
        found.append(AxisOffer(BLOCK_AXES[axis], title, "numbers", f"1:{high}:*2", tip))
    if dimensions > 1:
        text = _join("x".join(map(str, shape)) for shape in COMMON_BLOCKS)
        tip = "Whole blocks, such as 16x16,32x8, instead of threads in x and y apart"
        found.append(AxisOffer("block", "blocks", "blocks", text, tip))
    return found


def _switches(experiment: Experiment) -> list[AxisOffer]:
    """Return the switches that can be turned here, with all the values they may have."""
    found = []
    for offer in experiment.switch_offers():
        able = [c.words for c in offer.choices if c.reason is None]
        if len(able) > 1:
            name = f"switch.{offer.name}"
            choices = tuple(Offer(c.words, c.words, c.reason) for c in offer.choices)
            tip = f"{offer.switch.title}: {offer.switch.teaches}"
            found.append(AxisOffer(name, axis_title(name), "choice", _join(able), tip, choices))
    return found


def _named(name: str, title: str, choices: Sequence[Offer], tip: str) -> AxisOffer:
    possible = _join(c.name for c in choices if c.reason is None)
    return AxisOffer(name, title, "choice", possible, tip, tuple(choices))


def _join(words: Any) -> str:
    return ",".join(words)


def axis_of(name: str, text: str) -> Axis:
    """Return an axis with the values of a text; InputError names the axis and what is wrong."""
    try:
        return read_axis(name, text)
    except InputError as error:
        raise InputError(f"{axis_title(name)}: {error.what}", remedy=error.remedy) from None


def space_of(experiment: Experiment, chosen: Mapping[str, str]) -> Space:
    """Return the space over the knobs as they stand that some axes with their texts span.

    Raises InputError for a text that cannot be read, and for axes that do not go together.
    """
    if not chosen:
        raise InputError("no axis is ticked", remedy="tick what shall vary")
    axes = tuple(axis_of(name, text) for name, text in chosen.items())
    return Space(experiment.knobs.request(), axes)


def read_error(text: str, name: str) -> str | None:
    """Return why a text gives no values for an axis; None when it does."""
    try:
        axis_of(name, text)
    except ExplorerError as error:
        return str(error)
    return None
