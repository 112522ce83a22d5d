"""What the Compare view shows: the contestants, their ratios, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gpuexplorer.charts.caption import Caption
from gpuexplorer.charts.comparison import (
    Line,
    comparison_chart,
    line_words,
    lines_of,
    ratio_panel,
)
from gpuexplorer.charts.spec import ChartSpec
from gpuexplorer.core.compared import ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import Cell, Sheet
from gpuexplorer.core.units import plural, quantity
from gpuexplorer.core.verdict import TOLERANCE, Verdict
from gpuexplorer.gui.model.compare_file import MOST, HeldComparison, ListedContestant
from gpuexplorer.gui.model.job import State
from gpuexplorer.gui.model.part_file import origin_words
from gpuexplorer.results.comparison import Entry, sheet_of, sheet_of_entries, told_of
from gpuexplorer.search.compare import Comparing, ContestantConfig, Standing, held_against
from gpuexplorer.search.contestants import command_words, labels
from gpuexplorer.search.stored import compare_runs
from gpuexplorer.workloads.workload import Workload

AS_STORED = "Stored runs as they are, which is weaker evidence than a comparison in turns."


class CompareModel:
    """Who takes part, and the comparison that goes on or was done."""

    def __init__(self) -> None:
        self.contestants: list[ListedContestant] = []
        self.reference = 0
        self.tolerance = TOLERANCE
        self.comparing: Comparing | None = None
        """The comparison as far as it was measured; None until it starts, and after a change."""
        self.result: ComparisonResult | None = None
        """Its document, once it paused or ended."""
        self.standings: Sequence[Standing] = ()
        self.origin = ""
        """The file that brought the result; empty for one measured here."""
        self.state: State = "empty"
        self.spent_s = self.most_s = 0.0
        """How long it measures by now, and at the most."""

    # ---- who takes part

    def add(
        self, config: RunConfig, stored: RunResult | None = None, engine: str | None = None
    ) -> str:
        """Add a configuration in an engine; return why that is not possible, "" when it is."""
        key = (comparable(config).key, engine)
        if any((comparable(one.config).key, one.engine) == key for one in self.contestants):
            return "That configuration is here already."
        if len(self.contestants) == MOST:
            return f"No more than {MOST} are compared at once; remove one first."
        self.contestants.append(ListedContestant(config, stored, engine))
        self._forget()
        return ""

    def remove(self, index: int) -> None:
        """Take one out; the first of the rest is the reference when it was that one."""
        del self.contestants[index]
        if index == self.reference:
            self.reference = 0
        elif index < self.reference:
            self.reference -= 1
        self._forget()

    def clear(self) -> None:
        """Take all out."""
        self.contestants.clear()
        self.reference = 0
        self._forget()

    def refer_to(self, index: int) -> None:
        """Hold the others against this one; what was measured is kept."""
        self.reference = index
        if self.comparing is not None:
            self.comparing.reference = index
            self.standings = self.comparing.standings()
        if self.result is not None:
            self.result = self._against(self.result, index)

    def tolerate(self, tolerance: float) -> None:
        """Count ratios within this of 1 as the same; what was measured is kept."""
        self.tolerance = tolerance
        if self.comparing is not None:
            self.comparing.tolerance = tolerance
            self.standings = self.comparing.standings()
        if self.result is not None:
            changed = msgspec.structs.replace(self.result, tolerance=tolerance)
            self.result = self._against(changed, self.reference)

    def _against(self, result: ComparisonResult, reference: int) -> ComparisonResult:
        """Return a result with another reference, or another tolerance that it says."""
        if result.interleaved:
            return held_against(result, reference, self._contestants())
        runs = [one.run for one in result.contestants]
        return compare_runs(runs, reference=reference, tolerance=result.tolerance)

    def _contestants(self) -> Sequence[ContestantConfig]:
        """Return the comparison's contestants; of a file, without what can be measured."""
        if self.comparing is not None:
            return self.comparing.contestants
        return [
            ContestantConfig(label, one.config, None, one.stored, one.engine)
            for label, one in zip(self.labels, self.contestants, strict=True)
        ]

    def _forget(self) -> None:
        self.comparing = self.result = None
        self.standings = ()
        self.origin, self.state = "", "empty"

    @property
    def labels(self) -> list[str]:
        """What tells each contestant from the others."""
        if not self.contestants:
            return []
        return labels([one.config for one in self.contestants], engines=self.engines)

    @property
    def engines(self) -> list[str | None]:
        """The words for each contestant's engine, in order."""
        return [one.engine for one in self.contestants]

    @property
    def caption(self) -> Caption:
        """What the contestants have in common; its sources are known once there is a result."""
        if self.result is not None:
            return Caption.of(one.run for one in self.result.contestants)
        return Caption(one.config for one in self.contestants)

    # ---- measuring

    def new_comparison(self, workloads: Sequence[Workload], *, allow_long: bool) -> Comparing:
        """Return a comparison of those who take part, which have one workload each."""
        return Comparing(
            [
                ContestantConfig(label, one.config, workload, one.stored, one.engine)
                for label, one, workload in zip(
                    self.labels, self.contestants, workloads, strict=True
                )
            ],
            reference=self.reference,
            tolerance=self.tolerance,
            allow_long=allow_long,
        )

    def begin(self, comparing: Comparing, most_s: float) -> None:
        """Note that a comparison has begun, or that one goes on."""
        self.comparing, self.result, self.origin = comparing, None, ""
        self.standings = comparing.standings()
        self.state, self.spent_s, self.most_s = "running", 0.0, most_s

    def end(self, result: ComparisonResult | None) -> None:
        """Note that nothing is measured any more."""
        self.result = result
        clear = result is not None and all(one.verdict != "can't tell" for one in result.others)
        self.state = "done" if clear else "stopped"

    @property
    def words(self) -> str:
        """How far it is, or what it came to, in a line."""
        rounds = self.comparing.rounds if self.comparing is not None else 0
        if self.state == "paused":
            return plural(rounds, "Paused after {number} round", "Paused after {number} rounds")
        if self.state == "running":
            if not rounds:
                return "The first round: compiling and verifying"
            return f"Round {rounds}, {self.spent_s:.0f} s of at most {self.most_s:.0f} s"
        if len(self.contestants) < 2:
            return "One more is needed." if self.contestants else ""
        if self.result is None:
            return "Press Start; live measuring pauses meanwhile."
        words = end_words(self.result)
        return f"{origin_words(self.origin)}. {words}" if self.origin else words

    def lines(self) -> list[Line]:
        """Return how everyone stands by now; keys are places."""
        if self.result is not None:
            return lines_of(self.result)
        unmeasured = [Standing(name, 0.0, None, None) for name in self.labels]
        return [
            line_of(place, standing, is_reference=place == self.reference)
            for place, standing in enumerate(self.standings or unmeasured)
        ]

    def sheet(self) -> Sheet:
        """Return the table of what is known now; what has no ratio yet has no verdict, either."""
        if self.result is not None:
            return sheet_of(self.result)
        medians_s: list[float | None] = [standing.median_s for standing in self.standings]
        if not medians_s:
            stored = [one.stored for one in self.contestants]
            medians_s = [run.timing.median_s if run is not None else None for run in stored]
        turns_taken = [one.turns for one in self.standings] or [0] * len(self.contestants)
        return sheet_of_entries(
            Entry(
                line if line.ratio else replace(line, verdict=None), place == self.reference,
                Cell(quantity(median_s, "s"), median_s), tip=_told_of(one), turns=turns,
            )
            for place, (line, median_s, one, turns) in enumerate(
                zip(self.lines(), medians_s, self.contestants, turns_taken, strict=True)
            )
        )  # fmt: skip

    def chart(self) -> ChartSpec | None:
        """Return the chart of what is known now, keys are places; None without anyone."""
        if self.result is not None:
            return comparison_chart(self.result)
        lines = self.lines()
        if not lines:
            return None
        waiting = "too few rounds yet" if self.standings else "not measured yet"
        reference = lines[self.reference].label
        told = [
            line if line.verdict is None or line.ratio else replace(line, beside=waiting)
            for line in lines
        ]
        panel = ratio_panel(told, reference, self.tolerance)
        return ChartSpec(title=f"Time beside {reference}", rows=((panel,),))

    def words_of(self, key: str) -> str:
        """Return what is known of one in the chart."""
        lines, place = self.lines(), int(key)
        return line_words(lines[place], lines[self.reference].label) if place < len(lines) else ""

    # ---- in a session file

    def snapshot(self) -> HeldComparison | None:
        """Return the comparison, unchangeable from now on; None without anyone who takes part."""
        if not self.contestants:
            return None
        return HeldComparison(
            tuple(self.contestants), self.reference, self.tolerance, self.result, self.origin,
            self.comparing,
        )  # fmt: skip

    def show(self, held: HeldComparison | None) -> None:
        """Show another comparison; None: one without contestants."""
        self._forget()
        self.contestants = list(held.contestants) if held is not None else []
        self.reference = held.reference if held is not None else 0
        if held is not None:
            self.tolerance, self.result, self.origin = held.tolerance, held.result, held.origin
            self.comparing = held.comparing
        if self.comparing is not None:
            self.standings = self.comparing.standings()
        if self.result is not None:
            self.end(self.result)

    def command(self) -> list[str]:
        """Return the arguments of ``gpuexplorer compare`` that do the same."""
        order = [self.contestants[self.reference]]
        order += [one for i, one in enumerate(self.contestants) if i != self.reference]
        words = command_words([one.config for one in order], [one.engine for one in order])
        if self.tolerance != TOLERANCE:
            words += ["--same-within", f"{self.tolerance * 100:g}%"]
        return words


