"""Launches and busy time between two moments of a run."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.analysis.timeline import Timeline


def made() -> Timeline:
    return Timeline.of(
        np.array([1000, 2000, 4000], dtype=np.int64),
        np.array([10, 40, 5], dtype=np.int64),
        np.concatenate([np.full(10, 1e-9), np.full(40, 2e-9), np.full(5, 3e-9)]),
    )


def test_launches_are_spread_between_the_batches_starts() -> None:
    timeline = made()
    assert timeline.launches(1000, 4000) == 50
    assert timeline.launches(1000, 2000) == 10
    assert timeline.launches(1500, 3000) == pytest.approx(5 + 20)
    assert timeline.launches(0, 9000) == 50  # beyond the last start nothing is known
    assert (timeline.start_ns, timeline.end_ns) == (1000, 4000)


def test_busy_time_is_the_launches_own() -> None:
    timeline = made()
    assert timeline.busy_s(1000, 4000) == pytest.approx(90e-9)
    assert timeline.busy_s(2000, 3000) == pytest.approx(40e-9)


def test_a_sample_may_stand_for_several_launches() -> None:
    timeline = Timeline.of(
        np.array([0, 1000, 2000], dtype=np.int64),
        np.array([2, 2, 2], dtype=np.int64),
        np.full(6, 1e-9),
        np.array([10, 50, 1], dtype=np.int64),
    )
    assert timeline.launches(0, 2000) == 120
    assert timeline.busy_s(0, 2000) == pytest.approx(120e-9)
