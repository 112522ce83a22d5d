"""A figure above what the device can do is suspect, in one sentence; one below never is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.analysis.plausible import Work, least_time, suspicion
from gpuexplorer.core.ceilings import Ceilings
from tests.support.ceilings import CACHE_B, made_ceilings
from tests.support.results import made_config

MEMORY_B_PER_S = 20e9 * 1.01
CACHE_B_PER_S = 100e9 * 1.01
AMOUNTS = st.floats(1e3, 1e12)


def work(flops: float = 0.0, read_B: float = 0.0, write_B: float = 0.0, s: float = 1e-3) -> Work:
    return Work(flops=flops, read_B=read_B, write_B=write_B, slow_s=s)


def test_more_operations_a_second_than_the_device_can_do_are_suspect() -> None:
    said = suspicion(work(flops=300e9 * 1e-3), made_config(), made_ceilings())
    assert said is not None
    assert said.startswith("300 GFLOP/s is 1.5 times the 200 GFLOP/s")
    assert "fp32 (multiply-add chains)" in said


def test_a_brief_calibration_makes_no_run_suspect() -> None:
    brief = made_ceilings(brief=True)
    assert suspicion(work(flops=300e9 * 1e-3), made_config(), brief) is None
    fast = work(read_B=8 * CACHE_B, s=1e-4)
    assert suspicion(fast, made_config(), brief) is None
    assert suspicion(fast, made_config(), brief, peak_bandwidth_B_per_s=20e9,
                     last_level_cache_B=CACHE_B) is not None  # fmt: skip


def test_a_run_at_its_roof_and_a_little_above_is_believed() -> None:
    for share in (0.5, 1.0, 1.05):
        assert suspicion(work(flops=share * 200e6), made_config(), made_ceilings()) is None


def test_halves_may_reach_what_floats_do_for_they_are_added_up_as_floats() -> None:
    config = made_config(precision="fp16")
    assert suspicion(work(flops=190e6), config, made_ceilings()) is None
    assert suspicion(work(flops=300e6), config, made_ceilings()) is not None


def test_doubles_are_held_against_doubles() -> None:
    assert suspicion(work(flops=150e6), made_config(precision="fp64"), made_ceilings()) is not None


def test_data_larger_than_the_cache_has_to_come_through_memory() -> None:
    total_B = 8 * CACHE_B
    least_s = 7 * CACHE_B / MEMORY_B_PER_S
    for s, suspect in ((least_s * 1.01, False), (least_s * 0.9, True)):
        said = suspicion(work(read_B=total_B, s=s), made_config(), made_ceilings())
        assert (said is not None) == suspect
    assert said is not None
    assert "main memory" in said and "kept in the cache" in said


def test_data_that_fits_the_cache_is_held_against_the_caches() -> None:
    least_s = 1e6 / CACHE_B_PER_S
    assert suspicion(work(read_B=1e6, s=least_s), made_config(), made_ceilings()) is None
    said = suspicion(work(read_B=1e6, s=least_s / 2), made_config(), made_ceilings())
    assert said is not None and "caches" in said


def test_cold_data_has_to_come_through_memory_however_small() -> None:
    cold = made_config(cache="cold")
    small = work(read_B=4e6, s=4e6 / 60e9)
    assert suspicion(small, made_config(), made_ceilings()) is None
    assert suspicion(small, cold, made_ceilings()) is not None


def test_cold_results_may_still_wait_in_the_cache() -> None:
    cold = made_config(cache="cold")
    assert suspicion(work(write_B=4e6, s=4e6 / 60e9), cold, made_ceilings()) is None


def test_inputs_that_take_less_power_may_be_faster() -> None:
    fast = work(flops=240e6)
    assert suspicion(fast, made_config(), made_ceilings()) is not None
    assert suspicion(fast, made_config(fill="zeros"), made_ceilings()) is None


def test_nothing_is_said_without_a_calibration() -> None:
    assert suspicion(work(flops=1e15, read_B=1e15), made_config(), None) is None


def test_a_stated_peak_serves_where_nothing_was_measured() -> None:
    total_B = 4.0 * CACHE_B
    at_peak_s = 3 * CACHE_B / 40e9
    for s, suspect in ((at_peak_s, False), (at_peak_s / 1.2, True)):
        said = suspicion(
            work(read_B=total_B, s=s),
            made_config(),
            None,
            peak_bandwidth_B_per_s=40e9,
            last_level_cache_B=CACHE_B,
        )
        assert (said is not None) == suspect
    assert said is not None and "stated peak" in said


def test_ceilings_that_were_not_measured_bound_nothing() -> None:
    none = made_ceilings(ceilings=())
    assert least_time(work(read_B=1e9), made_config(), none) is None
    assert suspicion(work(flops=1e15, read_B=1e15), made_config(), none) is None


def test_an_unknown_cache_leaves_only_the_caches_bound() -> None:
    unknown = made_ceilings(last_level_cache_B=None)
    bound = least_time(work(read_B=1e9), made_config(), unknown)
    assert bound == (1e9 / CACHE_B_PER_S, "cache")


@given(AMOUNTS, AMOUNTS, st.floats(1.0, 1e3))
def test_no_run_slower_than_both_bounds_is_suspect(
    read_B: float, write_B: float, slower: float
) -> None:
    ceilings = made_ceilings()
    bound = least_time(work(read_B=read_B, write_B=write_B), made_config(), ceilings)
    assert bound is not None
    seconds = bound[0] * slower
    one = work(flops=150e9 * seconds, read_B=read_B, write_B=write_B, s=seconds)
    assert suspicion(one, made_config(), ceilings) is None


@given(AMOUNTS, st.floats(1.5, 100.0))
def test_ten_times_the_operations_are_always_found(flops: float, faster: float) -> None:
    seconds = flops / 200e9 / faster
    assert suspicion(work(flops=flops, s=seconds), made_config(), made_ceilings()) is not None


def test_only_ceilings_of_a_kind_are_compared() -> None:
    ceilings: Ceilings = made_ceilings()
    memory, cache, compute = ceilings.memory(), ceilings.cache(), ceilings.compute("fp16")
    assert memory is not None and memory.kind == "copy"
    assert cache is not None and cache.value == 100e9
    assert compute is not None and compute.precision == "fp32"
    assert ceilings.compute("int8") is None
