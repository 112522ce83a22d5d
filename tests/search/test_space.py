"""A space holds every combination once: legal and complete, or with the reason why it is not."""

from __future__ import annotations

import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.search.outcome import cells_of, fastest
from gpuexplorer.search.space import Axis, Point, Space, values_words
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan
from tests.support.problems import device
from tests.support.results import made_result

WORKLOADS = load()
MATMUL = WORKLOADS["matmul"]
CPU = device("opencl:0", threads=3)
NUMPY = device("numpy:cpu", threads=3, runs_kernels=False)
GPU = device("cuda:0", kind="gpu", hardware_id="GPU-1", name="Some GPU")
DEVICES = DeviceList(devices=(CPU, NUMPY, GPU))


def space(*axes: tuple[str, tuple[Any, ...]], **base: Any) -> Space:
    request = RunRequest(**{"workload": "matmul", "device": "cpu", **base})
    return Space(request, tuple(Axis(*axis) for axis in axes))


def points(*axes: tuple[str, tuple[Any, ...]], **base: Any) -> list[Point]:
    return space(*axes, **base).points(MATMUL, DEVICES)


def test_points_come_in_row_major_order_with_complete_configurations() -> None:
    found = points(("size.N", (64, 128)), ("block.x", (8, 16)), ("block.y", (1, 2, 4)))
    assert [tuple(p.values.values()) for p in found] == [
        (n, x, y) for n in (64, 128) for x in (8, 16) for y in (1, 2, 4)
    ]
    config = found[-1].config
    assert config is not None
    assert (config.size, config.block, config.grid) == ({"N": 128}, (16, 4, 1), (8, 32, 1))
    assert config.device == "opencl:0"
    assert config.threads == 3


def test_a_walk_keeps_next_to_nothing_of_the_points_behind_it() -> None:
    # A window that counted 20,000 points kept the memory of all of them for good.
    sides = (1, 2, 4, 8, 16, 32, 64, 128, 256)
    wide = space(("size.N", tuple(range(64, 1024, 64))), ("block.x", sides), ("block.y", sides))

    def peak_B(take: Callable[[Iterator[Point]], object]) -> int:
        tracemalloc.start()
        try:
            take(wide.walk(MATMUL, DEVICES))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    deque(wide.walk(MATMUL, DEVICES), maxlen=0)  # what is made for the first use of all this
    assert peak_B(lambda walk: deque(walk, maxlen=0)) < peak_B(list) / 2


@given(
    st.lists(st.integers(1, 2048), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 2048), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from([4, 8, 16, 32, 64]), min_size=1, max_size=3, unique=True),
)
@settings(max_examples=30, deadline=None)
def test_a_point_runs_exactly_when_its_plan_can_be_made(
    xs: list[int], ys: list[int], tiles: list[int]
) -> None:
    axes = (("block.x", tuple(xs)), ("block.y", tuple(ys)), ("tunable.TILE", tuple(tiles)))
    for point in points(*axes, variant="tiled"):
        assert (point.config is None) != (point.skipped is None)
        request = RunRequest(
            workload="matmul", variant="tiled", device="cpu",
            block=(point.values["block.x"], point.values["block.y"]),
            tunables={"TILE": point.values["tunable.TILE"]},
        )  # fmt: skip
        config = complete(request, MATMUL, DEVICES)
        if point.config is not None:
            assert make_plan(MATMUL, config, CPU).config == point.config
        else:
            with pytest.raises(InputError) as caught:
                make_plan(MATMUL, config, CPU)
            assert caught.value.what == point.skipped


def test_a_points_configuration_is_its_own_plans() -> None:
    for name, workload in WORKLOADS.items():
        for variant, spec in workload.manifest.variants.items():
            if not spec.dimensions:
                continue
            request = RunRequest(workload=name, variant=variant, device="cpu")
            for point in Space(request, (Axis("block.x", (32, 64)),)).points(workload, DEVICES):
                if point.config is not None:
                    assert make_plan(workload, point.config, CPU).config == point.config


def test_a_library_variant_is_measured_once_and_the_rest_says_so() -> None:
    found = points(
        ("variant", ("naive", "numpy")), ("block.x", (8, 16)), ("precision", ("fp32", "fp16"))
    )
    numpy = [p for p in found if p.values["variant"] == "numpy"]
    assert [p.config is not None for p in numpy] == [True, False, False, False]
    assert numpy[0].config is not None
    assert (numpy[0].config.device, numpy[0].config.block) == ("numpy:cpu", None)
    assert numpy[1].skipped == "variant 'numpy' has no precision 'fp16'"
    assert numpy[2].skipped == (
        "variant 'numpy' on numpy:cpu does not depend on threads in x: it is measured once, at "
        "threads in x = 8"
    )
    assert all(p.config is not None for p in found if p.values["variant"] == "naive")


