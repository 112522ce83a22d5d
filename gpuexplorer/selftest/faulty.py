"""Kernels with one fault each, to see that nothing but their own run is lost."""

from __future__ import annotations

from gpuexplorer.workloads.workload import Workload, WorkloadSource

_MANIFEST = """\
format = 1
name = "{name}"
title = "A faulty kernel of the self-test"
summary = "y = x, and one fault."
[sizes.N]
max = 1048576
default = 4096
[precisions]
fp32 = {{ tolerance = 1e-6 }}
[arrays]
x = {{ shape = ["N"], role = "in" }}
y = {{ shape = ["N"], role = "out" }}
[work]
flops = "N"
read_bytes = "N * itemsize"
write_bytes = "N * itemsize"
[reference]
outputs = {{ y = "x" }}
[variants.only]
title = "Only"
teaches = "Nothing: it shows what the program does with a fault."
[[variants.only.launch]]
source = "faulty.cu"
entry = "faulty"
block = [64]
grid = ["ceil_div(N, block_x)"]
args = ["x", "y", "N"]
"""
_KERNEL = """\
__global__ void faulty(const float *x, volatile float *y, int N)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {{
        y[i] = x[i];
{body}
    }}
}}
"""


def _workload(name: str, body: str) -> Workload:
    files = {"faulty.cu": _KERNEL.format(body=body)}
    return Workload(WorkloadSource(manifest=_MANIFEST.format(name=name), files=files))


def right() -> Workload:
    """Return a workload without a fault, for comparison."""
    return _workload("selftest_right", "")


def wrong() -> Workload:
    """Return a workload with one wrong element in its result."""
    return _workload("selftest_wrong", "        if (i == N / 2) y[i] = x[i] + 1.0f;")


def endless() -> Workload:
    """Return a workload whose launch never ends."""
    return _workload("selftest_endless", "        while (y[i] != 1e30f) y[i] = x[i];")


def just_outside() -> Workload:
    """Return a workload that writes a little behind the end of its output."""
    return _workload("selftest_just_outside", "        if (i == 0) y[N + 3] = 1.0f;")


def far_outside() -> Workload:
    """Return a workload that writes 4 TiB away from its arrays."""
    return _workload("selftest_far_outside", "        y[i + (1LL << 40)] = 1.0f;")
