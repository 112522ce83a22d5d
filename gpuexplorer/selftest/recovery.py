"""Section: whatever ends an engine, a fresh one follows, and only the faulty run is lost."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from gpuexplorer.core.deadline import said_deadline_s
from gpuexplorer.core.errors import WorkFailed, WrongResult
from gpuexplorer.core.units import quantity
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import EngineLost
from gpuexplorer.selftest import faulty
from gpuexplorer.selftest.cases import SECONDS_EACH
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task
from gpuexplorer.selftest.watched import WatchedEngine
from gpuexplorer.workloads.workload import Workload

NAME = "recovery"
TITLE = "Interruption and restart"

HANDSHAKE_S = 2.0
"""An engine has to answer this soon after it was started anew."""
CANCEL_S = {"cpu": 2.0, "gpu": 5.0}
"""A cancelled launch that does not end has to be ended this soon, process and all; a GPU's driver
takes its time to end a process whose kernel is running."""
HANG_S = 40.0
"""Most that a launch without an end may run before it counts as hung; a deadline that the user says
comes on top of it."""
LAUNCHING = ("predict", "verify", "measure")
"""Steps in which a kernel runs."""


def plan(context: SelfTestContext) -> list[Task]:
    """Return a check for each way in which a run can end badly."""
    command = context.options.command(NAME)

    def check(name: str, do: Callable[[SelfTestContext], Found]) -> Task:
        return Task(name, lambda: _on_kernels(context, do), command)

    return [
        check("a wrong result is refused", _wrong),
        check("a write just outside an array is found", _just_outside),
        check("a write far outside ends its own engine at most", _far_outside),
        check("a launch is stopped in the middle", _cancel),
        check("an engine that was killed is replaced", _kill),
        check("a launch without an end meets its deadline", _endless),
    ]


def _on_kernels(context: SelfTestContext, do: Callable[[SelfTestContext], Found]) -> Found:
    """Make a check, where kernels of one's own can run at all."""
    context.config(faulty.right())
    return do(context)


def _failure(context: SelfTestContext, workload: Workload) -> WorkFailed:
    """Run a faulty workload; return how it failed, after a right run has followed it.

    Raises WorkFailed when it was not noticed, or when the right run failed.
    """
    config = context.config(workload)
    try:
        context.measure(config, seconds=SECONDS_EACH, workload=workload)
    except WorkFailed as error:
        found = error
    else:
        raise WorkFailed("nobody noticed: the run was measured as if it were right")
    right = faulty.right()
    try:
        context.measure(context.config(right), seconds=SECONDS_EACH, workload=right)
    except WorkFailed as error:
        raise WorkFailed(f"the next run failed: {error.what}") from None
    return found


def _run_right(context: SelfTestContext, watched: WatchedEngine) -> None:
    """Show that the engine, or the one that took its place, still works."""
    workload = faulty.right()
    end = watched.end_of(watched.begin(context.config(workload), workload, SECONDS_EACH))
    if isinstance(end, protocol.Failed):
        raise WorkFailed(f"the next run failed: {end.what}")
    if not isinstance(end, protocol.Finished):
        raise WorkFailed(f"the next run ended as '{type(end).__name__}'")


def _wrong(context: SelfTestContext) -> Found:
    error = _failure(context, faulty.wrong())
    if not isinstance(error, WrongResult):
        raise WorkFailed(f"one wrong element of 4 096 was told as another fault: {error.what}")
    return Found(error.what)


def _just_outside(context: SelfTestContext) -> Found:
    error = _failure(context, faulty.just_outside())
    if isinstance(error, WrongResult) and "outside" not in error.what:
        raise WorkFailed(f"the write was told as another fault: {error.what}")
    return Found(error.what)


def _far_outside(context: SelfTestContext) -> Found:
    """Check that a wild write is told, whether or not its engine survives it."""
    return Found(_failure(context, faulty.far_outside()).what)


def _restarted(watched: WatchedEngine) -> float:
    """Return the seconds the fresh engine took to answer; WorkFailed when they were too many."""
    handshake_s = watched.ready(1).handshake_s
    if handshake_s > HANDSHAKE_S:
        raise WorkFailed(
            f"the fresh engine answered after {quantity(handshake_s, 's')}, not within "
            f"{HANDSHAKE_S:.0f} s",
            remedy="was the machine busy?",
        )
    return handshake_s


def _cancel(context: SelfTestContext) -> Found:
    workload = faulty.endless()
    with WatchedEngine(context) as watched:
        watched.begin(context.config(workload), workload, None)
        watched.stage(*LAUNCHING)
        watched.engine.cancel()
        waited_s = watched.until(
            lambda: bool(watched.of(EngineLost)),
            CANCEL_S["gpu" if context.is_gpu else "cpu"],
            "the end of a stopped launch",
        )
        lost = watched.of(EngineLost)[-1]
        if lost.kind != "cancelled":
            raise WorkFailed(f"the engine was not ended by the stop: {lost.reason}")
        handshake_s = _restarted(watched)
        _run_right(context, watched)
    return Found(
        f"ended after {quantity(waited_s, 's')}, the fresh engine answered after "
        f"{quantity(handshake_s, 's')}",
        {"cancel_s": waited_s, "handshake_s": handshake_s},
    )


def _kill(context: SelfTestContext) -> Found:
    workload = faulty.right()
    with WatchedEngine(context) as watched:
        watched.begin(context.config(workload), workload, None)
        watched.until(
            lambda: bool(watched.of(protocol.Samples)),
            watched.patience_s,
            "the first sample of a run",
        )
        pid = watched.engine.pid
        assert pid is not None
        try:
            psutil.Process(pid).kill()
        except psutil.Error as error:
            raise Skipped(f"the engine's process cannot be killed from here: {error}") from None
        lost = watched.lost(10.0)
        if lost.kind != "crash":
            raise WorkFailed(f"the killed engine was told as '{lost.kind}': {lost.reason}")
        handshake_s = _restarted(watched)
        _run_right(context, watched)
    return Found(
        f"{lost.reason}; the fresh engine answered after {quantity(handshake_s, 's')}",
        {"handshake_s": handshake_s},
    )


def _endless(context: SelfTestContext) -> Found:
    workload = faulty.endless()
    with WatchedEngine(context) as watched:
        watched.begin(context.config(workload), workload, None, allow_long=False)
        watched.stage(*LAUNCHING)
        waited_s = watched.until(
            lambda: bool(watched.of(EngineLost)),
            HANG_S + (said_deadline_s() or 0.0),
            "the deadline of a launch without an end",
        )
        lost = watched.of(EngineLost)[-1]
        if lost.kind != "hang":
            raise WorkFailed(f"the endless launch was told as '{lost.kind}': {lost.reason}")
        handshake_s = _restarted(watched)
        _run_right(context, watched)
    return Found(
        f"ended after {quantity(waited_s, 's')}: {lost.reason}",
        {"deadline_s": waited_s, "handshake_s": handshake_s},
    )
