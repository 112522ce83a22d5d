"""The charts of the studies: what stands where, and words that do not lie on each other."""

from __future__ import annotations

import math
import re
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.charts.labels import place_labels, point_labels, share, value_at
from gpuexplorer.charts.render import render
from gpuexplorer.charts.spec import Axis, Panel, series
from gpuexplorer.charts.studies_switches import bars_of, waterfall_chart
from gpuexplorer.core.comparison import Comparison
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.studies import (
    Measured,
    Speedup,
    Study,
    Switched,
    SwitchesStudy,
)
from gpuexplorer.core.verdict import verdict_of
from gpuexplorer.studies import chart_of, sheet_of
from gpuexplorer.studies.precision import PrecisionPoint, PrecisionStudy
from gpuexplorer.studies.sides import Side
from gpuexplorer.studies.speedup import BreakEven, SizePoint, SpeedupStudy
from tests.support.results import made_config

HEAD: dict[str, Any] = {
    "id": "1", "time_utc": "2026-01-01T12:00:00.000+00:00", "title": "A study",
    "device": "A device · 1", "rounds": 8, "notes": ("Measured in turns.",),
}  # fmt: skip
CONFIG: RunConfig = made_config()


def measured(time_s: float, error: float | None = 1e-7, **changes: Any) -> Measured:
    said: dict[str, Any] = {
        "run": "1", "time_s": time_s, "ci95_low_s": 0.99 * time_s, "ci95_high_s": 1.01 * time_s,
        "flop_per_s": 1e9 / time_s, "rms_rel_error": error, "max_rel_error": error,
        "tolerance": 1e-3,
    }  # fmt: skip
    return Measured(**{**said, **changes})


def ratio(value: float) -> Comparison:
    low, high = 0.99 * value, 1.01 * value
    return Comparison(value, low, high, 12, verdict_of(value, low, high))


def precision(*points: PrecisionPoint, **changes: Any) -> PrecisionStudy:
    said: dict[str, Any] = {**HEAD, "config": CONFIG, "reference": "fp32"}
    return PrecisionStudy(**{**said, **changes}, points=list(points))


def point(name: str, time_s: float, error: float, **changes: Any) -> PrecisionPoint:
    figures = {k: changes.pop(k) for k in ("wrong", "suspect") if k in changes}
    return PrecisionPoint(
        precision=name, title=name, measured=measured(time_s, error, **figures), **changes
    )


LAB = precision(
    point("fp64", 4e-3, 0.0, front=True, against=ratio(2.0)),
    point("fp32", 2e-3, 1e-7, front=True),
    point("tf32", 2e-3, 1e-7, fallback="tf32 was asked for and fp32 ran.", ran="fp32",
          against=ratio(1.0)),
    point("bf16", 1e-3, 4e-3, wrong=True, front=True, against=ratio(0.5), accumulates_in="fp32"),
    PrecisionPoint(precision="int8", title="int8", skipped="no such thing"),
)  # fmt: skip


def switched(switch: str, effect: float, **changes: Any) -> Switched:
    return Switched(
        switch=switch, title=switch, measured=measured(1e-3 * effect, **changes),
        effect=ratio(effect),
    )  # fmt: skip


BOUGHT = SwitchesStudy(
    **HEAD, config=CONFIG, baseline=measured(1e-3, memory_B=1e7, memory_counter="a counter"),
    beside=measured(1e-3),
    alone=[switched("compile", 0.5), switched("channels_last", 0.8), switched("grad", 1.5),
           switched("nothing", 1.0, memory_B=4e6)],
    not_offered={"CUDA graph": "there is no GPU"},
    combination={"compile": True, "channels_last": True},
    shares=[switched("compile", 0.5), switched("channels_last", 0.8)],
    together=measured(0.5e-3), total=ratio(0.5), combining=ratio(1.25),
)  # fmt: skip

TWO = SpeedupStudy(
    **HEAD, workload="matmul", symbol="N", symbol_title="Matrix size",
    first=Side(device="opencl:0", name="A CPU", kind="cpu", driver="1", variant="naive",
               precision="fp32"),
    second=Side(device="cuda:0", name="A GPU", kind="gpu", driver="1", variant="naive",
                precision="fp32"),
    points=[
        SizePoint(value=n, size={"N": n}, first=measured(n * 1e-6), second=measured(32e-6),
                  second_with=measured(128e-6),
                  speedup=Speedup(factor=n / 32, ci95_low=n / 33, ci95_high=n / 31, pairs=8),
                  speedup_with=Speedup(factor=n / 128, ci95_low=n / 130, ci95_high=n / 126,
                                       pairs=8))
        for n in (16, 64, 256)
    ] + [SizePoint(value=1024, size={"N": 1024}, skipped={"first": "too long"})],
    break_even=BreakEven(size=32.0, low=31.0, high=33.0, words="faster from 32 on."),
    break_even_with=BreakEven(size=128.0, words="faster from 128 on."),
)  # fmt: skip


