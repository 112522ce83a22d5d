"""Section: many runs leave nothing behind, neither in the engine's process nor on the device.

The same runs are repeated in batches. What an engine keeps on purpose (builds, inputs, pools) stops
growing after the first ones; a leak grows with every batch, so the last one is judged.
"""

from __future__ import annotations

from functools import cached_property

import psutil

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.units import quantity
from gpuexplorer.selftest.cases import SECONDS_EACH
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task

NAME = "memory"
TITLE = "Nothing leaks"

RUNS, QUICK_RUNS = 240, 48
"""Runs of a batch."""
MOST_BATCHES = 3
TOLERATED_B = 16 * 2**20
"""How much the engine may grow over a batch. An array lost in each run would be 1 MiB a run."""
TOLERATED_DEVICE_B = 64 * 2**20
"""The same for the device's memory, which other programs use, too."""
TOLERATED_HANDLES = 4
"""Open files, and threads, that may be more after a batch."""
READ_FOR_S = 0.4
"""Long enough for several readings of the device's memory."""


class _State:
    """What the engine and the device hold at one moment; None where it cannot be read."""

    def __init__(self, process: psutil.Process, device_B: float | None) -> None:
        self.engine_B = float(process.memory_info().rss)
        self.device_B = device_B
        self.threads = process.num_threads()
        self.files = process.num_fds() if hasattr(process, "num_fds") else None


class _Batches:
    """The runs, made once for all checks of this section."""

    def __init__(self, context: SelfTestContext) -> None:
        self.context = context
        self.runs = QUICK_RUNS if context.quick else RUNS

    @cached_property
    def states(self) -> list[_State]:
        """What was held before and after each batch; enough batches that the last one is quiet."""
        session = self.context.session
        self._batch(2 * len(self._configs))
        pid = session.pid
        if pid is None:
            raise WorkFailed("there is no engine's process to look at")
        try:
            process = psutil.Process(pid)
            states = [_State(process, self._device_B())]
            for _ in range(MOST_BATCHES):
                self._batch(self.runs)
                states.append(_State(process, self._device_B()))
                if not _grown(states[-2], states[-1]):
                    break
        except psutil.Error as error:
            raise WorkFailed(f"the engine's process cannot be read: {error}") from None
        if session.pid != pid:
            raise WorkFailed("the engine ended in the middle of the runs and was started again")
        return states

    @cached_property
    def _configs(self) -> list[RunConfig]:
        """Kernels and library calls, whose sizes alternate so that arrays are made anew."""
        context = self.context
        found = []
        for name, variant, size in (
            ("vector_add", "direct", 262_144),
            ("stream", "triad", 262_145),
            ("reduction", "tree", 524_287),
            ("transpose", "tiled", 512),
            ("vector_add", "cupy" if context.is_gpu else "numpy", 262_143),
            ("matmul", "naive", 256),
        ):
            try:
                found.append(
                    context.config(
                        context.shipped[name], variant=variant, size={"": size}, precision="fp32"
                    )
                )
            except Skipped:
                continue
        if not found:
            raise Skipped("no shipped workload runs on this device")
        return found

    def _batch(self, runs: int) -> None:
        for index in range(runs):
            self.context.on_step(f"run {index + 1} of {runs}")
            self.context.measure(self._configs[index % len(self._configs)], seconds=SECONDS_EACH)

    def _device_B(self) -> float | None:
        if not self.context.is_gpu:
            return None
        result = self.context.measure(self._configs[0], seconds=READ_FOR_S)
        return result.telemetry.memory_used_B


def _grown(before: _State, after: _State) -> bool:
    device_B = (after.device_B or 0.0) - (before.device_B or 0.0)
    return after.engine_B - before.engine_B > TOLERATED_B or device_B > TOLERATED_DEVICE_B


def plan(context: SelfTestContext) -> list[Task]:
    """Return the checks of the engine's memory, the device's, and open files and threads."""
    batches = _Batches(context)
    command = context.options.command(NAME)
    return [
        Task("memory of the engine", lambda: _engine(batches), command),
        Task("memory of the device", lambda: _device(batches), command),
        Task("open files and threads of the engine", lambda: _handles(batches), command),
    ]


def _engine(batches: _Batches) -> Found:
    states = batches.states
    return _judge("the engine's memory", batches.runs, [s.engine_B for s in states], TOLERATED_B)


def _device(batches: _Batches) -> Found:
    if not batches.context.is_gpu:
        raise Skipped("a CPU's kernels use the engine's own memory")
    held = [s.device_B for s in batches.states]
    known = [h for h in held if h is not None]
    if len(known) < len(held):
        raise Skipped("the device's memory cannot be read: no telemetry source gives it")
    return _judge("the device's memory", batches.runs, known, TOLERATED_DEVICE_B)


def _judge(what: str, runs: int, held_B: list[float], tolerated_B: float) -> Found:
    grown_B = held_B[-1] - held_B[-2]
    figures: dict[str, float | str | None] = {
        "before_B": held_B[0],
        "after_B": held_B[-1],
        "grown_in_last_batch_B": grown_B,
        "tolerated_B": tolerated_B,
        "runs_in_batch": float(runs),
        "batches": float(len(held_B) - 1),
    }
    grown = quantity(max(grown_B, 0.0), "B")
    if grown_B > tolerated_B:
        first, before = quantity(held_B[0], "B"), quantity(held_B[-2], "B")
        raise WorkFailed(
            f"{what} grew by {grown} in {runs} runs, and before that it had grown from {first} to "
            f"{before}; up to {quantity(tolerated_B, 'B')} are tolerated"
        )
    return Found(f"{what} grew by {grown} in {runs} runs", figures)


def _handles(batches: _Batches) -> Found:
    before, after = batches.states[-2:]
    pairs = {"open files": (before.files, after.files), "threads": (before.threads, after.threads)}
    figures: dict[str, float | str | None] = {}
    facts = []
    for what, (old, new) in pairs.items():
        if old is None or new is None:
            continue
        figures |= {f"{what} before": float(old), f"{what} after": float(new)}
        if new - old > TOLERATED_HANDLES:
            raise WorkFailed(f"the engine has {new} {what} after {batches.runs} runs, {old} before")
        facts.append(
            f"{new} {what}, as before"
            if new == old
            else f"{new} {what}, {old} before ({TOLERATED_HANDLES} more are tolerated)"
        )
    return Found("; ".join(facts), figures)
