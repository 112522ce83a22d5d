"""Tuning in the window: the search in a thread through the live engine, and what is kept of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.tuning import Tuning
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.store import Store
from gpuexplorer.search.tune import Options, Progress, Tuner
from gpuexplorer.search.tune_keep import TuningKeeper
from gpuexplorer.search.tune_space import tuning_space
from gpuexplorer.workloads.workload import Workload


class DoesWithStore(Protocol):
    """The window's thread that owns the store (``gui.store_worker.StoreWorker``)."""

    def do(
        self,
        work: Callable[[Store], object],
        then: Callable[[object], None] | None = None,
    ) -> None:
        """Do something with the store in its thread, then call ``then`` in the main one."""


class TuningJob(EngineJob):
    """Tunes one problem. The outcome is the ``Tuning``.

    ``tuner`` and ``progress`` may be looked at from the main thread at any time; ``tuner`` is None
    until it is known what can be launched.
    """

    doing = "tuning"
    done = "tuned"
    not_done = "not tuned"

    def __init__(
        self,
        worker: EngineWorker,
        request: RunRequest,
        workload: Workload,
        devices: DeviceList,
        options: Options,
        store: DoesWithStore | None = None,
    ) -> None:
        """``store`` keeps the runs and what was found; None keeps nothing."""
        super().__init__(worker, ceilings=CeilingStore().find)
        self.setObjectName("tuning")
        self.request, self.workload, self.options = request, workload, options
        self._devices, self._keeping = devices, _Keeping(store)
        self.tuner: Tuner | None = None
        self.progress: Progress | None = None
        self._stop_search = False

    @property
    def trouble(self) -> ExplorerError | None:
        """Why the store did not take it; None while it does."""
        return self._keeping.trouble

    def enough(self) -> None:
        """End the search and go on to the final; from the main thread."""
        self._stop_search = True
        if self.tuner is not None:
            self.tuner.enough()

    def work(self) -> Tuning:
        """Find out what can be launched, and tune."""
        space = tuning_space(self.request, self.workload, self._devices)
        tuner = Tuner(self, self.workload, space, self.options)
        tuner.on_result = self._keeping.keep
        tuner.on_progress = self._went_on
        self.tuner = tuner
        if self._stop_search:
            tuner.enough()
        self._keeping.begin(tuner.so_far())
        try:
            tuning = tuner.run()
        except BaseException:
            self._keeping.finish(tuner.so_far())
            raise
        self._keeping.finish(tuning)
        return tuning

    def _went_on(self, progress: Progress) -> None:
        self.progress = progress


class _Keeping:
    """Hands everything that is to be kept to the thread that owns the store, in order."""

    def __init__(self, store: DoesWithStore | None) -> None:
        self._store = store
        self._keeper: TuningKeeper | None = None
        self.trouble: ExplorerError | None = None

    def begin(self, asked: Tuning) -> None:
        """Enter a tuning with what was asked for."""

        def work(store: Store) -> None:
            self._keeper = TuningKeeper(store, self._note)
            self._keeper.begin(asked)

        self._do(work)

    def keep(self, result: RunResult) -> None:
        """Keep a run."""
        self._with(lambda keeper: keeper.keep(result))

    def finish(self, tuning: Tuning) -> None:
        """Keep the document and what was found."""
        self._with(lambda keeper: keeper.finish(tuning))

    def _with(self, work: Callable[[TuningKeeper], object]) -> None:
        def done(store: Store) -> None:
            if self._keeper is not None:
                work(self._keeper)

        self._do(done)

    def _do(self, work: Callable[[Store], object]) -> None:
        if self._store is not None:
            self._store.do(work)

    def _note(self, error: ExplorerError) -> None:
        self.trouble = error
