"""The window's conductor: knobs to runs, the engine's events to the models, nothing on screen."""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.charts.roofline import Picture
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import count, quantity
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost, EngineOptions, EngineReady
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.gui import notice as notices
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.rate import Rate
from gpuexplorer.gui.model.roofline import RooflineModel
from gpuexplorer.gui.model.said import Said
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.worker import Chunk, EngineWorker, Told, Update

if TYPE_CHECKING:
    from gpuexplorer.gui.calibration import CalibrationJob
    from gpuexplorer.gui.job import EngineJob
    from gpuexplorer.gui.model.advice import Adviser
    from gpuexplorer.gui.model.ghosts import Ghost

log = logging.getLogger("gpuexplorer.gui")

MOVED = QEvent.Type(QEvent.registerEventType())
PATIENCE_S = 0.4
"""After this long without an answer the window shows what it has."""
HISTORY_GAP_S = 1.0

STAGES = {
    "check": "checking the configuration",
    "inputs": "making inputs",
    "build": "building the kernel",
    "allocate": "allocating memory",
    "upload": "copying inputs to the device",
    "predict": "predicting a launch's time",
    "verify": "running once to verify",
    "compare": "comparing with float64",
    "rest": "letting the device rest, for its power at rest",
    "profile": "running once under Nsight Compute",
    "operators": "recording operators",
    "measure": "measuring",
    "memory": "counting the memory it takes",
    "finish": "finishing",
}


