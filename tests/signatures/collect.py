"""Write down what an installed package offers of what GPU Explorer uses.

    python -m tests.signatures.collect cupy|cupti

Needs the package and no GPU: cupy-cuda13x, or cupti-python with cuda-bindings and pyelftools.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import re
import sys
from typing import Any

from tests.signatures import FOLDER, Entry

MODULES = {
    "cupy": {
        "runtime": ("cupy.cuda", "runtime"),
        "driver": ("cupy.cuda", "driver"),
        "cublas": ("cupy.cuda", "cublas"),
        "device": ("cupy.cuda.device", ""),
        "cuda": ("cupy.cuda", ""),
        "cupy": ("cupy", ""),
    },
    "cupti": {
        "cupti": ("cupti.cupti", ""),
        "pm_sampling": ("cupti.pm_sampling", ""),
        "profiler_host": ("cupti.profiler_host", ""),
    },
}
"""Where each part is imported from, and under which name of that module."""
WANTED = {
    "cupy": """
        runtime.malloc runtime.free runtime.hostAlloc runtime.freeHost runtime.pointerGetAttributes
        runtime.memcpyAsync runtime.memsetAsync runtime.memGetInfo runtime.setDevice
        runtime.eventCreateWithFlags runtime.eventDestroy runtime.eventRecord
        runtime.eventSynchronize runtime.eventElapsedTime runtime.streamSynchronize
        runtime.runtimeGetVersion runtime.hostAllocMapped runtime.hostAllocPortable
        runtime.eventDefault runtime.eventBlockingSync runtime.eventDisableTiming
        runtime.streamNonBlocking runtime.memcpyHostToDevice runtime.memcpyDeviceToHost
        runtime.memcpyDeviceToDevice runtime.CUDA_R_16F runtime.CUDA_R_32F runtime.CUDA_R_64F
        runtime.PointerAttributes.devicePointer runtime.CUDARuntimeError
        driver.moduleLoadData driver.moduleUnload driver.moduleGetFunction driver.moduleGetGlobal
        driver.funcGetAttribute
        driver.funcSetAttribute driver.occupancyMaxActiveBlocksPerMultiprocessor driver.launchKernel
        driver.CU_FUNC_ATTRIBUTE_NUM_REGS driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
        driver.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES driver.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
        driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES driver.CUDADriverError
        cublas.gemmEx cublas.CUBLAS_OP_N cublas.CUBLAS_GEMM_DEFAULT cublas.CUBLAS_COMPUTE_32F
        cublas.CUBLAS_COMPUTE_64F cublas.CUBLASError device.get_cublas_handle
        cuda.Stream cuda.Stream.__enter__ cuda.Stream.__exit__ cuda.UnownedMemory
        cuda.MemoryPointer cupy.ndarray.data cupy.ndarray.T cupy.ndarray.reshape cupy.add cupy.sum
        cupy.copyto cupy.cumsum
    """,
    "cupti": """
        cupti.activity_register_callbacks cupti.activity_enable cupti.activity_disable
        cupti.activity_flush_all cupti.get_timestamp cupti.cuptiError
        cupti.ActivityKind.CONCURRENT_KERNEL
        cupti.Result.ERROR_HARDWARE_BUSY cupti.Result.ERROR_INSUFFICIENT_PRIVILEGES
        cupti.Result.ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
        cupti.ActivityKernel10.kind cupti.ActivityKernel10.name cupti.ActivityKernel10.start
        cupti.ActivityKernel10.end cupti.ActivityKernel12.kind cupti.ActivityKernel12.name
        cupti.ActivityKernel12.start cupti.ActivityKernel12.end
        cupti.device_get_chip_name cupti.DEVICE_GET_CHIP_NAME_PARAMS_STRUCT_SIZE
        cupti.Device_GetChipName_Params cupti.Device_GetChipName_Params.struct_size
        cupti.Device_GetChipName_Params.device_index cupti.Device_GetChipName_Params.p_chip_name
        cupti.Device_GetChipName_Params.ptr
        cupti.DeviceGetChipNameParams cupti.DeviceGetChipNameParams.struct_size
        cupti.DeviceGetChipNameParams.device_index cupti.DeviceGetChipNameParams.p_chip_name
        cupti.DeviceGetChipNameParams.ptr
        pm_sampling.Collector pm_sampling.Collector.enable pm_sampling.Collector.configure
        pm_sampling.Collector.start pm_sampling.Collector.stop pm_sampling.Collector.decode
        pm_sampling.Collector.disable pm_sampling.Sample pm_sampling.TriggerMode.GPU_TIME_INTERVAL
        pm_sampling.TriggerMode.GPU_SYSCLK_INTERVAL
        profiler_host.ProfilerHost profiler_host.ProfilerHost.initialize
        profiler_host.ProfilerHost.deinitialize profiler_host.ProfilerHost.get_base_metrics
        profiler_host.ProfilerType.PM_SAMPLING profiler_host.MetricType.COUNTER
    """,
}
"""What is used, under the spelling of any version."""
DISTRIBUTIONS = {
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "cupti": ("cupti-python",),
}
_HEAD = re.compile(r"[\w.]+\((?P<arguments>.*?)\)(?: ->.*)?$")


def version(package: str) -> str | None:
    """Return the installed version of a package, None where it is not installed."""
    for name in DISTRIBUTIONS[package]:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def collect(package: str) -> dict[str, Entry]:
    """Return an entry for each wanted name that the installed package has."""
    found = {}
    for dotted in WANTED[package].split():
        short, _, path = dotted.partition(".")
        module, part = MODULES[package][short]
        try:
            value: Any = importlib.import_module(module)
            for name in filter(None, [part, *path.split(".")]):
                value = getattr(value, name)
        except (ModuleNotFoundError, AttributeError):
            continue
        found[dotted] = _entry(value)
    return found


def _entry(value: Any) -> Entry:
    if isinstance(value, int):
        return {"value": int(value)}
    if isinstance(value, type):
        return {"arguments": _arguments(inspect.getattr_static(value, "__init__"))}
    if callable(value):
        return {"arguments": _arguments(value)}
    return {}


def _arguments(function: Any) -> list[str] | None:
    """Return the arguments by the first line of the documentation, else by introspection.

    None where neither tells them.
    """
    head = _HEAD.match(((function.__doc__ or "").strip().splitlines() or [""])[0])
    if head is not None:
        names = [_name(part) for part in head["arguments"].split(",") if part.strip()]
    else:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            return None
        names = [str(p).partition("=")[0] + "=" * (p.default is not p.empty) for p in parameters]
        names = [_name(name) for name in names]
    names = [n for n in names if n not in ("self", "/", "*", "\\*")]
    return None if any(n.startswith("*") for n in names) else names


def _name(argument: str) -> str:
    """Return the name of ``size_t size``, ``kind: int`` or ``null=False``, ``=`` for a default."""
    text, equals, _ = argument.partition("=")
    return text.partition(":")[0].split()[-1] + equals


def main() -> None:
    """Write the file of the package that is named on the command line."""
    package = sys.argv[1]
    entries = collect(package)
    lines = ",\n".join(f" {json.dumps(n)}: {json.dumps(e)}" for n, e in sorted(entries.items()))
    file = FOLDER / f"{package}-{version(package)}.json"
    file.write_text("{\n" + lines + "\n}\n")
    print(f"{file.name}: {len(entries)} names")


if __name__ == "__main__":
    main()
