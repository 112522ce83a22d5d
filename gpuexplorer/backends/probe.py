"""Try one driver and print what it offers as one line of JSON; run only as a child process.

``python -m gpuexplorer.backends.probe opencl`` loads the OpenCL drivers that the environment names,
builds and runs a tiny kernel on each of their devices, and prints a ``ProbeAnswer``.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.backends.opencl.drivers import ProbeAnswer, ProbedDevice

STANDARDS = (("clc++", "CLC++2021"), ("c", "CL3.0"), ("c", "CL2.0"), ("c", "CL1.2"))
_CPP = "template <typename T> T twice(T x) { return x + x; }\n"
_C = "int twice(int x) { return x + x; }\n"
_KERNEL = "__kernel void probe(__global int *x) { int i = get_global_id(0); x[i] = twice(i); }\n"
_COUNT = 64
TOO_OLD = "this driver's compiler is older than the processor and cannot build for it"


def main(arguments: list[str]) -> int:
    """Probe the kind of driver that ``arguments`` name; return the exit code."""
    if arguments != ["opencl"]:
        print("usage: python -m gpuexplorer.backends.probe opencl", file=sys.stderr)
        return 2
    answer = _opencl()
    sys.stdout.write("\n" + msgspec.json.encode(answer).decode() + "\n")
    sys.stdout.flush()
    os._exit(0)  # a driver's clean-up at exit may hang or crash, and there is nothing to save


def _opencl() -> ProbeAnswer:
    try:
        import pyopencl as cl
    except ImportError as error:
        return ProbeAnswer(error=f"pyopencl cannot be imported: {error}")
    devices: list[ProbedDevice] = []
    problems: list[str] = []
    try:
        platforms = cl.get_platforms()
    except cl.Error as error:
        return ProbeAnswer(error=f"the loader found no platform: {error}")
    for platform in platforms:
        try:
            found = platform.get_devices()
        except cl.Error:
            continue  # a platform without devices reports an error
        for index, device in enumerate(found):
            kind = _kind(cl, device)
            if kind is None:
                continue
            try:
                devices.append(
                    _describe(cl, platform, device, index, kind, *_run_kernel(cl, device))
                )
            except (cl.Error, RuntimeError) as error:
                problems.append(f"{device.name.strip()}: {problem_of(str(error))}")
    return ProbeAnswer(devices=tuple(devices), error="; ".join(problems))


def problem_of(log: str) -> str:
    """Return the line of a driver's or compiler's log that says what is wrong."""
    lines = [line.strip() for line in log.splitlines() if line.strip()] or ["no reason given"]
    error = next((line for line in lines if line.startswith("error:")), lines[0])
    if "unknown target CPU" in error:  # PoCL's LLVM calls one that it does not know 'generic'
        return TOO_OLD
    return error.removeprefix("error:").strip()


def _kind(cl: Any, device: Any) -> str | None:
    if device.type & cl.device_type.GPU:
        return "gpu"
    return "cpu" if device.type & cl.device_type.CPU else None


def _run_kernel(cl: Any, device: Any) -> tuple[str, str, int | None]:
    """Return the first dialect that builds and computes right, and how many threads go together.

    The dialect is a language and a standard.
    """
    context = cl.Context([device])
    queue = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
    problem: Exception = RuntimeError("no dialect of OpenCL builds")
    for language, standard in STANDARDS:
        source = (_CPP if language == "clc++" else _C) + _KERNEL
        try:
            program = cl.Program(context, source).build(f"-cl-std={standard}", cache_dir=False)
        except (cl.Error, RuntimeError) as error:
            problem = error
            continue
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * _COUNT)
        kernel = cl.Kernel(program, "probe")
        kernel.set_arg(0, buffer)
        cl.enqueue_nd_range_kernel(queue, kernel, (_COUNT,), (16,)).wait()
        result = np.empty(_COUNT, np.int32)
        cl.enqueue_copy(queue, result, buffer)
        if not np.array_equal(result, 2 * np.arange(_COUNT)):
            raise RuntimeError("a test kernel gave a wrong result")
        return language, standard, _lanes(cl, device, kernel)
    raise problem


def _lanes(cl: Any, device: Any, kernel: Any) -> int | None:
    """Return how many threads of a kernel a CPU's vector unit runs together, if it is told."""
    try:
        info = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
        return int(kernel.get_sub_group_info(device, info, [_COUNT])) or None
    except (AttributeError, TypeError, ValueError, cl.Error):
        return None


def _describe(
    cl: Any, platform: Any, device: Any, index: int, kind: str, language: str, standard: str,
    lanes: int | None,
) -> ProbedDevice:  # fmt: skip
    extensions = tuple(device.extensions.split())
    sizes = (*device.max_work_item_sizes, 1, 1)
    return ProbedDevice(
        platform=platform.name.strip(),
        index=index,
        name=device.name.strip(),
        kind=kind,
        driver=f"{platform.name.strip()} {device.driver_version.strip()}",
        compute_units=device.max_compute_units,
        language=language,
        standard=standard,
        extensions=extensions,
        max_threads_per_block=device.max_work_group_size,
        max_block=(sizes[0], sizes[1], sizes[2]),
        local_memory_B=device.local_mem_size,
        memory_B=device.global_mem_size,
        max_allocation_B=device.max_mem_alloc_size,
        unified_memory=bool(device.host_unified_memory),
        uuid=_uuid(cl, device) if "cl_khr_device_uuid" in extensions else None,
        cache_B=int(device.global_mem_cache_size) or None,
        clock_Hz=device.max_clock_frequency * 1e6 or None,
        lanes=lanes if kind == "cpu" else None,
        time_limit=kind == "gpu" and _has_time_limit(cl, device),
    )


def _has_time_limit(cl: Any, device: Any) -> bool:
    """Return whether the system ends long kernels; Windows does so on every GPU with a display."""
    if "cl_nv_device_attribute_query" in device.extensions.split():
        return bool(device.get_info(cl.device_info.KERNEL_EXEC_TIMEOUT_NV))
    return sys.platform == "win32"


def _uuid(cl: Any, device: Any) -> str | None:
    try:
        raw = bytes(device.uuid_khr)
    except (AttributeError, TypeError, cl.Error):
        return None  # not offered by this pyopencl or this driver: the name identifies it then
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
