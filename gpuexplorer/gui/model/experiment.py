"""The experiment: which knobs stand where, what may be chosen, and why something may not."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gpuexplorer.core.change import Change
from gpuexplorer.core.config import Block, Cache, RunConfig
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.gui.model.block import AXES, BlockRoom, with_axis
from gpuexplorer.gui.model.fit import (
    at_start,
    because,
    exists,
    first_knobs,
    knobs_of,
    moved_words,
    near,
    with_change,
)
from gpuexplorer.gui.model.frameworks import MissingFramework, missing_for, missing_frameworks
from gpuexplorer.gui.model.knobs import Knobs, is_power_of_two, power_below
from gpuexplorer.gui.model.offers import cache_offers, fill_offers
from gpuexplorer.gui.model.switches import (
    SwitchOffer,
    own_switches,
    switch_offers,
    without_copies,
)
from gpuexplorer.gui.model.undo import Undo
from gpuexplorer.workloads.choose import complete, device_to_run, find_device
from gpuexplorer.workloads.loader import grouped
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import check_requirements, make_plan
from gpuexplorer.workloads.switches import Value, without_defaults
from gpuexplorer.workloads.workload import Workload

NO_DEVICES = DeviceList()


class Note(msgspec.Struct, frozen=True):
    """What the last change did or could not do, with a change that would help."""

    text: str
    remedy: str = ""
    """The words of a link."""
    knobs: Knobs | None = None
    """What following the link sets."""


class _Planned:
    """What some knobs would launch, or why they cannot."""

    def __init__(self, knobs: Knobs, workload: Workload, devices: DeviceList) -> None:
        self.knobs, self._workload, self._devices = knobs, workload, devices
        self.plan: Plan | None = None
        self.error: ExplorerError | None = None
        try:
            config = complete(knobs.request(), workload, devices)
            device = next(d for d in devices.devices if d.id == config.device)
            self.plan = make_plan(workload, config, device)
        except ExplorerError as error:
            self.error = error

    def holds(self, knobs: Knobs, workload: Workload, devices: DeviceList) -> bool:
        """Whether it is of these."""
        same = self._workload is workload and self._devices is devices
        return same and self.knobs == knobs


class Experiment:
    """The knobs, with legal values from the device's limits and the variant's constraints.

    A change that cannot be is not made, or is cut to what can be; ``note`` then says why. Every
    change calls ``on_change``.
    """

    def __init__(self, workloads: dict[str, Workload], devices: DeviceList | None = None) -> None:
        self.workloads = workloads
        self.devices, self.host = devices, ""
        self._planned: _Planned | None = None
        """What was planned last: several look at it in one move of a knob."""
        self._listed: tuple[dict[str, Workload], list[Offer]] | None = None
        """The workloads' list, whose groups files are looked at for, and what it was made of."""
        self._variants: tuple[Workload, DeviceList | None, str, list[Offer]] | None = None
        """The variants' list behind what it was made of: no block or size changes it."""
        self.note: Note | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._steps = Undo()
        self.knobs = self._first()

    def _first(self) -> Knobs:
        name = "matmul" if "matmul" in self.workloads else next(iter(self.workloads))
        return first_knobs(self.workloads[name])

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
            return device_to_run(self.devices, knobs.device, variant, knobs.variant)
        except ExplorerError:
            pass  # the device that is meant does not have it
        try:
            return find_device(self.devices, knobs.device)
        except ExplorerError:
            return None

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
        workload, devices = self.workloads[knobs.workload], self.devices or NO_DEVICES
        made = self._planned
        if made is None or not made.holds(knobs, workload, devices):
            made = self._planned = _Planned(knobs, workload, devices)
        if made.error is not None:
            raise made.error.with_traceback(None)
        assert made.plan is not None
        return made.plan

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

    @property
    def room(self) -> BlockRoom:
        """How far the block's axes may go."""
        return BlockRoom(self.knobs.block or (1, 1, 1), self.dimensions, self.limits)

    def workload_offers(self) -> list[Offer]:
        """Return every workload by title, with what it is in a sentence, group by group."""
        if self._listed is None or self._listed[0] is not self.workloads:
            offers = [
                Offer(w.name, w.manifest.title, tip=w.manifest.summary, group=group,
                      line=w.manifest.summary)
                for group, found in grouped(self.workloads.values()).items()
                for w in found
            ]  # fmt: skip
            self._listed = self.workloads, offers
        return self._listed[1]

    def variant_offers(self) -> list[Offer]:
        """Return the variants of the workload, and why some cannot run on the device."""
        workload, devices, chosen = self.workload, self.devices, self.knobs.device
        known = self._variants
        if known and known[0] is workload and known[1] is devices and known[2] == chosen:
            return known[3]
        offers: list[Offer] = []
        for name, variant in workload.manifest.variants.items():
            knobs = msgspec.structs.replace(self.knobs, variant=name)
            reason, title = None, variant.title
            device = self._device(knobs)
            missing = missing_for(variant, self.devices)
            if missing is not None:
                reason, title = f"{missing.reason}; {missing.remedy}", f"{title} (not here)"
            elif device is not None:
                tried = [
                    self._requirement(name, precision, device)
                    for precision in self.workload.precisions_of(name)
                ]
                reason = None if None in tried else tried[0]
            offers.append(Offer(name, title, reason, variant.teaches))
        self._variants = workload, devices, chosen, offers
        return offers

    def precision_offers(self) -> list[Offer]:
        """Return the precisions of the workload, for a model every one there is, and why not."""
        written = self.workload.precisions_of(self.knobs.variant)
        declared = self.workload.manifest.precisions
        device = self.device
        offers = []
        for name in PRECISIONS if self.variant.model else declared:
            reason = None
            if name not in declared:
                reason = f"workload '{self.workload.name}' has no {name}"
            elif name not in written:
                reason = f"variant '{self.knobs.variant}' is not written for {name}"
            elif device is not None:
                reason = self._requirement(self.knobs.variant, name, device)
            about = PRECISIONS[name]
            offers.append(Offer(name, about.title, reason, about.about))
        return offers

    def switch_offers(self) -> list[SwitchOffer]:
        """Return the switches of the variant, and why some cannot be turned here."""
        knobs = self.knobs
        return switch_offers(
            self.variant,
            knobs.variant,
            self.device,
            knobs.switches,
            include_transfers=knobs.include_transfers,
        )

    @property
    def missing_frameworks(self) -> tuple[MissingFramework, ...]:
        """Frameworks that variants of the workload need and that are not here."""
        return missing_frameworks(self.workload, self.devices)

    def _requirement(self, variant: str, precision: str, device: DeviceInfo) -> str | None:
        try:
            check_requirements(self.workload, variant, precision, device)
        except ExplorerError as error:
            return str(error)
        return None

    def cache_offers(self) -> list[Offer]:
        """Return hot and cold caches, and why cold ones cannot be chosen."""
        return cache_offers(include_transfers=self.knobs.include_transfers)

    def fill_offers(self) -> list[Offer]:
        """Return the input distributions; the first is the manifest's own."""
        return fill_offers(self.workload.manifest, self.knobs.fill)

    # ---- turning knobs

    def begin_gesture(self) -> None:
        """Say that the changes up to ``end_gesture`` are one, for undo."""
        self._steps.begin_gesture(self.knobs)

    def end_gesture(self) -> None:
        """End what ``begin_gesture`` began."""
        self._steps.end_gesture(self.knobs)

    def set_knobs(self, knobs: Knobs, note: Note | None = None) -> None:
        """Set all knobs at once and tell."""
        self.note = note
        if knobs != self.knobs:
            self._steps.changed(self.knobs)
            self.knobs = knobs
        self.on_change()

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to take back."""
        return self._steps.can_undo

    @property
    def can_redo(self) -> bool:
        """Whether there is a change to make again."""
        return self._steps.can_redo

    def undo(self) -> None:
        """Take the last change back."""
        self._step_to(self._steps.undo(self.knobs))

    def redo(self) -> None:
        """Make the change again that was taken back."""
        self._step_to(self._steps.redo(self.knobs))

    def _step_to(self, knobs: Knobs | None) -> None:
        if knobs is not None:
            self.knobs, self.note = self._here(knobs)
            self.on_change()

    def _here(self, knobs: Knobs) -> tuple[Knobs, Note | None]:
        """Return knobs for the devices that are here, and a note where theirs is gone."""
        known = self.devices is None or any(d.id == knobs.device for d in self.devices.devices)
        if known or knobs.device == "auto":
            return knobs, None
        note = Note(f"{knobs.device} is not here any more; the device is chosen automatically.")
        return msgspec.structs.replace(knobs, device="auto"), note

    def set_devices(self, devices: DeviceList, host: str = "") -> None:
        """Take in the devices found; knobs that none of them allows move to what can run.

        ``host`` is the machine that has them; empty for this one.
        """
        untouched = self._untouched
        self.devices, self.host = devices, host
        knobs, note = self._here(self.knobs)
        fitted, why = self._fitted(self._begun(knobs, untouched))
        self.knobs, self.note = fitted, why or note
        self.on_change()

    def set_workloads(self, workloads: dict[str, Workload]) -> None:
        """Take in re-read workloads; the knobs stay where they can."""
        self.workloads = workloads
        self._steps.keep(self._exists)
        if not self._exists(self.knobs):  # no step, for there is no way back
            workload = workloads.get(self.knobs.workload)
            self.knobs = self._begun(first_knobs(workload) if workload else self._first())
        self.set_knobs(*self._fitted(self.knobs))

    def set_workload(self, name: str) -> None:
        """Choose a workload; everything below it takes its defaults."""
        if name != self.knobs.workload:
            self.set_knobs(*self._fitted(self._first_of(self.workloads[name])))

    def _first_of(self, workload: Workload) -> Knobs:
        """Return a workload's defaults, of the first variant that can run."""
        kept = {
            "device": self.knobs.device,
            "cache": self.knobs.cache,
            "fill": self.knobs.fill,
            "include_transfers": self.knobs.include_transfers,
        }
        first = self._begun(msgspec.structs.replace(first_knobs(workload), **kept))
        if self.problem(first) is None:
            return first
        for variant in workload.manifest.variants:
            other = self._begun(msgspec.structs.replace(first_knobs(workload, variant), **kept))
            if self.problem(other) is None:
                return other
        return first

    def set_variant(self, name: str) -> None:
        """Choose a variant; size, precision and a block that was chosen stay where they can."""
        variant = self.workload.variant(name)
        knobs = msgspec.structs.replace(
            self.knobs, variant=name, switches=own_switches(self.knobs.switches, variant)
        )
        begun = self._begun(knobs)
        same_axes = variant.dimensions == self.dimensions and variant.launch
        if same_axes and self.knobs.block is not None and not self._untouched:
            begun = msgspec.structs.replace(begun, block=self.knobs.block)
        self.set_knobs(*self._fitted(begun))

    def set_precision(self, name: str) -> None:
        """Choose a precision; block and tunables that nobody has moved begin as it has them."""
        knobs = msgspec.structs.replace(self.knobs, precision=name)
        self.set_knobs(*self._fitted(self._begun(knobs, self._untouched)))

    def set_device(self, device: str) -> None:
        """Choose a device by id, or ``auto``; what nobody has moved begins as it has it."""
        knobs = msgspec.structs.replace(self.knobs, device=device)
        self.set_knobs(*self._fitted(self._begun(knobs, self._untouched)))

    @property
    def _untouched(self) -> bool:
        """Whether block and tunables stand as they begin on the device in precision and size."""
        return self._begun(self.knobs) == self.knobs

    def _begun(self, knobs: Knobs, wanted: bool = True) -> Knobs:
        """Return knobs with block and tunables as they begin; unchanged where not ``wanted``."""
        variant = self.workloads[knobs.workload].variant(knobs.variant)
        return at_start(knobs, variant, self._device(knobs)) if wanted else knobs

    def set_tunable(self, name: str, value: int) -> None:
        """Choose a tunable's value."""
        tunables = {**self.knobs.tunables, name: value}
        self.set_knobs(*self._fitted(msgspec.structs.replace(self.knobs, tunables=tunables)))

    def set_cache(self, cache: Cache) -> None:
        """Choose hot or cold caches; cold ones leave the transfers out, which warm them."""
        transfers = self.knobs.include_transfers and cache == "hot"
        self._set_transfers(transfers, cache)

    def set_fill(self, fill: str) -> None:
        """Choose the inputs' distribution."""
        self.set_knobs(msgspec.structs.replace(self.knobs, fill=fill))

    def set_include_transfers(self, on: bool) -> None:
        """Choose whether each sample is the whole textbook sequence, which makes caches warm."""
        self._set_transfers(on, "hot" if on else self.knobs.cache)

    def _set_transfers(self, on: bool, cache: Cache) -> None:
        """Time the copies or not; without them, switches that change nothing else go back."""
        switches = self.knobs.switches if on else without_copies(self.knobs.switches)
        self.set_knobs(
            msgspec.structs.replace(
                self.knobs, include_transfers=on, cache=cache, switches=switches
            )
        )

    def set_switch(self, name: str, value: Value) -> None:
        """Turn a switch of the model's structure; what it does not go with moves."""
        switches = without_defaults({**self.knobs.switches, name: value})
        self.set_knobs(*self._fitted(msgspec.structs.replace(self.knobs, switches=switches)))

    def apply(self, change: Change) -> None:
        """Make a suggested change of the knobs, as one step."""
        self.set_knobs(*self._fitted(with_change(self.knobs, change, self.workload)))

    def set_size(self, symbol: str, value: int) -> None:
        """Set a size; one the device cannot hold is cut to the largest power of two it can."""
        spec = self.workload.manifest.sizes[symbol]
        value = min(max(value, spec.min), spec.max)
        untouched = self._untouched

        def with_size(size: int) -> Knobs:
            sizes = {**self.knobs.size, symbol: size}
            return self._begun(msgspec.structs.replace(self.knobs, size=sizes), untouched)

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
        wanted, room = max(1, value), self.room
        legal, note = room.legal(axis), None
        if wanted > legal:
            note = self._stop_note(axis, min(wanted, room.limit(axis)))
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
        """Return why an axis stops before ``wanted``, with a shorter other axis if that helps."""
        text = f"{self.room.why_not(axis, wanted)}."
        for other, block in self.room.ways_to_make_room(axis, wanted):
            made = msgspec.structs.replace(self.knobs, block=block)
            if self.problem(made) is None:
                asked, shorter = AXES[axis], AXES[other]
                remedy = f"Make room: {asked} = {wanted}, {shorter} = {block[other]}"
                return Note(text, remedy, made)
        return Note(text)

    def _set_block(self, axis: int, value: int, note: Note | None) -> None:
        block = with_axis(self.room.block, axis, value)
        knobs = msgspec.structs.replace(self.knobs, block=block)
        problem = self.problem(knobs)
        if problem is None or knobs.block == self.knobs.block:
            self.set_knobs(knobs, note)
            return
        followed = self._follow(axis, value)
        if followed is None:
            self.set_knobs(self.knobs, Note(f"{AXES[axis]} cannot be {value}: {because(problem)}."))
            return
        block_now = followed.block or (1, 1, 1)
        moved = ", ".join(
            f"{AXES[a]} followed to {block_now[a]}"
            for a in range(3)
            if a != axis and block_now[a] != block[a]
        )
        self.set_knobs(followed, Note(f"{moved}: {because(problem)}."))

    def _follow(self, axis: int, value: int) -> Knobs | None:
        """Return the nearest legal knobs with ``value`` along ``axis`` and other axes moved."""
        for block in self.room.near(axis, value):
            knobs = msgspec.structs.replace(self.knobs, block=block)
            if self.problem(knobs) is None:
                return knobs
        return None

    # ---- knobs from elsewhere

    def begin_at(self, knobs: Knobs) -> None:
        """Begin with knobs remembered from an earlier window, where they fit; this is no step."""
        if self._exists(knobs):
            self.knobs, self.note = self._fitted(knobs)
            self.on_change()

    def restore(self, knobs: Knobs) -> bool:
        """Set knobs remembered from earlier; False, and nothing changes, when they do not fit."""
        if not self._exists(knobs):
            return False
        self.set_knobs(*self._fitted(knobs))
        return True

    def restore_run(self, config: RunConfig) -> bool:
        """Set the knobs to a run's; False, and nothing changes, when its workload is gone."""
        workload = self.workloads.get(config.workload)
        variant = workload.manifest.variants.get(config.variant) if workload else None
        if variant is None:
            return False
        knobs = knobs_of(config, variant)
        devices = self.devices.devices if self.devices is not None else ()
        if all(d.id != config.device for d in devices):
            knobs = msgspec.structs.replace(knobs, device="auto")
        return self.restore(knobs)

    def _exists(self, knobs: Knobs) -> bool:
        return exists(knobs, self.workloads.get(knobs.workload))

    def _fitted(self, knobs: Knobs) -> tuple[Knobs, Note | None]:
        """Return knobs that can run, as near as possible, and a note on what moved."""
        problem = self.problem(knobs)
        if problem is None:
            return knobs, None
        for tried in near(knobs, self.workloads[knobs.workload]):
            if self.problem(tried) is None:
                return tried, Note(f"{moved_words(knobs, tried)}: {because(problem)}.")
        return knobs, Note(f"{problem}.")
