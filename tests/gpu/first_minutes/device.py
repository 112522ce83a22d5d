"""The driver, what it says of the device, and what our backend makes of that."""

from __future__ import annotations

import re
from typing import Any

from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda.build import gate_compiler
from gpuexplorer.backends.cuda.library import CALLS, offered
from gpuexplorer.compile.cubin import read_cubin
from gpuexplorer.compile.nvrtc import target_for
from gpuexplorer.compile.targets import is_ptx
from tests.gpu.first_minutes.check import Failed, NoGpu, Note, require, within
from tests.gpu.first_minutes.here import Here
from tests.gpu.machine import why_no_gpu

OLDEST_CUDA = (12, 0)
OLDEST_CAPABILITY = (5, 0)
UUID = re.compile(r"(GPU|MIG)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NO_UUID = "00000000-0000-0000-0000-000000000000"


def driver(here: Here, note: Note) -> None:
    """The driver starts, is recent enough, and knows everything that is asked of it."""
    reason = why_no_gpu()
    if reason is not None:
        raise NoGpu(reason)
    version, facts = here.driver.version, here.facts
    note("CUDA of the driver", ".".join(map(str, version)))
    note("GPU", facts.name)
    note("UUID", facts.uuid)
    note("compute capability", ".".join(map(str, facts.capability)))
    note("memory_B", facts.memory_B)
    note("multiprocessors", facts.attribute(cu.MULTIPROCESSORS))
    note("L2 cache_B", facts.attribute(cu.L2_CACHE_B))
    note("shared memory of a block_B", facts.attribute(cu.MAX_SHARED_PER_BLOCK_OPTIN))
    require(version >= OLDEST_CUDA, "the driver runs no CUDA 12, for which the oldest package is")
    require(facts.capability >= OLDEST_CAPABILITY, "no CUDA that is offered knows this GPU")
    require(UUID.fullmatch(facts.uuid), f"'{facts.uuid}' is not a UUID as NVML writes it")
    require(not facts.uuid.endswith(NO_UUID), "the UUID is made of zeros")
    unknown = [number for number, value in facts.attributes.items() if value is None]
    require(not unknown, f"the driver does not know the attributes {unknown}")
    within("the memory", facts.memory_B, 5e8, 1e13, "B")
    within("the number of multiprocessors", facts.attribute(cu.MULTIPROCESSORS), 0, 1000)
    within("the L2 cache", facts.attribute(cu.L2_CACHE_B), 1e5, 1e10, "B")
    within("a block's shared memory", facts.attribute(cu.MAX_SHARED_PER_BLOCK_OPTIN), 4e4, 1e6, "B")


def versions(here: Here, note: Note) -> None:
    """The backend finds the device, with CuPy and cuBLAS in versions that fit the driver."""
    device = here.device
    found = here.backend.versions()
    for name, version in found.items():
        note(name, version)
    note("driver", device.driver)
    note("precisions", ", ".join(device.precisions))
    note("bandwidth, nominal_B_per_s", device.peak_bandwidth_B_per_s)
    note("highest clock_Hz", device.nominal_clock_Hz)
    require(device.hardware_id == here.facts.uuid, "the backend's UUID is another device's")
    require(device.compute_capability == here.facts.capability, "the backend's device is another")
    cuda = tuple(int(part) for part in found["cuda"].split("."))
    require(cuda[0] <= here.driver.version[0], f"CuPy is built for CUDA {cuda[0]}, a newer one")
    missing = sorted(set(CALLS) - set(offered()))
    require(not missing, f"the libraries of {', '.join(missing)} are not installed")
    within("the nominal bandwidth", device.peak_bandwidth_B_per_s, 1e10, 2e13, "B/s")
    within("the highest clock", device.nominal_clock_Hz, 3e8, 5e9, "Hz")


def compiler(here: Here, note: Note) -> None:
    """NVRTC compiles the gate for exactly this device, or PTX where it is the older one."""
    code, target = gate_compiler(here.arch)(), target_for(here.arch)
    note("architecture", here.arch)
    note("compiled for", target)
    note("the gate's code_B", len(code))
    if is_ptx(target):
        require(code.lstrip().startswith(b"//"), "the gate was not compiled to PTX")
        return
    kernels = read_cubin(code, target)
    require(len(kernels) == 2, f"the gate's cubin holds {len(kernels)} kernels, not 2")
    for name, taken in kernels.items():
        within(f"the number of registers of {name}", taken.registers_per_thread, 0, 64)


def time_limit(here: Here, note: Note) -> None:
    """The backend knows whether the system ends long kernels (Windows' TDR)."""
    limited = here.facts.attribute(cu.KERNEL_TIME_LIMIT)
    longest_s = here.device.limits.max_launch_s
    note("long kernels are ended", bool(limited))
    if longest_s is not None:
        note("the longest launch allowed_s", longest_s)
    require(limited in (0, 1), f"the attribute is {limited}")
    require((longest_s is not None) == bool(limited), "the device's limits say something else")


def mig(here: Here, note: Note) -> None:
    """Whether it is a slice of a GPU (MIG), by CUDA's UUID and by NVML's word."""
    try:
        import pynvml
    except ImportError:
        raise Failed("nvidia-ml-py is not installed") from None
    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByUUID(here.facts.uuid)
        is_slice = bool(_or_zero(pynvml, "nvmlDeviceIsMigDeviceHandle", handle))
        note("a slice of a GPU (MIG)", is_slice)
        note("NVML's name", pynvml.nvmlDeviceGetName(handle))
        said = here.facts.uuid.startswith("MIG-")
        require(said == is_slice, f"the UUID begins with '{here.facts.uuid[:4]}'")
    finally:
        pynvml.nvmlShutdown()


def _or_zero(nvml: Any, function: str, handle: Any) -> int:
    """Return NVML's answer; 0 where this GPU or driver knows no such question."""
    try:
        return int(getattr(nvml, function)(handle))
    except nvml.NVMLError_NotSupported:
        return 0
    except nvml.NVMLError_FunctionNotFound:
        return 0


def closing(here: Here, note: Note) -> None:
    """Everything that was opened on the device is given back."""
    here.session.wait()
    here.close()
    note("memory free_B", here.backend.memory_free_B(here.device))
