"""Launches and busy time between two moments of a run."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gpuexplorer.analysis.timeline import Timeline


def made() -> Timeline:
    return Timeline(
        np.array([1000, 2000, 4000], dtype=np.int64),
        np.array([10, 40, 5], dtype=np.int64),
        np.array([10e-9, 80e-9, 15e-9]),
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


def test_a_question_takes_no_longer_for_a_run_of_hours() -> None:
    steps = 400_000
    timeline = Timeline(
        1000 * np.arange(steps), np.full(steps, 10, dtype=np.int64), np.full(steps, 50e-9)
    )
    began_s = time.process_time()
    for step in range(5000):
        assert timeline.launches(1000 * step, 1000 * step + 2000) == 20
        assert timeline.busy_s(1000 * step, 1000 * step + 2000) == pytest.approx(100e-9)
    assert time.process_time() - began_s < 3.0
