"""A sweep measures every point once, whatever happens to single ones, and can be halted."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

import pytest

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import (
    CannotRunHere,
    ExplorerError,
    InputError,
    MemoryTaken,
    OutOfMemory,
    WorkFailed,
    WrongResult,
)
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.sweep import Why
from gpuexplorer.engine.errors import EngineGone, EngineKilled, LongRun
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.outcome import SweepCell, cells_of, fastest
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.sweep import News, Sweep, SweepStep
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.search.engine import MadeEngine
from tests.support.problems import device

MATMUL = load()["matmul"]
DEVICES = DeviceList(devices=(device("opencl:0", threads=1),))
AXES = (Axis("size.N", (64, 128)), Axis("block.x", (8, 16, 32, 2048)), Axis("block.y", (1, 2)))


def cells() -> list[SweepCell]:
    return cells_of(Space(RunRequest(workload="matmul"), AXES).points(MATMUL, DEVICES))


def swept(
    launch_s: Callable[[RunConfig], float] | None = None,
) -> tuple[list[SweepCell], MadeEngine]:
    engine = MadeEngine(launch_s)
    return Sweep(MATMUL, cells(), Measuring(samples=5)).run(engine), engine


def width(config: RunConfig) -> int:
    assert config.block is not None
    return config.block[0]


def test_every_legal_point_is_measured_once_in_its_place() -> None:
    found, engine = swept(lambda config: 1.0 / width(config))
    assert [c.point.number for c in found] == [c.point.number for c in cells()]
    assert len(engine.asked) == len({c.key for c in engine.asked}) == 12
    assert engine.limits == [(5, 5.0)] * 12
    for cell in found:
        if cell.point.config is None:
            assert cell.result is None
            assert "2048" in (cell.skipped or "")
        else:
            assert cell.result is not None
            assert cell.result.config == cell.point.config
            assert cell.median_s == pytest.approx(1.0 / width(cell.point.config))
    best = fastest(found)
    assert best is not None and best.point.config is not None
    assert width(best.point.config) == 32


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (WorkFailed("the kernel does not compile: x.cu:3: expected ';'"), "failed"),
        (WrongResult("the result is wrong: C[0, 0] is 1 and should be 2"), "wrong"),
        (WorkFailed("nothing came back within 10 s while the engine was at 'measure'"), "failed"),
        (WorkFailed("the engine died (SIGSEGV)"), "failed"),
        (EngineKilled("the engine was killed (SIGKILL)"), "lost"),
        (OutOfMemory("opencl:0 ran out of memory"), "short"),
        (MemoryTaken("opencl:0 now has free 1 GB"), "short"),
        (InputError("opencl:0 refuses the block"), "cannot"),
        (CannotRunHere("a library is missing"), "cannot"),
        (LongRun(3.0), "cannot"),
    ],
)
def test_what_fails_is_skipped_with_its_reason_and_the_rest_goes_on(
    error: ExplorerError, why: str
) -> None:
    def launch_s(config: RunConfig) -> float:
        if width(config) == 16:
            raise error
        return 1e-3

    found, engine = swept(launch_s)
    assert len(engine.asked) == 12
    for cell in found:
        if cell.point.values["block.x"] == 16:
            assert (cell.skipped, cell.why) == (error.what, why)
            assert not cell.ranked
        elif cell.point.values["block.x"] != 2048:
            assert cell.ranked


def test_without_an_engine_it_ends_and_keeps_what_was_done() -> None:
    count = 0

    def launch_s(config: RunConfig) -> float:
        nonlocal count
        count += 1
        if count > 3:
            raise EngineGone("the engine ended before it answered")
        return 1e-3

    sweep = Sweep(MATMUL, cells(), Measuring())
    with pytest.raises(EngineGone):
        sweep.run(MadeEngine(launch_s))
    assert sum(cell.result is not None for cell in sweep.cells) == 3
    assert sum(cell.waiting for cell in sweep.cells) == 9


def test_an_interrupt_passes_through_and_keeps_what_was_done() -> None:
    def launch_s(config: RunConfig) -> float:
        if width(config) == 32:
            raise KeyboardInterrupt
        return 1e-3

    sweep = Sweep(MATMUL, cells(), Measuring())
    with pytest.raises(KeyboardInterrupt):
        sweep.run(MadeEngine(launch_s))
    assert sweep.done == len(sweep.cells) - sum(cell.waiting for cell in sweep.cells)


def test_steps_tell_what_runs_and_what_came_of_it() -> None:
    steps: list[SweepStep] = []
    sweep = Sweep(MATMUL, cells(), Measuring(samples=5), on_step=steps.append)
    sweep.run(MadeEngine())
    assert len(steps) == 24
    assert [s.ended for s in steps] == [False, True] * 12
    assert [s.done for s in steps[1::2]] == list(range(5, 17))
    assert {s.total for s in steps} == {16}
    assert steps[0].left.seconds is None
    assert sweep.left.seconds is not None


def test_cancel_stops_after_the_present_one() -> None:
    sweep = Sweep(MATMUL, cells(), Measuring())

    def launch_s(config: RunConfig) -> float:
        sweep.cancel()
        return 1e-3

    found = sweep.run(MadeEngine(launch_s))
    assert sum(cell.result is not None for cell in found) == 1
    assert sum(cell.waiting for cell in found) == 11


class MadeCluster:
    """Measures two at a time; what it measured second it takes back at the end, and repeats."""

    lanes = 2

    def __init__(self) -> None:
        self.ended = False

    def spread(
        self, configs: Sequence[RunConfig], workload: Workload, options: RunOptions
    ) -> Generator[News | None]:
        """Yield what becomes of each."""
        engine = MadeEngine()

        def measured(index: int) -> News:
            return News(
                index, engine.measure(configs[index], workload, options).result(), None, 1.0
            )

        try:
            yield None
            for first in range(0, len(configs), 2):
                yield News(first)
                yield News(first + 1)
                yield measured(first + 1)
                if first:
                    yield measured(first)
                else:
                    yield News(first, error=WorkFailed("it does not compile"))
            yield News(1, dropped=True)
            yield measured(1)
        finally:
            self.ended = True


class Kept:
    """Notes what it is given to keep."""

    def __init__(self) -> None:
        self.runs: dict[str, RunConfig] = {}
        self.skipped: list[RunConfig] = []

    def keep(self, result: RunResult) -> None:
        """Take in a run."""
        self.runs[result.id] = result.config

    def skip(self, config: RunConfig, reason: str, why: Why) -> None:
        """Take in a reason."""
        self.skipped.append(config)

    def drop(self, result: RunResult) -> None:
        """Let go of a run."""
        del self.runs[result.id]


def test_what_is_measured_side_by_side_is_kept_as_it_comes_and_may_be_taken_back() -> None:
    steps: list[SweepStep] = []
    kept, cluster = Kept(), MadeCluster()
    sweep = Sweep(MATMUL, cells(), Measuring(samples=5), keeper=kept, on_step=steps.append)
    found = sweep.run(cluster)
    assert cluster.ended
    assert sweep.done == len(found) == 16 and not sweep.waiting
    assert len(kept.runs) == len({config.key for config in kept.runs.values()}) == 11
    assert len(kept.skipped) == 1
    told = [step.done for step in steps]
    assert told[-3:] == [16, 15, 16], "one was done, waits again, and is done"
    assert {cell.result.id for cell in found if cell.result is not None} == set(kept.runs)
    assert sweep.left.seconds == 0


def test_cancel_ends_what_goes_on_side_by_side() -> None:
    cluster = MadeCluster()
    sweep = Sweep(MATMUL, cells(), Measuring(samples=5))
    sweep.on_step = lambda step: sweep.cancel()
    sweep.run(cluster)
    assert cluster.ended
    assert sweep.waiting == 12
