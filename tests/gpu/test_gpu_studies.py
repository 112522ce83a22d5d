"""The three studies where there is a GPU: its precisions, its switches, and the CPU beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.charts.render import render
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.studies import SwitchesStudy
from gpuexplorer.studies import chart_of
from gpuexplorer.studies.precision import PrecisionStudy
from gpuexplorer.studies.speedup import SpeedupStudy
from tests.gpu.hardware import has_tensor_cores


def torch_device() -> DeviceInfo:
    """Return the GPU as torch has it; without torch there is nothing to study."""
    found = [d for d in gpuexplorer.devices() if d.backend == "torch" and d.kind == "gpu"]
    if not found:
        pytest.fail("torch finds no GPU: install torch with CUDA for these tests")
    return found[0]


def test_precisions_of_a_product_with_their_errors(tmp_path: Path) -> None:
    device = torch_device()
    study = gpuexplorer.study(
        "precision", "matmul", variant="torch", device=device.id, size=2048, seconds=0.3
    )
    assert isinstance(study, PrecisionStudy)
    found = {p.precision: p for p in study.points if p.measured is not None}
    expected = [p for p in ("fp64", "fp32", "tf32", "bf16", "fp16") if p in device.precisions]
    assert set(found) >= set(expected), [(p.precision, p.skipped) for p in study.points]
    errors = {name: study.error(point) or 0.0 for name, point in found.items()}
    in_order = [errors[p] for p in ("fp64", "fp32", "tf32", "bf16", "fp8_e4m3") if p in found]
    assert in_order == sorted(set(in_order)) and in_order[-1] < 0.2
    assert all(found[p].fallback is None for p in expected)
    half, single = found["fp16"].measured, found["fp32"].measured
    assert half is not None and single is not None
    assert half.time_s < single.time_s or not has_tensor_cores(device)
    assert study.runs
    render(chart_of(study), tmp_path / "precision.png")


def test_switches_of_a_small_model_with_their_effect(tmp_path: Path) -> None:
    study = gpuexplorer.study(
        "switches", "mlp", variant="torch", device=torch_device().id, seconds=0.3, rounds=6,
        look_at=["compile=default", "cuda_graph", "grad_mode"],
    )  # fmt: skip
    assert isinstance(study, SwitchesStudy)
    effects = {(one.switch, one.value): one for one in study.alone}
    graph = effects["cuda_graph", True]
    assert graph.effect is not None, graph.skipped
    assert study.baseline is not None and study.baseline.memory_B
    render(chart_of(study), tmp_path / "switches.png")


def test_cpu_against_gpu_has_a_break_even_with_transfers(tmp_path: Path) -> None:
    study = gpuexplorer.study(
        "speedup", "matmul", sizes=[16, 64, 256, 1024, 2048], seconds=0.12, rounds=6,
        allow_long=True,
    )  # fmt: skip
    assert isinstance(study, SpeedupStudy)
    assert (study.first.kind, study.second.kind) == ("cpu", "gpu")
    last = study.points[-1]
    assert last.speedup is not None and last.speedup_with is not None, last.skipped
    assert last.speedup.factor > last.speedup_with.factor > 1
    assert study.break_even_with is not None and study.break_even_with.size is not None
    render(chart_of(study), tmp_path / "speedup.png")