def labels(panel: Panel) -> list[str]:
    """Return the words beside a panel's points."""
    return [words for one in panel.series if one.kind == "points" for words in one.labels]


def test_speed_stands_against_error_with_the_front_as_a_line() -> None:
    panel = chart_of(LAB).rows[0][0]
    assert panel.x.scale == panel.y.scale == "log"
    front = next(s for s in panel.series if s.name.startswith("Pareto"))
    assert front.x.tolist() == [1e-8, 1e-7, 4e-3]  # no error stands a decade below the least
    assert front.y.tolist() == pytest.approx([1e9 / t for t in (4e-3, 2e-3, 1e-3)])
    styles = {(s.role, s.colour) for s in panel.series if s.kind == "points"}
    assert len(styles) == 3  # as it should be, a fallback, above the tolerance
    points = {float(s.x[0]): float(s.y[0]) for s in panel.series if s.kind == "points"}
    assert points[4e-3] == pytest.approx(1e12)


def test_beside_each_point_stands_its_precision_and_speed_and_what_ran() -> None:
    words = labels(chart_of(LAB).rows[0][0])
    assert words == [
        "tf32  can't tell (0.990–1.010)  ran as fp32", "fp64  2.00× slower (1.98–2.02)  exact",
        "fp32", "bf16  2.00× faster (1.98–2.02)",
    ]  # fmt: skip
    notes = " ".join(chart_of(LAB).notes)
    assert "fp32 ran." in notes and "Not measured: int8." in notes
    assert "Added up in fp32: bf16." in notes


def test_without_operations_it_counts_launches() -> None:
    bare = [
        msgspec.structs.replace(p, measured=msgspec.structs.replace(p.measured, flop_per_s=None))
        for p in LAB.points
        if p.measured is not None
    ]
    panel = chart_of(msgspec.structs.replace(LAB, points=bare)).rows[0][0]
    assert panel.y.unit == "/s"
    ends = [s for s in panel.series if s.kind == "points" and s.x[0] == 4e-3]
    assert ends[0].y[0] == pytest.approx(1000)


def test_every_ratio_of_a_study_has_its_interval() -> None:
    marks = [
        words
        for panel in (row[0] for row in waterfall_chart(BOUGHT).rows)
        for words in (*labels(panel), *(note.text for note in panel.annotations))
    ]
    cells = [
        cell.text
        for study in (LAB, BOUGHT)
        for row in sheet_of(study).rows
        for cell in row.cells.values()
    ]
    told = [w for w in (*marks, *cells, *labels(chart_of(LAB).rows[0][0])) if "×" in w]
    assert len(told) > 10 and all(re.search(r"\(\d[\d.]*–\d", words) for words in told), told


def test_the_bars_lead_from_the_baseline_to_the_combination() -> None:
    bars = bars_of(BOUGHT)
    assert [b.label for b in bars] == [
        "baseline", "compile", "channels_last", "combining them", "combination",
    ]  # fmt: skip
    for before, after in pairwise(bars[1:-1]):
        assert after.start_s == before.end_s
    assert bars[1].start_s == bars[0].end_s == 1e-3
    assert bars[2].end_s == pytest.approx(0.4e-3)  # what both would come to
    assert bars[3].start_s == pytest.approx(0.4e-3) and bars[3].end_s == pytest.approx(0.5e-3)
    assert [b.total for b in bars] == [True, False, False, False, True]
    assert "loses" in bars[3].words and bars[1].words == "2.00× faster (1.98–2.02)"
    assert bars[1].colour != bars[3].colour != bars[0].colour


def test_switches_by_themselves_say_what_they_do_and_what_does_nothing() -> None:
    chart = waterfall_chart(BOUGHT)
    assert [row[0].title for row in chart.rows] == [
        "From the baseline to the combination", "Each by itself", "Memory against time",
    ]  # fmt: skip
    words = labels(chart.rows[1][0])
    assert words == [
        "2.00× faster (1.98–2.02)",
        "1.25× faster (1.24–1.26)",
        "1.50× slower (1.48–1.52)",
        "can't tell (0.990–1.010)",
    ]
    assert "Not offered here: CUDA graph." in chart.notes
    memory = labels(chart.rows[2][0])
    assert memory == ["baseline", "nothing"]


