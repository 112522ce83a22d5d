"""What a user left open is filled in, and the right view of a device is found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from gpuexplorer.core.config import Block, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.workloads.choose import complete, find_device, tuned_for
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device

MATMUL = load()["matmul"]
CPU = device("opencl:0", threads=3)
NUMPY = device("numpy:cpu", threads=3)
TORCH = device("torch:cpu", threads=3)
GPU = device("cuda:0", kind="gpu", hardware_id="GPU-1", name="Some GPU")
TORCH_GPU = device("torch:cuda:0", kind="gpu", hardware_id="GPU-1", name="Some GPU")
NO_CUDA = Unavailable(backend="cuda", reason="no NVIDIA driver", remedy="install one")


ROWS_ON_CHIP = {"softmax kept", "layer_norm kept"}
"""Kernels that keep a row each in shared memory, where the longest do not fit."""


def listed(*devices: DeviceInfo, missing: tuple[Unavailable, ...] = ()) -> DeviceList:
    return DeviceList(devices=devices, unavailable=missing)


@pytest.mark.parametrize(
    ("wanted", "devices", "found"),
    [
        ("auto", (CPU, NUMPY, TORCH), "opencl:0"),
        ("auto", (NUMPY, CPU, GPU, TORCH_GPU), "cuda:0"),
        ("cpu", (GPU, NUMPY, CPU), "opencl:0"),
        ("cpu", (GPU, NUMPY), "numpy:cpu"),
        ("cuda", (CPU, GPU), "cuda:0"),
        ("torch", (GPU, TORCH, TORCH_GPU), "torch:cpu"),
        ("torch:cuda:0", (GPU, TORCH, TORCH_GPU), "torch:cuda:0"),
    ],
)
def test_a_device_is_found_by_id_or_shorthand(
    wanted: str, devices: tuple[DeviceInfo, ...], found: str
) -> None:
    assert find_device(listed(*devices), wanted).id == found


def test_a_missing_backend_gives_its_own_reason_and_remedy() -> None:
    for wanted in ("cuda", "cuda:0"):
        with pytest.raises(CannotRunHere, match="no NVIDIA driver; install one"):
            find_device(listed(CPU, missing=(NO_CUDA,)), wanted)


def test_an_unknown_device_is_an_error_of_the_request() -> None:
    with pytest.raises(InputError, match="did you mean 'opencl:0'"):
        find_device(listed(CPU, missing=(NO_CUDA,)), "opencl:1")
    with pytest.raises(InputError, match="no device 'abacus'"):
        complete(RunRequest(workload="matmul", device="abacus"), MATMUL, listed(CPU))


def test_no_device_at_all() -> None:
    with pytest.raises(CannotRunHere, match="no device here can run work"):
        find_device(listed(), "auto")


@pytest.mark.parametrize(
    ("variant", "wanted", "found"),
    [
        ("numpy", "opencl:0", "numpy:cpu"),
        ("torch", "opencl:0", "torch:cpu"),
        ("torch", "cuda:0", "torch:cuda:0"),
        ("cublas", "torch:cuda:0", "cuda:0"),
        ("naive", "numpy:cpu", "opencl:0"),
        ("naive", "torch:cuda:0", "cuda:0"),
    ],
)
def test_a_variant_runs_on_the_same_silicon(variant: str, wanted: str, found: str) -> None:
    devices = listed(CPU, NUMPY, TORCH, GPU, TORCH_GPU)
    request = RunRequest(workload="matmul", variant=variant, device=wanted)
    assert complete(request, MATMUL, devices).device == found


def test_a_library_of_other_silicon_is_refused() -> None:
    with pytest.raises(
        CannotRunHere, match=r"cuda:0 does not offer the library call numpy\.matmul"
    ):
        complete(
            RunRequest(workload="matmul", variant="numpy", device="cuda:0"),
            MATMUL,
            listed(GPU, NUMPY),
        )


def test_defaults_are_the_workloads_and_the_devices() -> None:
    config = complete(RunRequest(workload="matmul", device="cpu"), MATMUL, listed(CPU))
    assert (config.variant, config.size, config.precision) == ("naive", {"N": 512}, "fp32")
    assert (config.block, config.fill, config.threads) == ((16, 16, 1), "manifest", 3)
    assert config.cache == "hot"


def test_what_was_tuned_for_a_family_of_devices_is_its_default() -> None:
    def of(lanes: tuple[str, ...], **request: Any) -> tuple[Block | None, dict[str, int]]:
        on = listed(device("opencl:0", features=("opencl", *lanes)))
        config = complete(RunRequest(workload="matmul", variant="panels", **request), MATMUL, on)
        plan = make_plan(MATMUL, config, on.devices[0])
        return config.block, plan.defines

    assert of(()) == ((16, 16, 1), {"ROWS": 6, "COLS": 2})
    assert of(("lanes_16",)) == ((16, 64, 1), {"ROWS": 6, "COLS": 4})
    assert of(("lanes_16",), precision="fp64") == ((16, 64, 1), {"ROWS": 6, "COLS": 2})
    assert of(("lanes_8",), precision="fp64") == ((8, 64, 1), {"ROWS": 6, "COLS": 1})
    chosen = of(("lanes_16",), block=(32, 8), tunables={"COLS": 3})
    assert chosen == ((32, 8, 1), {"ROWS": 6, "COLS": 3})


def test_what_was_tuned_for_some_sizes_is_the_default_of_those() -> None:
    on = listed(device("opencl:0", features=("opencl", "lanes_16", "intel_cpu")))

    def of(precision: str, size: int) -> Block | None:
        request = RunRequest(
            workload="matmul", variant="cache_blocked", precision=precision, size={"N": size}
        )
        return complete(request, MATMUL, on).block

    assert of("fp64", 1024) == of("fp32", 1024) == of("fp32", 1025) == (16, 2, 16)
    assert of("fp64", 1025) == (16, 1, 16)


def test_the_first_entry_that_fits_counts() -> None:
    """As when another maker's CPU has vectors as wide: what was measured there is not for it."""
    spec = MATMUL.variant("cache_blocked")
    for features in ((), ("lanes_16",), ("lanes_16", "amd_cpu"), ("intel_cpu",)):
        assert tuned_for(spec, "fp32", device(features=features), {"N": 512}) is None
    assert tuned_for(spec, "fp32", device(features=("lanes_16", "intel_cpu")), {"N": 512})


