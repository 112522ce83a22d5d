"""What studies over a range of sizes share: the sizes, and all of a size measured in turns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeVar

import msgspec

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import SizesStudy, Speedup
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.studies.running import How, Running, turns_words
from gpuexplorer.studies.turns import Entry, InTurns
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.manifest import SizeSpec
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import arrays_of, check_sizes, make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

DOWN_TO, UP_TO = 16, 4
"""Sizes looked at without being named: from a 16th of the default to four times it."""
LOOK_AT = 1000
"""Sizes that are looked at one by one for the next that a workload's rules allow."""
S = TypeVar("S", bound=SizesStudy)


def default_sizes(spec: SizeSpec) -> tuple[int, ...]:
    """Return sizes that double around a symbol's default, within its range."""
    low, high = max(spec.min, spec.default // DOWN_TO), min(spec.max, spec.default * UP_TO)
    sizes = [low]
    while sizes[-1] * 2 <= high:
        sizes.append(sizes[-1] * 2)
    return tuple(sizes)


class OverSizes(Running[S]):
    """One workload over sizes of one symbol; a subclass says which ``parts`` run at each size."""

    def __init__(
        self,
        request: RunRequest,
        workload: Workload,
        devices: DeviceList,
        how: How | None = None,
        *,
        symbol: str | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        """``sizes`` are those of ``symbol`` (None: the first; sizes doubling around its default);
        the request holds the other sizes.

        Raises InputError for an unknown symbol, no sizes, and one out of range.
        """
        super().__init__(how)
        self.workload, self._devices = workload, devices
        specs = workload.manifest.sizes
        first = next(iter(specs))
        self.symbol = symbol or first
        if self.symbol not in specs:
            raise InputError(
                f"workload '{workload.name}' has no size '{self.symbol}'",
                remedy=suggestion(self.symbol, specs),
            )
        spec = specs[self.symbol]
        self.sizes = tuple(sorted(set(default_sizes(spec) if sizes is None else sizes)))
        if not self.sizes:
            raise InputError("there are no sizes to measure", remedy="give some with --size")
        for size in self.sizes:
            if not spec.min <= size <= spec.max:
                raise InputError(
                    f"size {self.symbol}={size} is out of range",
                    remedy=f"choose {spec.min} to {spec.max}",
                )
        self.symbol_title = spec.title or self.symbol
        others = {(s or first): v for s, v in request.size.items()} | {self.symbol: self.sizes[0]}
        switches = {k: v for k, v in request.switches.items() if k != "include_transfers"}
        self._request = msgspec.structs.replace(request, size=others, switches=switches)
        self._configs: dict[str, RunConfig] = {}
        """What each part runs, at any size."""
        self._turns: dict[int, InTurns] = {}
        self._refused: dict[tuple[int, str], str] = {}

    nothing = "no size was measured"
    """The error where no size tells anything."""

    def tells(self, size: int) -> bool:
        """Return whether what was measured at a size tells anything."""
        return bool(self.results(size))

    def label(self, size: int, part: str) -> str:
        """Return what a part at a size is called."""
        return f"{self.symbol} = {size}, {part}"

    def config_at(self, size: int, part: str) -> RunConfig:
        """Return what a part runs at a size."""
        config = self._configs[part]
        return msgspec.structs.replace(config, size={**config.size, self.symbol: size})

    @property
    def devices_used(self) -> list[DeviceInfo]:
        """The device of each part."""
        return [find_device(self._devices, config.device) for config in self._configs.values()]

    def plan_at(self, size: int) -> Plan | None:
        """Return the plan of the first part at a size; None where it cannot be run."""
        config = self.config_at(size, next(iter(self._configs)))
        try:
            return make_plan(self.workload, config, find_device(self._devices, config.device))
        except ExplorerError:
            return None

    def first_above(self, holds_B: float | None) -> int | None:
        """Return the first size of the range that is allowed and whose arrays exceed some bytes.

        None where all do, or none does. Where the next ``LOOK_AT`` sizes are not allowed, it is the
        first that was to be measured.
        """
        low, high = self.sizes[0], self.sizes[-1]
        if holds_B is None or not self._arrays_B(low) <= holds_B < self._arrays_B(high):
            return None
        while low + 1 < high:  # it fits at low, and not at high
            middle = (low + high) // 2
            low, high = (middle, high) if self._arrays_B(middle) <= holds_B else (low, middle)
        near = range(high, min(high + LOOK_AT, self.sizes[-1] + 1))
        far = (size for size in self.sizes if size >= high)
        return next((size for size in chain(near, far) if self._allowed(size)), None)

    def _arrays_B(self, size: int) -> int:
        """Return the bytes of the first part's arrays, allowed or not; 0 where they have none."""
        one = self.config_at(size, next(iter(self._configs)))
        try:
            arrays = arrays_of(self.workload, one.variant, one.precision, one.fill, one.size)
        except ExplorerError:
            return 0
        return sum(array.nbytes for array in arrays)

    def _allowed(self, size: int) -> bool:
        """Return whether the workload's rules allow a size, whatever can run it."""
        one = self.config_at(size, next(iter(self._configs)))
        try:
            check_sizes(self.workload, one.size, one.precision)
        except ExplorerError:
            return False
        return True

    @property
    def configurations(self) -> int:
        """How many configurations are measured at the most."""
        return len(self._configs) * len(self.sizes)

    def _measure(self, session: Measures) -> None:
        for size in self.sizes:
            entries = [
                Entry(self.label(size, part), config)
                for part in self._configs
                if (config := self._legal(size, part)) is not None
            ]
            if entries:
                self._turns[size] = InTurns(
                    entries, self.workload, self.how, self._step, self._expect
                )
        for turns in self._turns.values():
            self._expect(len(turns.entries) * (1 + turns.rounds))
        for turns in self._turns.values():
            self._expect(-len(turns.entries) * (1 + turns.rounds))  # it counts itself in
            turns.measure(session)
        if not any(self.tells(size) for size in self.sizes):
            reasons = (why for size in self.sizes for why in self.skipped(size).values())
            raise WorkFailed(f"{self.nothing}: {next(reasons, 'too few rounds')}")

    def _legal(self, size: int, part: str) -> RunConfig | None:
        config = self.config_at(size, part)
        try:
            device = find_device(self._devices, config.device)
            return make_plan(self.workload, config, device).config
        except ExplorerError as error:
            self._refused[size, part] = error.what
            return None

    # ---- for the document

    def places(self, size: int) -> dict[str, int]:
        """Return where each part stands among the entries of a size."""
        present = [part for part in self._configs if (size, part) not in self._refused]
        return {part: place for place, part in enumerate(present)}

    def results(self, size: int) -> dict[str, RunResult]:
        """Return the run of each part that has one at a size."""
        turns = self._turns.get(size)
        results = turns.results() if turns is not None else {}
        return {part: results[at] for part, at in self.places(size).items() if at in results}

    def skipped(self, size: int) -> dict[str, str]:
        """Return why parts have no figure at a size."""
        turns, results, places = self._turns.get(size), self.results(size), self.places(size)
        found = {}
        for part in self._configs:
            if part in results:
                continue
            error = turns.failed.get(places[part]) if turns and part in places else None
            reason = error.what if error is not None else self._missing
            found[part] = self._refused.get((size, part), reason)
        return found

    def speedup(self, size: int, part: str, reference: str) -> Speedup | None:
        """Return how many times as fast a part is as another at a size.

        None where one was not measured, or cannot be true.
        """
        results, places = self.results(size), self.places(size)
        timings = [results[one].timing for one in (part, reference) if one in results]
        if len(timings) < 2 or any(timing.suspect for timing in timings):
            return None
        found = self._turns[size].comparison(places[reference], places[part])
        if found is None:
            part_s, reference_s = (timing.median_s for timing in timings)
            both = part_s > 0 and reference_s > 0
            return Speedup(factor=reference_s / part_s) if both else None
        return Speedup(
            factor=found.ratio, ci95_low=found.ci95_low, ci95_high=found.ci95_high,
            pairs=found.pairs,
        )  # fmt: skip

    def head(self, title: str, *notes: str) -> dict[str, Any]:
        """Return what the document has of every study over sizes."""
        turns = self._turns.values()
        rounds = max((t.rounds_done for t in turns), default=0)
        runs = [run for size in self.sizes for run in self.results(size).values()]
        suspects = [sentence for one in turns for sentence in one.suspects()]
        how = turns_words(rounds, fewer=any(t.fewer for t in turns))
        return {
            **self._head(title, rounds), "workload": self.workload.name, "symbol": self.symbol,
            "symbol_title": self.symbol_title, "notes": (how, *notes, *suspects), "runs": runs,
        }  # fmt: skip
