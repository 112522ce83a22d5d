"""What the window advises on the current run: worked out now and then, and never flickering."""

from __future__ import annotations

from gpuexplorer.analysis.advice.advice import MOST_SHOWN, Advice
from gpuexplorer.analysis.advice.choose import advise
from gpuexplorer.analysis.advice.situation import Measured
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.result import Phases
from gpuexplorer.engine.situation import RECENT_READINGS, Gatherer
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.live import Live, Run
from gpuexplorer.gui.model.shown_advice import ShownAdvice
from gpuexplorer.gui.model.steady import HOLD_S, Steady
from gpuexplorer.workloads.workload import Workload

OTHERS = 200
"""Earlier runs that are compared with the present one."""


class Adviser:
    """Applies the rules to the current run."""

    def __init__(self, live: Live, history: History) -> None:
        self._live, self._history = live, history
        self._steady: Steady[Advice] = Steady(lambda old, new: old.change != new.change)
        self._gatherer: Gatherer | None = None
        self._ticket = 0
        self._judged_from_s = 0.0
        self._held_long_enough = False

    def look(
        self,
        workload: Workload | None,
        devices: DeviceList | None,
        now_s: float,
    ) -> ShownAdvice:
        """Judge the current run and return what is to be shown.

        ``workload`` is the current run's, None when it is not loaded any more.
        """
        run = self._live.current
        if run is None:
            self._steady.clear()
            return ShownAdvice()
        if run.prepared is None or run.summary is None or workload is None or devices is None:
            return ShownAdvice(self._best())
        if run.prepared.environment.source_sha256 != workload.sha256:
            return ShownAdvice(self._best())  # its sources have changed since
        new_run = self._gatherer is None or run.ticket != self._ticket
        if self._gatherer is None or new_run:
            self._gatherer = Gatherer(run.prepared, workload, devices)
            self._ticket, self._judged_from_s = run.ticket, now_s
        situation = self._gatherer.situation(
            run.summary,
            phases_s=_phases_of(run),
            readings=list(self._live.readings)[-RECENT_READINGS:],
            traffic=[run.counted] if run.counted is not None else [],
            suspect=run.record.suspect(run.summary) if run.record is not None else None,
            ceilings=run.record.ceilings if run.record is not None else None,
            others=self._others(run),
            accesses=run.record.accesses if run.record is not None else (),
        )
        said = {advice.rule: advice for advice in advise(situation)}
        self._steady.take(said, now_s, at_once=new_run)
        self._held_long_enough = now_s - self._judged_from_s >= HOLD_S
        return ShownAdvice(self._best(), run.prepared.config)

    @property
    def settled(self) -> bool:
        """Whether another look would show the same, as long as nothing new is measured."""
        return self._held_long_enough and self._steady.settled

    def _best(self) -> tuple[Advice, ...]:
        found = sorted(self._steady.shown.values(), key=lambda a: a.weight, reverse=True)
        return tuple(found[:MOST_SHOWN])

    def _others(self, run: Run) -> list[Measured]:
        """Return earlier runs of the same sources on the same silicon."""
        prepared = run.prepared
        assert prepared is not None
        found = []
        for entry, _ in zip(self._history, range(OTHERS), strict=False):
            if entry.ticket == run.ticket or entry.suspect is not None:
                continue
            same = entry.environment.source_sha256 == prepared.environment.source_sha256
            if same and entry.hardware_id == prepared.device.hardware_id:
                library = entry.config.block is None
                median_s, error = entry.summary.median_s, entry.summary.relative_error
                found.append(Measured(entry.config, median_s, library, error))
        return found


def _phases_of(run: Run) -> Phases | None:
    """Return a run's phases: medians of the latest samples, or those of the one textbook run."""
    if run.phases_s:
        return Phases(**run.phases_s)
    return run.record.phases_s if run.record is not None else None