def test_a_study_without_a_combination_shows_each_by_itself() -> None:
    alone = msgspec.structs.replace(
        BOUGHT, combination={}, shares=[], together=None, total=None, combining=None
    )
    assert waterfall_chart(alone).rows[0][0].title == "Each by itself"


def test_both_times_and_the_break_even_stand_against_the_size() -> None:
    times, speeds = (row[0] for row in chart_of(TWO).rows)
    lines = {s.name: s for s in times.series if s.kind == "line" and s.name}
    assert list(lines) == [
        "opencl:0 (naive), data at hand", "cuda:0 (naive), without transfers",
        "cuda:0 (naive), with transfers",
    ]  # fmt: skip
    without, with_copies = list(lines.values())[1:]
    assert without.role != with_copies.role and without.colour == with_copies.colour
    assert without.x.tolist() == [16, 64, 256]
    marks = [s for s in times.series if s.kind == "vline"]
    assert [float(s.x[0]) for s in marks] == [32.0, 128.0] and marks[0].role != marks[1].role
    assert [s.name for s in marks][1] == "break-even with transfers, N ≈ 128"
    assert any(s.kind == "hline" and s.y[0] == 1 for s in speeds.series)
    notes = chart_of(TWO).notes
    assert notes[0] == "faster from 32 on." and "Not measured at N = 1024: too long." in notes


@pytest.mark.parametrize("study", [LAB, BOUGHT, TWO], ids=lambda s: type(s).__name__)
def test_every_chart_is_drawn(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "chart.svg"
    render(chart_of(study), path)
    assert path.stat().st_size > 10_000


def test_nothing_measured_is_an_empty_chart(tmp_path: Path) -> None:
    nothing: list[Study] = [
        precision(PrecisionPoint(precision="fp32", title="fp32", skipped="no"), reference=None),
        SwitchesStudy(**HEAD, config=CONFIG),
        msgspec.structs.replace(TWO, points=[], break_even=None, break_even_with=None),
    ]
    for study in nothing:
        assert chart_of(study).rows
    render(chart_of(nothing[1]), tmp_path / "empty.png")


@given(st.lists(st.tuples(st.floats(0.05, 0.75), st.floats(0.1, 0.9)), min_size=1, max_size=9))
def test_words_lie_beside_their_points_and_not_on_each_other(
    points: list[tuple[float, float]],
) -> None:
    words = [f"precision {i}" for i in range(len(points))]
    boxes = place_labels(points, words, height_in=4.0)
    for one, other in combinations(boxes, 2):
        assert one.overlap(other) == 0.0
    for (x, y), box in zip(points, boxes, strict=True):
        assert abs(box.x + box.width / 2 - x) < 0.25 and abs(box.y - y) < 0.45


def test_a_share_and_its_value_belong_together() -> None:
    for axis in (
        Axis(label="", low=2.0, high=4.0),
        Axis(label="", scale="log", low=1e-3, high=1.0),
    ):
        for fraction in (0.0, 0.3, 1.0):
            assert math.isclose(share(value_at(fraction, axis), axis), fraction, abs_tol=1e-12)
    with pytest.raises(ValueError):
        share(1.0, Axis(label=""))


ODD = st.sampled_from([0.0, -1.0, 1e-300, 1e300, math.nan, 0.5, 2.0])


@given(st.lists(st.tuples(ODD, ODD, ODD), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_points_that_have_no_place_have_no_words_and_hinder_no_others(
    points: list[tuple[float, float, float]], log: bool, sideways: bool
) -> None:
    axis = Axis(label="", scale="log" if log else "linear")
    xs, ys, ends = zip(*points, strict=True)
    odd = series("", "points", "measured", x=xs, y=ys, low=ends, high=ends, sideways=sideways,
                 labels=("odd",) * len(points))  # fmt: skip
    line = series("", "line", "measured", x=xs, y=ys)
    good = series("", "points", "measured", x=[1.0], y=[1.0], labels=("good",))
    panel = Panel(x=axis, y=axis, series=(odd, line, good))
    placed = point_labels(panel, (0.1, 10.0), (0.1, 10.0), height_in=3.0)
    assert placed[-1].words == "good"
    assert all(math.isfinite(label.x) and math.isfinite(label.y) for label in placed)
