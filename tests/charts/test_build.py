"""Charts say what was measured: every sample counted, thinning stated, kinds kept apart."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.charts import build, words
from gpuexplorer.charts.facts import facts
from gpuexplorer.charts.spec import ChartSpec, Series
from gpuexplorer.core.result import Phases, RunResult, Traffic
from tests.support.results import made_config, made_result


def all_series(chart: ChartSpec) -> list[Series]:
    return [s for row in chart.rows for panel in row for s in panel.series]


def test_times_follow_the_batches_clock() -> None:
    result = made_result(40)
    times = build.sample_times(result)
    starts = np.array([b.start_s for b in result.batches])
    np.testing.assert_allclose(times[::8], starts - starts[0], atol=1e-9)
    np.testing.assert_allclose(times[1] - times[0], result.samples_s[0], rtol=1e-9)


def test_times_without_batches_are_the_running_sum() -> None:
    result = msgspec.structs.replace(made_result(40), batches=[])
    np.testing.assert_allclose(build.sample_times(result), np.cumsum([0.0, *result.samples_s])[:-1])


@given(st.lists(st.floats(1e-9, 10, allow_nan=False), min_size=1, max_size=300), st.integers(8, 64))
def test_thinning_keeps_order_bounds_and_extremes(values: list[float], most: int) -> None:
    y = np.array(values)
    begins, found, stretch = build.columns(np.arange(float(len(y))), y, most)
    assert len(begins) == found.shape[1] <= most
    assert begins.tolist() == list(range(0, len(y), stretch))
    for at, (least, low, median, high, greatest) in zip(begins, found.T, strict=True):
        part = y[int(at) : int(at) + stretch]
        assert (least, median, greatest) == (part.min(), np.median(part), part.max())
        assert {low, high} <= set(part)
    assert (stretch == 1) == (len(y) <= most)


def test_a_long_trace_is_bands_around_its_medians() -> None:
    result = made_result(20_000)
    drawn = build.run_chart(result).rows[0][0].series
    extremes, middle = (one for one in drawn if one.kind == "band")
    (line,) = (one for one in drawn if one.kind == "line")
    samples = np.array(result.samples_s).reshape(-1, 10)
    np.testing.assert_array_equal(line.y, np.median(samples, axis=1))
    np.testing.assert_array_equal(extremes.y, [*samples.min(axis=1), *samples.max(axis=1)])
    low, high = np.split(middle.y, 2)
    assert (
        (low >= extremes.y[: len(low)]).all() and (low <= line.y).all() and (line.y <= high).all()
    )


def test_launches_that_take_longer_for_a_while_do_not_interrupt_the_trace() -> None:
    samples_s = np.repeat([1e-3, 20e-3, 1e-3], [20_000, 1_000, 20_000]).tolist()
    result = msgspec.structs.replace(made_result(40), batches=[], samples_s=samples_s)
    drawn, stretch = build.trace_series(result, "", "measured", 0)
    assert stretch > 1
    assert not any(np.isnan(one.x).any() for one in drawn)


def test_a_pause_interrupts_the_trace() -> None:
    result = made_result(100)
    later = [
        msgspec.structs.replace(batch, start_s=batch.start_s + (9.0 if i else 0.0))
        for i, batch in enumerate(result.batches)
    ]
    (line,) = (
        one
        for one in build.run_chart(msgspec.structs.replace(result, batches=later)).rows[0][0].series
        if one.kind == "line"
    )
    assert len(result.batches) > 1
    assert np.flatnonzero(np.isnan(line.x)).tolist() == [result.batches[0].samples]


def test_one_spike_does_not_flatten_a_short_trace() -> None:
    values = list(made_result(60).samples_s)
    values[17] = 1.0
    chart = build.run_chart(msgspec.structs.replace(made_result(60), samples_s=values))
    high = chart.rows[0][0].y.high
    assert high is not None and high < 2 * max(v for v in values if v < 1.0)
    assert any("1 of 60 samples lies outside" in note for note in chart.notes)


def test_a_chart_says_of_how_many_launches_samples_are_the_means() -> None:
    single = made_result(40)

    def grouped(*launches: int) -> RunResult:
        batches = [
            msgspec.structs.replace(batch, launches=launches[i % len(launches)])
            for i, batch in enumerate(single.batches)
        ]
        return msgspec.structs.replace(single, batches=batches)

    assert not any("launches" in note for note in build.run_chart(single).notes)
    forty = build.run_chart(grouped(40)).notes
    assert "Each sample is the mean of 40 launches." in forty
    assert any(note.startswith("Median") and "90 % of samples are" in note for note in forty)
    both = build.run_chart(single, [grouped(40)]).notes
    assert "Samples are of one launch, or means of up to 40." in both
    assert len(single.batches) > 1
    two = build.run_chart(grouped(20, 40)).notes
    assert "Samples are means of 20 to 40 launches." in two


def test_thinning_is_said_on_the_chart() -> None:
    few, many = build.run_chart(made_result(100)), build.run_chart(made_result(20_000))
    assert not any("thinned" in note for note in few.notes)
    assert any("thinned: of every 10 samples" in note for note in many.notes)
    assert sum(len(s.x) for s in many.rows[0][0].series if s.kind == "line") <= build.MAX_POINTS + 2


def test_the_distribution_counts_every_launch_and_says_which_lie_outside() -> None:
    result = made_result(5000)
    values = list(result.samples_s)
    values[17] = 1.0
    result = msgspec.structs.replace(result, samples_s=values)
    chart = build.run_chart(result)
    (shares,) = [s for s in all_series(chart) if s.kind == "histogram"]
    outside = [note for note in chart.notes if "outside the range shown" in note]
    assert outside
    assert outside[0].startswith("1 of 5")
    assert shares.y.sum() == pytest.approx(100 * 4999 / 5000)


def test_traffic_kinds_have_their_roles_and_their_rates() -> None:
    result = made_result(100)
    panel, _ = build.traffic_panel(result)
    assert panel is not None
    drawn = {(panel.y.categories[round(x)], s.role): y
             for s in panel.series if s.kind == "stems"
             for x, y in zip(s.x, s.y, strict=True)}  # fmt: skip
    n, median = 512, result.timing.median_s
    assert drawn[("needed read", "compulsory")] == pytest.approx(8 * n * n / median)
    assert drawn[("requested read", "requested")] == pytest.approx(8 * n**3 / median)
    assert drawn[("host → device", "transfer")] == pytest.approx(8 * n * n / 3e-4)
    assert drawn[("device → host", "transfer")] == pytest.approx(4 * n * n / 1e-4)
    peaks = [s for s in panel.series if s.role == "ceiling"]
    assert [s.x.tolist() for s in peaks] == [[4e10]]


def test_an_unknown_peak_is_not_drawn_and_unmeasured_transfers_are_left_out() -> None:
    result = msgspec.structs.replace(made_result(100, peak=None), phases_s=Phases())
    panel, _ = build.traffic_panel(result)
    assert panel is not None
    assert not [s for s in panel.series if s.role in ("ceiling", "transfer")]


def test_pinned_runs_are_ghosts_named_by_what_differs() -> None:
    chart = build.run_chart(made_result(), [made_result(block=(1, 256, 1))])
    ghosts = [s.name for s in all_series(chart) if s.role == "pinned" and s.name]
    assert len(ghosts) == 1
    assert ghosts[0].startswith("pinned: block 1×256, median ")


def test_runs_far_apart_share_a_logarithmic_axis() -> None:
    near = build.run_chart(made_result(), [made_result(median_s=8e-3)])
    far = build.run_chart(made_result(), [made_result(median_s=0.2)])
    assert near.rows[0][0].y.scale == "linear"
    assert far.rows[0][0].y.scale == "log"


def test_every_chart_states_method_noise_and_verification() -> None:
    notes = " ".join(build.run_chart(made_result()).notes)
    for said in ("OpenCL profiling events", "95 % interval", "Verified against float64", "1 ns"):
        assert said in notes


def test_a_run_without_samples_cannot_be_drawn() -> None:
    with pytest.raises(ValueError, match="without samples"):
        build.run_chart(msgspec.structs.replace(made_result(), samples_s=[]))


def test_a_sweep_names_blocks_and_library_variants() -> None:
    runs = [made_result(), made_result(block=(256, 1, 1)),
            made_result(variant="torch", device="torch:cpu", block=None, grid=None)]  # fmt: skip
    chart = build.sweep_chart(runs)
    panel = chart.rows[0][0]
    assert panel.y.categories == (
        "naive · block 16×16 · opencl:0", "naive · block 256×1 · opencl:0", "torch · torch:cpu",
    )  # fmt: skip
    assert "block" not in chart.subtitle and "opencl:0" not in chart.subtitle
    np.testing.assert_allclose(
        panel.series[0].y, [r.throughput.flop_per_s for r in runs if r.throughput.flop_per_s]
    )


def sweep_words(*changes: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the names of the bars of some runs, and what their caption says."""
    chart = build.sweep_chart([made_result(samples=20, **one) for one in changes])
    return chart.rows[0][0].y.categories, chart.subtitle


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([{"block": (8, 8, 1)}, {"block": (64, 1, 1)}], ("8×8", "64×1")),
        ([{"size": {"N": 64}}, {"size": {"N": 128}}], ("N = 64", "N = 128")),
        ([{}, {"cache": "cold"}], ("hot cache", "cold cache")),
        (
            [{"size": {"N": n}, "cache": c} for n in (64, 128) for c in ("hot", "cold")],
            ("N = 64 · hot cache", "N = 64 · cold cache",
             "N = 128 · hot cache", "N = 128 · cold cache"),
        ),
        ([{"precision": "fp32"}, {"precision": "fp64"}], ("fp32", "fp64")),
        ([{"tunables": {"TILE": t}} for t in (8, 16)], ("TILE = 8", "TILE = 16")),
        ([{"device": "opencl:0"}, {"device": "cuda:0"}], ("opencl:0", "cuda:0")),
        ([{}, {"fill": "zeros"}], ("naive", "naive · zeros inputs")),
    ],
)  # fmt: skip
def test_bars_are_named_by_what_their_runs_do_not_share_and_the_caption_has_the_rest(
    changes: list[dict[str, Any]], names: tuple[str, ...]
) -> None:
    found, caption = sweep_words(*changes)
    assert found == names
    for name in names:
        for part in name.split(" · "):
            assert part == "naive" or part not in caption
    assert "matmul" in caption and "Example CPU" in caption