def sizes_of(workload: Workload) -> Iterator[dict[str, int]]:
    """Yield sizes of all lengths, one symbol changed at a time."""
    specs = workload.manifest.sizes
    usual = {symbol: spec.default for symbol, spec in specs.items()}
    yield usual
    for symbol, spec in specs.items():
        for power in range(25):
            for value in (1 << power, (3 << power) // 2, (1 << power) + 1):
                if spec.min <= value <= spec.max:
                    yield {**usual, symbol: value}


@pytest.mark.parametrize("workload", load().values(), ids=lambda one: one.name)
def test_every_tuned_default_is_somebodys_and_can_be_launched(workload: Workload) -> None:
    """With 48 KiB of shared memory; an entry behind one that holds for all it does is nobody's."""
    for name, variant in workload.manifest.variants.items():
        for tuned in variant.tuned:
            family = device("opencl:0", features=("opencl", "c++", "shuffle", *tuned.on))
            precisions = tuned.precisions or workload.precisions_of(name)
            launched = 0
            for precision, size in product(precisions, sizes_of(workload)):
                if tuned_for(variant, precision, family, size) is not tuned:
                    continue  # it is another entry's
                request = RunRequest(
                    workload=workload.name, variant=name, precision=precision, size=size
                )
                config = complete(request, workload, listed(family))
                plan, refused = None, ""
                try:
                    plan = make_plan(workload, config, family)
                except InputError as error:
                    refused = str(error)
                if f"{workload.name} {name}" in ROWS_ON_CHIP and "shared memory" in refused:
                    continue
                if "cannot run with" in refused:  # no variant has this size
                    continue
                assert plan is not None and plan.steps, refused
                assert list(config.block or ())[: len(tuned.block)] == tuned.block
                launched += 1
            assert launched, tuned


def test_cold_caches_do_not_go_with_copies_of_the_arrays() -> None:
    request = RunRequest(workload="matmul", cache="cold", switches={"include_transfers": True})
    with pytest.raises(InputError, match="do not go together"):
        complete(request, MATMUL, listed(CPU))
    request.switches = {"include_transfers": False}
    assert complete(request, MATMUL, listed(CPU)).cache == "cold"


def test_the_empty_symbol_is_the_first_size() -> None:
    config = complete(RunRequest(workload="matmul", size={"": 77}), MATMUL, listed(CPU))
    assert config.size == {"N": 77}


def test_a_library_variant_has_no_block() -> None:
    devices = listed(CPU, NUMPY)
    request = RunRequest(workload="matmul", variant="numpy", device="cpu")
    assert complete(request, MATMUL, devices).block is None
    with pytest.raises(InputError, match="chooses its own blocks"):
        complete(
            RunRequest(workload="matmul", variant="numpy", device="cpu", block=(16, 16)),
            MATMUL,
            devices,
        )


def test_a_precision_that_a_variant_does_not_have() -> None:
    request = RunRequest(workload="matmul", variant="numpy", device="cpu", precision="fp16")
    with pytest.raises(InputError, match="variant 'numpy' has no precision 'fp16'"):
        complete(request, MATMUL, listed(CPU, NUMPY))


def test_threads_are_a_cpu_s() -> None:
    for on, threads in ((CPU, 2), (GPU, None)):
        request = RunRequest(workload="matmul", device=on.id, threads=2)
        assert complete(request, MATMUL, listed(CPU, GPU)).threads == threads
