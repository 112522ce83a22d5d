"""Calibration on a real GPU: ceilings in a believable order, and nothing honest above them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpuexplorer.calibration.calibrate import Calibration
from gpuexplorer.core.ceilings import Ceiling, Ceilings
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.loader import load
from tests.gpu.hardware import cache_shows, has_tensor_cores, offered, rate_bounds


class Bench:
    """An engine and the quick ceilings of its first GPU."""

    def __init__(self) -> None:
        self.ceilings: Ceilings | None = None
        self.session = EngineSession(ceilings=self._find)
        self.devices = self.session.devices()
        self.device = find_device(self.devices, "cuda")
        calibration = Calibration(self.devices, self.device, quick=True)
        calibration.run(lambda task: self.session.measure(*task.asked).result())
        self.failures = calibration.failures
        self.ceilings = calibration.ceilings()

    def _find(self, device: DeviceInfo) -> Ceilings | None:
        return self.ceilings

    def value(self, kind: str, precision: str | None = None) -> float:
        """Return the highest ceiling of a kind."""
        assert self.ceilings is not None
        found: list[Ceiling] = [
            c for c in self.ceilings.ceilings if c.kind == kind and c.precision == precision
        ]
        return max(c.value for c in found)


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.session.close()


def test_every_candidate_that_is_offered_runs(bench: Bench) -> None:
    assert bench.failures == []


def test_memory_ceilings_lie_near_each_other_and_below_the_peak(bench: Bench) -> None:
    copy, triad, read = (bench.value(kind) for kind in ("copy", "triad", "read"))
    assert 0.85 < triad / copy < 1.25
    assert 0.9 < read / copy < 1.4
    peak = bench.device.peak_bandwidth_B_per_s
    if peak is not None:
        assert 0.6 < copy / peak < 1.0
    if cache_shows(bench.device.last_level_cache_B, copy):
        assert bench.value("cache") > copy


@pytest.mark.parametrize("precision", ["fp16", "fp64"])
def test_multiply_adds_have_the_ratio_of_the_hardware(bench: Bench, precision: str) -> None:
    low, high = rate_bounds(bench.device.compute_capability, precision)
    ratio = bench.value("fma", precision) / bench.value("fma", "fp32")
    print(f"{precision} over fp32: {ratio:.3f}, between {low:.3f} and {high:.3f}")
    assert low < ratio < high


def test_products_are_no_faster_than_what_they_are_made_of(bench: Bench) -> None:
    assert bench.value("gemm", "fp32") <= 1.1 * bench.value("fma", "fp32")
    if has_tensor_cores(bench.device):
        assert bench.value("gemm", "fp16") > bench.value("fma", "fp32")


def test_every_ceiling_names_its_clock_and_method(bench: Bench) -> None:
    assert bench.ceilings is not None
    for ceiling in bench.ceilings.ceilings:
        assert ceiling.clock_held_Hz is None or 1e8 < ceiling.clock_held_Hz < 4e9
        assert "cuda:0" in ceiling.method or "torch" in ceiling.method


def test_no_shipped_variant_is_above_its_roof(bench: Bench) -> None:
    for workload in load().values():
        for variant in workload.manifest.variants:
            for precision in offered(bench.devices, bench.device, workload, variant):
                request = RunRequest(
                    workload=workload.name, variant=variant, precision=precision,
                    device=bench.device.id,
                )  # fmt: skip
                config = complete(request, workload, bench.devices)
                result = bench.session.measure(config, workload, RunOptions(seconds=0.1)).result()
                assert result.timing.suspect is None, (workload.name, variant, precision)
