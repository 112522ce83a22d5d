"""Work that has the engine instead of live measuring: one job at a time has it to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal, Slot

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.errors import EngineGone
from gpuexplorer.gui import notice as notices

if TYPE_CHECKING:
    from gpuexplorer.gui.job import EngineJob


class Lender(Protocol):
    """Who measures live, and lends its engine to jobs."""

    live: bool

    def pause_live(self) -> bool:
        """End live measuring while a job has the engine; return whether it was on."""

    def continue_live(self, on: bool, words: str) -> None:
        """Have the engine again, and measure on if live measuring was ``on``; say ``words``."""

    def cancel_run(self) -> None:
        """End what the engine measures now."""

    def say(self, words: str) -> None:
        """Say what is being done."""


class Jobs(QObject):
    """Lends the engine to a job, and takes it back.

    ``notice`` is a sentence for the banner; ``changed`` follows whatever buttons show of jobs,
    ``taken_back`` the end of a job.
    """

    notice = Signal(object)
    changed = Signal()
    taken_back = Signal()

    def __init__(self, lender: Lender) -> None:
        super().__init__()
        self._lender = lender
        self.current: EngineJob | None = None
        self._closed = False
        self._live_before = False
        self._lent_back = False
        """Whether the job is paused, and live measuring has the engine meanwhile."""
        self._quiet: EngineJob | None = None
        """What measures while nothing else does, and gives way at once."""
        self.disturbed_by = ""
        """What else keeps this machine busy, so that no job should measure; "" for nothing."""

    @property
    def measuring(self) -> bool:
        """Whether a job has the engine, and live measuring has to wait."""
        return self.current is not None and not self._lent_back

    def begin(self, job: EngineJob) -> bool:
        """Lend the engine to a job and start it; live measuring pauses meanwhile.

        One job at a time: False, and a notice, while another has the engine, or while something
        else would disturb it.
        """
        if self._closed:
            return False
        if self.current is not None:
            self.notice.emit(notices.engine_busy(self.current.doing))
            return False
        if self.disturbed_by:
            self.notice.emit(notices.machine_busy(self.disturbed_by))
            return False
        self.give_way()
        self.current = job
        job.waits.connect(self._waits)
        job.worked.connect(self._take_back)
        self._live_before = self._lender.pause_live()
        self._lender.cancel_run()
        self._lender.say(job.doing)
        self.changed.emit()
        job.start()
        return True

    @property
    def idle(self) -> bool:
        """Whether nothing measures, nothing is about to, and nothing would disturb it."""
        busy = self.current is not None or self._quiet is not None or bool(self.disturbed_by)
        return not busy and not self._lender.live

    def begin_quietly(self, job: EngineJob) -> None:
        """Start a job that ends as soon as anything is to be measured; only where it is idle."""
        self._quiet = job
        job.quiet = True
        job.worked.connect(self._quiet_ended)
        job.start()

    def give_way(self) -> None:
        """End what measures quietly, and wait for it."""
        job, self._quiet = self._quiet, None
        if job is not None:
            job.worked.disconnect(self._quiet_ended)
            job.cancel()
            job.wait()
            job.ended.emit(None)

    @Slot(object)
    def _quiet_ended(self, outcome: object) -> None:
        job, self._quiet = self._quiet, None
        if job is not None:
            job.wait()
            job.ended.emit(outcome)

    def pause(self) -> None:
        """Let live measuring have the engine once the job's present run has ended."""
        if self.current is not None:
            self.current.pause()
            self.changed.emit()

    def resume(self) -> bool:
        """Let the job go on; False, and a notice, while something else would disturb it."""
        if self.current is None:
            return False
        if self.disturbed_by:
            self.notice.emit(notices.machine_busy(self.disturbed_by))
            return False
        if self._lent_back:
            self._lent_back = False
            self._live_before = self._lender.pause_live()
        self._lender.say(self.current.doing)
        self.current.resume()
        self.changed.emit()
        return True

    def cancel(self) -> None:
        """End the job, and measure on if that was so before."""
        self.give_way()
        if self.current is not None:
            self.current.cancel()

    def cancel_for(self, live: bool) -> bool:
        """End a job that measures, with live measuring on or off after it; False: none does."""
        self.give_way()
        if self.current is None or not self.measuring:
            return False
        self._live_before = live
        self.current.cancel()
        return True

    def stay_off(self) -> None:
        """Leave live measuring off once the job ends."""
        self._live_before = False

    def close(self) -> None:
        """End the job and wait for it; none begins after it."""
        self._closed = True
        self.give_way()
        if self.current is not None:
            self.current.cancel()
            self.current.wait()

    # ---- inside

    @Slot(object)
    def _take_back(self, outcome: object) -> None:
        """Take the engine back from the job, which has ended with ``outcome``."""
        job, self.current = self.current, None
        if job is None:
            return
        job.wait()
        if isinstance(outcome, ExplorerError) and not isinstance(outcome, EngineGone):
            # Else it is said with the way out.
            self.notice.emit(notices.failed(outcome, named=True))
        succeeded = outcome is not None and not isinstance(outcome, ExplorerError)
        words = job.done if succeeded else job.not_done
        if not self._lent_back:
            self._lender.cancel_run()
            self._lender.continue_live(self._live_before, words)
        elif not self._lender.live:
            self._lender.say(words)
        self._lent_back = False
        self.changed.emit()
        self.taken_back.emit()
        job.ended.emit(outcome)

    @Slot()
    def _waits(self) -> None:
        """Measure live while the job is paused."""
        if self.current is None or self._lent_back or not self.current.waiting:
            return
        self._lent_back = True
        self._lender.continue_live(self._live_before, "paused")
        self.changed.emit()
