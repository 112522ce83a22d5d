"""Which worker takes which look of a race: each what is due, and what a lost one had, another.

No look's configuration is settled before every look has ended and every worker has shown that it
was not slow meanwhile; so the race drops nobody for a worker that throttled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from gpuexplorer.cluster.agenda import Lane
from gpuexplorer.cluster.paces import Paces
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.search.racing import LIMITS
from gpuexplorer.search.several import Course, LookTask


class RaceAgenda:
    """The looks of a race as they are asked for; an ``Agenda`` of ``cluster.spreading``."""

    records = True

    def __init__(self, course: Course, paces: Paces) -> None:
        self._course, self._paces = course, paces
        self._device = course.references[0].device
        self._tasks: list[LookTask] = []
        """All that were given out, by their index."""
        self._fastest_s: dict[int, float] = {}
        """The fastest launch of each look that was measured."""
        self._going: set[int] = set()
        self._again: deque[int] = deque()

    @property
    def waiting(self) -> int:
        """0 when the race is over; how much is still to come nobody knows."""
        return 0 if self._course.done else 1

    @property
    def proves(self) -> bool:
        """Whether a worker with nothing to do shows that it was not slow: others wait for that."""
        return True

    @property
    def devices(self) -> set[str]:
        """On what device it is raced."""
        return set() if self._course.done else {self._device}

    def room(self, lanes: int) -> int:
        """Return how many looks a worker has: one is measured, and the other begins at once."""
        return 2

    def take(self, lane: Lane) -> int | None:
        """Return the look that a worker takes next; None when there is none for it now."""
        if self._device not in lane.devices:
            return None
        if self._again:
            index = self._again.popleft()
        else:
            settled = not self._going and not self._paces.open
            going = [self._tasks[index].look for index in self._going]
            task = self._course.next(going, settled=settled, machine=lane.address)
            if task is None:
                return None
            index = len(self._tasks)
            self._tasks.append(task)
        self._going.add(index)
        lane.going.append(index)
        return index

    def task(self, index: int) -> tuple[RunConfig, RunOptions]:
        """Return what a look measures, and how."""
        return self._tasks[index].config, self._tasks[index].options

    def ended(self, index: int, outcome: RunRecord | ExplorerError) -> None:
        """Take in what came of a look."""
        self._going.discard(index)
        if isinstance(outcome, RunRecord):
            self._fastest_s[index] = float(outcome.samples_s().min())
        self._course.took(self._tasks[index], outcome)

    def dropped(self, index: int) -> None:
        """Take back a look whose worker was slow."""
        fastest_s = self._fastest_s.pop(index, None)
        if fastest_s is not None:
            self._course.take_back(self._tasks[index].look, fastest_s)

    def freed(self, lane: Lane, index: int | None, others: Sequence[Lane]) -> Sequence[Lane]:
        """Return the workers that may have something to do now that a look has ended."""
        return [other for other in others if not other.going and other is not lane]

    def give_back(self, index: int) -> None:
        """Have another worker take a look; a turn nobody else takes, since it stood with others."""
        if index not in self._going:  # it was measured, and dropped
            return
        look = self._tasks[index].look
        if look.phase == "turns":
            self._going.discard(index)
            self._course.gone(look.machine)
        else:
            self._again.append(index)

    def gone(self, lane: Lane) -> None:
        """Note that a worker takes no more turns."""
        self._course.gone(lane.address)

    def slower(self) -> None:
        """Look again at what came near the best, for which what comes now would be no match."""
        if not self._fastest_s or any(task.look.phase == "turns" for task in self._tasks):
            return
        most_s = LIMITS[0] * min(self._fastest_s.values())
        for index, fastest_s in list(self._fastest_s.items()):
            if fastest_s <= most_s:
                self.dropped(index)
