"""The shipped workloads: complete, with formulas that give sense at every size."""

from __future__ import annotations

import pytest

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.precision import KERNEL_PRECISIONS
from gpuexplorer.workloads.frameworks import FRAMEWORKS, framework_of
from gpuexplorer.workloads.library import CALLS
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device, library_device, model_device, plan_of

SHIPPED = load()
KERNELS = sorted(
    name for name, w in SHIPPED.items() if any(v.launch for v in w.manifest.variants.values())
)
EVERY = [(w, v) for w in SHIPPED.values() for v in w.manifest.variants]


def test_what_is_shipped() -> None:
    offered = {name: set(w.manifest.variants) for name, w in SHIPPED.items()}
    assert offered["matmul"] >= {"naive", "uncoalesced", "tiled", "torch", "numpy", "cublas"}
    assert offered["stream"] >= {"copy", "scale", "add", "triad"}
    assert offered["transpose"] >= {"naive", "tiled", "padded"}
    assert offered["reduction"] >= {"tree", "shuffle"}
    assert "direct" in offered["vector_add"]
    assert SHIPPED["matmul"].manifest.first_variant == "naive"


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_every_precision_and_every_kind_of_library(name: str) -> None:
    manifest = SHIPPED[name].manifest
    for variant, spec in manifest.variants.items():
        if spec.launch:
            assert set(SHIPPED[name].precisions_of(variant)) == set(KERNEL_PRECISIONS)
    backends = {CALLS[v.library].backend for v in manifest.variants.values() if v.library}
    backends |= {framework_of(v.model) for v in manifest.variants.values() if v.model}
    assert backends >= {"cuda", "numpy", "torch"}


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - set(KERNELS)))
def test_every_other_workload_is_a_model_in_every_framework(name: str) -> None:
    manifest = SHIPPED[name].manifest
    assert list(manifest.variants) == list(FRAMEWORKS)
    assert manifest.first_variant == "torch"
    assert set(manifest.precisions) >= {"fp64", "fp32", "bf16", "fp16"}
    assert manifest.reference.model == name


@pytest.mark.parametrize(("workload", "variant"), EVERY, ids=lambda p: getattr(p, "name", p))
def test_every_formula_gives_sense_from_the_smallest_size_to_the_largest(
    workload: Workload, variant: str
) -> None:
    spec = workload.variant(variant)
    on = library_device(spec.library) if spec.library else device()
    if spec.model:
        on = model_device(framework_of(spec.model))
    for precision in workload.precisions_of(variant):
        for pick in ("min", "default", "max"):
            size = {symbol: getattr(s, pick) for symbol, s in workload.manifest.sizes.items()}
            plan = plan_of(workload, on, variant=variant, size=size, precision=precision)
            assert plan.flops >= 0
            assert plan.compulsory_read_B > 0 and plan.compulsory_write_B > 0
            assert plan.memory_B >= plan.compulsory_read_B
            if spec.launch:
                assert all(a.elements < 2**31 for a in plan.arrays)  # they index with int
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
