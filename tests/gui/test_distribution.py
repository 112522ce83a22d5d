"""The distribution beside the trace."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from gpuexplorer.gui.model.trace import Floats
from gpuexplorer.gui.plots.distribution import shares

numbers = st.floats(-10, 10, allow_nan=False).map(lambda v: round(v, 3) + 0.0005)


@given(arrays.arrays(np.float64, st.integers(1, 60), elements=numbers))
def test_the_shares_are_those_of_a_histogram_with_equal_bins(values: Floats) -> None:
    counts, _ = np.histogram(values, np.linspace(-4, 6, 11))
    np.testing.assert_allclose(shares(values, -4, 6, 10), counts * 100 / len(values))


def test_nothing_is_counted_over_a_range_of_no_width_or_without_values() -> None:
    assert shares(np.ones(5), 1.0, 1.0, 4).tolist() == [0, 0, 0, 0]
    assert shares(np.empty(0), 0.0, 1.0, 4).tolist() == [0, 0, 0, 0]


def test_what_lies_outside_counts_among_all_and_in_no_bin() -> None:
    assert shares(np.array([0.5, 1.5, 7.0, np.nan]), 0.0, 2.0, 2).tolist() == [25, 25]
