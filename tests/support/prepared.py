"""What an engine says of a small run before its first sample."""

from __future__ import annotations

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.result import Environment, Phases, Resources, Traffic, Verification
from gpuexplorer.engine.protocol import Prepared


def prepared() -> Prepared:
    return Prepared(
        generation=1,
        config=RunConfig(
            workload="matmul", variant="naive", size={"N": 10}, precision="fp32",
            device="opencl:0", block=(16, 16, 1), grid=(1, 1, 1), threads=1,
        ),
        device=DeviceInfo(
            id="opencl:0", hardware_id="cpu:x", name="X", backend="opencl", kind="cpu",
            driver="1", compute_units=1,
        ),
        environment=Environment(gpuexplorer="0", python="3.11"),
        verification=Verification(ok=True, max_rel_error=1e-7, tolerance=1e-5, method="full"),
        resources=Resources(),
        phases_s=Phases(compile=0.1, allocate=0.01, host_to_device=0.02, device_to_host=0.03),
        traffic=[Traffic(kind="compulsory", read_B=800, write_B=400, source="model")],
        flops=2000.0,
        predicted_s=1e-3,
        method="profiling events",
        resolution_s=1e-9,
    )  # fmt: skip