def test_bars_of_one_configuration_are_named_by_the_machine_or_by_when_it_was_measured() -> None:
    one = made_result(samples=20)
    other = msgspec.structs.replace(
        one, device=msgspec.structs.replace(one.device, name="Another CPU")
    )
    chart = build.sweep_chart([one, other])
    assert chart.rows[0][0].y.categories == ("Example CPU", "Another CPU")
    assert "Example" not in chart.subtitle
    later = msgspec.structs.replace(one, time_utc="2026-01-03T12:00:00+00:00")
    names = build.sweep_chart([one, later]).rows[0][0].y.categories
    for run, name in zip((one, later), names, strict=True):
        assert words.when_words(run.time_utc) in name
    assert len(set(names)) == 2


def test_differences_in_words() -> None:
    base = made_config()
    assert words.difference_words(made_config(precision="fp16"), base) == "fp16"
    assert words.difference_words(made_config(block=None), base) == "no block"
    assert words.difference_words(base, made_config(cache="cold")) == "hot cache"
    assert words.difference_words(base, base) == words.config_words(base)
    assert words.block_words((8, 8, 4)) == "8×8×4"


def test_the_hardwares_bytes_have_a_role_of_their_own_and_the_ratio_in_words() -> None:
    result = made_result()
    least = result.traffic[0].read_B
    assert least is not None
    counted = Traffic(kind="dram", read_B=9 * least, write_B=1e6, source="ncu")
    result = msgspec.structs.replace(result, traffic=[*result.traffic, counted])
    panel, notes = build.traffic_panel(result)
    assert panel is not None
    assert {s.role for s in panel.series} >= {"compulsory", "requested", "hardware"}
    assert any("counted by Nsight Compute" in n and "reads each byte 9 times" in n for n in notes)
    both = Traffic(kind="dram", read_B=None, write_B=None, combined_B=5e6, source="gpm")
    panel, notes = build.traffic_panel(msgspec.structs.replace(result, traffic=[both]))
    assert panel is not None
    assert panel.y.categories == ("DRAM, read and write",)


