"""The shipped workloads: complete, with formulas that give sense at every size."""

from __future__ import annotations

import pytest

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.workloads.library import CALLS
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device, library_device, plan_of

SHIPPED = load()
EVERY = [(w, v) for w in SHIPPED.values() for v in w.manifest.variants]


def test_what_is_shipped() -> None:
    offered = {name: set(w.manifest.variants) for name, w in SHIPPED.items()}
    assert offered["matmul"] >= {"naive", "uncoalesced", "tiled", "torch", "numpy", "cublas"}
    assert offered["stream"] >= {"copy", "scale", "add", "triad"}
    assert offered["transpose"] >= {"naive", "tiled", "padded"}
    assert offered["reduction"] >= {"tree", "shuffle"}
    assert "direct" in offered["vector_add"]
    assert SHIPPED["matmul"].manifest.first_variant == "naive"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_workload_has_every_precision_and_every_kind_of_library(name: str) -> None:
    manifest = SHIPPED[name].manifest
    assert set(manifest.precisions) == {"fp64", "fp32", "fp16"}
    backends = {CALLS[v.library].backend for v in manifest.variants.values() if v.library}
    assert backends == {"cuda", "numpy", "torch"}


@pytest.mark.parametrize(("workload", "variant"), EVERY, ids=lambda p: getattr(p, "name", p))
def test_every_formula_gives_sense_from_the_smallest_size_to_the_largest(
    workload: Workload, variant: str
) -> None:
    spec = workload.variant(variant)
    on = library_device(spec.library) if spec.library else device()
    for precision in workload.precisions_of(variant):
        for pick in ("min", "default", "max"):
            size = {symbol: getattr(s, pick) for symbol, s in workload.manifest.sizes.items()}
            plan = plan_of(workload, on, variant=variant, size=size, precision=precision)
            assert plan.flops >= 0
            assert plan.compulsory_read_B > 0 and plan.compulsory_write_B > 0
            assert plan.memory_B >= plan.compulsory_read_B
            for array in plan.arrays:
                assert array.elements < 2**31  # the kernels index with int
            if spec.library is None:
                assert plan.requested_read_B is not None
                assert plan.requested_read_B >= plan.compulsory_read_B
                assert plan.requested_write_B is not None
                assert plan.requested_write_B >= plan.compulsory_write_B


@pytest.mark.parametrize(("workload", "variant"), EVERY, ids=lambda p: getattr(p, "name", p))
def test_every_variant_teaches_something(workload: Workload, variant: str) -> None:
    spec = workload.variant(variant)
    assert spec.title and len(spec.teaches.split()) >= 8 and spec.teaches.endswith((".", "?"))


def test_a_device_without_shuffles_still_has_the_tree() -> None:
    plain = device(features=("opencl",))
    plan_of(SHIPPED["reduction"], plain, variant="tree")
    with pytest.raises(CannotRunHere):
        plan_of(SHIPPED["reduction"], plain, variant="shuffle")
