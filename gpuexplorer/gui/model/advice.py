"""What the window advises on the current run: worked out now and then, and never flickering."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.choose import MOST_SHOWN, advise, nothing_to_improve
from gpuexplorer.analysis.advice.situation import Measured
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.result import Phases
from gpuexplorer.engine.situation import RECENT_READINGS, Gatherer
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.live import Live, Run
from gpuexplorer.workloads.workload import Workload

HOLD_S = 1.0
"""Advice must hold so long before it is shown, and be gone so long before it is removed."""
NEW_WORDS_S = 2.0
"""Shown advice takes new words, as its figures move on, this seldom."""
OTHERS = 200
"""Earlier runs that are compared with the present one."""


@dataclass
class _Held:
    """One rule's advice on its way in or out."""

    advice: Advice
    since_s: float
    seen_s: float
    words_s: float
    shown: bool = False


@dataclass(frozen=True)
class Shown:
    """What stands in the panel.

    ``config`` is what it speaks of, None before a run could be judged. ``nothing`` says that the
    rules have had nothing to improve for a while.
    """

    advice: tuple[Advice, ...] = ()
    config: RunConfig | None = None
    nothing: bool = False


@dataclass
class Steady:
    """Holds advice back until it has held for ``HOLD_S``, and keeps it as long after it has gone.

    Times are seconds of any one steady clock.
    """

    _held: dict[str, _Held] = field(default_factory=dict)

    def take(self, said: tuple[Advice, ...], now_s: float, *, new_run: bool) -> None:
        """Take in what the rules say now."""
        for advice in said:
            held = self._held.get(advice.rule)
            if held is None:
                self._held[advice.rule] = _Held(advice, now_s, now_s, now_s)
                continue
            held.seen_s = now_s
            due = new_run or now_s - held.words_s >= NEW_WORDS_S
            if not held.shown or due or advice.change != held.advice.change:
                held.advice, held.words_s = advice, now_s
        said_now = {advice.rule for advice in said}
        for rule, held in list(self._held.items()):
            gone = rule not in said_now
            if gone and (not held.shown or now_s - held.seen_s >= HOLD_S):
                del self._held[rule]
            elif not gone and now_s - held.since_s >= HOLD_S:
                held.shown = True

    @property
    def shown(self) -> tuple[Advice, ...]:
        """What is shown: the most valuable first."""
        found = [held.advice for held in self._held.values() if held.shown]
        return tuple(sorted(found, key=lambda advice: advice.weight, reverse=True)[:MOST_SHOWN])

    @property
    def settled(self) -> bool:
        """Whether nothing is on its way in or out."""
        latest = max((held.seen_s for held in self._held.values()), default=0.0)
        return all(held.shown and held.seen_s == latest for held in self._held.values())

    def clear(self) -> None:
        """Forget everything at once."""
        self._held.clear()


class Adviser:
    """Applies the rules to the current run."""

    def __init__(self, live: Live, history: History) -> None:
        self._live, self._history = live, history
        self._steady = Steady()
        self._gatherer: Gatherer | None = None
        self._ticket = 0
        self._judged_from_s = 0.0
        self._held_long_enough = False

    def look(
        self,
        workload: Workload | None,
        devices: DeviceList | None,
        ceilings: Ceilings | None,
        now_s: float,
    ) -> Shown:
        """Judge the current run and return what is to be shown.

        ``workload`` is the current run's, None when it is not loaded any more.
        """
        run = self._live.current
        if run is None:
            self._steady.clear()
            return Shown()
        if run.prepared is None or run.summary is None or workload is None or devices is None:
            return Shown(self._steady.shown)
        new_run = self._gatherer is None or run.ticket != self._ticket
        if self._gatherer is None or new_run:
            self._gatherer = Gatherer(run.prepared, workload, devices)
            self._ticket, self._judged_from_s = run.ticket, now_s
        situation = self._gatherer.situation(
            run.summary,
            phases_s=_phases_of(run),
            readings=list(self._live.readings)[-RECENT_READINGS:],
            ceilings=ceilings,
            others=self._others(run),
        )
        self._steady.take(advise(situation), now_s, new_run=new_run)
        self._held_long_enough = now_s - self._judged_from_s >= HOLD_S
        shown = self._steady.shown
        nothing = self.settled and nothing_to_improve(shown)
        return Shown(shown, run.prepared.config, nothing)

    @property
    def settled(self) -> bool:
        """Whether another look would show the same, as long as nothing new is measured."""
        return self._held_long_enough and self._steady.settled

    def _others(self, run: Run) -> list[Measured]:
        """Return earlier runs of the same sources on the same silicon."""
        prepared = run.prepared
        assert prepared is not None
        found = []
        for entry, _ in zip(self._history, range(OTHERS), strict=False):
            if entry.ticket == run.ticket or entry.record is None:
                continue
            other = entry.record.prepared
            same = other.environment.source_sha256 == prepared.environment.source_sha256
            if same and other.device.hardware_id == prepared.device.hardware_id:
                library = entry.config.block is None
                median_s, error = entry.summary.median_s, entry.summary.relative_error
                found.append(Measured(entry.config, median_s, library, error))
        return found


def _phases_of(run: Run) -> Phases | None:
    """Return a run's phases: medians of the latest samples, or those of the one textbook run."""
    if run.phases_s:
        return Phases(**run.phases_s)
    return run.record.phases_s if run.record is not None else None
