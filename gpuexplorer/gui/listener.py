"""What the engine tells: samples, figures and events, each brought to the model it belongs to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer, Slot

from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import quantity, samples_words
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost, EngineReady
from gpuexplorer.engine.errors import error_of
from gpuexplorer.engine.interpreters import BUILT_IN
from gpuexplorer.engine.known_devices import host_of, remember_devices
from gpuexplorer.engine.protocol import STAGES
from gpuexplorer.gui import notice as notices
from gpuexplorer.gui.preload import LAST
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.worker import QUIET_TICKET, Chunk, EngineEvent, Update

if TYPE_CHECKING:
    from gpuexplorer.gui.model.live import Run

FRAME_MS = 16
"""By then what was drawn is painted."""


class Listener(QObject):
    """Takes what the worker hands over, on behalf of the session."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._session = session
        self._summarized: Run | None = None
        """The run whose newest figures the history does not show yet."""
        self._closed = False
        self._later = QTimer(self)
        """Has the history show them once a knob's answer is painted."""
        self._later.setSingleShot(True)
        self._later.setInterval(FRAME_MS)
        self._later.timeout.connect(self._show_in_history)
        self._drawn = QTimer(self)
        """Ends when what draws an update in parts has had its turn."""
        self._drawn.setSingleShot(True)
        self._drawn.setInterval(0)
        self._drawn.timeout.connect(self._await_paints)
        session.worker.updated.connect(self.take)

    def close_down(self) -> None:
        """Take nothing more, not even what is on its way: the models go with the window."""
        self._closed = True
        self._show_in_history()

    @Slot(object)
    def take(self, update: Update) -> None:
        """Bring new data to the models, then let it be drawn."""
        if self._closed:
            return
        session, answer = self._session, False
        self._show_in_history()
        for ticket, item in update.items:
            self._begin_if_new(ticket)
            if isinstance(item, Chunk):
                answer = answer or session.requests.is_answer(ticket)
                self._take_chunk(ticket, item)
            elif isinstance(item, Summary):
                self._take_summary(ticket, item)
            else:
                self._take_event(ticket, item)
        device, shown = session.device, session.live_model.current
        for device_id, time_s, reading, worked in update.readings:
            session.latest_reading = (device_id, reading)
            if session.jobs.measuring:
                session.live_model.end_rest()
                continue  # the readings belong to its runs
            if shown is not None and shown.origin:
                continue  # what is shown is another machine's, or another day's
            if device is None or device_id == device.id:
                busy = worked or bool(session.jobs.disturbed_by)
                session.live_model.read(reading, time_s, worked=busy)
        if answer:
            self._later.start()
        else:
            self._show_in_history()
        if answer or session.requests.impatient:
            session.frame.emit(answer)
        self._drawn.start()

    def _await_paints(self) -> None:
        QCoreApplication.postEvent(self, QEvent(QEvent.Type.User), LAST)

    def customEvent(self, event: QEvent) -> None:
        """Have the next update: the last one is painted."""
        self._session.worker.taken()

    def _show_in_history(self) -> None:
        """Bring the row of the run that was summarized last up to date."""
        self._later.stop()
        run, self._summarized = self._summarized, None
        if run is not None and run.record is not None and run.summary is not None:
            self._session.history_model.update(
                run.ticket, run.record, run.summary, running=not run.over
            )

    # ---- runs

    def _begin_if_new(self, ticket: int) -> None:
        """Begin a run at the first thing that is told about it."""
        session = self._session
        config = session.requests.begun(ticket)
        if config is None:
            return
        before = session.live_model.current
        session.end_current("user")
        if before is not None and before.config.device != config.device:
            session.live_model.clear_readings()
        session.live_model.begin(ticket, config, session.store.find)
        session.rate.clear()
        if before is None:
            session.state_changed.emit()  # now there is something to pin and to export

    def _run_of(self, ticket: int) -> Run | None:
        """Return the current run if it is the one of ``ticket``."""
        run = self._session.live_model.current
        return run if run is not None and ticket in (run.ticket, run.request) else None

    def _take_chunk(self, ticket: int, chunk: Chunk) -> None:
        session, run = self._session, self._run_of(ticket)
        if run is None or run.over:  # what is over is kept as it was then
            return
        session.live_model.add(
            np.concatenate(chunk.times_s),
            np.concatenate(chunk.durations_s),
            chunk.batches,
            chunk.dropped,
        )
        if run.record is not None:
            session.history_model.sampled(run.record, chunk.batches)
        session.rate.add(sum(len(d) for d in chunk.durations_s))

    def _take_summary(self, ticket: int, summary: Summary) -> None:
        run = self._run_of(ticket)
        if run is not None and self._session.live_model.summarize(summary):
            self._summarized = run

    # ---- events

    def _take_event(self, ticket: int, event: EngineEvent) -> None:
        if isinstance(event, EngineReady):
            self._engine_ready(event)
        elif isinstance(event, EngineLost):
            self._engine_lost(ticket, event)
        elif isinstance(event, protocol.Devices):
            self._devices(event)
        elif isinstance(event, protocol.Failed) and ticket == 0:
            self._session.notice.emit(notices.failed(error_of(event)))
        else:
            run = self._run_of(ticket)
            if run is not None:
                self.take_run_event(run, event)

    def take_run_event(self, run: Run, event: EngineEvent) -> None:
        """Take what is told about the current run."""
        session = self._session
        if isinstance(event, protocol.Prepared):
            if run.over:  # it was ended here while this was on its way
                return
            if len(run.trace):  # timed in another way from here on: what was measured is a run
                session.end_current("timing")
                request = run.ticket if run.request is None else run.request
                ticket = session.requests.take_tickets(1)
                session.live_model.begin(ticket, run.config, session.store.find, request=request)
            session.live_model.prepare(event)
            predicted = event.predicted_s
            words = f"measuring, one launch takes about {quantity(predicted, 's', 2)}"
            long = predicted is not None and predicted > 1.0
            session.activity = words if long else "measuring"
            return
        run.receiver.take(event)
        error = run.receiver.error
        if isinstance(event, protocol.Stage):
            session.activity = STAGES.get(event.name, event.name)  # shown if it lasts
        elif isinstance(event, protocol.Finished):
            session.end_current(event.stopped_by)
            if not session.jobs.measuring:  # else it says what the job does
                session.say(f"stopped after {samples_words(run.trace.total)}")
        elif isinstance(event, protocol.Counted):
            session.live_model.count(event.counters)
            session.say("analysed")
            session.notice.emit(notices.counted(event.counters, run.traffic.values()))
        elif isinstance(event, protocol.Cancelled):
            session.end_current("user")
            session.say("stopped")
        elif isinstance(event, protocol.NeedsConfirmation):
            session.end_current("user")
            session.give_up("waiting for your word")
            agreed = partial(session.run_long, run.config)
            session.notice.emit(notices.long_launch(event.predicted_s, agreed))
        elif isinstance(event, protocol.Failed) and error is not None:
            session.end_current("failed")
            if not session.requests.waiting:  # else it is of what is wanted no more
                session.failure = error
            session.give_up("this configuration failed")
            session.notice.emit(notices.failed(error))

    # ---- the engine itself

    def _engine_ready(self, event: EngineReady) -> None:
        session, welcome = self._session, event.welcome
        session.set_state("ready")
        engine, threads = session.options.python or BUILT_IN, threads_words(welcome.threads)
        session.engine_words = (
            f"Engine {engine}: process {welcome.pid}, Python {welcome.python}, {threads}; "
            f"answered in {event.handshake_s:.2f} s"
        )
        if session.requests.take_resume() and session.live:
            session.ask_for_run(keep_notice=True)
        session.state_changed.emit()

    def _engine_lost(self, ticket: int, event: EngineLost) -> None:
        session, run = self._session, self._run_of(ticket)
        kept = run.trace.total if run is not None else 0
        if run is not None:
            run.receiver.take(event)
            session.end_current("engine lost")
        session.set_state("restarting" if event.restarting else "lost")
        if event.kind == "cancelled":
            if run is not None and not session.live:
                session.say("stopped; the launch did not end in time, so its engine was ended")
            return
        if not event.restarting:
            session.live = False
            session.jobs.stay_off()
            session.give_up("no engine")
            said = "\n".join(session.engine_log)
            session.notice.emit(
                notices.no_engine(
                    event,
                    said,
                    lambda: session.restart(session.options),
                    session.engines_asked.emit,
                )
            )
            return
        again = session.requests.resume_once(kept > 0 and session.live)
        if run is not None or ticket:
            session.requests.want_nothing()
        if run is not None or event.kind != "start":
            session.say("the engine is restarting")
            told = event.exit_code == protocol.EXIT_TOLD  # its last message has said why
            asked_for = ticket not in (0, QUIET_TICKET) or event.far
            if asked_for and not told:  # else nobody misses what is lost
                agreed = partial(session.run_long, run.config) if run is not None else None
                session.notice.emit(
                    notices.engine_replaced(event, kept, resumed=again, run_anyway=agreed)
                )

    def _devices(self, event: protocol.Devices) -> None:
        session = self._session
        first = session.experiment.devices is None
        session.no_profiler = event.no_profiler
        session.experiment.set_devices(event.devices, host_of(session.options.python))
        remember_devices(session.options.python, event.devices)
        session.devices_changed.emit()
        if not event.devices.devices:
            session.notice.emit(notices.no_device(event.devices, session.engines_asked.emit))
        elif first and (session.live_at_start or session.live):
            if not session.live:
                session.started_by_itself.emit()
            session.live_at_start = False
            session.live = True
            session.ask_for_run(keep_notice=True)  # of a file given at the start, for instance
            session.state_changed.emit()
