"""One look of a race, taken: what it asks of a measurement, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.statistics import middle, summarize
from gpuexplorer.engine.errors import LongRun
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.outcome import passes
from gpuexplorer.search.racing import Race
from gpuexplorer.search.runner import SHORTEST_S, Look

FIRST_WARM_UP_S = 0.25
"""Launches before the very first sample: a device that rested runs slower at first."""
TURN_WARM_UP_S = 0.005
"""Launches before a turn's first sample, so that none of it pays for the one before."""
NEIGHBOURS = 4
"""Measured configurations from which the time of another one is guessed."""


class Taken(msgspec.Struct, frozen=True):
    """What a look brought: a record that counts, or why it does not."""

    look: Look
    record: RunRecord | None = None
    gave_up: bool = False
    """Whether sampling ended early because it was clearly slower."""
    error: ExplorerError | None = None
    suspect: str | None = None
    """Why the figure cannot be true; such a configuration is withdrawn."""
    withdrawn: bool = False


def take(
    race: Race,
    look: Look,
    measure: Callable[[RunOptions], RunRecord],
    *,
    allow_long: bool = False,
) -> Taken:
    """Take a look and tell the race; see ``judged``."""
    try:
        record = measure(options_of(race, look, allow_long=allow_long))
    except ExplorerError as error:
        return judged(race, look, error)
    return judged(race, look, record)


def options_of(race: Race, look: Look, *, allow_long: bool = False) -> RunOptions:
    """Return what a look asks of a measurement."""
    return RunOptions(
        samples=look.samples,
        seconds=look.seconds,
        warm_up_s=_warm_up_s(race, look),
        allow_long=allow_long,
        keep_arrays=True,
        slower_than_s=look.slower_than_s,
    )


def judged(race: Race, look: Look, outcome: RunRecord | ExplorerError) -> Taken:
    """Tell the race what came of a look.

    A configuration whose launch would take too long, that fails or is wrong is withdrawn, one whose
    failure says nothing of it only when it fails again. Raises CannotRunHere when nothing can be
    measured any more.
    """
    if isinstance(outcome, CannotRunHere):
        raise outcome
    if isinstance(outcome, LongRun):
        race.withdraw(look.number)
        return Taken(look, error=outcome, withdrawn=True)
    if isinstance(outcome, ExplorerError):
        withdrawn = race.failed(look, passing=passes(outcome))
        return Taken(look, error=outcome, withdrawn=withdrawn)
    samples_s = outcome.figures_s()
    suspect = outcome.suspect_at(float(samples_s.min()))
    if suspect is not None:  # of the fastest launch; the median's interval decides
        suspect = outcome.suspect(summarize(samples_s))
    if suspect is not None:
        race.withdraw(look.number)
        return Taken(look, outcome, suspect=suspect, withdrawn=True)
    race.took(look, samples_s, outcome.prepared.resolution_s)
    return Taken(look, outcome, look.gave_up(samples_s))


def _warm_up_s(race: Race, look: Look) -> float:
    """Return how long to warm up; the launch that verifies is one already."""
    if not race.looks:
        return FIRST_WARM_UP_S
    return TURN_WARM_UP_S if look.phase == "turns" else 0.0


class LookTimes:
    """Learns what a look takes beside its launches: an upload, a check, the way to the engine."""

    def __init__(self) -> None:
        self._began_s: dict[Look, float] = {}
        self._first_s: list[float] = []
        self._again_s: list[float] = []

    @property
    def beside_s(self) -> float:
        """What a look at a configuration that was looked at before takes; 0 as long as none did.

        Before any was looked at again it is that of first looks without building, which check more.
        """
        return middle(np.array(self._again_s or self._first_s or [0.0]))

    def begin(self, look: Look, now_s: float) -> None:
        """Note that a look begins."""
        self._began_s[look] = now_s

    def end(self, look: Look, outcome: RunRecord | ExplorerError, now_s: float) -> None:
        """Note that a look has ended."""
        began_s = self._began_s.pop(look, None)
        if began_s is not None and isinstance(outcome, RunRecord):
            first = look.phase == "survey"
            built_s = outcome.prepared.phases_s.compile or 0.0 if first else 0.0
            known = self._first_s if first else self._again_s
            known.append(max(0.0, now_s - began_s - built_s - float(outcome.samples_s().sum())))


class Neighbourhood:
    """Guesses what a configuration takes from those beside it.

    ``places`` says where each stands, one row of coordinates for each number.
    """

    def __init__(self, places: Sequence[Sequence[int]]) -> None:
        self._places = np.array(places, dtype=np.float64)
        self._seen = _Seen(-1, np.empty(0, int), np.empty(0))

    def expected_s(self, number: int, race: Race) -> float | None:
        """Return the mean (of logarithms) of the nearest others that were looked at.

        The nearer weigh more. None without any.
        """
        seen = self._seen
        if seen.looks != race.looks:  # made once for all that are guessed between two looks
            seen = self._seen = _Seen.of(race)
        others = seen.numbers != number
        numbers, logs = seen.numbers[others], seen.logs[others]
        if not len(numbers):
            return None
        distances = ((self._places[numbers] - self._places[number]) ** 2).sum(axis=1)
        nearest = np.lexsort((logs, distances))[:NEIGHBOURS]
        weights = 1 / (1e-9 + distances[nearest])
        return float(np.exp((weights * logs[nearest]).sum() / weights.sum()))


class _Seen(msgspec.Struct, frozen=True):
    """What was looked at after so many looks, and the logarithms of what it typically takes."""

    looks: int
    numbers: npt.NDArray[np.int_]
    logs: npt.NDArray[np.float64]

    @classmethod
    def of(cls, race: Race) -> _Seen:
        looks = race.looks
        typical_s = {n: r.typical_s for n, r in list(race.runners.items()) if r.fastest_s}
        logs = np.log(np.maximum(np.array(list(typical_s.values())), SHORTEST_S))
        return cls(looks, np.array(list(typical_s), dtype=int), logs)
