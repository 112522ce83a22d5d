"""The timeline: runs one after the other, ghosts, bounded memory."""

from __future__ import annotations

import msgspec
import numpy as np

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.core.statistics import summarize
from gpuexplorer.gui.model.live import (
    FIGURES_GAP_S,
    MAX_PAST,
    PAUSE_S,
    Live,
    ghost_label,
    short_label,
)
from gpuexplorer.gui.model.trace import sample_times_s


def config(x: int = 16) -> RunConfig:
    return RunConfig(
        workload="matmul", variant="naive", size={"N": 64}, precision="fp32",
        device="opencl:0", block=(x, 16, 1),
    )  # fmt: skip


def add(live: Live, start_s: float, n: int = 20) -> None:
    durations = np.full(n, 1e-3)
    live.add(start_s + np.arange(n, dtype=np.float64) * np.float64(1e-3), durations, [])


def test_a_long_break_between_runs_is_cut_on_the_axis() -> None:
    live = Live()
    live.begin(1, config())
    add(live, 1000.0)
    first_end = live.end_s
    live.begin(2, config(32))
    add(live, 5000.0)
    run = live.current
    assert run is not None
    np.testing.assert_allclose(run.trace.start_s - first_end, PAUSE_S, atol=1e-9)
    assert live.past[-1].label == "16×16"


def test_a_short_break_is_shown_as_it_was() -> None:
    live = Live()
    live.begin(1, config())
    add(live, 10.0)
    live.begin(2, config(32))
    add(live, 10.1)
    run = live.current
    assert run is not None
    np.testing.assert_allclose(run.trace.start_s, 0.1, atol=1e-9)


def test_only_so_many_configurations_stay() -> None:
    live = Live()
    for ticket in range(1, 60):
        live.begin(ticket, config(1 + ticket % 8))
        add(live, float(ticket))
    assert len(live.past) == MAX_PAST


def test_nothing_can_be_pinned_before_there_are_samples() -> None:
    live = Live()
    live.begin(1, config())
    assert live.pin("words") is None


def test_launches_of_a_batch_follow_each_other_from_its_measured_start() -> None:
    seconds = np.array([0.1, 0.2, 0.3, 0.4])
    batch = SampleBatch(
        seconds=seconds.astype("<f8").tobytes(), counts=(2, 2),
        starts_ns=(1_000_000_000, 5_000_000_000),
    )  # fmt: skip
    np.testing.assert_allclose(sample_times_s(batch, 0), [1.0, 1.1, 5.0, 5.3])


def test_a_sample_that_is_a_mean_lasts_as_long_as_all_of_its_launches() -> None:
    batch = SampleBatch(
        seconds=np.array([0.1, 0.2, 0.3, 0.4]).astype("<f8").tobytes(), counts=(2, 2),
        starts_ns=(1_000_000_000, 5_000_000_000), launches=(10, 1),
    )  # fmt: skip
    np.testing.assert_allclose(sample_times_s(batch, 0), [1.0, 2.0, 5.0, 5.3])


def test_what_differs_is_named_where_a_configuration_begins() -> None:
    hot = config()
    cold = msgspec.structs.replace(hot, cache="cold", fill="zeros")
    assert short_label(cold, hot) == "16×16 · cold caches · zeros inputs"
    assert short_label(hot, cold) == "16×16 · hot caches · manifest inputs"
    assert ghost_label(cold).endswith("fp32 · cold caches")
    assert "caches" not in ghost_label(hot)


def test_figures_are_shown_at_a_pace_and_are_the_latest_once_a_run_is_over() -> None:
    live = Live()
    run = live.begin(1, config())
    shown = []
    for k in range(300):  # ten figures a second, for half a minute
        add(live, 1000.0 + 0.1 * k, n=100)
        latest = summarize(np.full(2 + k, 1e-3 + 1e-6 * k))
        if live.summarize(latest):
            assert run.summary is latest
            shown.append(live.end_s)
        assert run.latest is latest
    gaps = np.diff(shown)
    assert gaps[0] < 0.2, "a young run is shown at once"
    assert gaps[-10:].min() > 0.8 * FIGURES_GAP_S
    assert run.summary is not run.latest
    live.show_latest()
    assert run.summary is run.latest
