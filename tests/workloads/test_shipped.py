"""The shipped workloads: complete, with formulas that give sense at every size."""

from __future__ import annotations

import pytest

from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.precision import KERNEL_PRECISIONS
from gpuexplorer.workloads.frameworks import FRAMEWORKS, framework_of
from gpuexplorer.workloads.library import CALLS
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device, library_device, model_device, plan_of
from tests.support.situations import H100

SHIPPED = load()
KERNELS = sorted(
    name for name, w in SHIPPED.items() if any(v.launch for v in w.manifest.variants.values())
)
MODELS = sorted(name for name, w in SHIPPED.items() if w.manifest.reference.model)
INDEX_IN_64_BITS = {"attention", "conv2d", "layer_norm", "softmax"}
ON_CHIP = {"softmax-kept", "layer_norm-kept", "attention-online", "attention-tiled"}
"""What keeps rows in shared memory, which the longest do not fit into."""
LIBRARIES = {"histogram": set(), "spmv": {"torch"}, "stencil2d": set(), "stencil3d": set()}
"""Where not every library has the same: NumPy's histogram is another, it has no sparse matrices."""
TENSOR_CORES = {"wmma", "mma"}
"""Kernels of GPUs alone, in the precisions that tensor cores multiply."""
EVERY = [(w, v) for w in SHIPPED.values() for v in w.manifest.variants]


def test_what_is_shipped() -> None:
    offered = {name: set(w.manifest.variants) for name, w in SHIPPED.items()}
    assert offered["matmul"] >= {"naive", "uncoalesced", "tiled", "torch", "numpy", "cublas"}
    assert offered["matmul"] >= {"register_tile", "packed", "panels", "cache_blocked"}
    assert offered["stream"] >= {"copy", "scale", "add", "triad"}
    assert offered["transpose"] >= {"naive", "tiled", "padded", "streamed", "lines"}
    assert offered["reduction"] >= {"tree", "shuffle"}
    assert offered["scan"] >= {"hillis_steele", "work_efficient", "shuffle", "look_back"}
    assert offered["histogram"] >= {"global", "shared", "copies"}
    assert offered["stencil2d"] >= {"direct", "tiled", "column"}
    assert offered["stencil3d"] >= {"direct", "tiled", "queue"}
    assert offered["spmv"] >= {"scalar", "vector", "lanes"}
    assert offered["vector_add"] >= {"direct", "shares"}
    assert offered["attention"] >= {"naive", "online", "tiled"}
    assert offered["conv2d"] >= {"direct", "tiled", "implicit_gemm", "padded"}
    assert SHIPPED["matmul"].manifest.first_variant == "naive"


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_has_every_precision_and_every_kind_of_library(name: str) -> None:
    manifest = SHIPPED[name].manifest
    for variant, spec in manifest.variants.items():
        if spec.launch and variant not in TENSOR_CORES:
            assert set(SHIPPED[name].precisions_of(variant)) == set(KERNEL_PRECISIONS)
    backends = {CALLS[v.library].backend for v in manifest.variants.values() if v.library}
    backends |= {framework_of(v.model) for v in manifest.variants.values() if v.model}
    assert name in MODELS or backends >= LIBRARIES.get(name, {"cuda", "numpy", "torch"})


def test_a_workload_without_kernels_is_a_model() -> None:
    assert set(SHIPPED) == {*KERNELS, *MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_there_in_every_framework(name: str) -> None:
    manifest = SHIPPED[name].manifest
    assert [n for n, v in manifest.variants.items() if v.call] == list(FRAMEWORKS)
    assert manifest.first_variant == "torch"
    assert set(manifest.precisions) >= {"fp64", "fp32", "bf16", "fp16"}
    assert manifest.reference.model == name


@pytest.mark.parametrize(("workload", "variant"), EVERY, ids=lambda p: getattr(p, "name", p))
def test_every_formula_gives_sense_from_the_smallest_size_to_the_largest(
    workload: Workload, variant: str
) -> None:
    spec = workload.variant(variant)
    on = library_device(spec.library) if spec.library else device()
    if variant in TENSOR_CORES:
        assert "cuda" in spec.requires and "Not yet measured on a card." in spec.teaches
        on = H100
    if spec.model:
        on = model_device(framework_of(spec.model))
    for precision in workload.precisions_of(variant):
        for pick in ("min", "default", "max"):
            size = {symbol: getattr(s, pick) for symbol, s in workload.manifest.sizes.items()}
            if f"{workload.name}-{variant}" in ON_CHIP and pick == "max":
                with pytest.raises(InputError, match="shared memory"):
                    plan_of(workload, on, variant=variant, size=size, precision=precision)
                continue
            plan = plan_of(workload, on, variant=variant, size=size, precision=precision)
            assert plan.flops >= 0
            assert plan.compulsory_read_B > 0 and plan.compulsory_write_B > 0
            assert plan.memory_B >= plan.compulsory_read_B
            if spec.launch:
                if workload.name not in INDEX_IN_64_BITS:
                    assert all(a.elements < 2**31 for a in plan.arrays)
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
