"""A job has the window's engine to itself: live measuring pauses, and goes on afterwards."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec
import psutil
import pytest
from pytestqt.qtbot import QtBot

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError, InputError, WorkFailed
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Event
from gpuexplorer.engine.receiver import Receiver
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.workloads.workload import Workload
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until, wait_measured


class Runs(EngineJob):
    """Measures the present configuration again and again."""

    doing = "measuring again and again"
    done = "measured again and again"

    def __init__(
        self, window: MainWindow, runs: int, seconds: float = 60.0, samples: int | None = 5
    ) -> None:
        session = window.session
        super().__init__(session.worker)
        config = session.config
        assert config is not None
        self.config: RunConfig = config
        self.workload: Workload = session.experiment.workload
        self.runs, self.seconds, self.samples = runs, seconds, samples
        self.results: list[RunResult] = []
        self.errors: list[ExplorerError] = []
        self.outcomes: list[object] = []
        self.ended.connect(self.outcomes.append)

    def work(self) -> int:
        for _ in range(self.runs):
            self.stepped.emit(len(self.results))
            try:
                record = self.measure(
                    self.config,
                    self.workload,
                    RunOptions(seconds=self.seconds, samples=self.samples, keep_arrays=True),
                )
            except ExplorerError as error:
                self.errors.append(error)
            else:
                self.results.append(record.result())
        return len(self.results)


def begun(qtbot: QtBot, open_window: OpenWindow) -> MainWindow:
    window = open_window()
    wait_measured(qtbot, window)
    return window


def test_a_job_measures_and_live_measuring_goes_on(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = begun(qtbot, open_window)
    session = window.session
    ticket = wait_measured(qtbot, window).ticket
    job = Runs(window, 4)
    assert session.jobs.begin(job)
    assert (session.live, session.activity) == (False, job.doing)
    until(qtbot, lambda: session.jobs.current is None)
    assert (job.outcomes, job.errors) == ([4], [])
    assert [r.timing.samples for r in job.results] == [5] * 4
    assert {r.timing.stopped_by for r in job.results} == {"samples"}
    assert session.live
    assert wait_measured(qtbot, window).ticket != ticket
    session.set_live(False)
    again = Runs(window, 1)
    assert session.jobs.begin(again)
    until(qtbot, lambda: session.jobs.current is None)
    assert session.worker._sink is None  # else readings gather for it as long as nothing else runs


def test_one_job_at_a_time(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = begun(qtbot, open_window)
    said: list[str] = []
    window.session.notice.connect(lambda n: said.append(n.text if n else ""))
    job = Runs(window, 100_000)
    assert window.session.jobs.begin(job)
    assert not window.session.jobs.begin(Runs(window, 1))
    assert "busy measuring again and again" in said[-1]
    until(qtbot, lambda: len(job.results) > 1)
    window.session.jobs.cancel()
    until(qtbot, lambda: window.session.jobs.current is None)
    assert job.outcomes == [None]
    wait_measured(qtbot, window)


def test_stop_ends_a_job_and_measures_nothing_after_it(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = begun(qtbot, open_window)
    job = Runs(window, 100_000)
    window.session.jobs.begin(job)
    until(qtbot, lambda: bool(job.results))
    assert window.commands.stop.isEnabled()
    window.commands.stop.trigger()
    until(qtbot, lambda: window.session.jobs.current is None)
    assert not window.session.live and not window.commands.stop.isEnabled()


def test_a_paused_job_gives_the_engine_to_live_measuring(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = begun(qtbot, open_window)
    session = window.session
    job = Runs(window, 100_000)
    session.jobs.begin(job)
    until(qtbot, lambda: len(job.results) > 1)
    session.jobs.pause()
    until(qtbot, lambda: job.waiting and session.live)
    done = len(job.results)
    session.experiment.set_block((8, 8, 1))
    wait_measured(qtbot, window)
    assert len(job.results) == done
    assert session.jobs.resume()
    until(qtbot, lambda: not session.live and len(job.results) > done + 1)
    session.jobs.pause()
    until(qtbot, lambda: job.waiting and session.live)
    session.set_live(False)
    session.jobs.disturbed_by = "setting up an engine"
    assert not session.jobs.resume() and job.waiting
    session.jobs.disturbed_by = ""
    session.set_live(True)
    session.jobs.cancel()
    until(qtbot, lambda: session.jobs.current is None)
    assert session.live
    assert (job.outcomes, job.errors) == ([None], [])


def test_a_paused_job_that_is_stopped_leaves_no_word_of_a_pause(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = begun(qtbot, open_window)
    session = window.session
    session.set_live(False)
    job = Runs(window, 100_000)
    session.jobs.begin(job)
    until(qtbot, lambda: bool(job.results))
    session.jobs.pause()
    until(qtbot, lambda: job.waiting)
    until(qtbot, lambda: session.activity == "paused")
    session.jobs.cancel()
    until(qtbot, lambda: session.jobs.current is None)
    assert session.activity == job.not_done


def test_an_engine_that_dies_costs_a_job_one_run(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = begun(qtbot, open_window)
    job = Runs(window, 100_000, seconds=1.0, samples=None)
    window.session.jobs.begin(job)
    until(qtbot, lambda: len(job.results) > 1)
    while not job.errors:  # between two runs the engine's end costs nothing
        until(qtbot, lambda: window.session.worker.engine_pid is not None)
        pid, done = window.session.worker.engine_pid, len(job.results)
        assert pid is not None
        with suppress(psutil.NoSuchProcess):  # it may have made room for the next one by itself
            engine = psutil.Process(pid)
            busy_s = engine.cpu_times().user + 0.2
            until(qtbot, lambda engine=engine, busy_s=busy_s: engine.cpu_times().user > busy_s)  # type: ignore[misc]
            engine.kill()
        until(qtbot, lambda done=done: bool(job.errors) or len(job.results) > done + 1)  # type: ignore[misc]
    done = len(job.results)
    until(qtbot, lambda: len(job.results) > done)
    assert len(job.errors) == 1 and "killed" in str(job.errors[0])
    window.session.jobs.cancel()
    until(qtbot, lambda: window.session.jobs.current is None)


def test_a_job_that_fails_says_why_and_live_measuring_goes_on(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    class Refuses(Runs):
        def work(self) -> int:
            raise InputError("there is nothing to measure")

    class Broken(Runs):
        def work(self) -> int:
            return 1 // 0

    window = begun(qtbot, open_window)
    kinds: tuple[tuple[Callable[..., Runs], str], ...] = (
        (Refuses, "There is nothing to measure."),
        (Broken, "ZeroDivisionError"),
    )
    for kind, words in kinds:
        said: list[str] = []
        window.session.notice.connect(lambda n, said=said: said.append(n.text if n else ""))
        window.session.jobs.begin(kind(window, 1))
        until(qtbot, lambda: window.session.jobs.current is None)
        assert any(words in text for text in said)
        wait_measured(qtbot, window)


def test_closing_the_window_ends_a_job_even_a_paused_one(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    def has_result(job: Runs) -> Callable[[], bool]:
        return lambda: bool(job.results)

    def is_waiting(job: Runs) -> Callable[[], bool]:
        return lambda: job.waiting

    for pause in (False, True):
        window = begun(qtbot, open_window)
        job = Runs(window, 100_000)
        window.session.jobs.begin(job)
        until(qtbot, has_result(job))
        if pause:
            window.session.jobs.pause()
            until(qtbot, is_waiting(job))
        window.close()
        assert job.isFinished()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_a_crash_in_a_job_is_told_with_its_remedy(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled = threading.Event()

    class Watched(Receiver):
        def take(self, told: Event) -> bool:
            if isinstance(told, protocol.Samples):
                sampled.set()
            return super().take(told)

    class Once(Runs):
        def work(self) -> int:
            options = RunOptions(seconds=600.0)
            return self.measure(self.config, self.workload, options).samples

    monkeypatch.setattr("gpuexplorer.gui.job.Receiver", Watched)
    window = begun(qtbot, open_window)
    job = Once(window, 1)
    window.session.jobs.begin(job)
    assert sampled.wait(60)
    pid = window.session.worker.engine_pid
    assert pid is not None
    psutil.Process(pid).send_signal(signal.SIGBUS)
    until(qtbot, lambda: bool(job.outcomes))
    (error,) = job.outcomes
    assert isinstance(error, WorkFailed)
    assert error.remedy == "check the kernel's array bounds; nothing else was affected"
    assert error.config == job.config
    until(qtbot, lambda: "A fresh engine" in window.banner.text)
    assert error.remedy in window.banner.text
    wait_measured(qtbot, window)


def test_the_details_of_a_jobs_error_begin_with_its_configuration(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    class Refused(Runs):
        def work(self) -> int:
            config = msgspec.structs.replace(self.config, threads=1000)
            return self.measure(config, self.workload, RunOptions(samples=1)).samples

    window = begun(qtbot, open_window)
    job = Refused(window, 1)
    window.session.jobs.begin(job)
    until(qtbot, lambda: bool(job.outcomes))
    assert "1000" in window.banner.text
    first = window.banner.detail.splitlines()[0]
    assert first.startswith("matmul · naive · N = ") and first.endswith(" · 1\u202f000 CPU threads")
