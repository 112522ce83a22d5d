"""A lesson's measuring in the window: through the live engine, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable

from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.compared import document_and_runs as comparison_and_runs
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.studies import STUDY_GROUP
from gpuexplorer.core.studies import document_and_runs as study_and_runs
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.lessons.lesson import Lesson
from gpuexplorer.lessons.measured import Compared, Measured, Studied
from gpuexplorer.lessons.measuring import Bench
from gpuexplorer.workloads.workload import Workload

Work = Callable[[Bench, Callable[[Measured], None]], Measured]
"""Measures with a bench, and tells what is known so far."""


class LessonJob(EngineJob):
    """Measures one thing of a lesson; ``stepped`` carries what is known so far.

    Its comparison or study is kept in the history. ``name`` says what of the lesson it is.
    """

    doing = "measuring for a lesson"
    done = "measured for the lesson"
    not_done = "the lesson's measurement was stopped"

    def __init__(
        self,
        worker: EngineWorker,
        lesson: Lesson,
        name: str,
        work: Work,
        *,
        devices: DeviceList,
        workloads: dict[str, Workload],
        python: str | None,
        keeping: Callable[[str], Keeping],
        ceilings: Callable[[DeviceInfo], Ceilings | None] | None = None,
        own: RunRequest | None = None,
    ) -> None:
        """``python`` compiles; ``keeping`` gives what keeps a group of the history.

        ``own`` are the user's knobs, of an exercise.
        """
        super().__init__(worker, ceilings=ceilings)
        self.setObjectName("lesson")
        self.lesson, self.name, self.own = lesson, name, own
        self._work = work
        self._bench = Bench(self, devices, workloads, python)
        self._keepings = {kind: keeping(kind) for kind in ("comparison", STUDY_GROUP)}

    def work(self) -> object:
        """Measure, and keep what has runs."""
        found = self._work(self._bench, self.stepped.emit)
        if isinstance(found, Compared):
            self._keepings["comparison"].end(*comparison_and_runs(found.result))
        elif isinstance(found, Studied):
            self._keepings[STUDY_GROUP].end(*study_and_runs(found.study))
        return found
