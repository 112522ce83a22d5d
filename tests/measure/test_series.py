"""A series keeps samples in order, with bounded memory."""

from __future__ import annotations

import numpy as np

from gpuexplorer.measure import series
from gpuexplorer.measure.series import Series


def test_samples_stay_in_order() -> None:
    one = Series()
    for start in range(0, 50_000, 7):
        one.extend(np.arange(start, start + 7, dtype=float))
    assert np.array_equal(one.view(), np.arange(len(one.view()), dtype=float))
    assert one.recent_median_s(3) == one.view()[-2]


def test_the_oldest_go_when_there_are_too_many(monkeypatch: object) -> None:
    one = Series()
    step = series.MAX_KEPT // 8
    for start in range(0, 4 * series.MAX_KEPT, step):
        one.extend(np.arange(start, start + step, dtype=float))
        assert len(one.view()) <= series.MAX_KEPT
    view = one.view()
    assert view[-1] == 4 * series.MAX_KEPT - 1
    assert np.all(np.diff(view) == 1)