def test_a_tunable_goes_to_the_variants_that_have_it() -> None:
    found = points(("variant", ("naive", "tiled")), ("tunable.TILE", (8, 16, 32)))
    measured = [(p.config.variant, p.config.tunables) for p in found if p.config]
    assert measured == [("naive", {}), *(("tiled", {"TILE": t}) for t in (8, 16, 32))]


def test_threads_count_on_the_cpu_alone() -> None:
    found = points(("device", ("cpu", "cuda")), ("threads", (1, 2)))
    assert [(p.config.device, p.config.threads) for p in found if p.config] == [
        ("opencl:0", 1), ("opencl:0", 2), ("cuda:0", None),
    ]  # fmt: skip
    assert "does not depend on CPU threads" in (found[-1].skipped or "")


def test_one_dimension_alone_keeps_the_others() -> None:
    assert [p.config.block for p in points(("block.x", (8, 32))) if p.config] == [
        (8, 16, 1), (32, 16, 1),
    ]  # fmt: skip
    found = points(("block.x", (8, 32)), block=(1, 4))
    assert [p.config.block for p in found if p.config] == [(8, 4, 1), (32, 4, 1)]
    assert points(("block.z", (1, 2)))[1].skipped == (
        "variant 'naive' has 2-dimensional blocks, not 16×16×2"
    )


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ([("size.K", (1, 2))], "has no size 'K'"),
        ([("variant", ("naive", "best"))], "has no variant 'best'"),
        ([("precision", ("fp12",))], "has no precision 'fp12'"),
        ([("tunable.TILES", (8,))], "no variant of this sweep has a tunable 'TILES'"),
        ([("fill", ("noise",))], "no input distribution 'noise'"),
        ([("cache", ("warm",))], "no cache state 'warm'"),
        ([("blocks", (1,))], "'blocks' is no axis"),
        ([("size.N", ())], "has no values"),
        ([("size.N", (8, 8))], "names a value twice"),
        ([("size.N", (8,)), ("size.N", (9,))], "is given twice"),
        ([("threads", (1, 0))], "a value of axis 'threads' is 0; give a whole number from 1"),
        ([("block.y", (-4,))], "a value of axis 'block.y' is -4; give a whole number from 1 on"),
        ([("block", ((8, 8),)), ("block.x", (8,))], "as a whole and by its dimensions"),
        ([("size.N", tuple(range(1, 1001))), ("block.x", tuple(range(1, 1001)))], "1000000"),
    ],
)
def test_what_no_point_could_use_is_an_error(
    axes: list[tuple[str, tuple[Any, ...]]], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        points(*axes)


def test_a_block_for_a_library_alone_is_an_error_and_so_is_a_missing_device() -> None:
    with pytest.raises(InputError, match="chooses its own blocks"):
        points(("block.x", (8, 16)), variant="numpy")
    with pytest.raises((InputError, CannotRunHere), match="no device 'abacus'"):
        points(("block.x", (8, 16)), device="abacus")
    found = points(("device", ("cpu", "numpy")))
    assert found[1].skipped == (
        "variant 'naive' on opencl:0 does not depend on device: it is measured once, at cpu"
    )


def test_values_in_words() -> None:
    assert values_words({"size.N": 512, "block.x": 16, "block.y": 8, "precision": "fp16"}) == (
        "block 16×8 · N = 512 · fp16"
    )
    assert values_words({"tunable.TILE": 8, "block.x": 4}) == "TILE = 8 · threads in x = 4"
    assert values_words({"variant": "naive", "block": (8, 8)}) == "variant naive · block 8×8"


def test_cells_are_ranked_without_what_cannot_be_true() -> None:
    cells = cells_of(points(("block.x", (8, 16, 4096)), block=(1, 1)))
    assert [c.waiting for c in cells] == [True, True, False]
    assert cells[2].skipped is not None
    assert fastest(cells) is None
    slow, fast = made_result(median_s=2e-3), made_result(median_s=1e-3)
    cells = [cells[0].measured(slow), cells[1].measured(fast), cells[2]]
    assert fastest(cells) is cells[1]
    assert not cells[0].skip("it is wrong", "wrong").ranked
