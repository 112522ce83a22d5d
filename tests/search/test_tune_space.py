"""Only what can be launched is ever proposed, and the nearest free configuration is found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceLimits, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.search.tune_space import EVERYTHING, Ranges, TuningSpace, tuning_space
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device, made

MATMUL = load()["matmul"]
CPU = device("opencl:0", threads=1)
DEVICES = DeviceList(devices=(CPU,))


def space(
    variant: str = "tiled",
    ranges: Ranges = EVERYTHING,
    workload: Workload = MATMUL,
    devices: DeviceList = DEVICES,
    **request: Any,
) -> TuningSpace:
    asked = RunRequest(workload=workload.name, variant=variant, **request)
    return tuning_space(asked, workload, devices, ranges)


def test_every_block_of_powers_of_two_and_every_value_of_a_tunable() -> None:
    found = space()
    assert found.names == ("block.x", "block.y", "tunable.TILE")
    assert found.values[2] == (4, 8, 16, 32, 64)
    powers = tuple(1 << k for k in range(11))
    assert found.values[:2] == (powers, powers)
    assert all(
        c.block is not None and c.block[0] * c.block[1] <= 1024 for c in found.legal.values()
    )
    assert len(found.legal) + found.refused == 66 * 5


def test_what_the_device_cannot_launch_is_not_in_it() -> None:
    small = device(threads=1, limits=DeviceLimits(max_threads_per_block=64, max_shared_B=2048))
    found = space(devices=DeviceList(devices=(small,)))
    assert 0 < len(found.legal) < 28 * 5
    assert found.refused == 28 * 5 - len(found.legal)
    for config in found.legal.values():
        make_plan(MATMUL, config, small)  # raises where it could not be launched


def test_what_the_manifest_forbids_is_not_in_it() -> None:
    constrained = made(
        ("[[variants.only.launch]]", "[[variants.only.constraints]]\n"
         'rule = "block_x % UNROLL == 0"\nbecause = "each thread does UNROLL"\n\n'
         "[variants.only.tunables.UNROLL]\nvalues = [1, 3, 4]\n\n[[variants.only.launch]]"),
    )  # fmt: skip
    found = space("only", workload=constrained)
    assert {c.tunables["UNROLL"] for c in found.legal.values()} == {1, 4}
    assert all((c.block or (0,))[0] % c.tunables["UNROLL"] == 0 for c in found.legal.values())
    assert found.names == ("block.x", "tunable.UNROLL")


def test_a_tunable_tied_to_the_block_is_no_choice() -> None:
    tied = made(
        ("[[variants.only.launch]]",
         '[variants.only.tunables.BS]\nformula = "block_x"\n\n[[variants.only.launch]]'),
    )  # fmt: skip
    found = space("only", workload=tied)
    assert found.names == ("block.x",)
    assert all(c.tunables["BS"] == (c.block or (0,))[0] for c in found.legal.values())


def test_ranges_narrow_it() -> None:
    found = space(ranges=Ranges({"block.x": (24, 32), "block.y": (1,)}, {"TILE": (16,)}))
    assert {c.block for c in found.legal.values()} == {(24, 1, 1), (32, 1, 1)}
    assert found.names == ("block.x",)
    assert found.start.block == (16, 16, 1)
    assert found.start_place is None


def test_a_start_that_cannot_be_launched_is_named_with_the_reason() -> None:
    """The first block of all stood for it, which nobody gets and everything is faster than."""
    small = device(threads=1, limits=DeviceLimits(max_threads_per_block=64))
    found = space(devices=DeviceList(devices=(small,)))
    assert found.start.block == (16, 16, 1)
    assert found.start_place is None
    assert found.start_refused is not None and "64" in found.start_refused
    assert space().start_refused is None


def test_the_start_is_what_one_gets_without_tuning() -> None:
    found = space()
    assert found.start.block == (16, 16, 1)
    assert found.start.tunables == {"TILE": 16}
    assert found.start.grid == (32, 32, 1)
    place = found.start_place
    assert place is not None and found.legal[place] == found.start


@pytest.mark.parametrize(
    ("variant", "ranges", "words"),
    [
        ("numpy", EVERYTHING, "no kernel of its own: there is nothing to tune"),
        ("naive", Ranges({"block.z": (1, 2)}, {}), "blocks have 2 dimensions"),
        ("naive", Ranges({}, {"TILE": (4,)}), "no tunable 'TILE'"),
        ("tiled", Ranges({}, {"TILE": (5,)}), "none of the 66 configurations can be launched"),
        ("naive", Ranges({"block.x": (4096,)}, {}), "allows 1024 in all"),
    ],
)
def test_a_space_without_a_choice_is_refused(variant: str, ranges: Ranges, words: str) -> None:
    with pytest.raises(InputError, match=words):
        devices = DeviceList(devices=(CPU, device("numpy:cpu", runs_kernels=False)))
        space(variant, ranges, devices=devices)


def test_a_variant_without_any_knob_is_refused() -> None:
    fixed = made(
        ("block = [64]", 'block = ["64"]'), ('"ceil_div(N, block_x)"', '"ceil_div(N, 64)"')
    )
    with pytest.raises(InputError, match="neither a block to choose nor tunables"):
        space("only", workload=fixed)


@given(
    place=st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(0, 4)),
    taken=st.sets(
        st.tuples(st.integers(0, 10), st.integers(0, 10), st.integers(0, 4)), max_size=60
    ),
)
def test_the_nearest_is_free_and_none_is_nearer(
    place: tuple[int, int, int], taken: set[tuple[int, int, int]]
) -> None:
    found = WHOLE.nearest(place, taken)
    assert found is not None and found in WHOLE.legal and found not in taken

    def steps(other: tuple[int, ...]) -> int:
        return sum((a - b) ** 2 for a, b in zip(place, other, strict=True))

    assert steps(found) == min(steps(p) for p in WHOLE.legal if p not in taken)


def test_nothing_is_nearest_once_everything_is_taken() -> None:
    assert WHOLE.nearest((0, 0, 0), set(WHOLE.legal)) is None


WHOLE = space()
