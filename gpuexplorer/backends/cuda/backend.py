"""The CUDA backend: what is here, why not, and the sessions of the devices in use."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from typing import ClassVar

from gpuexplorer.backends.base import Backend, Runner
from gpuexplorer.backends.cuda import driver as cu
from gpuexplorer.backends.cuda import nvml
from gpuexplorer.backends.cuda.describe import architecture, describe, peak_bandwidth_B_per_s
from gpuexplorer.backends.cuda.session import Api, CudaSession
from gpuexplorer.core.cuda_choice import OLDEST_GPUS, Here, choose, fit, this_machine
from gpuexplorer.core.cuda_driver import Driver as CudaDriver
from gpuexplorer.core.cuda_driver import Gpu
from gpuexplorer.core.device import DeviceInfo, Unavailable
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.frozen import to_get
from gpuexplorer.workloads.plan import Plan


class CudaBackend(Backend):
    """NVIDIA GPUs, through CuPy. Nothing of CuPy is imported before a driver has been found."""

    name: ClassVar[str] = "cuda"

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._facts: dict[str, cu.DeviceFacts] = {}
        self._sessions: dict[str, CudaSession] = {}

    def discover(self) -> tuple[DeviceInfo, ...] | Unavailable:
        """Return the GPUs, or what is missing: driver, device, CuPy, the right CuPy."""
        library = cu.Driver.load()
        if library is None:
            return self._without("no NVIDIA driver is installed", "install NVIDIA's driver")
        try:
            driver = cu.Driver(library)
            major, minor = driver.version
            found = driver.devices()
        except cu.DriverError as error:
            return self._driver_trouble(error)
        if not found:
            return self._driver_trouble(cu.DriverError(cu.NO_DEVICE, "CUDA_ERROR_NO_DEVICE"))
        gpus = tuple(Gpu(facts.name, facts.capability) for facts in found)
        missing = cupy_trouble(major, minor, gpus)
        if missing is not None:
            return self._without(*missing)
        version = nvml.driver_version()
        label = f"{version} (CUDA {major}.{minor})" if version else f"CUDA {major}.{minor}"
        libraries = _libraries()
        devices = []
        for facts in found:
            target = _target(facts.capability)
            info = describe(facts, label, _peak_B_per_s(facts), libraries, target)
            self._facts[info.id] = facts
            devices.append(info)
        return tuple(devices)

    def runner(self, plan: Plan, device: DeviceInfo) -> Runner:
        """Return a runner for one configuration."""
        from gpuexplorer.backends.cuda.build import builder
        from gpuexplorer.backends.cuda.kernels import KernelRunner
        from gpuexplorer.backends.cuda.library import LibraryRunner

        session = self._session(device)
        if plan.library is not None:
            return LibraryRunner(plan, device, session)
        return KernelRunner(plan, device, session, builder(architecture(session.facts.capability)))

    def _session(self, device: DeviceInfo) -> CudaSession:
        if device.id not in self._facts:
            found = self.discover()
            if isinstance(found, Unavailable):
                raise CannotRunHere(
                    f"device '{device.id}' is not available: {found.reason}", remedy=found.remedy
                )
        if device.id not in self._facts:
            raise CannotRunHere(f"device '{device.id}' is not there any more")
        if device.id not in self._sessions:
            from gpuexplorer.backends.cuda.build import gate_compiler

            facts = self._facts[device.id]
            compile_gate = gate_compiler(architecture(facts.capability))
            self._sessions[device.id] = CudaSession(facts, Api.of_cupy(), compile_gate)
        return self._sessions[device.id]

    def memory_free_B(self, device: DeviceInfo) -> int | None:
        """Return the free memory of a GPU, of which other programs may take some, too."""
        session = self._session(device)
        with session.explained("asking how much memory is free"):
            session.activate()
            free_B, _ = session.api.runtime.memGetInfo()
        return int(free_B)

    def versions(self) -> dict[str, str]:
        """Return CuPy's version and that of the CUDA it was built for."""
        if not self._facts:
            return {}
        import cupy
        from cupy.cuda import runtime

        number = runtime.runtimeGetVersion()
        return {"cupy": cupy.__version__, "cuda": f"{number // 1000}.{number % 1000 // 10}"}

    def close(self) -> None:
        """Close the devices in use."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()

    def _without(self, reason: str, remedy: str) -> Unavailable:
        return Unavailable(backend=self.name, reason=reason, remedy=remedy)

    def _driver_trouble(self, error: cu.DriverError) -> Unavailable:
        if error.code == cu.NO_DEVICE:
            return self._without(
                "the NVIDIA driver is installed and finds no GPU",
                "compare with nvidia-smi, and look whether CUDA_VISIBLE_DEVICES hides it",
            )
        return self._without(
            f"the NVIDIA driver does not start: {error}",
            "run nvidia-smi; after an update of the driver, restart the machine",
        )


def cupy_trouble(major: int, minor: int, gpus: tuple[Gpu, ...] = ()) -> tuple[str, str] | None:
    """Return reason and remedy when CuPy cannot run under a driver for CUDA ``major.minor``.

    ``gpus``: what it drives, which decides with it about the CuPy that is named.
    """
    oldest = min(OLDEST_GPUS)
    if major < oldest:
        return (
            f"the NVIDIA driver supports CUDA {major}.{minor} only",
            f"install a driver for CUDA {oldest} or newer",
        )
    driver = CudaDriver((major, minor), gpus)
    choice = choose(this_machine(driver, sys.version_info[:2]))
    if importlib.util.find_spec("cupy") is None and choice.cuda is None:
        return choice.remark, "until then measure on the CPU"
    remedy = to_get(f"gpuexplorer[cuda{choice.cuda or oldest}]", in_an_engine=True)
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed", remedy
    try:
        from cupy.cuda import runtime
    except ImportError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip(" =*-")]
        said = lines[0] if lines else "no reason given"
        return f"CuPy {cupy_version()} cannot be imported ({said})", remedy
    built = int(runtime.runtimeGetVersion()) // 1000
    package = f"cupy-cuda{built}x"
    if built > major:
        return (
            f"CuPy is built for CUDA {built}, and the NVIDIA driver supports {major}.{minor}",
            f"pip uninstall {package}, then {remedy}",
        )
    # It is there, wherever it came from, so neither the system nor the Python is asked about.
    anywhere = Here("linux", "x86_64", driver)
    trouble = fit(built, False, anywhere).trouble if built in OLDEST_GPUS else ""
    if trouble and choice.cuda not in (None, built):
        return f"CuPy is built for CUDA {built}: {trouble}", (
            f"pip uninstall {package}, then {remedy}"
        )
    return (trouble, "until then measure on the CPU") if trouble else None


def cupy_version() -> str:
    """Return the version of the CuPy that is installed, whatever its package is called."""
    for package in ("cupy-cuda13x", "cupy-cuda12x", "cupy"):
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def _target(capability: tuple[int, int]) -> str | None:
    """Return what kernels are compiled for; None where they cannot be, which their runs explain."""
    from gpuexplorer.compile.nvrtc import target_for

    try:
        return target_for(architecture(capability))
    except ExplorerError:
        return None


def _libraries() -> tuple[str, ...]:
    from gpuexplorer.backends.cuda.library import offered

    return offered()


def _peak_B_per_s(facts: cu.DeviceFacts) -> float | None:
    """Return the nominal bandwidth by the driver's word, else by NVML's, else None."""
    by_driver = peak_bandwidth_B_per_s(
        facts.attribute(cu.MEMORY_CLOCK_kHz), facts.attribute(cu.MEMORY_BUS_WIDTH_bit)
    )
    if by_driver is not None:
        return by_driver
    return peak_bandwidth_B_per_s(*nvml.memory_clock_and_width(facts.uuid))