def comparable(config: RunConfig) -> RunConfig:
    """Return a configuration without what a plan adds to it, so that two can be told apart."""
    return msgspec.structs.replace(config, grid=None)


def _told_of(one: ListedContestant) -> str:
    if one.stored is None:
        return told_of(one.config)
    return told_of(one.config, one.stored.id, one.stored.timing.median_s)


def end_words(result: ComparisonResult) -> str:
    """Return what ended a comparison, in words."""
    if not result.interleaved:
        return AS_STORED
    open_ones = sum(one.verdict == "can't tell" for one in result.others)
    if not open_ones:
        clear = (
            "Every verdict is clear after {number} round.",
            "Every verdict is clear after {number} rounds.",
        )
        return plural(result.rounds, *clear)
    stopped = (
        "Stopped after {number} round; {open_ones} of {others} cannot be told yet.",
        "Stopped after {number} rounds; {open_ones} of {others} cannot be told yet.",
    )
    time_up = (
        "The time was up after {number} round; {open_ones} of {others} cannot be told yet.",
        "The time was up after {number} rounds; {open_ones} of {others} cannot be told yet.",
    )
    done = (
        "After {number} round {open_ones} of {others} cannot be told.",
        "After {number} rounds {open_ones} of {others} cannot be told.",
    )
    words = {"user": stopped, "time": time_up}.get(result.stopped_by, done)
    return plural(result.rounds, *words, open_ones=open_ones, others=len(result.others))


def line_of(place: int, standing: Standing, *, is_reference: bool) -> Line:
    """Return how the one at a place stands as a line of the chart."""
    found, key = standing.comparison, str(place)
    if found is None:
        verdict: Verdict | None = None if is_reference else "can't tell"
        return Line(standing.label, None, None, None, verdict, key=key)
    ends = (found.ci95_low, found.ci95_high)
    return Line(standing.label, found.ratio, *ends, found.verdict, key=key)
