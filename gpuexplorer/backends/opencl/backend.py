"""The OpenCL backend: which devices there are, and one context and queue for each in use."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from typing import ClassVar

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.caches import last_level_cache_B
from gpuexplorer.backends.cpu import (
    cpu_cores,
    cpu_hardware_id,
    cpu_maker,
    cpu_name,
    memory_total_B,
    nominal_clock_Hz,
)
from gpuexplorer.backends.cuda import nvml
from gpuexplorer.backends.frameworks import pip_install
from gpuexplorer.backends.opencl.drivers import (
    Driver,
    ProbedDevice,
    environment,
    installed_drivers,
    probe,
)
from gpuexplorer.backends.opencl.session import OpenclSession
from gpuexplorer.core.device import DISPLAY_LAUNCH_S, DeviceInfo, DeviceLimits, Unavailable
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.hardware_id import in_this_machine
from gpuexplorer.core.opencl_choice import CHOICE_VARIABLE
from gpuexplorer.workloads.plan import Plan

# What a CUDA GPU allows without asking, so that a kernel that runs here runs there too.
GPU_THREADS = 1024
GPU_BLOCK = (1024, 1024, 64)
GPU_SHARED_B = 48 * 1024


class OpenCLBackend(Backend):
    """Devices of every OpenCL driver that works here."""

    name: ClassVar[str] = "opencl"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._drivers: list[Driver] = []
        self._probed: dict[str, ProbedDevice] = {}
        self._sessions: dict[str, OpenclSession] = {}

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the devices of every driver that ran a kernel in a child process."""
        if importlib.util.find_spec("pyopencl") is None:
            return self._unavailable("pyopencl is not installed")
        installed = installed_drivers()
        if not installed:
            chosen = os.environ.get(CHOICE_VARIABLE)
            if chosen:
                return self._unavailable(
                    f"no OpenCL driver named '{chosen}' ({CHOICE_VARIABLE}) is installed"
                )
            return self._unavailable("no OpenCL driver is installed")
        self._drivers = []
        devices: list[ProbedDevice] = []
        problems: list[str] = []
        for driver in installed:
            have_cpu = any(d.kind == "cpu" for d in devices)
            if have_cpu and driver.name == "pocl":
                continue  # a fallback only
            answer = probe(driver, self.threads)
            if answer.error:
                problems.append(f"{driver.path.name}: {answer.error}")
            fresh = [d for d in answer.devices if not (have_cpu and d.kind == "cpu")]
            if fresh:
                self._drivers.append(driver)
                devices += fresh
        if not devices:
            return self._unavailable("; ".join(problems) or "no driver offers a CPU or GPU")
        devices.sort(key=lambda d: d.kind != "cpu")
        self._probed = {f"opencl:{i}": d for i, d in enumerate(devices)}
        return tuple(self._info(name, d) for name, d in self._probed.items())

    def _unavailable(self, reason: str) -> Unavailable:
        packages = pip_install("pyopencl", "intel-opencl-rt")
        remedy = f"install Intel's CPU runtime with {packages}"
        if "pocl" in reason:
            remedy = (
                f"install Intel's CPU runtime with {packages}, or what PoCL needs: binutils, "
                "libgcc-12-dev, libc6-dev"
            )
        return Unavailable(backend=self.name, reason=reason, remedy=remedy)

    def _info(self, name: str, probed: ProbedDevice) -> DeviceInfo:
        is_cpu = probed.kind == "cpu"
        features = ["opencl"]
        precisions = ["fp32"]
        if "cl_khr_fp64" in probed.extensions:
            features.append("fp64")
            precisions.insert(0, "fp64")
        if "cl_khr_fp16" in probed.extensions:
            features.append("fp16")
            precisions.append("fp16")
        if probed.language == "clc++":
            features.append("c++")
            precisions.insert(precisions.index("fp32") + 1, "bf16")
        if offers_shuffles(probed):
            features.append("shuffle")
        if probed.lanes is not None:
            features.append(f"lanes_{probed.lanes}")
        if is_cpu and (maker := cpu_maker()) is not None:
            features.append(f"{maker}_cpu")
        memory_B = min(probed.memory_B, memory_total_B()) if is_cpu else probed.memory_B
        hardware_id = cpu_hardware_id() if is_cpu else self._gpu_id(probed)
        clock_Hz = nominal_clock_Hz() if is_cpu else probed.clock_Hz
        if hardware_id.startswith(("GPU-", "MIG-")):
            clock_Hz = nvml.max_clock_Hz(hardware_id) or clock_Hz
        return DeviceInfo(
            id=name,
            hardware_id=hardware_id,
            name=cpu_name() if is_cpu else probed.name,
            backend=self.name,
            kind=probed.kind,
            driver=probed.driver,
            compute_units=cpu_cores() if is_cpu else probed.compute_units,
            last_level_cache_B=last_level_cache_B() if is_cpu else probed.cache_B,
            nominal_clock_Hz=clock_Hz,
            limits=DeviceLimits(
                max_threads_per_block=min(GPU_THREADS, probed.max_threads_per_block),
                max_block=(
                    min(GPU_BLOCK[0], probed.max_block[0]),
                    min(GPU_BLOCK[1], probed.max_block[1]),
                    min(GPU_BLOCK[2], probed.max_block[2]),
                ),
                max_shared_B=min(GPU_SHARED_B, probed.local_memory_B),
                memory_B=memory_B,
                max_allocation_B=probed.max_allocation_B,
                max_launch_s=DISPLAY_LAUNCH_S if probed.time_limit else None,
            ),
            precisions=tuple(precisions),
            features=tuple(features),
            threads=self.threads if is_cpu else None,
            runs_kernels=True,
        )

    @staticmethod
    def _gpu_id(probed: ProbedDevice) -> str:
        if probed.uuid is None:
            return in_this_machine(f"{probed.platform}:{probed.name}:{probed.index}")
        # NVIDIA's own tools write the same UUID with a prefix.
        is_nvidia = "NVIDIA" in probed.platform
        if is_nvidia:
            return nvml.known_as(f"GPU-{probed.uuid}")
        return in_this_machine(probed.uuid)  # which others make of where it is plugged in

    def prepare(self, device: DeviceInfo) -> None:
        """Load the driver, and its compiler where nothing was compiled so far; open the device."""
        import gpuexplorer.backends.opencl.runner  # noqa: F401
        from gpuexplorer.backends.opencl.program import load_compiler

        load_compiler(self._session(device))

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one configuration."""
        from gpuexplorer.backends.opencl.runner import OpenCLRunner

        return OpenCLRunner(plan, device, self._session(device))

    def _session(self, info: DeviceInfo) -> OpenclSession:
        if info.id not in self._probed:
            self.discover()
        if info.id not in self._probed:
            raise CannotRunHere(f"{info.id} is not there any more")
        if info.id not in self._sessions:
            self._sessions[info.id] = self._open(info, self._probed[info.id])
        return self._sessions[info.id]

    def _open(self, info: DeviceInfo, probed: ProbedDevice) -> OpenclSession:
        os.environ.update(environment(self._drivers, self.threads))
        import pyopencl as cl

        for platform in cl.get_platforms():
            if platform.name.strip() != probed.platform:
                continue
            device = platform.get_devices()[probed.index]
            context = cl.Context([device])
            profiling = cl.command_queue_properties.PROFILING_ENABLE
            queue = cl.CommandQueue(context, properties=profiling)
            return OpenclSession(info, probed, cl, device, context, queue)
        raise CannotRunHere(
            f"the OpenCL platform '{probed.platform}' of {info.id} cannot be loaded",
            remedy="see 'gpuexplorer doctor'",
        )

    def versions(self) -> dict[str, str]:
        """Return pyopencl's version."""
        try:
            return {"pyopencl": importlib.metadata.version("pyopencl")}
        except importlib.metadata.PackageNotFoundError:
            return {}

    def close(self) -> None:
        """Wait for what is queued and let go of contexts."""
        for session in self._sessions.values():
            session.queue.finish()
        self._sessions.clear()


def offers_shuffles(probed: ProbedDevice) -> bool:
    """Whether warps of 32 can be formed: C++ for OpenCL and sub-groups of a required size."""
    needed = {"cl_intel_required_subgroup_size", "cl_khr_subgroup_rotate"}
    return probed.language == "clc++" and needed <= set(probed.extensions)
