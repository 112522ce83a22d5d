"""The ladder on a real GPU: counters agree with a kernel whose bytes are known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.telemetry import SourceState
from gpuexplorer.telemetry import ncu
from gpuexplorer.telemetry.cupti import SWITCH
from gpuexplorer.telemetry.ladder import survey
from gpuexplorer.telemetry.nvml import NvmlSource
from tests.gpu.hardware import FIRST_WITH_ENERGY_COUNTER, fitting

LARGE = 1 << 28
"""Elements of 4 bytes: 1 GiB read and 1 GiB written, which no cache holds."""
NEAR = 0.05


def run(*arguments: str, **environment: str) -> dict[str, Any]:
    """Return the document of a run on the GPU."""
    done = subprocess.run(
        [sys.executable, "-m", "gpuexplorer", "run", *arguments, "--device", "cuda", "--json", "-"],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def total_B(entry: dict[str, Any]) -> float:
    return float(entry["combined_B"] or entry["read_B"] + entry["write_B"])


def dram(document: dict[str, Any], source: str) -> float:
    """Return the measured bytes over the compulsory ones."""
    kinds = {(t["kind"], t["source"]): t for t in document["traffic"]}
    assert ("dram", source) in kinds, document["telemetry"]["dram_reason"]
    return total_B(kinds["dram", source]) / total_B(kinds["compulsory", "model"])


@pytest.fixture(scope="module")
def copy(gpu: DeviceInfo) -> tuple[str, ...]:
    """Return a large copy that fits this GPU; zeros are made quickly."""
    elements = fitting(LARGE, 8, gpu.limits.memory_B)
    return ("stream", "--variant", "copy", "--size", str(elements), "--fill", "zeros")


@pytest.fixture(scope="module")
def sources(gpu: DeviceInfo) -> dict[str, SourceState]:
    found = {state.source: state for state in survey(gpu)}
    for state in found.values():
        print(f"{state.title}: {', '.join(state.gives) or state.reason} {state.missing or ''}")
    return found


def test_every_source_is_there_or_says_why_not(sources: dict[str, SourceState]) -> None:
    assert {"cupti", "gpm", "nvml"} <= sources.keys()
    for state in sources.values():
        assert state.gives or state.reason
    nvml = sources["nvml"]
    assert "sm_clock_Hz" in nvml.gives
    assert {"power_W", "temperature_C", "load"} <= {*nvml.gives, *nvml.missing}


def test_gpms_bytes_of_a_large_copy_are_the_compulsory_ones(
    sources: dict[str, SourceState], copy: tuple[str, ...]
) -> None:
    if "dram_B_per_s" not in sources["gpm"].gives:
        pytest.skip(f"GPM: {sources['gpm'].reason or sources['gpm'].missing}")
    document = run(*copy, "--seconds", "4")
    assert dram(document, "gpm") == pytest.approx(1.0, abs=NEAR)
    assert document["telemetry"]["occupancy"] is not None


def test_gpm_sees_little_of_a_problem_that_stays_in_the_cache(
    sources: dict[str, SourceState],
) -> None:
    if "dram_B_per_s" not in sources["gpm"].gives:
        pytest.skip(f"GPM: {sources['gpm'].reason or sources['gpm'].missing}")
    document = run("stream", "--variant", "copy", "--size", "1048576", "--seconds", "4")
    assert dram(document, "gpm") < 0.5


def test_pm_samplings_bytes_agree_and_do_not_change_the_times(copy: tuple[str, ...]) -> None:
    without = run(*copy, "--seconds", "4")
    sampled = run(*copy, "--seconds", "4", **{SWITCH: "1"})
    if not any(t["source"] == "cupti" for t in sampled["traffic"]):
        pytest.skip(f"PM sampling: {sampled['telemetry']['dram_reason']}")
    assert dram(sampled, "cupti") == pytest.approx(1.0, abs=NEAR)
    change = sampled["timing"]["median_s"] / without["timing"]["median_s"]
    print(f"time with PM sampling over without: {change:.4f}")
    assert change == pytest.approx(1.0, abs=0.02)


def test_ncus_bytes_of_a_large_copy_are_the_compulsory_ones(copy: tuple[str, ...]) -> None:
    try:
        ncu.find()
    except CannotRunHere as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [sys.executable, "-m", "gpuexplorer", "run", *copy, "--device", "cuda", "--ncu",
         "--seconds", "1", "--json", "-"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if "closed to this user" in done.stderr:
        pytest.skip("GPU counters are closed to this user")
    assert done.returncode == 0, done.stderr
    assert dram(json.loads(done.stdout), "ncu") == pytest.approx(1.0, abs=NEAR)


def test_pcie_rates_are_those_of_a_copy_or_are_not_told(gpu: DeviceInfo) -> None:
    import cupy

    source = NvmlSource.open(gpu)
    assert isinstance(source, NvmlSource)
    host = np.zeros(1 << 26, np.uint8)
    device = cupy.empty(host.shape, np.uint8)
    said = source.read().missing
    began, moved_B, rates = time.perf_counter(), 0, []
    while time.perf_counter() - began < 2.0:
        until = time.perf_counter() + 0.105
        while time.perf_counter() < until:
            device.set(host)
            moved_B += host.nbytes
        rate = source.read().pcie_rx_B_per_s
        rates += [] if rate is None else [rate]
    source.close()
    copied_B_per_s = moved_B / (time.perf_counter() - began)
    print(f"copied {copied_B_per_s:.3g} B/s, told {rates[-1] if rates else said}")
    if not rates:
        assert "pcie_rx_B_per_s" in said
    else:  # with the packets' heads, and the driver's own traffic
        assert 0.9 * copied_B_per_s < np.median(rates) < 1.5 * copied_B_per_s


def test_energy_of_a_launch_is_plausible(gpu: DeviceInfo) -> None:
    document = run("matmul", "--variant", "naive", "--size", "4096", "--seconds", "8")
    state = document["telemetry"]
    if (gpu.compute_capability or (0, 0)) < FIRST_WITH_ENERGY_COUNTER:
        assert state["energy_per_launch_J"] is None and state["energy_reason"]
        pytest.skip(state["energy_reason"])
    assert state["energy_per_launch_J"] is not None, state["energy_reason"]
    watts = state["energy_per_launch_J"] / document["timing"]["median_s"]
    print(f"{state['energy_per_launch_J']:.3f} J a launch, {watts:.0f} W above rest")
    assert 0.3 * state["power_W"] < watts + state["idle_power_W"] < 1.3 * state["power_W"]
    short = run("matmul", "--variant", "naive", "--size", "2048", "--seconds", "1")
    assert short["telemetry"]["energy_per_launch_J"] is None
    assert "needs 5 s" in short["telemetry"]["energy_reason"]
