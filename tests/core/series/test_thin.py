"""Long series in few figures."""

from __future__ import annotations

import numpy as np
import pytest

from gpuexplorer.core.series.thin import SORTED, figures


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 16, 64, SORTED, SORTED + 1, 4096])
def test_figures_are_samples_of_each_row_whichever_way_they_are_found(count: int) -> None:
    samples = np.random.default_rng(count).exponential(size=(7, count))
    last = count - 1
    for row, found in zip(samples, figures(samples).T, strict=True):
        ordered = sorted(row)
        assert found.tolist() == [
            ordered[0],
            ordered[round(0.05 * last)],
            (ordered[last // 2] + ordered[last - last // 2]) / 2,
            ordered[round(0.95 * last)],
            ordered[-1],
        ]
