"""The ladder: the kernels of a workload as rungs, up to the libraries and the roof, in turns.

A rung is held against the one before, in the manifest's order or as its ``after`` says, and against
the fastest library on the same hardware. What was tuned for a rung there is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from gpuexplorer.analysis.advice.roofs import cache_of, held_by_caches
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.charts.over_sizes import axis_around
from gpuexplorer.charts.spec import Axis, ChartSpec, Panel, Series, series
from gpuexplorer.charts.words import knob_words
from gpuexplorer.core.accesses import Sectors
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.core.fields import Amount
from gpuexplorer.core.knobs import TRANSFERS
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Cell, Column, Medium, Role, Row, Sheet
from gpuexplorer.core.studies import Measured, Speedup, Study
from gpuexplorer.core.text import differing
from gpuexplorer.core.units import listed, percent, plural, quantity
from gpuexplorer.engine.accesses import CountsAccesses, count_sectors
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.history.place import find_place
from gpuexplorer.history.store import Store, TunedEntry
from gpuexplorer.results.study import (
    FIGURES,
    SPEEDUP,
    TIME_TIP,
    UNKNOWN,
    figures_tip,
    file_only,
    speedup_cell,
    time_cell,
)
from gpuexplorer.search.tune_keep import find_tuned, with_tuned
from gpuexplorer.studies.kind import Choice, StudyKind
from gpuexplorer.studies.running import How, Running, turns_words
from gpuexplorer.studies.turns import Entry, InTurns, measured_of, with_dropped
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.rungs import problem_of, rungs_below
from gpuexplorer.workloads.workload import Workload

RIDGE = 10.0
"""Operations a byte above which arithmetic is what counts, where no ceiling says it."""
ROOFS = {
    "fma": "measured multiply-add rate", "gemm": "vendor's matrix multiply",
    "cache": "measured bandwidth of the caches",
}  # fmt: skip
"""What a roof is in words; that of the main memory otherwise."""
TO_LIBRARY = {f"library_{name}": field for name, field in SPEEDUP.items()}
ROOM_FOR_WORDS = 0.35
"""At the right of the fastest, as a share of the range."""
COUNT_S = 0.4
"""What counting the accesses of a kernel takes, with compiling it."""
RUNGS, LIBRARIES = 0, 3
"""Slots of a chart's palette."""


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel or library: measured, or the reason why it was not."""

    variant: str
    title: str
    teaches: str
    library: bool = False
    """Whether it is a library's call or a framework's model, which the rungs climb up to."""
    knobs: str = ""
    """Its block and tunables in words."""
    tuned: str | None = None
    """When these were tuned; None: they are the manifest's."""
    skipped: str | None = None
    measured: Measured | None = None
    rate: Amount | None = None
    """In the study's ``unit``."""
    before: str | None = None
    """The rung before it that was measured."""
    step: Speedup | None = None
    """How many times as fast as that one."""
    beside: Speedup | None = None
    """How many times as fast as the fastest library."""
    diff: str = ""
    """What changed in the source since the rung before, as ``diff -u`` writes it."""
    registers: int | None = None
    """Of a thread, and the occupancy, where the device told."""
    occupancy: Amount | None = None
    sectors: Sectors | None = None
    """What its warps fetch from global memory, counted on the CPU device; None where that cannot
    be counted."""


class LadderStudy(Study, frozen=True, kw_only=True, tag="ladder"):
    """The rungs of a workload, each beside the one before and the fastest library."""

    config: RunConfig
    """That of the first rung; what all have in common is the rungs'."""
    unit: str
    """Of rates: ``FLOP/s``, or ``B/s`` where memory is the limit."""
    library: str | None = None
    """The fastest library; None where none was measured."""
    roof: Amount | None = None
    """The rate that the device was measured to allow; None before it was calibrated."""
    roof_words: str = ""
    rungs: tuple[Rung, ...] = ()

    @property
    def best(self) -> Rung | None:
        """The fastest kernel that can be true."""
        found = [(r.measured.time_s, r) for r in self.rungs if r.measured and not r.library
                 and not r.measured.suspect]  # fmt: skip
        return min(found, key=lambda one: one[0])[1] if found else None


