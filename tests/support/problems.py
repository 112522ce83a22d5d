"""Devices, workloads and plans for tests that need no hardware."""

from __future__ import annotations

from typing import Any

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, DeviceList
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.library import CALLS, calls_of
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.workload import Workload, WorkloadSource

KERNEL = "__global__ void made(const real *A, real *B, int N) {}\n"

MANIFEST = """
format = 1
name = "made"
title = "Made"
summary = "Made in a test."

[sizes.N]
max = 67108864
default = 100

[precisions]
fp64 = { tolerance = 1e-12 }
fp32 = { tolerance = 1e-6 }
fp16 = { tolerance = 1e-3 }

[arrays]
A = { shape = ["N"], role = "in" }
B = { shape = ["N"], role = "out" }

[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"

[reference]
outputs = { B = "2 * A" }

[variants.only]
title = "Only"
teaches = "Nothing."

[[variants.only.launch]]
source = "made.cu"
entry = "made"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["A", "B", "N"]
"""


def made(*changes: tuple[str, str], manifest: str = MANIFEST) -> Workload:
    """Return the small workload with some of its text replaced; each must be there once."""
    for old, new in changes:
        assert manifest.count(old) == 1, old
        manifest = manifest.replace(old, new)
    return Workload(
        WorkloadSource(manifest=manifest, files={"made.cu": KERNEL}, origin="made.toml")
    )


def device(id_: str = "opencl:0", **changes: Any) -> DeviceInfo:
    """Return a device that runs kernels and offers every precision."""
    backend = id_.partition(":")[0]
    fields: dict[str, Any] = {
        "id": id_,
        "hardware_id": "cpu:Some CPU",
        "name": "Some CPU",
        "backend": backend,
        "kind": "cpu",
        "driver": "1",
        "compute_units": 2,
        "precisions": ("fp64", "fp32", "bf16", "fp16"),
        "features": (backend, "c++", "shuffle"),
        "libraries": calls_of(backend),
        "runs_kernels": backend in ("cuda", "opencl"),
        "limits": DeviceLimits(),
    }
    return DeviceInfo(**{**fields, **changes})


def plan_of(workload: Workload, on: DeviceInfo | None = None, /, **request: Any) -> Plan:
    """Return the plan of a request on a device."""
    on = on or device()
    asked = RunRequest(workload=workload.name, device=on.id, **request)
    return make_plan(workload, complete(asked, workload, DeviceList(devices=(on,))), on)


def library_device(call: str) -> DeviceInfo:
    """Return a device that offers a library call."""
    return device(f"{CALLS[call].backend}:0", runs_kernels=False)


def model_device(framework: str = "torch", **changes: Any) -> DeviceInfo:
    """Return a framework's CPU, which offers every model in every precision."""
    fields: dict[str, Any] = {
        "libraries": tuple(f"{framework}.{name}" for name in MODELS),
        "precisions": tuple(PRECISIONS),
        "runs_kernels": False,
        "threads": 1,
    }
    return device(f"{framework}:cpu", **{**fields, **changes})
