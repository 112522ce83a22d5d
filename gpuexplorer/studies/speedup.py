"""One workload on two devices over a range of sizes, as CPU against GPU.

The first device has the data at hand, as a CPU has. The second is measured twice: with the data
there already, and with the whole textbook program, which allocates, copies there, launches, copies
back and frees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import BreakEven, SizePoint, Speedup, SpeedupStudy
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.studies.breakeven import break_even
from gpuexplorer.studies.running import How, Running, turns_words
from gpuexplorer.studies.sides import side_of, two_sides
from gpuexplorer.studies.turns import Entry, InTurns, measured_of
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.manifest import SizeSpec
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

Part = Literal["first", "second", "second_with"]
PARTS: tuple[Part, ...] = ("first", "second", "second_with")
BELOW, ABOVE = 16, 4
"""Sizes looked at without being asked for: from a 16th of the default to four times it."""
HOW_TRANSFERS = (
    "With transfers: allocate, copy there, launch, copy back, free, for every launch; the first "
    "device has its data at hand."
)


def default_sizes(spec: SizeSpec) -> tuple[int, ...]:
    """Return sizes that double around a symbol's default, within its range."""
    low, high = max(spec.min, spec.default // BELOW), min(spec.max, spec.default * ABOVE)
    sizes = [low]
    while sizes[-1] * 2 <= high:
        sizes.append(sizes[-1] * 2)
    return tuple(sizes)


class SpeedupLab(Running[SpeedupStudy]):
    """One workload on two devices, size by size; all of a size is measured in turns."""

    def __init__(
        self,
        request: RunRequest,
        workload: Workload,
        devices: DeviceList,
        how: How | None = None,
        *,
        names: Sequence[str] | None = None,
        symbol: str | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        """``names`` are two devices, None: the CPU and the GPU. ``sizes`` are those of ``symbol``
        (None: the first; sizes doubling around its default); the request holds the other sizes.

        Raises CannotRunHere without a GPU where none is named, InputError for an unknown symbol or
        no sizes, and what ``complete`` raises.
        """
        super().__init__(how)
        self.workload, self._devices = workload, devices
        specs = workload.manifest.sizes
        self.symbol = symbol or next(iter(specs))
        if self.symbol not in specs:
            raise InputError(
                f"workload '{workload.name}' has no size '{self.symbol}'",
                remedy=suggestion(self.symbol, specs),
            )
        chosen = default_sizes(specs[self.symbol]) if sizes is None else sizes
        self.sizes = tuple(sorted(dict.fromkeys(chosen)))
        if not self.sizes:
            raise InputError("there are no sizes to measure", remedy="give some with --size")
        first_symbol = next(iter(specs))
        others = {(s or first_symbol): v for s, v in request.size.items()}
        others[self.symbol] = self.sizes[0]
        request = msgspec.structs.replace(
            request,
            size=others,
            switches={k: v for k, v in request.switches.items() if k != "include_transfers"},
        )
        self._configs = two_sides(request, workload, devices, names)
        for size in self.sizes:
            self._check_size(size, specs[self.symbol])
        self._turns: dict[int, InTurns] = {}
        self._refused: dict[tuple[int, Part], str] = {}

    def _check_size(self, size: int, spec: SizeSpec) -> None:
        if not spec.min <= size <= spec.max:
            raise InputError(
                f"size {self.symbol}={size} is out of range",
                remedy=f"choose {spec.min} to {spec.max}",
            )

    def _config(self, size: int, part: Part) -> RunConfig:
        config = self._configs[0 if part == "first" else 1]
        switches = dict(config.switches)
        if part == "second_with":
            switches["include_transfers"] = True
        return msgspec.structs.replace(
            config, size={**config.size, self.symbol: size}, switches=switches
        )

    # ---- measuring

    def _measure(self, session: Measures) -> None:
        for size in self.sizes:
            entries = [
                Entry(f"{self.symbol} = {size}, {self._label(part)}", config)
                for part in PARTS
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
        points = self.document().points
        if not any(point.speedup or point.speedup_with for point in points):
            reasons = [reason for point in points for reason in point.skipped.values()]
            why = reasons[0] if reasons else "too few rounds"
            raise WorkFailed(f"no size was measured on both devices: {why}")

    def _label(self, part: Part) -> str:
        config = self._configs[0 if part == "first" else 1]
        return config.device + (" with transfers" if part == "second_with" else "")

    def _legal(self, size: int, part: Part) -> RunConfig | None:
        config = self._config(size, part)
        try:
            return make_plan(
                self.workload, config, find_device(self._devices, config.device)
            ).config
        except ExplorerError as error:
            self._refused[size, part] = error.what
            return None

    # ---- the document

    def document(self) -> SpeedupStudy:
        """Return the document of what is measured so far."""
        runs: list[RunResult] = []
        points = [self._point(size, runs) for size in self.sizes]
        first, second = (side_of(config, self._devices) for config in self._configs)
        rounds = max((turns.rounds_done for turns in self._turns.values()), default=0)
        fewer = any(turns.fewer for turns in self._turns.values())
        return SpeedupStudy(
            id=self.id,
            time_utc=self.time_utc,
            title=f"{self.workload.manifest.title}: {first.device} against {second.device}",
            device=f"{first.name} · {second.name}" if first.name != second.name else first.name,
            rounds=rounds,
            stopped_by=self._stopped_by,
            notes=(turns_words(rounds, fewer=fewer), HOW_TRANSFERS, *self._suspects(points)),
            runs=runs,
            workload=self.workload.name,
            symbol=self.symbol,
            symbol_title=self.workload.manifest.sizes[self.symbol].title or self.symbol,
            first=first,
            second=second,
            points=points,
            break_even=self._break_even(points, second.device, transfers=False),
            break_even_with=self._break_even(points, second.device, transfers=True),
        )

    def _point(self, size: int, runs: list[RunResult]) -> SizePoint:
        turns = self._turns.get(size)
        places = self._places(size)
        results = turns.results() if turns is not None else {}
        found = {part: results[place] for part, place in places.items() if place in results}
        runs += found.values()
        skipped = {part: self._reason(size, part) for part in PARTS if part not in found}
        figures = {part: measured_of(run) for part, run in found.items()}
        return SizePoint(
            value=size,
            size=self._config(size, "first").size,
            first=figures.get("first"),
            second=figures.get("second"),
            second_with=figures.get("second_with"),
            speedup=self._speedup(turns, places, found, "second"),
            speedup_with=self._speedup(turns, places, found, "second_with"),
            skipped={part: reason for part, reason in skipped.items() if reason},
        )

    def _places(self, size: int) -> dict[Part, int]:
        """Return where each part stands among the entries of a size."""
        present = [part for part in PARTS if (size, part) not in self._refused]
        return {part: place for place, part in enumerate(present)}

    def _reason(self, size: int, part: Part) -> str:
        if (size, part) in self._refused:
            return self._refused[size, part]
        turns, place = self._turns.get(size), self._places(size)[part]
        if turns is not None and place in turns.failed:
            return turns.failed[place].what
        return self._missing

    def _speedup(
        self,
        turns: InTurns | None,
        places: dict[Part, int],
        found: dict[Part, RunResult],
        part: Part,
    ) -> Speedup | None:
        if turns is None or "first" not in found or part not in found:
            return None
        if found["first"].timing.suspect or found[part].timing.suspect:
            return None
        times = turns.comparison(places[part], places["first"])
        if times is not None:
            return Speedup.of(times)
        first_s, other_s = found["first"].timing.median_s, found[part].timing.median_s
        return Speedup(factor=first_s / other_s) if first_s > 0 and other_s > 0 else None

    def _suspects(self, points: Sequence[SizePoint]) -> list[str]:
        """Return what cannot be true, and has no speed-up therefore, a sentence each."""
        return [
            f"{self.symbol} = {point.value} on {self._label(part)} cannot be true: "
            f"{measured.suspect}."
            for point in points
            for part in PARTS
            if (measured := getattr(point, part)) is not None and measured.suspect is not None
        ]

    def _break_even(
        self, points: Sequence[SizePoint], second: str, *, transfers: bool
    ) -> BreakEven | None:
        known = [
            (point.value, found)
            for point in points
            if (found := point.speedup_with if transfers else point.speedup) is not None
        ]
        if not known and not self._turns:
            return None
        return break_even(known, self.symbol, second, transfers=transfers)
