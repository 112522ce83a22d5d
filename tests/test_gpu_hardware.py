"""Bounds for whatever card it is: GeForce, data centre, old and new."""

from __future__ import annotations

import pytest

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load
from tests.gpu.hardware import (
    RATES,
    cache_shows,
    fitting,
    has_tensor_cores,
    in_cache,
    offered,
    rate_bounds,
)
from tests.support.problems import device


@pytest.mark.parametrize(
    ("capability", "ratio"),
    [((6, 1), 1 / 64), ((7, 0), 2.0), ((7, 5), 2.0), ((8, 0), 2.0), ((8, 0), 4.0), ((8, 6), 1.0),
     ((8, 9), 1.0), ((9, 0), 2.0), ((10, 0), 1.0), ((10, 0), 2.0), ((12, 0), 1.0)],
)  # fmt: skip
def test_halves_may_have_the_rate_of_their_hardware(
    capability: tuple[int, int], ratio: float
) -> None:
    low, high = rate_bounds(capability, "fp16")
    assert low < 0.95 * ratio < 1.05 * ratio < high


@pytest.mark.parametrize("capability", [(8, 6), (8, 9), (12, 0)])
def test_a_geforce_with_twice_the_rate_is_measured_wrongly(capability: tuple[int, int]) -> None:
    low, high = rate_bounds(capability, "fp16")
    assert not low < 2.0 < high
    assert not low < 0.5 < high


def test_a_data_centre_card_at_the_rate_of_a_geforce_is_measured_wrongly() -> None:
    low, _ = rate_bounds((9, 0), "fp16")
    assert low > 1.1
    low, _ = rate_bounds((9, 0), "fp64")
    assert low > 0.25


@pytest.mark.parametrize(
    ("capability", "ratio"),
    [((6, 1), 1 / 32), ((7, 5), 1 / 32), ((8, 0), 1 / 2), ((8, 6), 1 / 64), ((9, 0), 1 / 2),
     ((12, 0), 1 / 64)],
)  # fmt: skip
def test_doubles_may_have_the_rate_of_their_hardware(
    capability: tuple[int, int], ratio: float
) -> None:
    low, high = rate_bounds(capability, "fp64")
    assert low < 0.95 * ratio < 1.05 * ratio < high


def test_a_card_of_tomorrow_may_have_any_known_ratio() -> None:
    for precision in ("fp16", "fp64"):
        low, high = rate_bounds((13, 0), precision)
        assert rate_bounds(None, precision) == (low, high)
        for capability in RATES:
            lowest, highest = rate_bounds(capability, precision)
            assert low <= lowest < highest <= high


def test_tensor_cores_are_where_they_are() -> None:
    def named(name: str, capability: tuple[int, int]) -> bool:
        return has_tensor_cores(device("cuda:0", name=name, compute_capability=capability))

    assert named("NVIDIA GeForce RTX 2060", (7, 5)) and named("Tesla V100", (7, 0))
    assert not named("NVIDIA GeForce GTX 1660 Ti", (7, 5))
    assert not named("NVIDIA GeForce GTX 1080", (6, 1))


def test_a_cache_cannot_show_its_bandwidth_in_less_than_a_launch() -> None:
    assert cache_shows(72 << 20, 1e12)  # RTX 4090: 9.4 µs from main memory
    assert not cache_shows(50 << 20, 3e12)  # H100: 2.2 µs
    assert not cache_shows(4 << 20, 3e11)  # T4: 0.5 MiB takes as long as a launch
    assert not cache_shows(None, 1e12)


@pytest.mark.parametrize("cache_B", [2 << 20, 6 << 20, 50 << 20, 126 << 20])
def test_what_shall_lie_in_a_cache_does(cache_B: int) -> None:
    elements = in_cache(cache_B, arrays=3)
    assert cache_B / 4 < 12 * elements <= cache_B / 2


def test_sizes_fit_a_small_card() -> None:
    assert fitting(1 << 28, 8, 80 << 30) == 1 << 28
    assert fitting(1 << 28, 8, 4 << 30) == 1 << 27
    assert fitting(1 << 28, 8, None) == 1 << 28


def test_only_what_a_backend_here_offers_is_run() -> None:
    """Without frameworks a card runs kernels and CuPy's calls; nothing else is asked of it."""
    gpu = device(
        "cuda:0", kind="gpu", hardware_id="GPU-1", libraries=("cublas.gemm",), runs_kernels=True,
        features=("cuda", "c++", "shuffle", "fp64", "fp16"), compute_capability=(8, 6),
    )  # fmt: skip
    torch = device(
        "torch:cuda:0", kind="gpu", hardware_id="GPU-1", libraries=("torch.matmul",),
        precisions=("fp32", "bf16"), compute_capability=(8, 6),
    )  # fmt: skip
    matmul = load()["matmul"]
    alone, both = DeviceList(devices=(gpu,)), DeviceList(devices=(gpu, torch))
    runs = {
        where: {v: list(offered(where, gpu, matmul, v)) for v in matmul.manifest.variants}
        for where in (alone, both)
    }
    for where, variants in runs.items():
        for variant, precisions in variants.items():
            for precision in precisions:
                request = RunRequest(
                    workload="matmul", variant=variant, precision=precision, device="cuda:0"
                )
                complete(request, matmul, where)
    here = {v for v, one in matmul.manifest.variants.items() if one.launch or v == "cublas"}
    assert {v for v, found in runs[alone].items() if found} == here
    assert here > {"naive", "tiled", "warp_tiled", "mma"}
    assert runs[alone]["naive"] == ["fp32", "fp64", "bf16", "fp16"]
    assert runs[both]["torch"] == ["fp32", "bf16"]
