"""Speed against accuracy: every precision a workload can run in, its time beside its error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from gpuexplorer.charts.studies_precision import precision_chart
from gpuexplorer.charts.studies_words import error_words, times_as_fast
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import Measured, PrecisionPoint, PrecisionStudy
from gpuexplorer.core.units import count
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.results.study import precision_sheet
from gpuexplorer.studies.kind import Choice, StudyKind
from gpuexplorer.studies.running import How, Running, turns_words
from gpuexplorer.studies.turns import Entry, InTurns, measured_of
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

REFERENCE = "fp32"
WRONG = (
    "Points that are further from float64 than the workload allows are measured all the same: "
    "here the error is a result."
)


@dataclass(frozen=True)
class Offer:
    """A precision: what would be run, or why it cannot be."""

    precision: str
    config: RunConfig | None
    reason: str = ""


def offers(
    request: RunRequest,
    workload: Workload,
    devices: DeviceList,
    precisions: Sequence[str] | None = None,
) -> list[Offer]:
    """Return every precision (or those named), with what would be run or the reason it cannot be.

    Raises InputError for an unknown name, and what ``complete`` raises when no precision can be
    run: then something else of the request is wrong.
    """
    wanted = list(PRECISIONS) if precisions is None else list(dict.fromkeys(precisions))
    for name in wanted:
        if name not in PRECISIONS:
            raise InputError(f"no precision '{name}'", remedy=suggestion(name, PRECISIONS))
    found: list[Offer] = []
    first_error: ExplorerError | None = None
    for name in wanted:
        try:
            asked = msgspec.structs.replace(request, precision=name)
            config = complete(asked, workload, devices)
            config = make_plan(workload, config, find_device(devices, config.device)).config
        except ExplorerError as error:
            if first_error is None and name in workload.manifest.precisions:
                first_error = error
            found.append(Offer(name, None, error.what))
        else:
            found.append(Offer(name, config))
    if all(offer.config is None for offer in found):
        raise first_error or InputError(
            f"workload '{workload.name}' has none of {', '.join(wanted)}",
            remedy=suggestion(wanted[0], workload.manifest.precisions),
        )
    return found


class PrecisionLab(Running[PrecisionStudy]):
    """Every precision of one workload, variant and device, measured in turns.

    Raises InputError or CannotRunHere when no precision can be run.
    """

    def __init__(
        self,
        request: RunRequest,
        workload: Workload,
        devices: DeviceList,
        how: How | None = None,
        *,
        precisions: Sequence[str] | None = None,
    ) -> None:
        """``precisions`` are those to look at; None: all."""
        super().__init__(how)
        self.workload = workload
        self.offers = offers(request, workload, devices, precisions)
        configs = [offer.config for offer in self.offers if offer.config is not None]
        self._device: DeviceInfo = find_device(devices, configs[0].device)
        entries = [Entry(config.precision, config) for config in configs]
        self._turns = InTurns(
            entries, workload, self.how, self._step, self._expect, even_if_wrong=True
        )
        self._places = {entry.label: place for place, entry in enumerate(entries)}

    @property
    def configurations(self) -> int:
        """How many precisions can be run."""
        return len(self._places)

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        number = self.configurations
        return f"{count(number)} precision{'s' if number != 1 else ''}, measured in turns."

    def _measure(self, session: Measures) -> None:
        self._turns.measure(session)
        if not self._turns.running:
            raise next(iter(self._turns.failed.values()), WorkFailed("nothing was measured"))

    def document(self) -> PrecisionStudy:
        """Return the document of what is measured so far."""
        results = self._turns.results()
        runs = {self._turns.entries[place].label: run for place, run in results.items()}
        reference = REFERENCE if REFERENCE in runs else next(iter(runs), None)
        points = [self._point(offer, runs, reference) for offer in self.offers]
        configs = [offer.config for offer in self.offers if offer.config is not None]
        config = next((c for c in configs if c.precision == reference), configs[0])
        notes = [
            "Errors are ‖result − reference‖ over ‖reference‖ against float64."
            if all(p.measured.rms_rel_error is not None for p in points if p.measured is not None)
            else "Errors are the largest of an element against float64."
        ]
        if any(point.measured is not None and point.measured.wrong for point in points):
            notes.append(WRONG)
        return PrecisionStudy(
            **self._head(
                f"{self.workload.manifest.title}: speed against accuracy", self._turns.rounds_done
            ),
            device=f"{self._device.name} · {self._device.driver}",
            notes=(*notes, turns_words(self._turns.rounds_done, fewer=self._turns.fewer)),
            config=config,
            reference=reference,
            points=on_front(points),
            runs=list(results.values()),
        )

    def _point(
        self, offer: Offer, runs: dict[str, RunResult], reference: str | None
    ) -> PrecisionPoint:
        name = offer.precision
        title = PRECISIONS[name].title
        place = self._places.get(name)
        if place is None:
            return PrecisionPoint(precision=name, title=title, skipped=offer.reason)
        run = runs.get(name)
        if run is None:
            error = self._turns.failed.get(place)
            reason = error.what if error is not None else self._missing
            return PrecisionPoint(precision=name, title=title, skipped=reason)
        against = None
        if reference is not None and name != reference:
            against = self._turns.comparison(place, self._places[reference])
        said = run.arithmetic
        return PrecisionPoint(
            precision=name,
            title=title,
            measured=measured_of(run),
            ran=said.ran if said is not None else None,
            accumulates_in=said.accumulates_in if said is not None else accumulates_in(run),
            how=said.how if said is not None else None,
            fallback=(said.fallback if said is not None else None) or same_result(name, runs),
            against=against,
        )


def accumulates_in(run: RunResult) -> str | None:
    """Return what a kernel of ours adds up in: its ``accum`` type; None for a library call."""
    chosen = PRECISIONS.get(run.config.precision)
    if run.config.block is None or chosen is None:
        return None
    return next(
        (n for n, p in PRECISIONS.items() if p.kernels and p.dtype == chosen.accum_dtype), None
    )


def same_result(precision: str, runs: dict[str, RunResult]) -> str | None:
    """Return a sentence when a precision's errors are those of fp32 to the last digit.

    Another rounding of every number cannot give that, so fp32 ran. None otherwise, and where the
    results are exact.
    """
    ours, fp32 = runs.get(precision), runs.get(REFERENCE)
    if ours is None or fp32 is None or precision in (REFERENCE, "fp64"):
        return None
    mine, theirs = ours.verification, fp32.verification
    if mine is None or theirs is None or not mine.max_rel_error:
        return None
    same = (mine.max_rel_error, mine.rms_rel_error) == (theirs.max_rel_error, theirs.rms_rel_error)
    if not same:
        return None
    return (
        f"{precision} was asked for, and its error is that of fp32 to the last digit: fp32 "
        "arithmetic ran."
    )


def on_front(points: Sequence[PrecisionPoint]) -> list[PrecisionPoint]:
    """Return the points with the Pareto front marked: no other is both faster and nearer.

    What fell back to another precision and what cannot be true is on no front.
    """
    worst = any(p.measured is not None and p.measured.rms_rel_error is None for p in points)

    def place(measured: Measured) -> tuple[float, float] | None:
        error = measured.max_rel_error if worst else measured.rms_rel_error
        return None if error is None or measured.suspect else (measured.time_s, error)

    places = {
        p.precision: found
        for p in points
        if p.measured is not None
        and p.fallback is None
        and (found := place(p.measured)) is not None
    }

    def beaten(time_s: float, error: float) -> bool:
        return any(
            t <= time_s and e <= error and (t, e) != (time_s, error) for t, e in places.values()
        )

    return [
        msgspec.structs.replace(p, front=p.precision in places and not beaten(*places[p.precision]))
        for p in points
    ]


def finding(study: PrecisionStudy) -> str:
    """Return the fastest precision within the tolerance, in a sentence; empty for no run."""
    able = [p for p in study.points if p.measured is not None and p.front and not p.measured.wrong]
    if not able:
        number = len(study.runs)
        return f"{number} precision{'' if number == 1 else 's'} measured." if number else ""
    best = min(able, key=lambda p: p.measured.time_s if p.measured else 0.0)
    words = f"Fastest within the tolerance: {best.precision}"
    if best.against is not None and study.reference is not None:
        words += f", {times_as_fast(best.against)} {study.reference}"
    error = study.error(best)
    return f"{words}, error {error_words(error)}." if error is not None else f"{words}."


KIND = StudyKind(
    title="Precision",
    heading="Precision lab",
    tip="Speed against accuracy, over every precision that the workload has here",
    question="How much accuracy does each precision cost, and what does it buy?",
    about="The workload runs in every precision it has here, in turns. Each point's error is "
    "against float64; the line joins those that nothing beats in both.",
    doing="measuring precisions",
    command="every precision: its speed beside its error against float64",
    document=PrecisionStudy,
    lab=PrecisionLab,
    sheet=precision_sheet,
    chart=precision_chart,
    finding=finding,
    choices=(
        Choice(
            "precisions", "--precision", "P,..",
            "which precisions (default: all that the workload and device have)",
            also=("--precisions",), title="Precisions", too_few="no precision is ticked",
            offers=lambda scene: scene.precision_offers(),
        ),
    ),
    varies=("precision",),
)  # fmt: skip
