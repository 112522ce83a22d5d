"""Versions of a source that is being edited: each verified, timed, and held against the last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from gpuexplorer.core.comparison import FEWEST_PAIRS, Comparison
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.interleave import Measures
from gpuexplorer.engine.protocol import MAX_NOISE
from gpuexplorer.search.compare import Comparing, ContestantConfig
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.workload import Workload

FIRST_S = 0.3
"""How long the first version is sampled at the most."""
TURN_S = 0.01
LONG_S = 0.02
"""Of a kernel that takes less, two versions take the fewest turns that tell a ratio; ..."""
IN_TURNS_S = 2.0
"""... of another, as many as fit into this."""
MOST = 200
"""Versions of one source that are held."""


class Version(msgspec.Struct, frozen=True):
    """One version: its run, or why there is none, and how it stands beside the one before."""

    number: int
    workload: Workload
    time_utc: str
    run: RunResult | None = None
    error: ExplorerError | None = None
    before: int | None = None
    """The number of the version that it took turns with: the last one that ran."""
    comparison: Comparison | None = None
    """Its times divided by those of the version before; None where too few turns were taken.

    Where a time cannot be true, nothing can be told.
    """
    foreign: bool = False
    """Whether a file brought it: its text is shown and never run."""

    @property
    def beside(self) -> str:
        """How fast it is beside the version that it took turns with; empty for none."""
        found, other = self.comparison, f"version {self.before}"
        if self.before is None:
            return ""
        suspect = self.run.timing.suspect if self.run is not None else None
        if suspect is not None:
            return f"cannot be true: {suspect}"
        if found is None:
            return f"too few turns beside {other}"
        return found.than(other)


class Versions:
    """The versions of one workload in their order, ``MOST`` at most.

    The first one, which is what editing began with, and the last one that ran are always among
    them; of the others those go that are the oldest. ``ran`` is how many ran, with those.
    """

    def __init__(self, before: Sequence[Version] = (), *, allow_long: bool = False) -> None:
        """``before`` are those that are known already."""
        self._allow_long = allow_long
        self.all = list(before)
        self.ran = sum(version.run is not None for version in before)

    @property
    def last_good(self) -> Version | None:
        """The latest version that ran here."""
        return next((v for v in reversed(self.all) if v.run is not None and not v.foreign), None)

    def begin(self, workload: Workload, run: RunResult) -> None:
        """Take in the first version with a run of it that was measured before."""
        self._add(Version(self._next, workload, run.time_utc, run))

    def _add(self, version: Version) -> None:
        """Hold one more, and no more than ``MOST``."""
        self.ran += version.run is not None
        good = self.last_good if version.run is None else version
        found = [*self.all, version]
        if len(found) > MOST:
            del found[next(i for i in range(1, MOST) if found[i] is not good)]
        self.all = found

    @property
    def _next(self) -> int:
        """The number of the version to come."""
        return self.all[-1].number + 1 if self.all else 1

    def take(
        self, session: Measures, workload: Workload, devices: DeviceList, request: RunRequest
    ) -> Version:
        """Measure a new version with these knobs; one that cannot be measured holds the error.

        Raises Cancelled where the session does; then it is none.
        """
        number, time_utc = self._next, datetime.now(UTC).isoformat(timespec="milliseconds")
        before = self.last_good
        try:
            config = complete(request, workload, devices)
            both = None if before is None else self._in_turns(
                session, before, request, devices, workload, config
            )  # fmt: skip
            if before is None or both is None:
                how = RunOptions(seconds=FIRST_S, max_noise=MAX_NOISE, allow_long=self._allow_long)
                run = session.measure(config, workload, how).result()
                found = Version(number, workload, time_utc, run)
            else:
                run, comparison = both
                found = Version(
                    number, workload, time_utc, run, before=before.number, comparison=comparison
                )
        except ExplorerError as error:
            found = Version(number, workload, time_utc, error=error)
        self._add(found)
        return found

    def _in_turns(
        self,
        session: Measures,
        before: Version,
        request: RunRequest,
        devices: DeviceList,
        workload: Workload,
        config: RunConfig,
    ) -> tuple[RunResult, Comparison | None] | None:
        """Measure both; None where the one before does not run with the present knobs."""
        assert before.run is not None  # as the last one that ran has
        try:
            old = complete(request, before.workload, devices)
        except ExplorerError:
            return None
        contestants = (
            ContestantConfig(f"version {before.number}", old, before.workload),
            ContestantConfig(f"version {self._next}", config, workload),
        )
        short = (before.run.timing.median_s or 0.0) < LONG_S
        comparing = Comparing(
            contestants,
            rounds=FEWEST_PAIRS if short else None,
            turn_s=TURN_S,
            allow_long=self._allow_long,
        )
        try:
            comparing.measure(session, seconds=IN_TURNS_S)
        except ExplorerError:
            if comparing.failed == 0:
                return None
            raise
        return comparing.result().contestants[1].run, comparing.standings()[1].comparison
