"""A profile of operators made by hand: a CPU thread with nested calls, and a GPU's stream."""

from __future__ import annotations

from gpuexplorer.core.operators import Call, Operator, OperatorProfile, Track
from gpuexplorer.core.result import DeviceSummary, Environment
from tests.support.results import made_config

NAMES = ("aten::linear", "aten::addmm", "aten::gelu", "ampere_sgemm_128x64_tn", "aten::copy_")


def made_profile(*, gpu: bool = True, shapes: bool = False) -> OperatorProfile:
    """Return a profile of a millisecond: two layers, and with ``gpu`` their kernels."""
    calls = [
        Call(0, 0, 0, 0.0, 4e-4),
        Call(1, 0, 1, 5e-5, 3e-4),
        Call(4, 0, 2, 6e-5, 1e-6),
        Call(2, 0, 0, 5e-4, 2e-4),
        Call(0, 0, 0, 7.5e-4, 2e-4),
        Call(1, 0, 1, 7.6e-4, 1.5e-4),
    ]
    tracks = [Track(title="CPU thread 1", kind="cpu", levels=3)]
    if gpu:
        tracks.append(Track(title="GPU stream 7", kind="gpu", levels=1))
        calls += [Call(3, 1, 0, 1e-4, 5e-4), Call(3, 1, 0, 7.8e-4, 2e-4)]

    def row(name: str, calls: int, self_s: float, total_s: float, kernels_s: float) -> Operator:
        return Operator(
            name=name,
            calls=calls,
            self_s=self_s,
            total_s=total_s,
            share=(kernels_s / 7e-4) if gpu else self_s / 8e-4,
            device_self_s=kernels_s if gpu else None,
            device_total_s=kernels_s if gpu else None,
            memory_B=4096.0 if name == "aten::addmm" else 0.0,
            shapes="8×32, 32×128" if shapes and name == "aten::addmm" else None,
        )

    return OperatorProfile(
        time_utc="2026-01-01T12:00:00.000+00:00",
        config=made_config(workload="model", variant="torch", block=None, grid=None),
        device=DeviceSummary(
            id="torch:cuda:0", hardware_id="GPU-1", name="A GPU", backend="torch",
            driver="PyTorch 2", compute_units=8, peak_bandwidth_B_per_s=None, peak_source=None,
        ),
        environment=Environment(gpuexplorer="0", python="3.11"),
        method="torch.profiler around one iteration",
        iteration_s=1e-3,
        plain_s=8e-4,
        operators=(
            row("aten::addmm", 2, 4.49e-4, 4.5e-4, 7e-4),
            row("aten::gelu", 1, 2e-4, 2e-4, 0.0),
            row("aten::linear", 2, 1.5e-4, 6e-4, 0.0),
            row("aten::copy_", 1, 1e-6, 1e-6, 0.0),
        ),
        operators_total=4,
        names=NAMES,
        tracks=tuple(tracks),
        calls=tuple(calls),
        calls_total=len(calls),
    )  # fmt: skip
