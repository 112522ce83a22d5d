"""A check covers every variant and precision, at sizes and blocks where kernels go wrong."""

from __future__ import annotations

import pytest

from gpuexplorer.core.config import Block
from gpuexplorer.core.device import DeviceLimits, DeviceList
from gpuexplorer.workloads.check import (
    MAX_ELEMENTS,
    MAX_FLOP,
    CheckCase,
    _largest_block,
    check_plan,
)
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan
from tests.support.problems import device, made, model_device

SHIPPED = load()
CPU = device()
DEVICES = DeviceList(devices=(CPU, device("numpy:cpu"), model_device("torch")))
OFFERED = {call for one in DEVICES.devices for call in one.libraries}
KERNELS = sorted(
    name for name, w in SHIPPED.items() if any(v.launch for v in w.manifest.variants.values())
)


def cases(name: str) -> list[CheckCase]:
    return check_plan(SHIPPED[name], DEVICES, CPU)[0]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_case_can_run_and_is_quick(name: str) -> None:
    found = cases(name)
    assert len({str(case.request) for case in found}) == len(found)
    for case in found:
        config = complete(case.request, SHIPPED[name], DEVICES)
        on = next(d for d in DEVICES.devices if d.id == config.device)
        plan = make_plan(SHIPPED[name], config, on)
        assert plan.flops <= MAX_FLOP
        assert sum(a.elements for a in plan.arrays) <= MAX_ELEMENTS


@pytest.mark.parametrize("name", SHIPPED)
def test_every_variant_and_precision_is_run_or_its_absence_explained(name: str) -> None:
    workload = SHIPPED[name]
    found, skipped = check_plan(workload, DEVICES, CPU)
    run = {(c.request.variant, c.request.precision) for c in found}
    missing = {(s.variant, s.precision) for s in skipped}
    wanted = {(v, p) for v in workload.manifest.variants for p in workload.precisions_of(v)}
    assert run | missing == wanted and not run & missing
    assert all(s.reason for s in skipped)
    assert {v for v, _ in missing} == {
        v
        for v, spec in workload.manifest.variants.items()
        if (spec.call and spec.call not in OFFERED) or not all(map(CPU.has, spec.requires))
    }


@pytest.mark.parametrize("name", KERNELS)
def test_sizes_divide_the_block_and_do_not(name: str) -> None:
    usual = [c for c in cases(name) if c.request.block is None and c.request.fill is None]
    kernels = [c for c in usual if SHIPPED[name].variant(c.request.variant or "").launch]
    sizes = {n for c in kernels for n in c.request.size.values()}
    assert 1 in sizes
    assert any(n % 256 == 0 for n in sizes)
    assert any(n > 64 and n % 2 for n in sizes)


def test_blocks_tunables_and_large_inputs_are_varied() -> None:
    tiled = [c.request for c in cases("matmul") if c.request.variant == "tiled"]
    assert {r.tunables["TILE"] for r in tiled if r.tunables} == {4, 8, 32, 64}
    assert {r.block for r in tiled} >= {(1, 1), (5, 3), (24, 6), (1, 32)}
    large = [r for r in tiled if r.fill == "large"]
    assert [r.precision for r in large] == ["fp16"]
    shuffle = [c.request for c in cases("reduction") if c.request.variant == "shuffle"]
    assert {r.block for r in shuffle} == {None, (32,), (96,), (1024,)}


def test_a_workload_that_is_never_small_runs_at_its_smallest() -> None:
    workload = made(
        ("max = 67108864", "min = 1000000\nmax = 67108864"), ("default = 100", "default = 1000000")
    )
    found, _ = check_plan(workload, DEVICES, CPU)
    assert {c.request.size["N"] for c in found} == {1000000}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_quick_check_keeps_the_most_telling_cases(name: str) -> None:
    every, skipped = check_plan(SHIPPED[name], DEVICES, CPU)
    quick, still_skipped = check_plan(SHIPPED[name], DEVICES, CPU, "quick")
    assert still_skipped == skipped
    assert len(quick) < len(every)
    assert {str(c.request) for c in quick} <= {str(c.request) for c in every}
    groups = {(c.request.variant, c.request.precision) for c in every}
    for group in groups:
        mine = [c for c in quick if (c.request.variant, c.request.precision) == group]
        spec = SHIPPED[name].variant(str(group[0]))
        sizes = {n for c in mine for n in c.request.size.values()}
        assert 1 in sizes
        large = group[1] == "fp16" and spec.model is None
        assert ("large" in {c.request.fill for c in mine}) == large
        if spec.model is None:
            assert any(n > 64 and n % 2 for n in sizes)
    for variant in {str(c.request.variant) for c in every}:  # in one precision each
        mine = [c for c in quick if c.request.variant == variant]
        spec = SHIPPED[name].variant(variant)
        theirs = [c for c in every if c.request.variant == variant]
        others = any(c.request.block is not None for c in theirs)  # one block alone may do
        chosen = any(tunable.values for tunable in spec.tunables.values())
        assert sum(c.finds == "unusual blocks" for c in mine) == others
        if spec.launch:
            assert any(n > 1 and n % 2 == 0 for c in mine for n in c.request.size.values())
        assert sum(c.finds == "every value of a tunable" for c in mine) == chosen


def test_a_quick_check_takes_another_block_and_precision_each_time() -> None:
    quick, _ = check_plan(SHIPPED["matmul"], DEVICES, CPU, "quick")
    blocks = [c.request.block for c in quick if c.request.block is not None]
    for finds in ("unusual blocks", "every value of a tunable"):
        precisions = {c.request.precision for c in quick if c.finds == finds}
        assert precisions == set(SHIPPED["matmul"].manifest.precisions) & set(CPU.precisions)
    unusual = [case.request for case in cases("matmul") if case.finds == "unusual blocks"]
    offered = {request.block for request in unusual}
    assert len(set(blocks)) >= 0.75 * min(len(blocks), len(offered))


def test_a_full_check_adds_a_larger_size() -> None:
    for name, variant in (("matmul", "naive"), ("stream", "triad")):
        full, _ = check_plan(SHIPPED[name], DEVICES, CPU, "full")
        mine = [c for c in full if c.request.variant == variant and c.request.precision == "fp32"]
        larger = [c for c in mine if c.finds == "a larger size"]
        assert len(larger) == 1
        assert all(
            c is larger[0] or max(c.request.size.values()) < max(larger[0].request.size.values())
            for c in mine
        )


@pytest.mark.parametrize(
    ("limits", "dimensions", "largest"),
    [
        (DeviceLimits(), 1, (1024, 1, 1)),
        (DeviceLimits(), 2, (32, 32, 1)),
        (DeviceLimits(), 3, (16, 8, 8)),
        (DeviceLimits(max_threads_per_block=8192, max_block=(8192, 8192, 8192)), 2, (128, 64, 1)),
        (DeviceLimits(max_threads_per_block=100), 1, (64, 1, 1)),
        (DeviceLimits(max_threads_per_block=4096, max_block=(16, 4096, 1)), 2, (16, 256, 1)),
        (DeviceLimits(), 0, (1, 1, 1)),
    ],
)
def test_the_largest_block(limits: DeviceLimits, dimensions: int, largest: Block) -> None:
    assert _largest_block(limits, dimensions) == largest