def test_of_two_counts_of_the_dram_bytes_the_exact_one_is_drawn() -> None:
    result = made_result()
    near = Traffic(kind="dram", read_B=None, write_B=None, combined_B=5e6, source="gpm")
    exact = Traffic(kind="dram", read_B=7e6, write_B=1e6, source="ncu")
    model = [t for t in result.traffic if t.kind != "dram"]
    alone, both = (
        msgspec.structs.replace(result, traffic=[*model, *counted])
        for counted in ([exact], [near, exact])
    )
    for over_time in (False, True):
        drawn, expected = (build.run_chart(one, over_time=over_time) for one in (both, alone))
        assert any(one.role == "hardware" for one in all_series(drawn))
        assert drawn == expected


def test_a_median_stands_with_half_its_interval_or_where_that_is_wide_with_its_ends() -> None:
    assert words.known_words(412e-6, 411e-6, 413.472e-6) == "412 µs ± 0.3 %"
    assert words.known_words(10e-3, 5.1e-3, 14.9e-3) == "10.0 ms (5.10–14.9 ms)"
    assert words.known_words(10e-3, None, None) == "10.0 ms"
    assert words.known_words(None, None, None) == "–"


def test_an_uncertain_median_is_told_with_what_was_measured_of_its_cause() -> None:
    calm = made_result()
    state = msgspec.structs.replace(calm.telemetry, other_cores=1.3, stolen=0.0)
    calm = msgspec.structs.replace(calm, telemetry=state)
    assert words.cause_words(calm) == "" and "other programs" not in words.noise_words(calm)
    wide = msgspec.structs.replace(
        calm.timing, ci95_low_s=0.2 * calm.timing.median_s, ci95_high_s=2 * calm.timing.median_s
    )
    disturbed = msgspec.structs.replace(calm, timing=wide)
    assert "other programs keep this CPU busy (1.3 of 8 cores)." in words.noise_words(disturbed)
    assert ("meanwhile", "", words.cause_words(disturbed)) in facts(disturbed)


