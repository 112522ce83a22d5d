"""What a block map's cells say: marks of the colour bar, guesses, places, words; no window."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.charts.colours import shared_prefix
from gpuexplorer.charts.render import render
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.result import Resources
from gpuexplorer.gui.model.blockmap import MapModel, MeasurableMap
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.model.map_chart import map_chart
from gpuexplorer.gui.model.map_look import (
    COLOURINGS,
    Look,
    even_step,
    guesses,
    log_marks,
    place_of,
    plain,
)
from gpuexplorer.search.block_grid import Grid
from gpuexplorer.search.blockmap import BlockMap
from tests.support.problems import device
from tests.support.racecourse import Bench, Machine
from tests.support.situations import H100, shipped

CPU = device(threads=1)


def plan(model: MapModel) -> None:
    wanted = model.follow()
    assert wanted is not None
    model.take_planned(*wanted.planned())


def planned(
    on: DeviceInfo = CPU, workload: str = "matmul"
) -> tuple[Experiment, MapModel, MeasurableMap]:
    experiment = Experiment(shipped())
    experiment.set_devices(DeviceList(devices=(on,)))
    experiment.set_workload(workload)
    model = MapModel(experiment)
    plan(model)
    held = model.current
    assert held is not None
    return experiment, model, held


def time(held: MeasurableMap, seconds: dict[int, float]) -> None:
    """Give cells a time."""
    for number, time_s in seconds.items():
        held.cells[number] = msgspec.structs.replace(
            held.cells[number], state="measured", time_s=time_s, samples=9, flops=1e9
        )
    held.best = held.cells[min(seconds, key=lambda n: seconds[n])].block


def test_a_measured_map_stays_while_the_knobs_pass_over_many_that_are_not() -> None:
    experiment, model, held = planned()
    time(held, {0: 1e-3})
    size = experiment.knobs.size["N"]
    for more in range(1, 12):
        experiment.set_size("N", size + more)
        plan(model)
        assert model.current is not None and not model.current.measured
    experiment.set_size("N", size)
    assert model.follow() is None and model.current is held
    assert len(model._maps) <= 2  # those that nothing was measured of are planned anew


@given(st.floats(1e-9, 1e3), st.floats(1.05, 1e6), st.integers(3, 30))
def test_marks_of_a_logarithmic_bar_are_few_and_inside(low: float, span: float, room: int) -> None:
    marks = log_marks(low, low * span, room)
    assert 2 <= len(marks) <= max(room, 3)
    assert marks == sorted(marks)
    assert all(low * 0.999 <= m <= low * span * 1.001 for m in marks)


@given(st.floats(1e-3, 1e6), st.integers(3, 40))
def test_even_steps_fill_the_bar(most: float, room: int) -> None:
    step = even_step(most, room)
    assert most / step + 1e-9 >= 1 and int(most / step + 1e-9) + 1 <= room + 1


def test_numbers_have_three_digits() -> None:
    assert [plain(v) for v in (7.712, 77.12, 771.2, 0.771, 1234.5, 0.0)] == [
        "7.71", "77.1", "771", "0.77", "1234", "0"
    ]  # fmt: skip


def test_what_takes_a_hundred_times_as_long_has_its_figure_in_the_cell() -> None:
    _, _, held = planned()
    time(held, {0: 984e-6, 1: 34.884e-3, 2: 130.4e-3, 3: 9.123e-3})
    look = Look(held, "time")
    assert [look.text(held.cells[n]) for n in range(4)] == ["984", "34.9k", "130k", "9123"]
    assert look.unit == "µs"


def test_a_block_between_two_counts_lies_between_their_cells() -> None:
    grid = Grid((1, 2, 4, 8), (1, 2, 4))
    assert place_of(grid, (4, 2, 1)) == (2, 1)
    between = place_of(grid, (6, 3, 1))
    assert between is not None and between[0] == pytest.approx(1 + math.log2(3))
    assert place_of(grid, (16, 1, 1)) is None and place_of(grid, (1, 1, 2)) is None


def test_cells_that_wait_take_the_tint_of_the_nearest() -> None:
    _, _, held = planned()
    assert guesses(held) == {}
    last = held.wanted.grid.number((1024, 1, 1))
    assert last is not None
    time(held, {0: 1e-3, last: 5e-3})
    guessed = guesses(held)
    near = held.wanted.grid.number((2, 1, 1))
    far = held.wanted.grid.number((512, 1, 1))
    assert near is not None and far is not None
    assert guessed[near] == 1e-3 and guessed[far] == 5e-3
    assert all(held.cells[n].state == "waiting" for n in guessed)


def test_the_best_is_light_and_the_slowest_dark_in_every_colouring() -> None:
    _, _, held = planned()
    time(held, {0: 80e-3, 1: 40e-3, 2: 10e-3})
    for colouring in ("time", "throughput", "best"):
        look = Look(held, colouring)
        shades = [look.shade(held.cells[n]) or 0.0 for n in (0, 1, 2)]
        assert shades == sorted(shades)
        assert shades[2] == pytest.approx(1)
        assert all(0 <= tick.place <= 1 for tick in look.ticks(9))
    assert Look(held, "time").text(held.cells[2]) == "10.0"
    assert Look(held, "best").text(held.cells[0]) == "12"


def test_who_was_found_slower_never_counts_as_more_than_the_best() -> None:
    _, _, held = planned()
    time(held, {0: 9.9e-3, 1: 10e-3})
    held.best = held.cells[1].block
    held.cells[0] = msgspec.structs.replace(held.cells[0], out=True)
    assert Look(held, "best").text(held.cells[0]) == "100"


def test_where_there_is_no_occupancy_the_words_say_why() -> None:
    strange = dataclasses_device(compute_capability=(3, 5))
    unknown = dataclasses_device(compute_capability=None)
    for on, words in (
        (CPU, "A processor has no multiprocessors"),
        (strange, "compute capability 3.5"),
        (unknown, "are not known"),
        (H100, "measure first"),
    ):
        _, _, held = planned(on)
        assert words in Look(held, "time").occupancy_words(on)
        assert Look(held, "time").occupancy_legend() == ""


def dataclasses_device(compute_capability: tuple[int, int] | None) -> DeviceInfo:
    return device("cuda:0", kind="gpu", compute_capability=compute_capability)


def test_occupancy_and_time_that_agree_say_so() -> None:
    _, _, held = planned(H100)
    time(held, {0: 20e-3, 1: 10e-3})
    for number, occupancy in ((0, 0.2), (1, 1.0)):
        held.cells[number] = msgspec.structs.replace(
            held.cells[number], resources=Resources(occupancy=occupancy)
        )
    held.best = held.cells[1].block
    look = Look(held, "time")
    assert "agree" in look.occupancy_words(H100)
    held.cells[1] = msgspec.structs.replace(held.cells[1], resources=Resources(occupancy=0.75))
    held.cells[0] = msgspec.structs.replace(
        held.cells[0], time_s=11e-3, resources=Resources(occupancy=1.0)
    )
    assert "agree" not in Look(held, "time").occupancy_words(H100), "the best is not full"
    assert look.occupancy_legend() == "▼ full and slow: 0   ▲ fast though not full: 0"


def test_a_knob_turned_back_brings_its_map_back() -> None:
    experiment, model, held = planned()
    time(held, {0: 1e-3})
    model.begin(held)
    experiment.set_size("N", 256)
    plan(model)
    assert model.stale and model.shown is held and model.current is not held
    experiment.set_size("N", 512)
    assert not model.follow() and model.current is held and not model.stale


def test_the_same_map_on_two_devices_stands_side_by_side() -> None:
    experiment, model, here = planned()
    time(here, {0: 1e-3, 1: 2e-3})
    model.begin(here)
    assert model.on_devices() == [here]
    other = device(threads=1, hardware_id="cpu:Far", name="Far CPU")
    experiment.set_devices(DeviceList(devices=(other,)))
    plan(model)
    there = model.current
    assert there is not None and there is not here
    time(there, {0: 5e-3, 1: 4e-3})
    model.begin(there)
    assert model.on_devices() == [there, here]
    assert (
        model.elsewhere_words(there.cells[1].block) == "Some CPU took 2.00 ms, in a map of its own"
    )
    assert [one.best_config and one.best_config.block for one in (there, here)] == [
        there.best, here.best,
    ]  # fmt: skip
    experiment.set_size("N", 256)
    plan(model)
    assert model.shown is there, "the map that was measured last, with its like"
    assert model.on_devices() == [there, here]


def test_cpus_of_one_name_in_two_machines_have_a_map_each() -> None:
    experiment, model, here = planned()
    time(here, {0: 1e-3, 1: 2e-3})
    model.begin(here)
    twin = msgspec.structs.replace(CPU, hardware_id=f"{CPU.hardware_id} #00c0ffee")
    experiment.set_devices(DeviceList(devices=(twin,)), "gpubox")
    plan(model)
    there = model.current
    assert there is not None and there is not here
    time(there, {0: 5e-3, 1: 4e-3})
    model.begin(there)
    assert model.on_devices() == [there, here]
    assert model.elsewhere_words(here.cells[1].block).startswith("Some CPU of this machine took 2")
    experiment.set_devices(DeviceList(devices=(CPU,)))
    assert not model.follow() and model.current is here


def test_a_map_without_devices_or_blocks_says_why() -> None:
    model = MapModel(Experiment(shipped()))
    assert not model.follow() and model.shown is None and "device" in model.reason


def test_vectors_have_one_row() -> None:
    _, model, held = planned(workload="vector_add")
    assert held.wanted.grid.y == (1,) and model.z_choices() == [1]


def test_the_chart_for_a_file_has_the_best_the_unit_and_the_ties_of_the_screen() -> None:
    """The medians of whole runs would name another block than the turns did."""
    _, _, held = planned()
    time(held, {0: 80e-6, 1: 41e-6, 2: 40e-6, 3: 39e-6})
    held.best = held.cells[2].block  # its turns say so, whatever a median says
    held.ties = frozenset({held.cells[2].block, held.cells[3].block})
    for colouring in COLOURINGS:
        look = Look(held, colouring)
        (panel,) = map_chart(held, colouring).rows[0]
        heat, ties, best = panel.series
        assert best.name == f"best: {look.best_words}" and (best.x[0], best.y[0]) == (2, 0)
        assert ties.name == "cannot be told from the best" and ties.x.tolist() == [3]
        assert heat.labels == tuple(look.text(cell) for cell in held.cells)
        assert panel.z is not None
        prefix = shared_prefix(panel.z)[1]
        assert f"{prefix}{panel.z.unit}" == look.unit.removesuffix(" of the best")
    words = Look(held, "time").map_words()
    assert map_chart(held, "time").notes[0] == f"{words}."
    held.cells[3] = msgspec.structs.replace(held.cells[3], not_verified="verified except D")
    assert Look(held, "time").map_words() == f"{words} · verified except D"


def test_cells_to_come_are_plain_in_the_chart_and_those_that_cannot_run_hatched(
    tmp_path: Path,
) -> None:
    _, _, held = planned()
    time(held, {0: 80e-6})
    chart = map_chart(held, "time")
    heat = chart.rows[0][0].series[0]
    states = {cell.state: z for cell, z in zip(held.cells, heat.z.tolist(), strict=True)}
    assert states["measured"] == 80e-6
    assert math.isinf(states["waiting"]) and math.isnan(states["cannot"])
    cannot = sum(cell.state == "cannot" for cell in held.cells)
    assert chart.notes[-1] == f"Hatched: {cannot} cannot run."
    render(chart, tmp_path / "map.svg")
    assert "best: " in (tmp_path / "map.svg").read_text()


def test_a_tie_shows_the_paired_ratio_that_decided_and_how_many_turns_it_took() -> None:
    _, _, held = planned()
    time(held, {1: 8.45e-3, 2: 8.12e-3, 3: 9.92e-3, 4: 11.6e-3})
    ratios = {2: (1.02, 0.99, 1.06), 3: (1.2, 1.15, 1.26)}
    for number, (ratio, low, high) in ratios.items():
        verdict = "slower" if low > 1 else "can't tell"
        compared = Comparison(ratio, low, high, 12, verdict)  # type: ignore[arg-type]
        held.cells[number] = msgspec.structs.replace(held.cells[number], ratio=compared, turns=12)
    held.cells[1] = msgspec.structs.replace(held.cells[1], turns=12)
    held.best = held.cells[1].block
    held.ties = frozenset({held.cells[n].block for n in (1, 2, 4)})
    look = Look(held, "time")
    tied, slower, unmatched = (look.cell_words(held.cells[n]) for n in (2, 3, 4))
    assert "cannot be told from the best (0.990–1.060) in turns" in tied
    assert ", 12 turns, " in tied
    assert "1.20× slower (1.15–1.26) in turns beside the best" in slower
    assert "cannot be told from the best: too few turns beside it" in unmatched
    assert " turns," not in unmatched
    time(held, {5: 7.9e-3, 1: 8.45e-3})
    held.best = held.cells[1].block
    dropped = look.cell_words(held.cells[5])
    assert "faster" not in dropped, "it is not the best, whatever its early look says"
    assert "took no turns beside the best: it was slower when both were looked at" in dropped


def test_no_cell_looks_better_than_the_best_because_the_machine_was_at_another_pace() -> None:
    _, _, held = planned()
    time(held, {0: 8.0e-3, 1: 10e-3, 2: 8.4e-3, 3: 10.2e-3, 4: 21e-3, 5: 9.0e-3})
    best = held.cells[1].block
    time(held, {6: 9.2e-3, 7: 10e-3})
    open_still = Comparison(0.93, 0.8, 1.1, 12, "can't tell")
    held.cells[6] = msgspec.structs.replace(held.cells[6], ratio=open_still, turns=12)
    looks_s = {0: 6.0e-3, 1: 5.0e-3, 2: 5.1e-3, 3: 5.2e-3, 4: 10e-3, 5: 4.9e-3}
    for number, looked_s in looks_s.items():
        held.cells[number] = msgspec.structs.replace(held.cells[number], looked_s=looked_s)
    ratio = Comparison(1.04, 1.03, 1.05, 12, "slower")
    held.cells[2] = msgspec.structs.replace(held.cells[2], ratio=ratio, turns=12)
    held.best, held.ties = best, frozenset({best, held.cells[6].block})
    look = Look(held, "time")
    seen = [look.text(held.cells[n]) for n in range(7)]
    told = ["12.0", "10.0", "10.4", "10.2", "21.0", "10.0", "10.0"]
    assert seen == told, "by looks, by turns, by their own medians"
    for colouring in ("time", "throughput", "best"):
        drawn = Look(held, colouring)
        shades = [drawn.shade(held.cells[n]) or 0.0 for n in range(6)]
        assert max(shades) == shades[1] == pytest.approx(1)
        assert shades[0] < shades[2] < shades[1]
    words = look.cell_words(held.cells[2])
    assert "10.4 ms beside the best" in words and "1.040× slower (1.030–1.050) in turns" in words
    assert "by itself it took 8.40 ms, at another pace of the machine" in words
    assert "at another pace" not in look.cell_words(held.cells[3])
    tied = look.cell_words(held.cells[6])
    assert "cannot be told from the best (0.909–1.25) in turns" in tied
    chart = map_chart(held, "time")
    (cells, *_) = chart.rows[0][0].series
    assert cells.z is not None and cells.z[:6] == pytest.approx(
        [12e-3, 10e-3, 10.4e-3, 10.2e-3, 21e-3, 10e-3]
    )


def test_a_map_raced_on_a_machine_that_gets_busy_shows_its_best_as_the_best() -> None:
    _, _, held = planned()
    machine, wanted = Machine(1, bursts=False), held.wanted
    held.map = BlockMap(
        held.map.points, wanted.grid, wanted.workload, seed=1, clock=lambda: machine.now_s
    )

    def true_s(block: Block) -> float:
        quiet_s = 4e-3 * (1 + 0.3 * abs(math.log2(block[0] / 32)) + 0.01 * math.log2(block[1]))
        return quiet_s * (2.0 if held.map.race.phase == "turns" else 1.0)

    held.map.run(Bench(CPU, true_s, machine=machine).measure, held.take)
    held.cells, held.best, held.ties = held.map.cells, held.map.best, held.map.ties
    assert held.best == (32, 1, 1)
    best = next(cell for cell in held.cells if cell.block == held.best)
    assert any(c.time_s < best.time_s for c in held.cells if c.time_s and best.time_s), "as told"
    for colouring in ("time", "throughput", "best"):
        look = Look(held, colouring)
        shades = {c.block: s for c in held.cells if (s := look.shade(c)) is not None}
        assert max(shades.values()) == shades[held.best]


def test_a_wide_interval_of_a_cell_stands_with_its_ends() -> None:
    _, _, held = planned()
    time(held, {1: 10e-3, 2: 10e-3})
    for number, (low, high) in {1: (9.9e-3, 10.1e-3), 2: (5.1e-3, 14.9e-3)}.items():
        held.cells[number] = msgspec.structs.replace(
            held.cells[number], ci95_low_s=low, ci95_high_s=high
        )
    look = Look(held, "time")
    assert "10.0 ms ± 1 %" in look.cell_words(held.cells[1])
    assert "10.0 ms (5.10–14.9 ms)" in look.cell_words(held.cells[2])
