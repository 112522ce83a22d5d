"""The roofline: roofs meet in their ridges, hold the runs they should, and say what they are."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuexplorer.charts.render import render
from gpuexplorer.charts.roofline import (
    MOST_NAMED,
    Picture,
    Roof,
    Spot,
    picture,
    roofline_chart,
)
from tests.support.ceilings import made_ceilings

RUN = Spot("naive · N = 512", 85.3, 35e9, "current")


def shown(*spots: Spot, precision: str = "fp32", **changes: object) -> Picture:
    return picture(made_ceilings(), precision, spots or (RUN,), device="CPU", **changes)  # type: ignore[arg-type]


def names(made: Picture, kind: str) -> list[str]:
    return [r.name for r in made.roofs if r.kind == kind and r.name and not r.stated]


def test_every_measured_roof_of_the_precision_is_drawn_with_its_figure() -> None:
    made = shown()
    assert names(made, "memory") == [
        "main memory 20.0 GB/s (copy)",
        "cache 40.0 GB/s (17 MB)",
        "cache 100 GB/s (1.0 MB)",
    ]
    assert names(made, "compute") == [
        "fp32 multiply-add 200 GFLOP/s",
        "fp32 matrix product 180 GFLOP/s",
    ]
    assert made.calibrated
    assert len({roof.colour for roof in made.roofs}) == len(made.roofs), "each can be told"


def test_another_precision_has_other_roofs() -> None:
    assert names(shown(precision="fp64"), "compute") == ["fp64 multiply-add 100 GFLOP/s"]
    halves = names(shown(precision="fp16"), "compute")
    assert halves == ["fp32 multiply-add 200 GFLOP/s", "fp16 multiply-add 50.0 GFLOP/s"]


def test_ridges_lie_where_the_roofs_meet() -> None:
    main, cache = shown().ridges
    assert main.intensity == pytest.approx(10.0)
    assert cache.intensity == pytest.approx(2.0)
    assert main.flop_per_s == cache.flop_per_s == 200e9
    assert (main.of_cache, cache.of_cache) == (False, True)
    assert main.words == "ridge 10 FLOP/B"


def test_memory_roofs_end_at_the_highest_arithmetic_and_have_their_slope() -> None:
    for roof in shown().roofs:
        if roof.kind == "memory":
            assert roof.y[1] == pytest.approx(200e9)
            assert roof.y[1] / roof.x[1] == pytest.approx(roof.level)
            assert roof.y[0] / roof.x[0] == pytest.approx(roof.level)
        else:
            assert roof.y == (roof.level, roof.level)


def test_what_the_roofs_allow_is_the_lower_of_both() -> None:
    made = shown()
    assert made.bound(Spot("a", 100.0, 1e9, "current")) == 200e9
    assert made.bound(Spot("b", 0.5, 1e9, "current")) == pytest.approx(50e9)


def test_without_a_calibration_there_are_only_the_runs() -> None:
    made = picture(None, "fp32", [RUN], device="CPU")
    assert not made.calibrated and not made.roofs and not made.ridges
    assert made.bound(RUN) is None
    assert "not been calibrated" in made.notes[0]
    nothing = picture(None, "fp32", [], device="CPU")
    assert nothing.x[0] < nothing.x[1] and nothing.y[0] < nothing.y[1]


def test_a_stated_peak_is_drawn_as_such_and_names_its_source() -> None:
    made = shown(peak_B_per_s=25e9, peak_source="memory clock × bus width")
    (peak,) = [r for r in made.roofs if r.kind == "memory" and r.stated]
    assert peak.name == "peak 25.0 GB/s (memory clock × bus width)"
    alone = picture(None, "fp32", [RUN], device="CPU", peak_B_per_s=25e9)
    assert not alone.calibrated and len(alone.roofs) == 1


def test_arithmetic_roofs_move_with_the_clock() -> None:
    def other(made: Picture) -> list[Roof]:
        return [r for r in made.roofs if r.kind == "compute" and r.stated]

    (nominal,) = other(shown(clock_held_Hz=2.5e9))
    assert nominal.level == pytest.approx(200e9 * 3.0 / 2.5)
    assert "highest clock, 3.00 GHz" in nominal.name
    _, held = other(shown(clock_held_Hz=1.25e9))
    assert held.level == pytest.approx(100e9)
    assert "clock held, 1.25 GHz" in held.name


@given(st.floats(1e-4, 1e5), st.floats(1e3, 1e16))
def test_the_ranges_hold_every_run_and_are_whole_decades(intensity: float, rate: float) -> None:
    made = shown(Spot("x", intensity, rate, "current"))
    assert made.x[0] < intensity < made.x[1]
    assert made.y[0] < rate < made.y[1]
    for end in (*made.x, *made.y):
        assert math.log10(end) == pytest.approx(round(math.log10(end)))


def test_the_file_tells_what_the_window_shows(tmp_path: Path) -> None:
    spots = (
        Spot("before", 85.3, 5e9, "past", label="tiled"),
        Spot("ghost", 85.3, 60e9, "pinned", 2),
        replace(RUN, suspect="it is too fast"),
    )
    made = shown(*spots, peak_B_per_s=25e9)
    chart = roofline_chart(made, title="Matrix multiply: roofline", subtitle="naive")
    (panel,) = chart.rows[0]
    drawn = [s.name for s in panel.series]
    assert "main memory 20.0 GB/s (copy)" in drawn
    assert "pinned: ghost" in drawn and "before" in drawn
    assert "naive · N = 512, SUSPECT" in drawn
    assert "SUSPECT: it is too fast." in chart.notes
    words = [words for one in panel.series for words in one.labels]
    assert words == ["tiled", "ridge 10 FLOP/B", "ridge 2.0 FLOP/B"]
    many = roofline_chart(shown(*[spots[0]] * (MOST_NAMED + 1)), title="")
    assert "tiled" not in [words for one in many.rows[0][0].series for words in one.labels]
    assert (panel.x.scale, panel.y.scale) == ("log", "log")
    for suffix, head in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        path = tmp_path / f"roofline.{suffix}"
        render(chart, path)
        assert path.read_bytes().startswith(head)


def test_a_quick_calibration_says_so() -> None:
    quick = msgspec.structs.replace(made_ceilings(), quick=True)
    assert "quickly" in picture(quick, "fp32", [RUN], device="CPU").notes[0]
