"""One workload on two devices over a range of sizes, as CPU against GPU.

The first device has the data at hand, as a CPU has. The second is measured twice: with the data
there already, and with the whole textbook program, which allocates, copies there, launches, copies
back and frees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gpuexplorer.charts.studies_speedup import speedup_chart
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import BreakEven, SizePoint, Speedup, SpeedupStudy
from gpuexplorer.core.units import count
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.results.study import speedup_sheet
from gpuexplorer.studies.breakeven import break_even
from gpuexplorer.studies.kind import Choice, Scene, StudyKind
from gpuexplorer.studies.over_sizes import OverSizes
from gpuexplorer.studies.running import How, turns_words
from gpuexplorer.studies.sides import able_devices, side_of, two_sides, usual_sides
from gpuexplorer.studies.turns import measured_of
from gpuexplorer.workloads.workload import Workload

PARTS = ("first", "second", "second_with")
HOW_TRANSFERS = (
    "With transfers: allocate, copy there, launch, copy back, free, for every launch; the first "
    "device has its data at hand."
)


class SpeedupLab(OverSizes[SpeedupStudy]):
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
        """``names`` are two devices, None: the CPU and the GPU; sizes are as ``OverSizes`` has it.

        Raises CannotRunHere without a GPU where none is named, InputError for an unknown symbol or
        no sizes, and what ``complete`` raises.
        """
        super().__init__(request, workload, devices, how, symbol=symbol, sizes=sizes)
        first, second = two_sides(self._request, workload, devices, names)
        switches = {**second.switches, "include_transfers": True}
        whole = msgspec.structs.replace(second, switches=switches)
        self._configs = dict(zip(PARTS, (first, second, whole), strict=True))

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        return f"{count(len(self.sizes))} sizes on two devices, with and without transfers."

    def _measure(self, session: Measures) -> None:
        super()._measure(session)
        points = self.document().points
        if not any(point.speedup or point.speedup_with for point in points):
            reasons = [reason for point in points for reason in point.skipped.values()]
            why = reasons[0] if reasons else "too few rounds"
            raise WorkFailed(f"no size was measured on both devices: {why}")

    def _label(self, part: str) -> str:
        device = self._configs[part].device
        return device + (" with transfers" if part == "second_with" else "")

    # ---- the document

    def document(self) -> SpeedupStudy:
        """Return the document of what is measured so far."""
        runs: list[RunResult] = []
        points = [self._point(size, runs) for size in self.sizes]
        first, second = (side_of(self._configs[part], self._devices) for part in PARTS[:2])
        rounds, fewer = self.rounds
        return SpeedupStudy(
            **self._head(
                f"{self.workload.manifest.title}: {first.device} against {second.device}", rounds
            ),
            device=f"{first.name} · {second.name}" if first.name != second.name else first.name,
            notes=(turns_words(rounds, fewer=fewer), HOW_TRANSFERS, *self._suspects(points)),
            runs=runs,
            workload=self.workload.name,
            symbol=self.symbol,
            symbol_title=self.symbol_title,
            first=first,
            second=second,
            points=points,
            break_even=self._break_even(points, second.device, transfers=False),
            break_even_with=self._break_even(points, second.device, transfers=True),
        )

    def _point(self, size: int, runs: list[RunResult]) -> SizePoint:
        found = self.results(size)
        runs += found.values()
        figures = {part: measured_of(run) for part, run in found.items()}
        return SizePoint(
            value=size,
            size=self.config_at(size, "first").size,
            first=figures.get("first"),
            second=figures.get("second"),
            second_with=figures.get("second_with"),
            speedup=self._speedup(size, found, "second"),
            speedup_with=self._speedup(size, found, "second_with"),
            skipped=self.skipped(size),
        )

    def _speedup(self, size: int, found: Mapping[str, RunResult], part: str) -> Speedup | None:
        if "first" not in found or part not in found:
            return None
        if found["first"].timing.suspect or found[part].timing.suspect:
            return None
        places = self.places(size)
        times = self._turns[size].comparison(places[part], places["first"])
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


def finding(study: SpeedupStudy) -> str:
    """Return from which size on the second device pays, in a sentence or two."""
    found = [b.words for b in (study.break_even, study.break_even_with) if b is not None]
    return " ".join(found) if any(p.speedup for p in study.points) else ""


def _offers(scene: Scene) -> list[Offer]:
    return [
        Offer(device.id, device.id, tip=f"{device.name}\n{device.driver}")
        for device in able_devices(scene)
    ]


def _nothing(scene: Scene) -> str:
    if None not in usual_sides(scene):
        return ""
    return "Only one device here can run this workload, so there is nothing to hold against it."


KIND = StudyKind(
    title="CPU against GPU",
    heading="One device against another",
    tip="Times on two devices over a range of sizes, with and without transfers",
    question="From which size on does the second device pay?",
    about="The workload runs on both devices over a range of sizes: with the data at hand, and "
    "with all that it takes to bring them there and back.",
    doing="comparing two devices",
    command="CPU against GPU over a range of sizes: speed-up, and where the GPU breaks even",
    document=SpeedupStudy,
    lab=SpeedupLab,
    sheet=speedup_sheet,
    chart=speedup_chart,
    finding=finding,
    choices=(
        Choice(
            "names", "--devices", "A,B",
            "two devices; the first has the data at hand (default: the CPU, then the GPU)",
            also=("--device",), title="Devices", offers=_offers, nothing=_nothing,
            too_few="there are no two devices to compare",
            boxes=(
                ("&First", "The device that has its data at hand, as a CPU has"),
                ("S&econd", "The device that the data has to be brought to, as a GPU"),
            ),
            first=usual_sides,
        ),
    ),
    over_sizes=True,
    varies=("device", "threads"),
    subject=lambda study: f"{study.first.label} and {study.second.label}",
)  # fmt: skip
