"""The order shares arrays between neighbours, is chance's within, and can be repeated."""

from __future__ import annotations

from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunConfig
from gpuexplorer.search.order import MOST_BUILDS, arrays_key, build_key, measuring_order
from tests.support.results import made_config


def made(size: int, x: int, tile: int = 0, device: str = "opencl:0", threads: int = 1) -> RunConfig:
    tunables = {"TILE": tile} if tile else {}
    return made_config(
        size={"N": size}, block=(x, 1, 1), tunables=tunables, device=device, threads=threads
    )


@given(
    st.lists(
        st.builds(
            made,
            st.sampled_from([64, 128, 256]),
            st.integers(1, 64),
            st.sampled_from([0, 8, 16]),
            st.sampled_from(["opencl:0", "cuda:0"]),
            st.sampled_from([1, 2]),
        ),
        max_size=60,
    ),
    st.integers(0, 1000),
)
def test_each_once_with_arrays_together_and_repeatable(configs: list[RunConfig], seed: int) -> None:
    order = measuring_order(configs, seed)
    assert sorted(order) == list(range(len(configs)))
    assert order == measuring_order(configs, seed)
    stretches = [key for key, _ in groupby(arrays_key(configs[i]) for i in order)]
    assert len(stretches) == len(set(stretches))
    engines = [key for key, _ in groupby(arrays_key(configs[i])[:2] for i in order)]
    assert len(engines) == len(set(engines))


def test_blocks_are_shuffled_so_that_a_drift_is_no_trend() -> None:
    configs = [made(64, x) for x in range(1, 201)]
    order = measuring_order(configs, 1)
    assert order != sorted(order)
    assert order != measuring_order(configs, 2)
    rising = sum(a < b for a, b in pairwise(order))
    assert 70 < rising < 130


def test_sizes_keep_the_order_they_were_given_in() -> None:
    configs = [made(size, x) for size in (256, 64, 128) for x in range(1, 9)]
    sizes = [key for key, _ in groupby(configs[i].size["N"] for i in measuring_order(configs, 3))]
    assert sizes == [256, 64, 128]


def test_more_builds_than_an_engine_keeps_are_gone_through_one_by_one() -> None:
    few = [made(64, x, tile) for tile in range(1, 5) for x in range(1, 20)]
    assert _stretches(few) > 4
    many = [made(64, x, tile) for tile in range(1, MOST_BUILDS + 2) for x in range(1, 4)]
    assert _stretches(many) == MOST_BUILDS + 1


def _stretches(configs: list[RunConfig]) -> int:
    order = measuring_order(configs, 1)
    return len([key for key, _ in groupby(build_key(configs[i]) for i in order)])