def test_the_line_of_a_median_lies_at_the_median_that_is_named() -> None:
    result = made_result(40)
    samples_s = [1e-3] * 20 + [2e-3] * 20
    timing = msgspec.structs.replace(
        result.timing, median_s=1e-3, marked_throttled=20, ci95_low_s=1e-3, ci95_high_s=1e-3
    )
    held = msgspec.structs.replace(result, samples_s=samples_s, timing=timing)
    (trace, _), _ = build.timing_row(held)
    assert [one.y[0] for one in trace.series if one.kind == "hline"] == [1e-3]


@pytest.mark.parametrize("seen_B", [0.0, 1.0])
def test_a_launch_of_which_next_to_nothing_came_from_dram_has_a_chart(seen_B: float) -> None:
    result = made_result(50)
    dram = Traffic(kind="dram", read_B=seen_B, write_B=0.0, source="gpm")
    result = msgspec.structs.replace(result, traffic=[*result.traffic, dram])
    for over_time in (False, True):
        chart = build.run_chart(result, over_time=over_time)
        axes = [axis for row in chart.rows for panel in row for axis in (panel.x, panel.y)]
        assert all(axis.low is None or math.isfinite(axis.low) for axis in axes)
        for panel in (panel for row in chart.rows for panel in row if panel.y.scale == "log"):
            assert all((one.y > 0).all() for one in panel.series if one.kind == "step")
