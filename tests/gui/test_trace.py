"""Long series, drawn at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.gui.model.trace import COARSEST, Drawing, Trace, Trend


def fill(trace: Trace, durations: np.ndarray, pieces: int = 1) -> np.ndarray:
    times: np.ndarray = np.cumsum(durations) - durations
    for t, y in zip(np.array_split(times, pieces), np.array_split(durations, pieces), strict=True):
        trace.extend(t, y)
    return times


def test_few_samples_are_drawn_as_they_are() -> None:
    trace = Trace()
    durations = np.random.default_rng(1).uniform(1e-3, 2e-3, 500)
    times = fill(trace, durations, 7)
    drawing = trace.draw(-np.inf, np.inf, 400)
    assert drawing.stretch == 1
    np.testing.assert_array_equal(drawing.x, times)
    np.testing.assert_array_equal(drawing.y, durations)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60_000), st.integers(1, 40), st.integers(0, 2**31))
def test_thinning_keeps_the_extremes_whatever_the_pieces(n: int, pieces: int, seed: int) -> None:
    trace = Trace()
    durations = np.random.default_rng(seed).lognormal(-7, 0.4, n)
    fill(trace, durations, pieces)
    drawing = trace.draw(-np.inf, np.inf, 300)
    assert drawing.y.min() == durations.min()
    assert drawing.y.max() == durations.max()
    assert len(drawing.x) <= 4 * 300 + 4
    assert (np.diff(drawing.x) >= 0).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(2_000, 60_000), st.integers(1, 40), st.integers(0, 2**31))
def test_each_column_has_the_figures_of_its_samples(n: int, pieces: int, seed: int) -> None:
    trace = Trace()
    durations = np.random.default_rng(seed).lognormal(-7, 0.4, n)
    times = fill(trace, durations, pieces)
    drawing = trace.draw(-np.inf, np.inf, 300)
    assert drawing.stretch > 1
    begins = np.searchsorted(times, drawing.x[::2])
    for samples, low, high, inner in zip(
        np.split(durations, begins[1:]), drawing.y[::2], drawing.y[1::2], drawing.inner.T,
        strict=True,
    ):  # fmt: skip
        assert (low, high) == (samples.min(), samples.max())
        assert inner[1] == np.median(samples)
        ranks = np.searchsorted(np.sort(samples), inner[[0, 2]])
        assert np.abs(ranks - np.array([0.05, 0.95]) * (len(samples) - 1)).max() <= 1


@pytest.mark.parametrize("columns", [400, 40])
def test_a_pause_is_where_nothing_was_measured_for_long(columns: int) -> None:
    trace = Trace()
    durations = np.full(1000, 1e-3)
    times = np.cumsum(durations) - durations
    trace.extend(np.concatenate([times[:600], times[600:] + 5.0]), durations)
    drawing = trace.draw(-np.inf, np.inf, columns if columns == 40 else 800)
    assert (drawing.stretch > 1) == (columns == 40)
    (before,) = drawing.pauses()
    begins = drawing.x if drawing.stretch == 1 else drawing.x[::2]
    assert begins[before] < 0.6 and begins[before + 1] > 5.5
    assert drawing.at(3.0) is None and drawing.at(-1.0) is None
    there = drawing.at(0.3)
    assert there is not None and there[1:4] == (1e-3, 1e-3, 1e-3) and 0.2 < there[0] <= 0.3
    if drawing.stretch > 1:
        assert drawing.ends()[before] < 0.7, "a column does not reach over the pause"
        np.testing.assert_allclose(drawing.ends()[:before], begins[1 : before + 1])


def test_launches_that_are_far_apart_alike_have_no_pauses() -> None:
    trace = Trace()
    trace.extend(np.arange(20.0), np.full(20, 1e-3))
    assert not len(trace.draw(-np.inf, np.inf, 400).pauses())


def test_the_launches_of_a_stretch_are_the_latest_of_those_begun_there() -> None:
    trace = Trace()
    trace.extend(np.arange(10.0), np.arange(10.0) + 1)
    assert trace.within(2.0, 6.0, 100).tolist() == [3, 4, 5, 6]
    assert trace.within(2.0, 6.0, 2).tolist() == [5, 6]
    assert trace.within(20.0, 30.0, 2).tolist() == []


def test_a_million_samples_are_a_few_thousand_points() -> None:
    trace = Trace()
    rng = np.random.default_rng(2)
    for _ in range(64):
        durations = rng.uniform(1e-6, 2e-6, 16_384)
        trace.extend(trace.end_s + np.cumsum(durations), durations)
    drawing = trace.draw(-np.inf, np.inf, 700)
    assert len(trace) == 1_048_576
    assert 700 <= len(drawing.x) <= 4 * 700 + 4
    assert drawing.stretch > 1


def test_a_full_trace_lets_the_oldest_go_but_still_draws_them() -> None:
    trace = Trace(4 * COARSEST)
    durations = np.full(10 * COARSEST, 1e-3)
    durations[100] = 7e-3
    fill(trace, durations, 50)
    assert trace.total == 10 * COARSEST
    assert len(trace) <= 4 * COARSEST
    drawing = trace.draw(-np.inf, np.inf, 500)
    assert drawing.x[0] == 0.0
    assert drawing.y.max() == 7e-3
    assert trace.start_s == 0.0


def test_a_stretch_in_the_middle_can_be_drawn_alone() -> None:
    trace = Trace()
    fill(trace, np.full(1000, 1e-3))
    drawing = trace.draw(0.4, 0.5, 500)
    assert 0.39 <= drawing.x.min() < 0.41
    assert 0.49 <= drawing.x.max() < 0.51


def test_a_trend_is_bounded_and_spans_everything() -> None:
    trend = Trend(1, most=64)
    for step in range(1000):
        trend.add(float(step), float(step) ** 2)
    rows = trend.rows()
    assert len(rows) <= 64
    assert rows[0, 0] <= 32
    assert rows[-1, 0] >= 950
    np.testing.assert_array_equal(rows[:, 1], rows[:, 0] ** 2)


def folded(launch_s: float, seconds: float, pause: tuple[float, float] | None = None) -> Trace:
    """Return a long run in a small trace: launches without a gap, but for a pause (at, long)."""
    trace = Trace(16 * COARSEST)
    times = np.arange(0.0, seconds, launch_s)
    if pause is not None:
        times = np.where(times >= pause[0], times + pause[1], times)
    for part in np.array_split(times, 200):
        trace.extend(part, np.full(len(part), launch_s))
    assert trace.total > 2 * len(trace), "most of it is folded"
    return trace


def covered_s(drawing: Drawing) -> float:
    return float((drawing.ends() - drawing.x[::2]).sum())


@pytest.mark.parametrize("columns", [40, 400, 4000, 40_000])
def test_a_long_run_without_a_gap_is_drawn_without_one_once_most_of_it_is_folded(
    columns: int,
) -> None:
    trace = folded(1e-4, 150.0)
    drawing = trace.draw(0.0, 1.15 * trace.end_s, columns)
    assert not len(drawing.pauses())
    assert covered_s(drawing) == pytest.approx(150.0, rel=0.02)
    for time_s in (1.0, 37.0, 75.0, 140.0, 149.9):
        there = drawing.at(time_s)
        assert there is not None and there[1:4] == (1e-4, 1e-4, 1e-4)


@pytest.mark.parametrize("columns", [40, 400, 4000])
@pytest.mark.parametrize("began_s", [30.0, 145.0])
def test_a_pause_of_a_long_run_is_seen_before_and_after_it_was_folded(
    columns: int, began_s: float
) -> None:
    trace = folded(1e-4, 150.0, (began_s, 60.0))
    drawing = trace.draw(0.0, 1.15 * trace.end_s, columns)
    assert len(drawing.pauses()) == 1
    assert covered_s(drawing) == pytest.approx(150.0, rel=0.05)
    assert drawing.at(began_s + 30.0) is None
    assert drawing.at(began_s - 10.0) is not None and drawing.at(began_s + 65.0) is not None


def test_launches_that_take_longer_for_a_while_are_no_pause() -> None:
    trace = Trace()
    durations = np.repeat([1e-4, 2e-3, 1e-4], [300_000, 30_000, 300_000])
    times = fill(trace, durations, 50)
    drawing = trace.draw(-np.inf, np.inf, 400)
    assert drawing.stretch > 1 and not len(drawing.pauses())
    assert covered_s(drawing) == pytest.approx(times[-1], rel=0.02)


def test_the_part_that_is_folded_can_be_looked_at_alone() -> None:
    trace = folded(1e-4, 150.0)
    drawing = trace.draw(20.0, 40.0, 400)
    assert drawing.at(39.99) is not None and not len(drawing.pauses()[:-1])
    begins = drawing.x[::2]
    assert begins[0] <= 20.0 and (begins >= 40.0).any(), "it reaches over both ends"


def test_each_column_says_how_many_launches_stand_behind_it() -> None:
    trace = Trace(16 * COARSEST)
    times = np.arange(0.0, 150.0, 1e-4)
    for part in np.array_split(times, 200):
        trace.extend(part, np.full(len(part), 1e-4))
    for columns in (40, 400, 40_000):
        drawing = trace.draw(-np.inf, np.inf, columns)
        begun = np.append(np.searchsorted(times, drawing.x[::2]), trace.total)
        np.testing.assert_array_equal(drawing.launches, np.diff(begun))
        assert drawing.stretch == drawing.launches.max() > drawing.launches.min()
        for time_s in (1.0, 75.0, 149.0):
            there = drawing.at(time_s)
            assert there is not None
            after = begun[np.searchsorted(begun, np.searchsorted(times, time_s), side="right")]
            assert there.launches == after - np.searchsorted(times, there.begin_s)


def test_summaries_that_are_joined_count_all_their_launches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gpuexplorer.gui.model.trace.MAX_OLDER", 16)
    trace = folded(1e-4, 150.0)
    drawing = trace.draw(-np.inf, np.inf, 400)
    assert drawing.stretch >= 8 * COARSEST
    assert drawing.launches.sum() == trace.total
    assert not len(drawing.pauses())
    first = drawing.at(0.0)
    assert first is not None and first.launches == drawing.stretch
