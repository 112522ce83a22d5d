"""The block map: its grid, its cells with their reasons, its race through any measure."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.comparison import FEWEST_PAIRS
from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, OutOfMemory, WorkFailed
from gpuexplorer.engine.errors import EngineKilled, LongRun
from gpuexplorer.search import blockmap
from gpuexplorer.search.block_grid import FINENESS, Grid, around, heats, make_grid, octaves
from gpuexplorer.search.blockmap import BlockMap, MapStep, map_points
from tests.support.problems import device
from tests.support.racecourse import Bench, Machine
from tests.support.situations import H100, shipped

LIMITS = DeviceLimits(max_threads_per_block=256, max_block=(256, 256, 64))
CPU = device(threads=1, limits=LIMITS)


def true_s(block: Block) -> float:
    """Return times with one best, 32×4: wide in x is good, tall is bad."""
    x, y, _ = block
    return 4e-3 * (1 + 0.5 * abs(math.log2(x / 32)) + 0.08 * abs(math.log2(y / 4)))


def make(
    on: DeviceInfo = CPU,
    *,
    workload: str = "matmul",
    variant: str = "naive",
    fineness: Any = "octaves",
    before: BlockMap | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> BlockMap:
    chosen = shipped()[workload]
    request = RunRequest(workload=workload, variant=variant, device=on.id)
    grid = make_grid(fineness, on.limits, chosen.variant(variant).dimensions, (16, 16, 1))
    points = map_points(request, grid, chosen, DeviceList(devices=(on,)))
    return BlockMap(points, grid, chosen, before=before, seed=1, clock=clock)


# ---- the grid


def test_powers_of_two_reach_the_devices_limit() -> None:
    grid = make_grid("octaves", LIMITS, 2, (1, 1, 1))
    assert grid.x == grid.y == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    assert make_grid("octaves", LIMITS, 1, (1, 1, 1)).y == (1,)
    assert make_grid("octaves", LIMITS, 3, (1, 1, 1), z=4).x[-1] == 64


def test_finer_grids_hold_the_coarser_ones() -> None:
    assert octaves(16, 2) == (1, 2, 3, 4, 6, 8, 12, 16)
    assert octaves(16, 4) == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
    for most in (1, 5, 100, 1024):
        assert set(octaves(most)) <= set(octaves(most, 2)) <= set(octaves(most, 4))
        assert max(octaves(most, 4)) <= most


@pytest.mark.parametrize("count", [1, 2, 7, 16, 48, 100, 512])
def test_the_fine_grid_around_a_block_holds_it(count: int) -> None:
    counts = around(count, 1024)
    assert count in counts
    assert all(max(1, count // 2) <= c <= min(1024, 2 * count) for c in counts)
    assert 2 <= len(counts) <= 26
    assert len({b - a for a, b in itertools.pairwise(counts)}) <= 1


def test_blocks_and_numbers_belong_together() -> None:
    for fineness in FINENESS:
        grid = make_grid(fineness, LIMITS, 2, (16, 4, 1))
        assert all(grid.number(grid.block(n)) == n for n in range(grid.count))
    assert grid.number((16, 4, 2)) is None and grid.number((1000, 4, 1)) is None


def test_coarse_cells_come_first_and_every_legal_one_once() -> None:
    grid = Grid(octaves(256), octaves(256))
    legal = [x * y <= 256 for y in grid.y for x in grid.x]
    groups = heats(grid, legal)
    assert sorted(n for group in groups for n in group) == [n for n, ok in enumerate(legal) if ok]
    assert [len(group) for group in groups] == sorted(len(group) for group in groups)
    assert {grid.block(n)[:2] for n in groups[0]} == {
        (x, y) for x in (1, 16, 256) for y in (1, 16, 256) if x * y <= 256
    }
    assert heats(Grid((1, 2), (1,)), [True, True]) in ([[0, 1]], [[0], [1]])


# ---- the map


def test_the_map_ends_by_itself_and_names_the_best() -> None:
    made, bench = make(), Bench(CPU, true_s)
    steps: list[MapStep] = []
    made.run(bench.measure, steps.append)
    assert made.done and made.best == (32, 4, 1) and (32, 4, 1) in made.ties
    cells = {c.block: c for c in made.cells}
    best = cells[32, 4, 1]
    assert best.time_s == pytest.approx(4e-3, rel=0.05) and best.samples >= 30
    assert best.time_s is not None and best.turns >= FEWEST_PAIRS
    assert best.ci95_low_s is not None and best.ci95_high_s is not None
    assert best.ci95_low_s <= best.time_s <= best.ci95_high_s
    assert cells[1, 1, 1].turns == 0
    assert best.flops == 2 * 512**3
    assert cells[1, 1, 1].out and 1 <= cells[1, 1, 1].samples <= 3
    assert cells[1, 1, 1].ci95_low_s is None
    assert steps[-1].left_s == 0 and steps[-1].next is None
    assert steps[0].left_s is not None and steps[0].next is not None


def test_a_block_far_behind_the_best_gets_the_launch_that_verifies_and_no_second_look() -> None:
    made = make()
    bench = Bench(CPU, lambda block: true_s(block) * (1 if block[0] >= 16 else 15))
    made.run(bench.measure)
    slow = [c for c in made.cells if c.state == "measured" and c.block[0] < 16]
    assert slow and all(c.out for c in slow)
    assert all(bench.runs.count(c.block) == 1 for c in slow)
    once = [c for c in slow if c.samples == 1]
    assert len(once) >= len(slow) - 3, "nothing fast may be known at the very first"
    assert made.best == (32, 4, 1)


def test_on_a_noisy_machine_the_turns_last_no_longer_than_the_looks_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blockmap, "LEAST_TURNS_S", 0.0)
    machine = Machine(3, noise=0.5)
    made = make(clock=lambda: machine.now_s)
    bench = Bench(CPU, lambda block: 4e-3 if block[0] >= 8 else 90e-3, machine=machine)
    took_s = {"survey": 0.0, "race": 0.0, "turns": 0.0}
    before_s = 0.0

    def step(step: MapStep) -> None:
        nonlocal before_s
        took_s[step.phase] += made.spent_s - before_s
        before_s = made.spent_s

    made.run(bench.measure, step)
    leaders = made.race.leaders
    assert made.done and FEWEST_PAIRS <= leaders.round < leaders.most_rounds
    round_s = took_s["turns"] / leaders.round
    assert took_s["turns"] <= took_s["survey"] + took_s["race"] + 2 * round_s


def test_cells_beyond_the_devices_limit_say_why_and_are_never_measured() -> None:
    made, bench = make(), Bench(CPU, true_s)
    made.run(bench.measure)
    cells = {c.block: c for c in made.cells}
    assert cells[256, 2, 1].state == "cannot" and "512 threads" in cells[256, 2, 1].reason
    assert all(x * y <= 256 for x, y, _ in bench.runs)
    skipped = [cell for cell in made.outcomes() if cell.skipped]
    assert len(skipped) == sum(c.state == "cannot" for c in made.cells)
    assert all(cell.result is not None for cell in made.outcomes() if not cell.skipped)


def test_a_constraint_of_the_manifest_is_the_reason() -> None:
    made = make(workload="reduction", variant="shuffle")
    cells = {c.block: c for c in made.cells}
    assert (
        cells[16, 1, 1].state == "cannot" and "every warp must be whole" in cells[16, 1, 1].reason
    )
    assert cells[32, 1, 1].state == "waiting"


def test_launches_predicted_too_long_and_broken_cells_say_so_and_the_rest_goes_on() -> None:
    bench = Bench(
        CPU,
        true_s,
        fails={
            (1, 1, 1): lambda: LongRun(8.5),
            (32, 4, 1): lambda: WorkFailed("the result is wrong"),
        },
    )
    made = make()
    made.run(bench.measure)
    cells = {c.block: c for c in made.cells}
    assert cells[1, 1, 1].state == "long" and "8.5 s" in cells[1, 1, 1].reason
    assert cells[32, 4, 1].state == "failed" and cells[32, 4, 1].reason == "the result is wrong"
    assert bench.runs.count((1, 1, 1)) == 1
    assert made.done and made.best in ((32, 2, 1), (32, 8, 1))


def test_an_engine_lost_once_does_not_cost_the_best_its_place() -> None:
    bench, made = Bench(CPU, true_s), make()
    failed: list[Block] = []

    def measure(config: Any, workload: Any, options: Any) -> Any:
        if config.block == (32, 4, 1) and bench.runs.count((32, 4, 1)) == 2 and not failed:
            failed.append(config.block)
            raise WorkFailed("the engine died")
        return bench.measure(config, workload, options)

    made.run(measure)
    assert failed and made.best == (32, 4, 1)


@pytest.mark.parametrize(
    "error",
    [EngineKilled("the engine was killed (SIGKILL)"), OutOfMemory("opencl:0 ran out of memory")],
)
def test_a_cell_is_tried_again_when_the_first_look_says_nothing_of_it(error: ExplorerError) -> None:
    bench, made = Bench(CPU, true_s), make()
    killed: list[Block] = []

    def measure(config: Any, workload: Any, options: Any) -> Any:
        if config.block == (32, 4, 1) and not killed:
            killed.append(config.block)
            raise error
        return bench.measure(config, workload, options)

    made.run(measure)
    assert killed and made.best == (32, 4, 1)


def test_a_map_that_was_left_goes_on_where_it_was() -> None:
    made, bench = make(), Bench(CPU, true_s)

    class Enough(Exception):
        pass

    def stop(step: MapStep) -> None:
        if step.looks == 25:
            raise Enough

    with pytest.raises(Enough):
        made.run(bench.measure, stop)
    seen = {c.block for c in made.cells if c.state == "measured"}
    assert made.begun and len(seen) >= 10
    assert made.best is not None and made.ties == frozenset()
    before = len(bench.runs)
    made.run(bench.measure)
    assert made.done and made.best == (32, 4, 1)
    later = bench.runs[before:]
    slow = {b for b in seen if true_s(b) > 3 * true_s((32, 4, 1))}
    assert slow and not slow & set(later), "what was measured is kept"


def test_a_map_that_is_gone_on_with_goes_on_with_its_runs() -> None:
    made, bench = make(), Bench(CPU, true_s)

    class Enough(Exception):
        pass

    def stop(step: MapStep) -> None:
        if step.looks == 30:
            raise Enough

    with pytest.raises(Enough):
        made.run(bench.measure, stop)
    first = {record.id for record in made.records}
    made.run(bench.measure)
    later = {record.id: record for record in made.records}
    assert first and first <= later.keys()
    assert {r.stopped_by for r in later.values()} == {"race"}


def test_a_cell_shows_the_figures_that_its_run_has_in_the_history() -> None:
    chance = random.Random(5)
    made, bench = make(), Bench(CPU, lambda block: true_s(block) * chance.uniform(0.9, 1.3))
    made.run(bench.measure)
    runs = {record.prepared.config.block: record.result() for record in made.records}
    cells = [cell for cell in made.cells if cell.time_s is not None]
    assert any(cell.turns for cell in cells)
    for cell in cells:
        timing = runs[cell.block].timing
        assert (cell.time_s, cell.ci95_low_s, cell.ci95_high_s, cell.samples) == (
            timing.median_s, timing.ci95_low_s, timing.ci95_high_s, timing.samples,
        )  # fmt: skip
        assert cell.not_verified == ""
    assert made.best is not None and made.best_run == runs[made.best].id
    for record in made.records:
        record.prepared = msgspec.structs.replace(record.prepared, verification=None)
    assert {cell.not_verified for cell in made.cells if cell.time_s} == {"not verified"}


def test_without_an_engine_the_map_ends_with_the_reason() -> None:
    def gone(*_: Any, **__: Any) -> Any:
        raise CannotRunHere("the engine cannot be started")

    made = make()
    with pytest.raises(CannotRunHere):
        made.run(gone)
    assert not made.begun and not made.done


def test_a_finer_grid_takes_over_what_was_measured() -> None:
    coarse, bench = make(), Bench(CPU, true_s)
    coarse.run(bench.measure)
    bench.runs.clear()
    fine = make(fineness="halves", before=coarse)
    assert fine.cell((1, 1, 1)) is not None
    fine.run(bench.measure)
    assert not {b for b in bench.runs if true_s(b) > 9e-3} & {c.block for c in coarse.cells}
    assert fine.done and fine.best is not None
    assert true_s(fine.best) <= 1.03 * min(true_s(c.block) for c in fine.cells)


def test_guesses_lie_between_their_neighbours() -> None:
    made, bench = make(), Bench(CPU, true_s)
    assert made.expected_s(0) is None and made.seconds_left() is None
    made.run(bench.measure)
    number = made.grid.number((32, 4, 1))
    assert number is not None
    expected = made.expected_s(number)
    assert expected is not None and 4e-3 < expected < 5.5e-3


def test_on_a_gpu_cells_carry_their_theoretical_occupancy() -> None:
    made, bench = make(H100), Bench(H100, true_s, machine=Machine(2, bursts=False), registers=32)
    made.run(bench.measure)
    cells = {c.block: c for c in made.cells}
    small, large = cells[1, 1, 1].resources, cells[32, 8, 1].resources
    assert small is not None and large is not None
    assert small.occupancy is not None and large.occupancy is not None
    assert small.occupancy < large.occupancy
