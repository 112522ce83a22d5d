"""The window's conductor: what is asked of the engine. ``listener`` takes what it tells, ``jobs``
lend it to other work than live measuring; nothing here is on screen.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal, Slot

from gpuexplorer.analysis.disturbance import shared_words
from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.charts.roofline import Picture
from gpuexplorer.charts.words import config_words
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.run_options import LIVE, RunOptions
from gpuexplorer.core.sample import Reading
from gpuexplorer.engine.client import EngineOptions
from gpuexplorer.engine.protocol import STAGES
from gpuexplorer.gui import notice as notices
from gpuexplorer.gui.jobs import Jobs
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.history import History
from gpuexplorer.gui.model.live import Live, Run
from gpuexplorer.gui.model.rate import Rate
from gpuexplorer.gui.model.requests import Requests
from gpuexplorer.gui.model.roofline import RooflineModel
from gpuexplorer.gui.model.shown_advice import ShownAdvice
from gpuexplorer.gui.panels.history_model import HistoryModel
from gpuexplorer.gui.store_worker import StoreWorker
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.history.keeping import Keeping
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.gui.model.advice import Adviser
    from gpuexplorer.gui.model.ghosts import Ghost

log = logging.getLogger("gpuexplorer.gui")

MOVED = QEvent.Type(QEvent.registerEventType())


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

    def __init__(self, experiment: Experiment, options: EngineOptions) -> None:
        super().__init__()
        self.experiment = experiment
        self.live_model = Live()
        self.history = History()
        self.runs = StoreWorker()
        """The store of every run; live runs and jobs all store there."""
        self.history_model = HistoryModel(self.history, self.runs)
        self.roofline = RooflineModel(self.live_model, self.history)
        self._adviser: Adviser | None = None
        self.options = options
        self.live = False
        self.failure: ExplorerError | None = None
        """Why the latest configuration did not run; None once another one is asked for."""
        self._asked_source = ""
        """The hash of that configuration's source."""
        self.live_at_start = True
        self.engine_state = "not started"
        self.no_profiler = ""
        """Why Nsight Compute cannot look into this engine's NVIDIA GPUs; "" where it may."""
        self.engine_words = ""
        self.activity = ""
        self.latest_reading: tuple[str, Reading] | None = None
        """The id of the device that was read last, of the window's own runs and of jobs', and what
        was read."""
        self.engine_log: deque[str] = deque(maxlen=400)
        self.store = CeilingStore()
        self.requests = Requests()
        self.rate = Rate()
        self.jobs = Jobs(self)
        self.jobs.notice.connect(self.notice)
        self.jobs.changed.connect(self.state_changed)
        self.jobs.taken_back.connect(lambda: self.frame.emit(False))
        experiment.on_change = self._knobs_moved
        self._move_waits = False
        self.worker = EngineWorker(options)
        self.worker.logged.connect(self.engine_log.append)
        for owner in (self.worker, self.runs):
            owner.worked.connect(self._owner_ended)

    # ---- asked by the window

    def keeping(self, kind: str) -> Keeping:
        """Return what keeps a comparison, say, in the history while it is measured."""
        return Keeping(
            kind,
            self.runs,
            lambda error: self.notice.emit(notices.not_kept(kind, error)),
            rescue=self.runs.end,
        )

    def start(self) -> None:
        """Start the engine; its devices follow."""
        self.set_state("starting")
        self.worker.ask_devices()
        self.worker.start()
        self.runs.start()

    @Slot(object)
    def _owner_ended(self, outcome: object) -> None:
        """Say that the thread of the engine or of the store has ended by a bug."""
        if isinstance(outcome, ExplorerError):
            self.notice.emit(notices.failed(outcome))

    def close(self) -> bool:
        """End everything; return whether the worker ended in time."""
        self.live = False
        self.jobs.close()
        self.end_current("user")
        ended = self.worker.close()
        stored = self.runs.close()
        if self.runs.left_behind is not None:
            log.error("runs were lost: %s", self.runs.left_behind)
        return stored and ended

    def set_live(self, on: bool, *, keep_notice: bool = False) -> None:
        """Measure until told otherwise, or stop; ``keep_notice`` where nobody asked for it."""
        if on == self.live:
            return
        self.live = on
        self.requests.start_afresh()
        if not self.jobs.cancel_for(live=on):  # else it goes on from there when the job has ended
            if on:
                self.requests.wanted = None
                self.ask_for_run(keep_notice=keep_notice)
            else:
                run = self.live_model.current
                going = self.requests.waiting or (run is not None and not run.over)
                self._stop_engine("stopping" if going else "stopped")
        self.state_changed.emit()

    def stop(self) -> None:
        """Stop whatever measures."""
        if not self.jobs.cancel_for(live=False):
            self.set_live(False)

    def analyse(self) -> None:
        """Have one launch of the run that is shown counted by Nsight Compute; measuring ends."""
        run = self.live_model.current
        workload = self.experiment.workloads.get(run.config.workload) if run is not None else None
        ready = run is not None and self.measures_same(run) and not self.jobs.measuring
        if not ready or run is None or workload is None:
            self.notice.emit(notices.nothing_to_analyse())
            return
        self.live = False
        self.jobs.give_way()
        self.requests.start_afresh()
        self.end_current("user")
        self.give_up(STAGES["profile"])
        self.notice.emit(None)
        self.worker.ask_run(run.config, workload, LIVE, "counters", ticket=run.ticket)
        self.state_changed.emit()

    def measures_same(self, run: Run) -> bool:
        """Whether a run's configuration would be measured of its own source, where it was."""
        workload = self.experiment.workloads.get(run.config.workload)
        devices, prepared = self.experiment.devices, run.prepared
        if run.origin or workload is None or devices is None or prepared is None:
            return False
        here = {one.id: one.hardware_id for one in devices.devices}
        same_device = here.get(run.config.device) == prepared.device.hardware_id
        return same_device and workload.sha256 == prepared.environment.source_sha256

    def run_long(self, config: RunConfig | None = None) -> None:
        """Run the present configuration, however long one launch of it takes.

        That was agreed to of ``config``, or of whatever is present.
        """
        self.live = True
        self.requests.wanted = None
        self.ask_for_run(allow_long=config in (None, self.config))
        self.state_changed.emit()

    def restart(self, options: EngineOptions) -> None:
        """End the engine and start one with other options."""
        self.jobs.cancel()
        if options.python != self.options.python:  # which may be another machine's
            self.live_model.clear_readings()
        self.options = options
        self.experiment.devices = None
        self.set_state("starting")
        self.end_current("user")
        self.requests.wanted = None
        self.worker.ask_restart(options)
        self.worker.ask_devices()

    def kernels_reloaded(self) -> None:
        """Run again from the sources as they are now."""
        if self.live:
            self.requests.wanted = None
            self.ask_for_run()

    def pin(self) -> bool:
        """Keep the current run as a ghost; False when it has no samples yet."""
        run = self.live_model.current
        return run is not None and self.live_model.pin(config_words(run.config)) is not None

    def pin_stored(self, ghost: Ghost) -> None:
        """Keep a run of the history as a ghost."""
        self.live_model.add_pin(
            ticket=self.requests.take_tickets(1),
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
        """How many samples were taken a second, lately; None while nothing comes."""
        return self.rate.per_s

    @property
    def adviser(self) -> Adviser:
        """The rules; they are loaded when they are first asked, so that the window opens sooner."""
        if self._adviser is None:
            from gpuexplorer.gui.model.advice import Adviser

            self._adviser = Adviser(self.live_model, self.history)
        return self._adviser

    def look_for_advice(self) -> ShownAdvice:
        """Return the advice on the current run that has held for a while."""
        run, experiment = self.live_model.current, self.experiment
        workload = experiment.workloads.get(run.config.workload) if run is not None else None
        return self.adviser.look(workload, experiment.devices, time.monotonic())

    def advice_settled(self) -> bool:
        """Whether another look for advice would return the same."""
        return self.adviser.settled

    # ---- lent to a job

    def pause_live(self) -> bool:
        """End live measuring while a job has the engine; return whether it was on."""
        was, self.live = self.live, False
        self.end_current("user")
        self.requests.want_nothing()
        return was

    def continue_live(self, on: bool, words: str) -> None:
        """Have the engine again, and measure on if live measuring was ``on``; say ``words``."""
        self.live = on
        self.say(words)
        self.ask_for_run(keep_notice=True)

    def failure_of(self, workload: Workload) -> ExplorerError | None:
        """Return why a source did not run, if it was the latest to be asked for."""
        return self.failure if workload.sha256 == self._asked_source else None

    def cancel_run(self) -> None:
        """End what the engine measures now."""
        self.worker.ask_cancel()

    # ---- session files

    def show_instead(self, other: Live, words: str) -> None:
        """Stop measuring and show another timeline, which takes over what is shown now."""
        self.live = False
        self.end_current("user")
        self.requests.forget()
        self.worker.ask_cancel()
        self.live_model.exchange(other)
        self.rate.clear()
        self.give_up(words)
        self.state_changed.emit()
        self.frame.emit(False)

    def begin_by_itself(self) -> None:
        """Measure as soon as there is a device, or now."""
        devices = self.experiment.devices
        if devices is None:
            self.live_at_start = True
        elif devices.devices and not self.live:
            self.started_by_itself.emit()
            self.set_live(True, keep_notice=True)

    @property
    def ceilings(self) -> Ceilings | None:
        """What the device of the current run, or else the chosen one, can do at most."""
        device, run = self.device, self.live_model.current
        if run is not None and run.origin and run.record is not None:
            return run.record.ceilings
        return self.store.find(device) if device is not None else None

    def take_ceilings(self) -> None:
        """Hold the present run against what a calibration has found."""
        run = self.live_model.current
        if run is not None and run.record is not None and not run.origin:
            run.record.ceilings = self.store.find(run.record.prepared.device)
        self.state_changed.emit()
        self.frame.emit(False)

    def roofline_picture(self, found: Ceilings | None = None) -> Picture:
        """Return the roofs and runs to be drawn now; ``found`` is what is known of them by now."""
        ceilings = found or self.ceilings
        return self.roofline.picture(self.device, ceilings, self.experiment.knobs.precision)

    # ---- knobs to runs

    def _knobs_moved(self) -> None:
        self.knobs_changed.emit()
        if self.live and self.experiment.devices is not None:
            self.runs.hold()
            self.requests.moved()
            if not self._move_waits:  # several moves of one turn of the event loop are one
                self._move_waits = True
                QCoreApplication.postEvent(
                    self, QEvent(MOVED), Qt.EventPriority.HighEventPriority.value
                )

    def event(self, event: QEvent) -> bool:
        """Ask for a run once the knobs have moved, ahead of any painting."""
        if event.type() == MOVED:
            self._move_waits = False
            self.ask_for_run()
            return True
        return super().event(event)

    def ask_for_run(self, *, allow_long: bool = False, keep_notice: bool = False) -> None:
        """Have the present configuration measured, while live measuring has the engine."""
        if not self.live or self.experiment.devices is None or self.jobs.measuring:
            return
        try:
            config = self.experiment.config()
        except ExplorerError as error:
            self._stop_engine("waiting for a configuration that can run")
            self.notice.emit(notices.cannot_run(error))
            return
        if config == self.requests.wanted and not allow_long:
            self.requests.moved_at = None
            return
        self.jobs.give_way()
        ticket = self.requests.ask(config)
        self.failure, self._asked_source = None, self.experiment.workload.sha256
        if not keep_notice:
            self.notice.emit(None)
        options = RunOptions(allow_long=allow_long)
        self.worker.ask_run(config, self.experiment.workload, options, ticket=ticket)
        self.say("asking the engine")

    def ask_again(self) -> None:
        """Begin the live run anew, as after it is to wait for others or no longer."""
        if self.live:
            self.requests.want_nothing()
            self.ask_for_run()

    def _stop_engine(self, words: str) -> None:
        self.worker.ask_cancel()
        self.give_up(words)

    def end_current(self, stopped_by: str) -> None:
        """Note that the current run is over, and give it its row."""
        run = self.live_model.current
        if run is None or run.over:
            return
        run.over = True
        self.live_model.show_latest()
        if run.record is not None:
            run.record.end(stopped_by)
            if run.summary is not None:
                self.history_model.update(run.ticket, run.record, run.summary, running=False)
            self.history_model.finish(run.ticket, run.record)

    # ---- what the status bar shows

    @property
    def waits_for_others(self) -> bool:
        """Whether what is to be measured waits until nobody else uses the device."""
        job = self.jobs.current
        if job is not None and self.jobs.measuring:
            return job.waits_for_others
        return self.activity == STAGES["wait"]

    def others(self, *, working: bool = False, gpu: bool = False) -> str:
        """Say who else uses the device by the latest reading; empty for nobody, or nothing known.

        ``working``: only those that had work there lately; ``gpu``: only of a GPU.
        """
        found, devices = self.latest_reading, self.experiment.devices
        if found is None or devices is None:
            return ""
        device = next((one for one in devices.devices if one.id == found[0]), None)
        if device is None or (gpu and device.kind != "gpu"):
            return ""
        return shared_words(found[1], device, working=working)

    def give_up(self, words: str) -> None:
        """Stop wanting the run that just ended; a knob's next move asks again."""
        self.requests.want_nothing()
        self.say(words)

    def set_state(self, state: str) -> None:
        """Say how the engine is."""
        self.engine_state = state
        self.state_changed.emit()

    def say(self, words: str) -> None:
        """Say what is being done."""
        if words != self.activity:
            self.activity = words
            self.state_changed.emit()
