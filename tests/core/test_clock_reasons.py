"""What holds a clock: a limit of the device's own is a state, heat and faults are slowdowns."""

from __future__ import annotations

import pytest

from gpuexplorer.core.telemetry import (
    CHOSEN,
    FAULTS,
    LIMITS,
    at_own_limit,
    clock_words,
    frequent,
    is_fault,
    limit_words,
    slowdowns,
)
from gpuexplorer.telemetry.nvml import THROTTLE_REASONS


def test_every_reason_that_nvml_knows_is_of_one_kind() -> None:
    kinds = (CHOSEN, FAULTS, frozenset(LIMITS))
    for reason in THROTTLE_REASONS.values():
        assert sum(reason in kind for kind in kinds) == 1, reason
    assert frozenset().union(*kinds) == set(THROTTLE_REASONS.values())


@pytest.mark.parametrize(
    ("reasons", "limit", "slow", "fault"),
    [
        ((), False, (), False),
        (("power cap",), True, (), False),
        (("power cap", "application clocks"), True, (), False),
        (("application clocks",), False, (), False),
        (("reason 0x10000",), False, (), False),
        (("power cap", "temperature (driver)"), False, ("temperature (driver)",), False),
        (("power cap", "power brake"), False, ("power brake",), True),
        (("hardware slowdown",), False, ("hardware slowdown",), True),
    ],
)
def test_a_limit_counts_only_where_nothing_slows_the_device_down(
    reasons: tuple[str, ...], limit: bool, slow: tuple[str, ...], fault: bool
) -> None:
    assert at_own_limit(reasons) is limit
    assert slowdowns(reasons) == slow
    assert is_fault(reasons) is fault


def test_words() -> None:
    assert clock_words(()) == ""
    assert clock_words(("power cap",)) == "at its power limit"
    assert limit_words(("reliability", "power cap")) == "at its power and voltage limits"
    assert clock_words(("application clocks", "power cap", "power brake")) == (
        "slowed down: power brake; at its power limit; application clocks"
    )
    assert clock_words(("reason 0x10000",)) == "reason 0x10000"


def test_what_stood_often_enough_counts_among_the_looks_that_know() -> None:
    looks = [("a", "b"), ("a",), (), None, None]
    assert frequent(looks, 0.5) == ("a",)
    assert frequent(looks, 0.3) == ("a", "b")
    assert frequent([None, None], 0.5) == ()
