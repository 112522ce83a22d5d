"""Studies as documents: what all have, and those of switches.

Every run of a study stands once in ``runs``; whatever else speaks of a run has its id and the
figures that belong there. So a document without its runs is still whole, and the history keeps it
so, beside the runs themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from gpuexplorer.core.chunked import compact
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.fields import Amount, Error, Ratio, Seconds, Time
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.units import speed, speed_than
from gpuexplorer.core.verdict import Verdict, verdict_of

STUDY_SCHEMA = "gpuexplorer/study/1"
STUDY_GROUP = "study"
"""What a group of the history is called that holds a study's runs."""

StudyEnd = Literal["done", "user", "error"]
SwitchValue = bool | int | float | str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one run of a study."""

    run: str
    """The run's id."""
    time_s: Time
    """The median of a launch."""
    ci95_low_s: Seconds | None = None
    ci95_high_s: Seconds | None = None
    flop_per_s: Amount | None = None
    rms_rel_error: Error | None = None
    """``‖out − ref‖ / ‖ref‖`` against float64; None where it was not worked out."""
    max_rel_error: Error | None = None
    """The largest error of an element, as the run's verification has it."""
    tolerance: Error | None = None
    wrong: bool = False
    """Whether the result is further from float64 than the workload allows."""
    memory_B: Amount | None = None
    """The peak of the device's memory that was counted."""
    memory_counter: str | None = None
    """What counted it; where nothing did, why."""
    suspect: str | None = None
    """Why the time cannot be true; such a run never wins."""


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """One that failed for good after some rounds, with what was measured of it by then."""

    label: str
    reason: str
    rounds: int
    """How many turns it took."""
    measured: Measured


class Study(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What all studies have; each kind adds its own and a tag."""

    schema: str = STUDY_SCHEMA
    id: str
    time_utc: str
    title: str
    """What was studied, in words."""
    device: str
    """The device's name and driver, in words; of several, all."""
    rounds: int = 0
    """How often each was measured, in turns; the most, where they differ."""
    stopped_by: StudyEnd = "done"
    """``user``: it was stopped; ``error``: an error ended it. It holds what was measured before."""
    notes: tuple[str, ...] = ()
    """How it was measured, and what a reader should know of it, a sentence each."""
    dropped: tuple[Dropped, ...] = ()
    """Those that failed after some rounds; nothing is held against them."""
    runs: list[RunResult] = []

    def run(self, measured: Measured | None) -> RunResult | None:
        """Return the run that some figures belong to."""
        if measured is None:
            return None
        return next((run for run in self.runs if run.id == measured.run), None)


class Speedup(msgspec.Struct, frozen=True, kw_only=True):
    """How many times as fast one is as another."""

    factor: Ratio
    ci95_low: Ratio | None = None
    """None for too few rounds."""
    ci95_high: Ratio | None = None
    pairs: int = 0

    @property
    def verdict(self) -> Verdict | None:
        """What the interval says; None without one."""
        ratio, low, high = self._times
        if ratio is None or low is None or high is None:
            return None
        return verdict_of(ratio, low, high)

    @property
    def words(self) -> str:
        """How fast it is, such as ``5.10× faster (4.92–5.31)``, or that this cannot be told."""
        return speed(*self._times)

    def than(self, other: str) -> str:
        """Return ``words`` with what it stands beside: ``5.10× faster (4.92–5.31) than A``."""
        return speed_than(self._times[0], other, *self._times[1:])

    @property
    def _times(self) -> tuple[float | None, float | None, float | None]:
        """Its time over the other's with the ends of the interval, as far as they are known."""
        ratio = 1 / self.factor if self.factor else None
        if not self.ci95_low or not self.ci95_high:
            return ratio, None, None
        return ratio, 1 / self.ci95_high, 1 / self.ci95_low


class AtSize(msgspec.Struct, frozen=True, kw_only=True):
    """One size of a study over sizes; each kind adds its figures."""

    value: int
    skipped: dict[str, str] = {}
    """Parts that have no figure to the reason why."""


class SizesStudy(Study, frozen=True, kw_only=True):
    """What studies over sizes have; each kind adds its own and a tag."""

    workload: str
    symbol: str
    """The size that varies."""
    symbol_title: str
    points: Sequence[AtSize] = ()


# ---- switches


class Switched(msgspec.Struct, frozen=True, kw_only=True):
    """A switch by itself: measured beside the baseline, or the reason why it was not."""

    switch: str
    """Its name; empty for the baseline."""
    value: SwitchValue = True
    title: str
    skipped: str | None = None
    measured: Measured | None = None
    effect: Comparison | None = None
    """Its time over the baseline's; below 1 it pays."""


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """A switch on top of those that were kept before it."""

    switch: str
    value: SwitchValue
    title: str
    before: Measured | None = None
    """The combination without it, measured in turns with it."""
    measured: Measured | None = None
    """The combination up to it, and with it."""
    effect: Comparison | None = None
    """That combination's time over the one before."""
    kept: bool = False
    reason: str = ""
    """Why it was not kept."""


class SwitchesStudy(Study, frozen=True, kw_only=True, tag="switches"):
    """What each switch buys by itself, and what they buy together."""

    config: RunConfig
    """The baseline."""
    baseline: Measured | None = None
    alone: list[Switched] = []
    """Every value of every switch that is offered, against the baseline."""
    not_offered: dict[str, str] = {}
    """Titles of switches that this variant does not have on this device, with the reason."""
    order: Literal["greedy", "stated"] = "greedy"
    """``greedy``: those that pay, the best first, each kept if it still pays."""
    added: list[Added] = []
    """The way to the combination."""
    combination: dict[str, SwitchValue] = {}
    """The switches that were kept."""
    beside: Measured | None = None
    """The baseline once more, in the turns of the combination."""
    together: Measured | None = None
    """The combination, measured in turns with the baseline and with each of its switches alone."""
    shares: list[Switched] = []
    """Each switch of the combination by itself, from those turns."""
    total: Comparison | None = None
    """The combination's time over the baseline's, from those turns."""
    combining: Comparison | None = None
    """The combination's time over what its switches would come to if each did on top of the others
    what it does by itself; below 1 combining added, above 1 it lost. None for a single switch."""


def study_json(study: Study) -> bytes:
    """Return the document: a line for each key, and one for each point and run."""
    whole = without_runs(study) | {"runs": study.runs}  # last, for they are long
    lines = []
    for key, value in whole.items():
        if isinstance(value, (list, tuple)) and value:
            entries = ",\n".join(f"    {compact(entry)}" for entry in value)
            lines.append(f"  {compact(key)}: [\n{entries}\n  ]")
        else:
            lines.append(f"  {compact(key)}: {compact(value)}")
    data = "{\n" + ",\n".join(lines) + "\n}\n"
    return shared(data.encode(), [run.environment for run in study.runs])


def without_runs(study: Study) -> dict[str, Any]:
    """Return the document in plain values without its runs, as a group of the history keeps it."""
    plain: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(study, runs=[]))
    del plain["runs"]
    return plain


def document_and_runs(study: Study) -> tuple[dict[str, Any], list[RunResult]]:
    """Return the document without its runs, and them, as the history keeps a study."""
    return without_runs(study), list(study.runs)


def ids_of(study: Study) -> set[str]:
    """Return the ids of the runs that a study's figures speak of."""
    found: set[str] = set()
    waiting: list[object] = [{n: getattr(study, n) for n in study.__struct_fields__ if n != "runs"}]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Measured):
            found.add(one.run)
        elif isinstance(one, msgspec.Struct):
            waiting += (getattr(one, name) for name in one.__struct_fields__)
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
    return found
