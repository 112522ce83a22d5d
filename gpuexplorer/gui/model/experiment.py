"""The experiment: which knobs stand where, what may be chosen, and why something may not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.gui.model.knobs import Knobs, is_power_of_two, power_below
from gpuexplorer.workloads.choose import complete, default_block, device_for_variant, find_device
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.plan import Plan, check_requirements, make_plan
from gpuexplorer.workloads.workload import Workload

AXES = "xyz"
UNDO_STEPS = 200


@dataclass(frozen=True)
class Note:
    """What the last change did or could not do, with a change that would help."""

    text: str
    remedy: str = ""
    """The words of a link."""
    knobs: Knobs | None = None
    """What following the link sets."""


@dataclass(frozen=True)
class Offer:
    """One choice of a list; ``reason`` says why it cannot be chosen here."""

    name: str
    title: str
    reason: str | None = None


def product_words(block: Block) -> str:
    """Return a block's shape and thread count, such as ``64 × 16 = 1024``."""
    x, y, z = block
    shape = f"{x} × {y}" if z == 1 else f"{x} × {y} × {z}"
    return f"{shape} = {x * y * z}"


class Experiment:
    """The knobs, with legal values from the device's limits and the variant's constraints.

    A change that cannot be is not made, or is cut to what can be; ``note`` then says why. Every
    change calls ``on_change``.
    """

    def __init__(self, workloads: dict[str, Workload], devices: DeviceList | None = None) -> None:
        self.workloads = workloads
        self.devices = devices
        self.note: Note | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._undo: list[Knobs] = []
        self._redo: list[Knobs] = []
        self._gesture: str | None = None
        name = "matmul" if "matmul" in workloads else next(iter(workloads))
        self.knobs = self._defaults(name)

    # ---- what the knobs mean

    @property
    def workload(self) -> Workload:
        """The chosen workload."""
        return self.workloads[self.knobs.workload]

    @property
    def variant(self) -> VariantSpec:
        """The chosen variant."""
        return self.workload.variant(self.knobs.variant)

    @property
    def dimensions(self) -> int:
        """How many block sliders the variant has."""
        return self.variant.dimensions

    @property
    def device(self) -> DeviceInfo | None:
        """The device the choice means; None before the devices are known, or when it is gone."""
        return self._device(self.knobs)

    def _device(self, knobs: Knobs) -> DeviceInfo | None:
        if self.devices is None:
            return None
        variant = self.workloads[knobs.workload].variant(knobs.variant)
        try:
            chosen = find_device(self.devices, knobs.device)
        except ExplorerError:
            return None
        return device_for_variant(self.devices, variant, chosen)

    @property
    def limits(self) -> DeviceLimits:
        """What a launch may ask for; the usual limits before the device is known."""
        device = self.device
        return device.limits if device else DeviceLimits()

    def config(self, knobs: Knobs | None = None) -> RunConfig:
        """Return the complete configuration; an ExplorerError says why it cannot be run."""
        return self.plan(knobs).config

    def plan(self, knobs: Knobs | None = None) -> Plan:
        """Return what exactly would be launched; raises ExplorerError when it cannot be."""
        knobs = knobs or self.knobs
        workload = self.workloads[knobs.workload]
        devices = self.devices or DeviceList()
        config = complete(knobs.request(), workload, devices)
        device = next(d for d in devices.devices if d.id == config.device)
        return make_plan(workload, config, device)

    def problem(self, knobs: Knobs | None = None) -> ExplorerError | None:
        """Return why these knobs cannot be run; None when they can, or when no device is known."""
        if self.devices is None:
            return None
        try:
            self.plan(knobs)
        except ExplorerError as error:
            return error
        return None

    # ---- what may be chosen

    def axis_limit(self, axis: int) -> int:
        """Return the most threads the device allows along an axis, whatever the others are."""
        limits = self.limits
        return min(limits.max_block[axis], limits.max_threads_per_block)

    def axis_legal(self, axis: int) -> int:
        """Return the most threads along an axis while the other two stay as they are."""
        block = self.knobs.block or (1, 1, 1)
        others = math.prod(block) // block[axis]
        return max(1, min(self.axis_limit(axis), self.limits.max_threads_per_block // others))

    def axis_reason(self, axis: int) -> str | None:
        """Return why an axis stops before its limit; None when it does not."""
        legal = self.axis_legal(axis)
        if legal >= self.axis_limit(axis):
            return None
        block = list(self.knobs.block or (1, 1, 1))
        block[axis] = 2 * legal
        return (
            f"{AXES[axis]} stops at {legal}: {product_words((block[0], block[1], block[2]))} "
            f"threads, and this device allows {self.limits.max_threads_per_block} in a block"
        )

    def workload_offers(self) -> list[Offer]:
        """Return every workload by title."""
        return [Offer(w.name, w.manifest.title) for w in self.workloads.values()]

    def variant_offers(self) -> list[Offer]:
        """Return the variants of the workload, and why some cannot run on the device."""
        offers = []
        for name, variant in self.workload.manifest.variants.items():
            knobs = msgspec.structs.replace(self.knobs, variant=name)
            reason = None
            device = self._device(knobs)
            if device is not None:
                tried = [
                    self._requirement(name, precision, device)
                    for precision in self.workload.precisions_of(name)
                ]
                reason = None if None in tried else tried[0]
            offers.append(Offer(name, variant.title, reason))
        return offers

    def precision_offers(self) -> list[Offer]:
        """Return the precisions of the workload, and why some cannot be chosen."""
        from gpuexplorer.core.precision import PRECISIONS

        written = self.workload.precisions_of(self.knobs.variant)
        device = self.device
        offers = []
        for name in self.workload.manifest.precisions:
            reason = None
            if name not in written:
                reason = f"variant '{self.knobs.variant}' is not written for {name}"
            elif device is not None:
                reason = self._requirement(self.knobs.variant, name, device)
            offers.append(Offer(name, PRECISIONS[name].title, reason))
        return offers

    def _requirement(self, variant: str, precision: str, device: DeviceInfo) -> str | None:
        try:
            check_requirements(self.workload, variant, precision, device)
        except ExplorerError as error:
            return str(error)
        return None

    # ---- turning knobs

    def begin_gesture(self, name: str) -> None:
        """Say that the changes up to ``end_gesture`` are one, for undo."""
        if self._gesture is None:
            self._gesture = name
            self._undo.append(self.knobs)

    def end_gesture(self) -> None:
        """End what ``begin_gesture`` began."""
        if self._gesture is not None:
            self._gesture = None
            if self._undo and self._undo[-1] == self.knobs:
                self._undo.pop()

    def set_knobs(self, knobs: Knobs, note: Note | None = None) -> None:
        """Set all knobs at once and tell."""
        self.note = note
        if knobs != self.knobs:
            if self._gesture is None:
                self._undo.append(self.knobs)
                del self._undo[:-UNDO_STEPS]
            self._redo.clear()
            self.knobs = knobs
        self.on_change()

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return bool(self._redo)

    def undo(self) -> None:
        """Take the last change back."""
        if self._undo:
            self._redo.append(self.knobs)
            self.knobs, self.note = self._undo.pop(), None
            self.on_change()

    def redo(self) -> None:
        """Make the change again that was taken back."""
        if self._redo:
            self._undo.append(self.knobs)
            self.knobs, self.note = self._redo.pop(), None
            self.on_change()

    def set_devices(self, devices: DeviceList) -> None:
        """Take in the devices found; knobs that none of them allows move to what can run."""
        self.devices = devices
        knobs, note = self.knobs, None
        if knobs.device != "auto" and all(d.id != knobs.device for d in devices.devices):
            note = Note(f"{knobs.device} is not here any more; the device is chosen automatically.")
            knobs = msgspec.structs.replace(knobs, device="auto")
        fitted, why = self._fitted(knobs)
        self.knobs, self.note = fitted, why or note
        self.on_change()

    def set_workloads(self, workloads: dict[str, Workload]) -> None:
        """Take in re-read workloads; the knobs stay where they can."""
        self.workloads = workloads
        knobs = self.knobs
        if knobs.workload not in workloads:
            name = "matmul" if "matmul" in workloads else next(iter(workloads))
            self._undo.clear()
            self._redo.clear()
            self.set_knobs(self._defaults(name))
            return
        self._undo = [k for k in self._undo if self._names_exist(k)]
        self._redo = [k for k in self._redo if self._names_exist(k)]
        if not self._names_exist(knobs):
            knobs = self._defaults(knobs.workload)
        fitted, why = self._fitted(knobs)
        self.set_knobs(fitted, why)

    def set_workload(self, name: str) -> None:
        """Choose a workload; everything below it takes its defaults."""
        if name != self.knobs.workload:
            defaults = msgspec.structs.replace(
                self._defaults(name),
                device=self.knobs.device,
                include_transfers=self.knobs.include_transfers,
            )
            self.set_knobs(*self._fitted(defaults))

    def set_variant(self, name: str) -> None:
        """Choose a variant; size, precision and block stay where they can."""
        variant = self.workload.variant(name)
        block = self.knobs.block
        if variant.dimensions != self.dimensions or block is None or variant.library is not None:
            block = default_block(variant)
        self.set_knobs(
            *self._fitted(
                msgspec.structs.replace(
                    self.knobs, variant=name, block=block, tunables=self._tunables(variant)
                )
            )
        )

    def set_precision(self, name: str) -> None:
        """Choose a precision."""
        self.set_knobs(*self._fitted(msgspec.structs.replace(self.knobs, precision=name)))

    def set_device(self, device: str) -> None:
        """Choose a device by id, or ``auto``."""
        self.set_knobs(*self._fitted(msgspec.structs.replace(self.knobs, device=device)))

    def set_tunable(self, name: str, value: int) -> None:
        """Choose a tunable's value."""
        tunables = {**self.knobs.tunables, name: value}
        self.set_knobs(*self._fitted(msgspec.structs.replace(self.knobs, tunables=tunables)))

    def set_include_transfers(self, on: bool) -> None:
        """Choose whether each sample is the whole textbook sequence."""
        self.set_knobs(msgspec.structs.replace(self.knobs, include_transfers=on))

    def set_size(self, symbol: str, value: int) -> None:
        """Set a size; one the device cannot hold is cut to the largest power of two it can."""
        spec = self.workload.manifest.sizes[symbol]
        value = min(max(value, spec.min), spec.max)

        def with_size(size: int) -> Knobs:
            return msgspec.structs.replace(self.knobs, size={**self.knobs.size, symbol: size})

        knobs = with_size(value)
        problem = self.problem(knobs)
        if problem is None or self.problem() is not None:
            self.set_knobs(knobs)
            return
        smaller = power_below(value) if not is_power_of_two(value) else value // 2
        while smaller > max(spec.min, self.knobs.size[symbol]) and self.problem(with_size(smaller)):
            smaller //= 2
        fits = with_size(max(smaller, spec.min))
        kept = fits if self.problem(fits) is None else self.knobs
        self.set_knobs(kept, Note(f"{symbol} stays at {kept.size[symbol]}: {problem.what}."))

    def set_axis(self, axis: int, value: int) -> None:
        """Set the threads along one axis.

        Beyond the device's limit on the whole block it stops at the last legal step; where the
        variant ties the axes together, the others follow. ``note`` tells which.
        """
        if self.knobs.block is None or axis >= max(1, self.dimensions):
            return
        wanted = max(1, value)
        legal, note = self.axis_legal(axis), None
        if wanted > legal:
            note = self._stop_note(axis, min(wanted, self.axis_limit(axis)))
            wanted = power_below(legal) if is_power_of_two(wanted) else legal
        self._set_block(axis, wanted, note)

    def set_block(self, block: Block) -> None:
        """Set the whole block at once; one that cannot be launched changes nothing but the note."""
        knobs = msgspec.structs.replace(self.knobs, block=block)
        problem = self.problem(knobs)
        if problem is None:
            self.set_knobs(knobs)
        else:
            self.set_knobs(self.knobs, Note(f"{problem}."))

    def _stop_note(self, axis: int, wanted: int) -> Note:
        block = list(self.knobs.block or (1, 1, 1))
        block[axis] = wanted
        limit = self.limits.max_threads_per_block
        text = (
            f"{AXES[axis]} stops at {self.axis_legal(axis)}: "
            f"{product_words((block[0], block[1], block[2]))} threads, and this device allows "
            f"{limit} in a block."
        )
        others = [a for a in range(self.dimensions) if a != axis and block[a] > 1]
        for other in sorted(others, key=lambda a: -block[a]):
            room = limit * block[other] // math.prod(block)
            if room >= 1:
                block[other] = power_below(room)
                made = msgspec.structs.replace(self.knobs, block=(block[0], block[1], block[2]))
                if self.problem(made) is None:
                    return Note(
                        text,
                        f"Make room: {AXES[axis]} = {wanted}, {AXES[other]} = {block[other]}",
                        made,
                    )
        return Note(text)

    def _set_block(self, axis: int, value: int, note: Note | None) -> None:
        block = list(self.knobs.block or (1, 1, 1))
        block[axis] = value
        knobs = msgspec.structs.replace(self.knobs, block=(block[0], block[1], block[2]))
        problem = self.problem(knobs)
        if problem is None or knobs.block == self.knobs.block:
            self.set_knobs(knobs, note)
            return
        followed = self._follow(axis, value)
        if followed is None:
            self.set_knobs(
                self.knobs, Note(f"{AXES[axis]} cannot be {value}: {_because(problem)}.")
            )
            return
        block_now = followed.block or (1, 1, 1)
        moved = ", ".join(
            f"{AXES[a]} followed to {block_now[a]}"
            for a in range(3)
            if a != axis and block_now[a] != block[a]
        )
        self.set_knobs(followed, Note(f"{moved}: {_because(problem)}."))

    def _follow(self, axis: int, value: int) -> Knobs | None:
        """Return the nearest legal knobs with ``value`` along ``axis`` and other axes moved."""
        block = self.knobs.block or (1, 1, 1)
        choices: list[list[int]] = []
        for other in range(3):
            if other == axis:
                choices.append([value])
            elif other >= self.dimensions:
                choices.append([1])
            else:
                powers = [1 << k for k in range(self.axis_limit(other).bit_length())]
                choices.append(sorted({*powers, value, block[other]}))
        most = self.limits.max_threads_per_block
        legal = [c for c in itertools.product(*choices) if math.prod(c) <= most]
        legal.sort(key=lambda c: sum(abs(math.log2(a / b)) for a, b in zip(c, block, strict=True)))
        for x, y, z in legal:
            knobs = msgspec.structs.replace(self.knobs, block=(x, y, z))
            if self.problem(knobs) is None:
                return knobs
        return None

    # ---- defaults and fitting

    def _defaults(self, name: str) -> Knobs:
        workload = self.workloads[name]
        manifest = workload.manifest
        variant_name = manifest.first_variant
        variant = manifest.variants[variant_name]
        offered = workload.precisions_of(variant_name)
        return Knobs(
            workload=name,
            variant=variant_name,
            size={symbol: spec.default for symbol, spec in manifest.sizes.items()},
            precision="fp32" if "fp32" in offered else offered[0],
            block=default_block(variant),
            tunables=self._tunables(variant),
        )

    @staticmethod
    def _tunables(variant: VariantSpec) -> dict[str, int]:
        return {
            name: tunable.values[0] if tunable.default is None else tunable.default
            for name, tunable in variant.tunables.items()
            if tunable.formula is None
        }

    def _names_exist(self, knobs: Knobs) -> bool:
        workload = self.workloads.get(knobs.workload)
        if workload is None or knobs.variant not in workload.manifest.variants:
            return False
        manifest, variant = workload.manifest, workload.manifest.variants[knobs.variant]
        return (
            knobs.size.keys() == manifest.sizes.keys()
            and knobs.precision in manifest.precisions
            and knobs.tunables.keys() == self._tunables(variant).keys()
            and (knobs.block is None) == (variant.library is not None)
            and all(
                manifest.sizes[s].min <= v <= manifest.sizes[s].max for s, v in knobs.size.items()
            )
        )

    def restore(self, knobs: Knobs) -> bool:
        """Set knobs remembered from earlier; False, and nothing changes, when they do not fit."""
        if not self._names_exist(knobs):
            return False
        self.set_knobs(*self._fitted(knobs))
        return True

    def restore_run(self, config: RunConfig) -> bool:
        """Set the knobs to a run's; False, and nothing changes, when its workload is gone."""
        workload = self.workloads.get(config.workload)
        variant = workload.manifest.variants.get(config.variant) if workload else None
        if variant is None:
            return False
        devices = self.devices.devices if self.devices is not None else ()
        own = self._tunables(variant)  # the others follow from the block
        return self.restore(
            Knobs(
                workload=config.workload,
                variant=config.variant,
                size=config.size,
                precision=config.precision,
                device=config.device if any(d.id == config.device for d in devices) else "auto",
                block=config.block,
                tunables={name: v for name, v in config.tunables.items() if name in own},
                include_transfers=config.include_transfers,
            )
        )

    def _fitted(self, knobs: Knobs) -> tuple[Knobs, Note | None]:
        """Return knobs that can run, as near as possible, and a note on what moved."""
        if self.devices is None or self.problem(knobs) is None:
            return knobs, None
        workload = self.workloads[knobs.workload]
        first = self.problem(knobs)
        variant = workload.variant(knobs.variant)
        written = workload.precisions_of(knobs.variant)
        blocks = [knobs.block, default_block(variant)]
        precisions = [knobs.precision, *(p for p in ("fp32", *written) if p != knobs.precision)]
        sizes = [knobs.size, {s: spec.default for s, spec in workload.manifest.sizes.items()}]
        for size, precision, block in itertools.product(sizes, precisions, blocks):
            if precision not in written:
                continue
            tried = msgspec.structs.replace(knobs, precision=precision, block=block, size=size)
            if self.problem(tried) is None:
                return tried, Note(f"{_moved(knobs, tried)}: {_because(first)}.")
        return knobs, Note(f"{first}.")


def _because(problem: ExplorerError | None) -> str:
    """Return the reason inside an error's sentence."""
    what = problem.what if problem else ""
    return what.partition(": ")[2] or what


def _moved(before: Knobs, after: Knobs) -> str:
    parts = []
    if after.precision != before.precision:
        parts.append(f"precision is {after.precision} now")
    if after.block != before.block:
        shape = "×".join(str(b) for b in (after.block or ()))
        parts.append(f"the block is {shape.removesuffix('×1')} now")
    if after.size != before.size:
        parts.append("the size is back at its default")
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]