class LadderLab(Running[LadderStudy]):
    """The variants of one workload that compute the same, measured in turns on one hardware."""

    def __init__(
        self, request: RunRequest, workload: Workload, devices: DeviceList, how: How | None = None,
        *, variants: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """``variants``: None are all. Block, tunables and switches are each variant's own.

        Raises InputError for an unknown name, and what ``complete`` raises where none can be run.
        """
        super().__init__(how)
        self.workload, self._devices = workload, devices
        named = [request.variant] if request.variant is not None else workload.manifest.variants
        self._names = [n for n in workload.manifest.variants if n in set(variants or named)]
        for name in variants or named:
            workload.variant(name)
        self._configs: dict[str, RunConfig] = {}
        self._refused: dict[str, str] = {}
        self._tuned: dict[str, TunedEntry] = {}
        self._own_notes: list[str] = []
        self._sectors: dict[str, Sectors] = {}
        self._turns: InTurns | None = None
        own = msgspec.structs.replace(request, block=None, tunables={}, switches={})
        first_error: ExplorerError | None = None
        for name in self._names:
            try:
                config = complete(msgspec.structs.replace(own, variant=name), workload, devices)
                config = make_plan(workload, config, find_device(devices, config.device)).config
            except ExplorerError as error:
                self._refused[name] = error.what
                first_error = first_error or error
                continue
            first = next(iter(self._configs), name)
            if problem_of(workload, name) != problem_of(workload, first):
                self._refused[name] = f"it computes something else than '{first}'"
                continue
            self._configs[name] = config
            own = msgspec.structs.replace(own, device=config.device, precision=config.precision)
        if first_error is not None and not self._configs:
            raise first_error
        self._first = next(iter(self._configs.values()))

    @property
    def configurations(self) -> int:
        """How many variants can be run."""
        return len(self._configs)

    @property
    def total(self) -> str:
        """What will be measured, in a sentence."""
        return plural(
            self.configurations,
            "{number} variant, measured in turns.",
            "{number} variants, measured in turns.",
        )

    def estimate_s(self, *, model: bool) -> float:
        """Return about how long it takes, with counting what each kernel fetches."""
        kernels = [config for config in self._configs.values() if config.block is not None]
        return super().estimate_s(model=model) + len(kernels) * COUNT_S

    def _measure(self, session: Measures) -> None:
        self._take_tuned()
        entries = [Entry(name, config) for name, config in self._configs.items()]
        self._turns = InTurns(entries, self.workload, self.how, self._step, self._expect)
        self._turns.measure(session)
        if not self._turns.running:
            raise next(iter(self._turns.failed.values()), WorkFailed("nothing was measured"))
        if isinstance(session, CountsAccesses):
            self._count(session, self._turns)

    def _count(self, session: CountsAccesses, turns: InTurns) -> None:
        """Count what the warps of each kernel fetch."""
        runs = turns.results()
        measured = [
            (name, config, runs[place])
            for place, (name, config) in enumerate(self._configs.items())
            if place in runs and config.block is not None
        ]
        self._expect(len(measured))
        for name, config, run in measured:
            self._step(f"{name}: counting accesses")
            device = find_device(self._devices, config.device)
            work_s = run.timing.median_s * (config.threads or 1) if device.kind == "cpu" else None
            found = count_sectors(session, config, self.workload, self._devices, work_s)
            if found is not None:
                self._sectors[name] = found

    def _take_tuned(self) -> None:
        """Use what was tuned for each on this hardware, as far as a history is there to say it."""
        kernels = {n: c for n, c in self._configs.items() if c.block is not None}
        try:
            path = find_place().path
            if not kernels or (path is not None and not path.exists()):
                return
            with Store.open_to_read() as store:
                for name, config in kernels.items():
                    device = find_device(self._devices, config.device)
                    entry = find_tuned(store, config, self.workload, device)
                    if entry is not None:
                        plan = make_plan(self.workload, with_tuned(config, entry), device)
                        self._configs[name], self._tuned[name] = plan.config, entry
        except ExplorerError as error:
            self._own_notes = [f"What was tuned could not be looked up: {error.what}."]

    # ---- the document

    def document(self) -> LadderStudy:
        """Return the document of what is measured so far."""
        turns = self._turns
        places = {name: place for place, name in enumerate(self._configs)}
        results = turns.results() if turns is not None else {}
        runs = {name: results[at] for name, at in places.items() if at in results}
        libraries = [
            n for n in runs if self.workload.variant(n).call and not runs[n].timing.suspect
        ]
        library = min(libraries, key=lambda n: runs[n].timing.median_s, default=None)
        unit, roof, words = self._roof()
        rounds = turns.rounds_done if turns is not None else 0
        device = find_device(self._devices, self._first.device)
        study = LadderStudy(
            **self._head(f"{self.workload.manifest.title}: the ladder", rounds),
            device=f"{device.name} · {device.driver}", config=self._first, unit=unit,
            notes=(turns_words(rounds, fewer=turns is not None and turns.fewer), *self._own_notes,
                   *(turns.suspects() if turns is not None else ())),
            library=library, roof=roof, roof_words=words, runs=list(runs.values()),
            rungs=tuple(self._rung(name, runs, places, library, unit) for name in self._names),
        )  # fmt: skip
        return study if turns is None else with_dropped(study, [turns])

    def _rung(
        self, name: str, runs: Mapping[str, RunResult], places: Mapping[str, int],
        library: str | None, unit: str,
    ) -> Rung:  # fmt: skip
        spec, run, config = self.workload.variant(name), runs.get(name), self._configs.get(name)
        entry = self._tuned.get(name)
        rung = Rung(
            variant=name, title=spec.title, teaches=spec.teaches, library=spec.call is not None,
            knobs=knob_words(config) if config is not None else "",
            tuned=entry.time_utc if entry is not None else None,
        )  # fmt: skip
        if run is None:
            failed = (
                self._turns.failed.get(places[name]) if self._turns and name in places else None
            )
            reason = self._refused.get(name) or (failed.what if failed else self._missing)
            return msgspec.structs.replace(rung, skipped=reason)
        before, done = rung_before(self.workload, name, runs), run.throughput
        return msgspec.structs.replace(
            rung, measured=measured_of(run), before=before, step=self._faster(name, before, places),
            rate=done.flop_per_s if unit == "FLOP/s" else done.bandwidth_B_per_s,
            beside=self._faster(name, library, places) if name != library else None,
            diff=source_diff(self.workload, before, name) if before is not None else "",
            registers=run.resources.registers_per_thread, occupancy=run.resources.occupancy,
            sectors=self._sectors.get(name),
        )  # fmt: skip

    def _faster(self, name: str, than: str | None, places: Mapping[str, int]) -> Speedup | None:
        """Return how many times as fast one is as another."""
        if than is None or self._turns is None:
            return None
        found = self._turns.comparison(places[than], places[name])
        if found is None:
            return None
        return Speedup(factor=found.ratio, ci95_low=found.ci95_low, ci95_high=found.ci95_high,
                       pairs=found.pairs)  # fmt: skip

    def _roof(self) -> tuple[str, float | None, str]:
        """Return the unit of rates, the rate that the device allows, and what that is in words."""
        config = self._first
        device = find_device(self._devices, config.device)
        plan = make_plan(self.workload, config, device)
        moved_B = plan.compulsory_read_B + plan.compulsory_write_B
        unit = "FLOP/s" if plan.flops > RIDGE * moved_B else "B/s"
        ceilings = CeilingStore().find(device)
        if ceilings is None:
            return unit, None, ""
        compute = ceilings.compute(config.precision)
        memory = ceilings.memory()
        if held_by_caches(config, device, moved_B):
            memory = cache_of(ceilings, moved_B) or memory
        if compute is not None and memory is not None:
            longer = plan.flops / compute.value > moved_B / memory.value
            unit = "FLOP/s" if longer else "B/s"
        found = compute if unit == "FLOP/s" else memory
        if found is None:
            return unit, None, ""
        return unit, found.value, ROOFS.get(found.kind, "measured bandwidth of the memory")


def rung_before(workload: Workload, name: str, measured: Collection[str]) -> str | None:
    """Return the nearest measured kernel below a kernel; None for the first, and for libraries."""
    return next((rung for rung in rungs_below(workload, name) if rung in measured), None)


def source_diff(workload: Workload, before: str, name: str) -> str:
    """Return what changed in the sources from one kernel to another, as ``diff -u`` writes it."""
    files = workload.source.files

    def text(variant: str) -> str:
        named = dict.fromkeys(step.source for step in workload.variant(variant).launch)
        return "".join(files[one] for one in named)

    return differing(text(before), text(name), before, name)


# ---- the table


def sheet(study: LadderStudy) -> Sheet:
    """Return every rung and library with its time, its rate, and its two ratios."""
    library = study.library or "library"
    columns = (
        Column("variant", "rung", "The kernel, or the library that the rungs climb up to",
               words=True, fields={"variant": ""}),
        file_only("library"),
        Column("knobs", "block", "Threads a block and tunables; with a star as they were tuned",
               words=True, fields={"knobs": ""}, gives_way=2),
        file_only("tuned"),
        Column("time", "time", TIME_TIP, "s", fields=FIGURES),
        Column("rate", "rate", "Useful operations a second, or bytes where memory is the limit",
               study.unit, fields={"rate": ""}, gives_way=3),
        Column("step", "beside the rung before", "How fast it is beside the rung before it, with "
               "the 95 % interval", fields=SPEEDUP),
        file_only("before"),
        Column("beside", f"beside {library}", "How fast it is beside the fastest library, with the "
               "95 % interval", fields=TO_LIBRARY),
        Column("roof", "of the roof", f"Share of the {study.roof_words or 'roof'}",
               fields={"share_of_roof": ""}),
        *(_device_columns() if any(rung.registers for rung in study.rungs) else ()),
        *(_sector_columns() if any(rung.sectors for rung in study.rungs) else ()),
        Column("source", "source code", "Lines that were added and removed since the rung before; "
               "the whole difference stands in the JSON", words=True, gives_way=4),
        file_only("skipped"),
        Column("teaches", "what it teaches", words=True, media=Medium.PAGE),
        Column("remarks", "remarks", "What a reader should know of it", words=True, gives_way=1,
               media=Medium.WINDOW | Medium.PAGE),
    )  # fmt: skip
    return Sheet("Rungs", columns, tuple(_row(study, rung) for rung in study.rungs),
                 tuple(_words(study)))  # fmt: skip


def _row(study: LadderStudy, rung: Rung) -> Row:
    share = rung.rate / study.roof if rung.rate and study.roof else None
    named = {"variant": rung.variant, "library": rung.library, "tuned": rung.tuned,
             "before": rung.before, "skipped": rung.skipped}  # fmt: skip
    cells = {name: Cell(str(value or ""), value) for name, value in named.items()}
    cells |= {
        "knobs": Cell(rung.knobs + (" *" if rung.tuned else ""), rung.knobs),
        "time": time_cell(rung.measured), "step": speedup_cell(rung.step),
        "rate": Cell(quantity(rung.rate, study.unit) if rung.rate else "–", rung.rate),
        "beside": speedup_cell(rung.beside), "roof": Cell(percent(share), share),
        "teaches": Cell(rung.teaches), "source": Cell(_changed_words(rung)),
        "registers": Cell(str(rung.registers or "–"), rung.registers),
        "occupancy": Cell(percent(rung.occupancy), rung.occupancy),
        "sectors": Cell(quantity(rung.sectors.sectors if rung.sectors else None, ""),
                        rung.sectors and rung.sectors.sectors, rung.sectors),
    }  # fmt: skip
    if rung.measured is None:
        note = rung.skipped or UNKNOWN
        tip = "\n".join((rung.title, rung.teaches, note))
        return Row(rung.title, cells, tip, note=note, role="skipped",
                   media=Medium.ALL & ~Medium.TERMINAL)  # fmt: skip
    best = study.best is not None and study.best.variant == rung.variant
    remarks = {
        "the fastest library": rung.variant == study.library, "the best rung": best,
        f"cannot be true: {rung.measured.suspect}": rung.measured.suspect is not None,
    }  # fmt: skip
    cells["remarks"] = Cell("; ".join(words for words, holds in remarks.items() if holds))
    tuned = f"Its block was tuned on {rung.tuned[:10]}." if rung.tuned else ""
    tip = figures_tip(
        rung.title,
        rung.measured,
        [rung.teaches, _step_words(rung), _sector_words(rung.sectors), tuned],
    )
    role: Role = "reference" if rung.variant == study.library else "best" if best else ""
    return Row(rung.title, cells, tip, {rung.measured.run: tip}, role=role)


def _device_columns() -> tuple[Column, ...]:
    """Return what a GPU tells of a compiled kernel."""
    return (
        Column("registers", "registers", "Of a thread", fields={"registers": ""}),
        Column("occupancy", "occupancy", "Share of a multiprocessor's warps that can be there",
               fields={"occupancy": ""}),
    )  # fmt: skip


def _sector_columns() -> tuple[Column, ...]:
    """Return what the warps of a kernel ask of memory."""
    fields = {"sectors": "sectors", "requests": "requests", "least_sectors": "least_sectors"}
    return (
        Column("sectors", "sectors", "Sectors of 32 B that all warps ask of global memory, before "
               "any cache: a warp of each launch is counted on the CPU device, and stands for all",
               fields=fields, gives_way=2),
    )  # fmt: skip


def _sector_words(found: Sectors | None) -> str:
    """Return how many there are and what a request fetches; empty where it was not counted."""
    if found is None:
        return ""
    all_warps = quantity(found.sectors, "")
    each, least = found.sectors / found.requests, found.least_sectors / found.requests
    return f"Sectors: {all_warps}, {each:.3g} a request on average, where {least:.3g} would do."


def _changed_words(rung: Rung) -> str:
    """Return how many lines were added and removed, such as ``+24 −10``."""
    lines = rung.diff.splitlines()[2:]
    added = sum(line.startswith("+") for line in lines)
    removed = sum(line.startswith("-") for line in lines)
    return f"+{added} −{removed}" if lines else ""


def _step_words(rung: Rung) -> str:
    """Return how fast a rung is beside the one before it; empty for the first."""
    if rung.step is None or rung.before is None:
        return ""
    return rung.step.than(rung.before)


def _words(study: LadderStudy) -> list[str]:
    found = [words] if (words := finding(study)) else []
    if study.roof is None:
        found.append("There is no roof yet: 'gpuexplorer calibrate' measures it.")
    if tuned := [rung.variant for rung in study.rungs if rung.tuned]:
        found.append(f"With the block that was tuned on this device: {listed(tuned)}.")
    if skipped := [rung.variant for rung in study.rungs if rung.skipped]:
        found.append(f"Not measured: {listed(skipped)}.")
    return found


# ---- the chart


def chart(study: LadderStudy) -> ChartSpec:
    """Return the rungs from the bottom up, each as far to the right as it is fast."""
    known = [(rung, rung.rate) for rung in study.rungs if rung.measured and rung.rate]
    order = [one for one in known if not one[0].library] + [one for one in known if one[0].library]
    rows = {rung.variant: len(order) - 1 - at for at, (rung, _) in enumerate(order)}
    at = {rung.variant: rate for rung, rate in known}
    steps = [(rung.before, rung.variant) for rung, _ in order if rung.before in at]
    drawn: list[Series] = [
        series("", "line", "pinned", x=[at[name] for name in step], y=[rows[name] for name in step])
        for step in steps
    ]
    names = {False: "rungs", True: "libraries"}
    for rung, rate in order:
        drawn.append(
            series(
                names.pop(rung.library, ""), "points", "measured", x=[rate], y=[rows[rung.variant]],
                sideways=True, colour=LIBRARIES if rung.library else RUNGS,
                labels=(rung.step.words if rung.step is not None else "",),
                keys=(rung.measured.run if rung.measured else "",),
                **_interval(rung, rate),
            )
        )  # fmt: skip
    if study.library in at:
        drawn.append(series(f"{study.library}, the fastest library", "vline", "model",
                            x=[at[study.library]], colour=LIBRARIES))  # fmt: skip
    marks = list(at.values())
    if study.roof is not None:
        drawn.append(series(study.roof_words, "vline", "ceiling", x=[study.roof]))
        marks.append(study.roof)
    label = "useful operations a second" if study.unit == "FLOP/s" else "bytes a second"
    axis = axis_around([series("", "points", "measured", x=marks, y=marks)], label, study.unit)
    low, high = axis.low or 1.0, axis.high or 2.0
    panel = Panel(
        x=msgspec.structs.replace(axis, high=high * (high / low) ** ROOM_FOR_WORDS),
        y=Axis(label="", low=-0.6, high=max(len(rows), 1) - 0.4,
               categories=tuple(sorted(rows, key=lambda name: rows[name])) or ("",)),
        series=tuple(drawn), height=0.45 + 0.12 * len(rows),
    )  # fmt: skip
    factors = ["Beside a rung stands its speed beside the rung before."] if steps else []
    return ChartSpec(
        title=study.title, subtitle=study.device, rows=((panel,),),
        notes=(*_words(study), *factors, *study.notes),
    )  # fmt: skip


def _interval(rung: Rung, rate: float) -> dict[str, list[float]]:
    """Return the ends of a rate's 95 % interval; none where it is not known."""
    found = rung.measured
    if found is None or not found.ci95_low_s or not found.ci95_high_s:
        return {}
    work = rate * found.time_s
    return {"low": [work / found.ci95_high_s], "high": [work / found.ci95_low_s]}


def changed_source(study: LadderStudy, run: str) -> tuple[str, str]:
    """Return a title and what changed in the source since the rung before; both may be empty."""
    for rung in study.rungs:
        if rung.measured is not None and rung.measured.run == run and rung.before and rung.diff:
            return f"The source from {rung.before} to {rung.variant}", rung.diff
    return "", ""


def finding(study: LadderStudy) -> str:
    """Return how far the best rung gets, in a sentence; empty while none was measured."""
    best = study.best
    if best is None:
        return ""
    beside = share = ""
    if best.beside is not None and study.library is not None and best.beside.factor:
        beside = best.beside.than(study.library)
    if best.rate and study.roof:
        share = percent(best.rate / study.roof)
    if beside and share:
        return f"The best rung is {best.variant}, {beside}, at {share} of the {study.roof_words}."
    if share:
        return f"The best rung is {best.variant}, at {share} of the {study.roof_words}."
    if beside:
        return f"The best rung is {best.variant}, {beside}."
    return f"The best rung is {best.variant}."


KIND = StudyKind(
    title="Ladder", heading="The ladder", doing="measuring rungs",
    tip="Every kernel of the workload as a rung, up to the libraries and the roof",
    question="What does each step of optimization buy, and how far is it to the library?",
    about="All kernels of the workload run in turns with the libraries. Each stands beside the "
    "rung before it, the fastest library, and what the device was measured to allow.",
    command="every kernel as a rung: beside the one before, the fastest library and the roof",
    document=LadderStudy, lab=LadderLab, sheet=sheet, chart=chart, finding=finding,
    source=changed_source,
    choices=(Choice("variants", "--variants", "V,..", "which rungs and libraries (default: all "
                    "that run on the device)", also=("--variant",), title="Rungs and libraries",
                    too_few="no variant is ticked", offers=lambda scene: scene.variant_offers()),),
    varies=("variant", "block", "tunables", "switches"),
    without=("block", "tunable", "switch", TRANSFERS),
)  # fmt: skip
