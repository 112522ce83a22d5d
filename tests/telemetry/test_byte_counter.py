"""A link's byte counter: every rate that is told is the true one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.telemetry.nvml import MARGIN, WRAP_B, ByteCounter, pcie_B_per_s

LINKS = [pcie_B_per_s(generation, lanes) for generation in (1, 3, 4, 5) for lanes in (1, 8, 16)]


@st.composite
def traffic(draw: st.DrawFn) -> tuple[float, list[tuple[int, int]]]:
    """Return what a link moves at most, and steps of time in ns with the bytes moved in each."""
    most = draw(st.sampled_from(LINKS))
    intervals = draw(st.lists(st.integers(1_000_000, 500_000_000), min_size=2, max_size=12))
    shares = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1))
    return most, [(ns, int(draw(shares) * most * ns * 1e-9)) for ns in intervals]


@given(
    traffic(),
    st.sampled_from([(32, 32), (64, 64), (64, 32)]),
    st.one_of(st.integers(0, WRAP_B - 1), st.integers(0, 2**50)),
)
def test_what_is_told_is_what_moved(
    moving: tuple[float, list[tuple[int, int]]], width: tuple[int, int], start_B: int
) -> None:
    """Bits of the value's type and of the counter behind it: the driver may widen the value."""
    most, steps = moving
    type_bits, counter_bits = width
    counter = ByteCounter(most)
    t_ns, total_B = 0, start_B
    counter.rate_B_per_s(t_ns, total_B % 2**counter_bits, type_bits)
    for ns, moved_B in steps:
        t_ns, total_B = t_ns + ns, total_B + moved_B
        rate = counter.rate_B_per_s(t_ns, total_B % 2**counter_bits, type_bits)
        assert rate is None or rate == pytest.approx(moved_B / (ns * 1e-9))
        if type_bits == 32 and MARGIN * most * ns * 1e-9 < WRAP_B:
            assert rate is not None


@given(traffic(), st.sampled_from([32, 64]), st.integers(0, 2**50), st.integers(0, 2**50))
def test_a_counter_that_begins_anew_never_beats_the_link(
    moving: tuple[float, list[tuple[int, int]]], bits: int, before_B: int, after_B: int
) -> None:
    most, steps = moving
    counter = ByteCounter(most)
    counter.rate_B_per_s(0, before_B % 2**bits, bits)
    rate = counter.rate_B_per_s(steps[0][0], after_B % 2**bits, bits)
    assert rate is None or 0 <= rate <= MARGIN * most * (1 + 1e-9)


def test_a_wide_counter_that_fell_has_begun_anew() -> None:
    counter = ByteCounter(LINKS[0])
    counter.rate_B_per_s(0, 2**33, 64)
    assert counter.rate_B_per_s(100_000_000, 100, 64) is None
    assert counter.rate_B_per_s(200_000_000, 1100, 64) == pytest.approx(1e4)


def test_a_fast_link_is_told_once_its_counter_is_known_to_be_wide() -> None:
    fast = pcie_B_per_s(5, 16)
    counter = ByteCounter(fast)
    assert not counter.can_tell(0.1, 64)
    counter.rate_B_per_s(0, 1000, 64)
    assert counter.rate_B_per_s(100_000_000, 2000, 64) is None
    counter.rate_B_per_s(200_000_000, 2**32 + 2000, 64)
    assert counter.can_tell(0.1, 64)
    assert counter.rate_B_per_s(300_000_000, 2**32 + 3000, 64) == pytest.approx(1e4)


def test_without_the_links_speed_32_bits_tell_nothing() -> None:
    counter = ByteCounter(None)
    counter.rate_B_per_s(0, 1000, 32)
    assert counter.rate_B_per_s(100_000_000, 2000, 32) is None
    wide = ByteCounter(None)
    wide.rate_B_per_s(0, 2**40, 64)
    assert wide.rate_B_per_s(100_000_000, 2**40 + 1000, 64) == pytest.approx(1e4)


def test_the_most_that_a_link_moves() -> None:
    assert pcie_B_per_s(1, 1) == 250e6
    assert pcie_B_per_s(4, 16) == 32e9