class Session(QObject):
    """Owns experiment, live view, history and the engine's worker.

    ``frame`` follows each hand-over of new data and carries whether it holds the answer to a
    knob's move, which is to be drawn at once. Between a move and its answer there are no frames:
    the processor is the engine's then.
    ``state_changed`` whatever the status bar and buttons show; ``notice`` a sentence for the
    banner, None to hide it.
    """

    frame = Signal(bool)
    state_changed = Signal()
    knobs_changed = Signal()
    devices_changed = Signal()
    notice = Signal(object)
    started_by_itself = Signal()
    engines_asked = Signal()
    """The engines are to be shown: none starts, and another may."""
    calibration_stepped = Signal(object)
    """How far the calibration is: done, of how many, what; None when it is over."""

    def __init__(self, experiment: Experiment, options: EngineOptions) -> None:
        super().__init__()
        self.experiment = experiment
        self.live_model = Live()
        self.history = History()
        self.runs = StoreWorker()
        """The store of every run; what is measured goes there, whoever measures it."""
        self.history_model = HistoryModel(self.history, self.runs)
        self.roofline = RooflineModel(self.live_model, self.history)
        self._adviser: Adviser | None = None
        self.options = options
        self.live = False
        self.live_at_start = True
        self.engine_state = "not started"
        self.engine_words = ""
        self.activity = ""
        self.engine_log: deque[str] = deque(maxlen=400)
        self.moved_at: float | None = None
        """When the knobs last moved (``time.perf_counter``), until that run's first samples."""
        self._ticket = 0
        self._asked: dict[int, RunConfig] = {}
        self._wanted: RunConfig | None = None
        self._history_at = 0.0
        self._rate = Rate()
        self._resumed: RunConfig | None = None
        self._resume = False
        self.store = CeilingStore()
        self.job: EngineJob | None = None
        """The work that has the engine instead of live measuring."""
        self._calibration: CalibrationJob | None = None
        self._live_before = False
        self._lent_back = False
        """Whether the job is paused, and live measuring has the engine meanwhile."""
        experiment.on_change = self._knobs_moved
        self._move_waits = False
        self.worker = EngineWorker(options)
        self.worker.updated.connect(self._take)
        self.worker.logged.connect(self.engine_log.append)

    # ---- asked by the window

    def start(self) -> None:
        """Start the engine; its devices follow."""
        self._set_state("starting")
        self.worker.ask_devices()
        self.worker.start()
        self.runs.start()

    def close(self) -> bool:
        """End everything; return whether the worker ended in time."""
        self.live = False
        if self.job is not None:
            self.job.cancel()
            self.job.wait()
        self._end_current("user")
        ended = self.worker.close()
        stored = self.runs.close()
        if self.runs.left_behind is not None:
            log.error("runs were lost: %s", self.runs.left_behind)
        return stored and ended

    def set_live(self, on: bool) -> None:
        """Measure until told otherwise, or stop."""
        if on == self.live:
            return
        self.live = on
        self._resumed = None
        if self.job is not None and self.job_has_engine:
            self._live_before = on
            self.job.cancel()
        elif on:
            self._wanted = None
            self._ask_for_run()
        else:
            run = self.live_model.current
            going = bool(self._asked) or (run is not None and not run.over)
            self._stop_engine("stopping" if going else "stopped")
        self.state_changed.emit()

    def stop(self) -> None:
        """Stop whatever measures."""
        if self.job is not None and self.job_has_engine:
            self._live_before = False
            self.job.cancel()
        else:
            self.set_live(False)

    def analyse(self) -> None:
        """Have one launch of the run that is shown counted by Nsight Compute; measuring ends."""
        run = self.live_model.current
        workload = self.experiment.workloads.get(run.config.workload) if run is not None else None
        measured_here = run is not None and not run.origin
        if not measured_here or run is None or run.record is None or workload is None:
            self.notice.emit(notices.nothing_to_analyse())
            return
        if self.job_has_engine:
            self.notice.emit(notices.nothing_to_analyse())
            return
        self.live = False
        self._resumed = None
        self._end_current("user")
        self._give_up(STAGES["profile"])
        self.notice.emit(None)
        self.worker.ask_run(run.ticket, run.config, workload, counters=True)
        self.state_changed.emit()

    def run_long(self) -> None:
        """Run the present configuration, however long one launch takes."""
        self.live = True
        self._wanted = None
        self._ask_for_run(allow_long=True)

    def restart(self, options: EngineOptions) -> None:
        """End the engine and start one with other options."""
        if self.job is not None:
            self.job.cancel()
        self.options = options
        self._set_state("starting")
        self._end_current("user")
        self._wanted = None
        self.experiment.devices = None
        self.worker.ask_restart(options)
        self.worker.ask_devices()

    def kernels_reloaded(self) -> None:
        """Run again from the sources as they are now."""
        if self.live:
            self._wanted = None
            self._ask_for_run()

    def pin(self) -> bool:
        """Keep the current run as a ghost; False when it has no samples yet."""
        run = self.live_model.current
        return run is not None and self.live_model.pin(config_words(run.config)) is not None

    def pin_stored(self, ghost: Ghost) -> None:
        """Keep a run of the history as a ghost."""
        self.live_model.add_pin(
            ticket=self.take_tickets(1),
            label=ghost.label,
            words=ghost.words,
            median_s=ghost.median_s,
            drawing=ghost.drawing,
            samples_s=ghost.samples_s,
            record=ghost.record,
        )

    @property
    def config(self) -> RunConfig | None:
        """The present configuration; None when it cannot run or no device is known."""
        if self.experiment.devices is None:
            return None
        try:
            return self.experiment.config()
        except ExplorerError:
            return None

    @property
    def device(self) -> DeviceInfo | None:
        """The device of the current run, or else the chosen one."""
        run = self.live_model.current
        if run is not None and run.prepared is not None:
            return run.prepared.device
        return self.experiment.device

    @property
    def samples_per_s(self) -> float | None:
        """How many launches were timed a second, lately; None while nothing comes."""
        return self._rate.per_s

    @property
    def adviser(self) -> Adviser:
        """The rules; they are loaded when they are first asked, so that the window opens sooner."""
        if self._adviser is None:
            from gpuexplorer.gui.model.advice import Adviser

            self._adviser = Adviser(self.live_model, self.history)
        return self._adviser

    def look_for_advice(self) -> Said:
        """Return the advice on the current run that has held for a while."""
        run, experiment = self.live_model.current, self.experiment
        workload = experiment.workloads.get(run.config.workload) if run is not None else None
        return self.adviser.look(workload, experiment.devices, time.monotonic())

    def advice_settled(self) -> bool:
        """Whether another look for advice would return the same."""
        return self.adviser.settled

    # ---- session files

    def take_tickets(self, number: int) -> int:
        """Keep so many tickets for runs that come from elsewhere; return the first."""
        first = self._ticket + 1
        self._ticket += number
        return first

    def show_instead(self, other: Live, words: str) -> None:
        """Stop measuring and show another timeline, which takes over what is shown now."""
        self.live = False
        self._resumed = None
        self._resume = False
        self._end_current("user")
        self._asked.clear()
        self.worker.ask_cancel()
        self.live_model.exchange(other)
        self._rate.clear()
        self._give_up(words)
        self.state_changed.emit()
        self.frame.emit(False)

    def begin_by_itself(self) -> None:
        """Measure as soon as there is a device, or now."""
        if self.experiment.devices is None:
            self.live_at_start = True
        elif self.experiment.devices.devices and not self.live:
            self.started_by_itself.emit()
            self.set_live(True)

    # ---- jobs: one at a time has the engine to itself

    @property
    def job_has_engine(self) -> bool:
        """Whether a job is measuring, and live measuring has to wait."""
        return self.job is not None and not self._lent_back

    def begin_job(self, job: EngineJob) -> bool:
        """Lend the engine to a job and start it; live measuring pauses meanwhile.

        One job at a time: False, and a notice, while another has the engine.
        """
        if self.job is not None:
            self.notice.emit(notices.engine_busy(self.job.doing))
            return False
        self.job = job
        job.waits.connect(self._job_waits)
        job.worked.connect(self.end_job)
        self._pause_live()
        self.worker.ask_cancel()
        self._set_activity(job.doing)
        self.state_changed.emit()
        job.start()
        return True

    def pause_job(self) -> None:
        """Let live measuring have the engine once the job's present run has ended."""
        if self.job is not None:
            self.job.pause()
            self.state_changed.emit()

    def resume_job(self) -> None:
        """Let the job go on."""
        if self.job is None:
            return
        if self._lent_back:
            self._lent_back = False
            self._pause_live()
        self._set_activity(self.job.doing)
        self.job.resume()
        self.state_changed.emit()

    def cancel_job(self) -> None:
        """End the job, and measure on if that was so before."""
        if self.job is not None:
            self.job.cancel()

    def end_job(self, outcome: object) -> None:
        """Take the engine back from the job, which has ended with ``outcome``."""
        job, self.job = self.job, None
        if job is None:
            return
        job.wait()
        if isinstance(outcome, ExplorerError):
            self.notice.emit(notices.job_failed(outcome))
        if not self._lent_back:
            self.worker.ask_cancel()
            self.live = self._live_before
            succeeded = outcome is not None and not isinstance(outcome, ExplorerError)
            self._set_activity(job.done if succeeded else job.not_done)
            self._ask_for_run(keep_notice=True)
        self._lent_back = False
        self.state_changed.emit()
        self.frame.emit(False)
        job.ended.emit(outcome)

    def _job_waits(self) -> None:
        """Measure live while the job is paused."""
        if self.job is None or self._lent_back or not self.job.waiting:
            return
        self._lent_back = True
        self.live = self._live_before
        self._set_activity("paused")
        self._ask_for_run(keep_notice=True)
        self.state_changed.emit()

    def _pause_live(self) -> None:
        self._live_before, self.live = self.live, False
        self._end_current("user")
        self._wanted = None
        self.moved_at = None

    def calibrate(self, *, quick: bool = False) -> None:
        """Measure what the chosen device can do at most."""
        devices, device = self.experiment.devices, self.experiment.device
        if devices is None or device is None:
            return
        from gpuexplorer.gui.calibration import CalibrationJob

        job = CalibrationJob(self.worker, devices, device, self.store, quick=quick)
        job.stepped.connect(self._calibration_stepped)
        job.ended.connect(self._calibrated)
        if self.begin_job(job):
            self._calibration = job

    @property
    def calibration(self) -> CalibrationJob | None:
        """The calibration that is going on."""
        return self._calibration if self._calibration is self.job else None

    def cancel_calibration(self) -> None:
        """Stop calibrating, and measure on if that was so before."""
        if self.calibration is not None:
            self.calibration.cancel()

    @property
    def ceilings(self) -> Ceilings | None:
        """What the device of the current run, or else the chosen one, can do at most."""
        device, run = self.device, self.live_model.current
        if run is not None and run.origin and run.record is not None:
            return run.record.ceilings
        return self.store.find(device) if device is not None else None

    def roofline_picture(self) -> Picture:
        """Return the roofs and runs to be drawn now."""
        return self.roofline.picture(self.device, self.ceilings, self.experiment.knobs.precision)

    def _calibration_stepped(self, step: tuple[int, int, str]) -> None:
        if self.calibration is not None:
            self.calibration_stepped.emit(step)

    def _calibrated(self, _: object) -> None:
        self._calibration = None
        self.calibration_stepped.emit(None)
        run = self.live_model.current
        if run is not None and run.record is not None:
            run.record.ceilings = self.store.find(run.record.prepared.device)

    # ---- knobs to runs

    def _knobs_moved(self) -> None:
        self.knobs_changed.emit()
        if self.live and self.experiment.devices is not None:
            self.runs.hold()
            if self.moved_at is None:
                self.moved_at = time.perf_counter()
            if not self._move_waits:  # several moves of one turn of the event loop are one
                self._move_waits = True
                QCoreApplication.postEvent(
                    self, QEvent(MOVED), Qt.EventPriority.HighEventPriority.value
                )

    def event(self, event: QEvent) -> bool:
        """Ask for a run once the knobs have moved, ahead of any painting."""
        if event.type() == MOVED:
            self._move_waits = False
            self._ask_for_run()
            return True
        return super().event(event)

    def _ask_for_run(self, *, allow_long: bool = False, keep_notice: bool = False) -> None:
        if not self.live or self.experiment.devices is None or self.job_has_engine:
            return
        try:
            config = self.experiment.config()
        except ExplorerError as error:
            self._wanted = None
            self._stop_engine("waiting for a configuration that can run")
            self.notice.emit(notices.cannot_run(error))
            return
        if config == self._wanted and not allow_long:
            self.moved_at = None
            return
        self._wanted = config
        if not keep_notice:
            self.notice.emit(None)
        self._ticket += 1
        self._asked[self._ticket] = config
        self.worker.ask_run(self._ticket, config, self.experiment.workload, allow_long=allow_long)
        self._set_activity("asking the engine")

    def _stop_engine(self, words: str) -> None:
        self._wanted = None
        self.moved_at = None
        self.worker.ask_cancel()
        self._set_activity(words)

    # ---- the engine's events to the models

    def _take(self, update: Update) -> None:
        answer = False
        for ticket, item in update.items:
            self._begin_if_new(ticket)
            if isinstance(item, Chunk):
                answer = answer or (self.moved_at is not None and ticket == self._ticket)
                self._take_chunk(ticket, item)
            elif isinstance(item, Summary):
                self._take_summary(ticket, item)
            else:
                self._take_event(ticket, item)
        device = self.device
        for device_id, time_s, reading in update.readings:
            if self.job_has_engine:
                continue  # the readings belong to its runs
            if device is None or device_id == device.id:
                self.live_model.read(reading, time_s)
        waiting = self.moved_at is not None and time.perf_counter() < self.moved_at + PATIENCE_S
        if answer or not waiting:
            self.frame.emit(answer)
        self.worker.taken()

    def _begin_if_new(self, ticket: int) -> None:
        """Begin a run at the first thing that is told about it."""
        config = self._asked.pop(ticket, None)
        if config is None:
            return
        for older in [t for t in self._asked if t < ticket]:
            del self._asked[older]
        before = self.live_model.current
        self._end_current("user")
        if before is not None and before.config.device != config.device:
            self.live_model.clear_readings()
        self.live_model.begin(ticket, config)
        self._rate.clear()
        if before is None:
            self.state_changed.emit()  # now there is something to pin and to export

    def _is_current(self, ticket: int) -> bool:
        run = self.live_model.current
        return run is not None and run.ticket == ticket

    def _take_chunk(self, ticket: int, chunk: Chunk) -> None:
        run = self.live_model.current
        if run is None or run.ticket != ticket or run.over:  # what is over is kept as it was then
            return
        self.live_model.add(
            np.concatenate(chunk.times_s), np.concatenate(chunk.durations_s), chunk.batches
        )
        if run.record is not None:
            self.history_model.sampled(run.record, chunk.batches)
        self._rate.add(sum(len(d) for d in chunk.durations_s))

    def _take_summary(self, ticket: int, summary: Summary) -> None:
        if not self._is_current(ticket):
            return
        self.live_model.summarize(summary)
        run = self.live_model.current
        now = time.monotonic()
        if run is not None and run.record is not None:
            if run.over or now - self._history_at >= HISTORY_GAP_S:
                self._history_at = now
                self.history_model.update(ticket, run.record, summary, running=not run.over)

    def _end_current(self, stopped_by: str) -> None:
        """Note that the current run is over, and give it its row."""
        run = self.live_model.current
        if run is None or run.over:
            return
        run.over = True
        if run.record is not None:
            run.record.end(stopped_by)
            if run.summary is not None:
                self.history_model.update(run.ticket, run.record, run.summary, running=False)
            self.history_model.finish(run.ticket, run.record)

    def _take_event(self, ticket: int, event: Told) -> None:
        if isinstance(event, EngineReady):
            self._engine_ready(event)
        elif isinstance(event, EngineLost):
            self._engine_lost(ticket, event)
        elif isinstance(event, protocol.Devices):
            self._devices(event)
        elif isinstance(event, protocol.Failed) and ticket == 0:
            self.notice.emit(notices.failed(event))
        elif self._is_current(ticket):
            self._take_run_event(event)

    def _take_run_event(self, event: Told) -> None:
        run = self.live_model.current
        assert run is not None
        if isinstance(event, protocol.Stage):
            self.activity = STAGES.get(event.name, event.name)  # shown if it lasts
        elif isinstance(event, protocol.Prepared):
            self.live_model.prepare(event, self.store.find(event.device))
            predicted = event.predicted_s
            words = f"measuring, one launch takes about {quantity(predicted, 's', 2)}"
            self.activity = words if predicted is not None and predicted > 1.0 else "measuring"
        elif isinstance(event, protocol.MemoryCounted):
            if run.record is not None:
                run.record.memory = event.memory
        elif isinstance(event, protocol.Finished):
            if run.record is not None:
                run.record.phases_s = event.phases_s
            self._end_current(event.stopped_by)
            if self.job is None or self._lent_back:  # else it says what the job does
                self._set_activity(f"stopped after {count(run.trace.total)} launches")
        elif isinstance(event, protocol.Counted):
            self.live_model.count(event.counters)
            self._set_activity("analysed")
            self.notice.emit(notices.counted(event.counters, run.traffic.values()))
        elif isinstance(event, protocol.Cancelled):
            self._end_current("user")
            self._set_activity("stopped")
        elif isinstance(event, protocol.NeedsConfirmation):
            self._end_current("user")
            self._give_up("waiting for your word")
            self.notice.emit(notices.long_launch(event.predicted_s, self.run_long))
        elif isinstance(event, protocol.Failed):
            self._end_current("failed")
            self._give_up("this configuration failed")
            self.notice.emit(notices.failed(event))

    def _give_up(self, words: str) -> None:
        """Stop wanting the run that just ended; a knob's next move asks again."""
        self._wanted = None
        self.moved_at = None
        self._set_activity(words)

    # ---- the engine itself

    def _engine_ready(self, event: EngineReady) -> None:
        welcome = event.welcome
        self._set_state("ready")
        self.engine_words = (
            f"Engine {self.options.python or BUILT_IN}: process {welcome.pid}, "
            f"Python {welcome.python}, {welcome.threads} CPU "
            f"thread{'s' if welcome.threads > 1 else ''}; answered in {event.handshake_s:.2f} s"
        )
        resume, self._resume = self._resume, False
        if resume and self.live:
            self._ask_for_run(keep_notice=True)
        self.state_changed.emit()

    def _engine_lost(self, ticket: int, event: EngineLost) -> None:
        run = self.live_model.current
        this_run = run is not None and self._is_current(ticket)
        kept = run.trace.total if run is not None and this_run else 0
        if this_run:
            self._end_current("engine lost")
        self._set_state("restarting" if event.restarting else "lost")
        if event.kind == "cancelled":
            if this_run and not self.live:
                self._set_activity(
                    "stopped; the launch did not end in time, so its engine was ended"
                )
            return
        if not event.restarting:
            self.live = self._live_before = False
            self._give_up("no engine")
            said = "\n".join(self.engine_log)
            self.notice.emit(
                notices.no_engine(
                    event, said, lambda: self.restart(self.options), self.engines_asked.emit
                )
            )
            return
        again = kept > 0 and self.live and self._resumed != self._wanted
        self._resume = again
        self._resumed = self._wanted if again else None  # once more, but not for ever
        if this_run or ticket:
            self._wanted = None
            self.moved_at = None
        if this_run or event.kind != "start":
            self._set_activity("the engine is restarting")
            if event.exit_code != protocol.EXIT_TOLD:  # its last message has said why
                self.notice.emit(notices.engine_replaced(event, kept, resumed=again))

    def _devices(self, event: protocol.Devices) -> None:
        first = self.experiment.devices is None
        self.experiment.set_devices(event.devices)
        self.devices_changed.emit()
        if not event.devices.devices:
            self.notice.emit(notices.no_device(event.devices))
        elif first and (self.live_at_start or self.live):
            if not self.live:
                self.started_by_itself.emit()
            self.live_at_start = False
            self.live = True
            self._ask_for_run()
            self.state_changed.emit()

    # ---- what is shown beside the plots

    def answered(self, ticket: int) -> float | None:
        """Return the seconds from the knob's move to now, when ``ticket`` is its run."""
        if self.moved_at is None or ticket != self._ticket:
            return None
        took, self.moved_at = time.perf_counter() - self.moved_at, None
        return took

    def _set_state(self, state: str) -> None:
        self.engine_state = state
        self.state_changed.emit()

    def _set_activity(self, words: str) -> None:
        if words != self.activity:
            self.activity = words
            self.state_changed.emit()
