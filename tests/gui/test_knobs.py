"""Steps of a slider."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.gui.model.knobs import is_power_of_two, next_step, power_near, snapped

VALUES = st.integers(min_value=1, max_value=1 << 24)


@given(VALUES)
def test_the_nearest_power_is_less_than_a_factor_of_two_away(value: int) -> None:
    near = power_near(value)
    assert is_power_of_two(near)
    assert max(value / near, near / value) <= 2**0.5 * 1.001


@given(st.floats(min_value=1, max_value=1e7), VALUES)
def test_a_step_is_a_power_of_two_or_an_end(value: float, high: int) -> None:
    step = snapped(value, 1, high)
    assert 1 <= step <= high
    assert is_power_of_two(step) or step == high


@given(VALUES, st.sampled_from([-1, 1]), VALUES)
def test_stepping_moves_until_the_end(value: int, direction: int, high: int) -> None:
    value = min(value, high)
    step = next_step(value, direction, 1, high)
    if direction > 0:
        assert step > value or value == high
    else:
        assert step < value or value == 1
    assert 1 <= step <= high


def test_with_shift_every_integer_is_a_step() -> None:
    assert snapped(37.4, 1, 1024, every_integer=True) == 37
    assert snapped(5000, 1, 1024, every_integer=True) == 1024
