"""What the deep-learning frameworks share: found without an import, imported with a clear word."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpuexplorer.backends.caches import last_level_cache_B
from gpuexplorer.backends.cpu import (
    cpu_hardware_id,
    cpu_name,
    memory_total_B,
    nominal_clock_Hz,
)
from gpuexplorer.backends.cuda import driver as cuda
from gpuexplorer.core.device import DeviceInfo, DeviceLimits, Unavailable
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.frozen import is_frozen

UNKNOWN = "of an unknown version"
_CPUINFO = Path("/proc/cpuinfo")


def module_folder(module: str) -> Path | None:
    """Return the folder of an installed top-level module without importing it, or None.

    A folder without ``__init__.py`` is what an uninstalled package may leave behind.
    """
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def version_of(module: str, *distributions: str) -> str | None:
    """Return a module's installed version by the first of its distributions, or None without it."""
    if module_folder(module) is None:
        return None
    for name in distributions or (module,):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return UNKNOWN


def pip_install(*packages: str) -> str:
    """Return the command that installs packages for this very Python, to paste into a shell."""
    if is_frozen():  # a program in one piece takes in no packages
        return f"pip install {shlex.join(packages)} in a Python of your own, chosen with --python"
    return shlex.join([sys.executable, "-m", "pip", "install", *packages])


def missing(backend: str, title: str, *packages: str) -> Unavailable:
    """Return the answer of a framework that is not installed."""
    return Unavailable(
        backend=backend,
        reason=f"{title} is not installed",
        remedy=f"install it with {pip_install(*packages)}",
    )


def cuda_of_driver() -> int | None:
    """Return the major version of CUDA that this machine's NVIDIA driver runs, or None."""
    library = cuda.Driver.load()
    if library is None:
        return None
    try:
        return cuda.Driver(library).version[0]
    except cuda.DriverError:
        return None


def lacks_avx(title: str, backend: str) -> Unavailable | None:
    """Return why a framework built for AVX cannot run: it would end the process when imported."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    flags = re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)
    if flags is None or "avx" in flags[1].split():
        return None
    return Unavailable(
        backend=backend,
        reason=f"{title} is built for AVX instructions, which this CPU ({cpu_name()}) lacks",
        remedy="build it from source for this CPU, or use NumPy",
    )


def cpu_device(
    backend: str,
    driver: str,
    *,
    threads: int,
    precisions: Iterable[str],
    models: Iterable[str],
) -> DeviceInfo:
    """Return the CPU as a framework's device."""
    return DeviceInfo(
        id=f"{backend}:cpu",
        hardware_id=cpu_hardware_id(),
        name=cpu_name(),
        backend=backend,
        kind="cpu",
        driver=driver,
        compute_units=threads,
        last_level_cache_B=last_level_cache_B(),
        nominal_clock_Hz=nominal_clock_Hz(),
        limits=DeviceLimits(memory_B=memory_total_B()),
        precisions=tuple(precisions),
        libraries=tuple(models),
        threads=threads,
    )


def gpu_devices(
    backend: str,
    driver: str,
    *,
    precisions: Callable[[tuple[int, int]], Iterable[str]],
    models: Iterable[str],
) -> tuple[DeviceInfo, ...]:
    """Return NVIDIA's devices by the driver's word, as a framework that is built for CUDA has them.

    ``precisions`` are those of a compute capability. Whether the framework finds its own CUDA
    libraries shows only when it is imported.
    """
    library = cuda.Driver.load()
    if library is None:
        return ()
    try:
        facts = cuda.Driver(library).devices()
    except cuda.DriverError:
        return ()  # the cuda backend says what is wrong with the driver
    return tuple(
        DeviceInfo(
            id=f"{backend}:cuda:{device.index}",
            hardware_id=device.uuid,
            name=device.name,
            backend=backend,
            kind="gpu",
            driver=driver,
            compute_units=device.needed(cuda.MULTIPROCESSORS),
            last_level_cache_B=device.attribute(cuda.L2_CACHE_B),
            nominal_clock_Hz=device.clock_Hz,
            limits=DeviceLimits(memory_B=device.memory_B, max_launch_s=device.max_launch_s),
            precisions=tuple(precisions(device.capability)),
            libraries=tuple(models),
            compute_capability=device.capability,
        )
        for device in facts
    )


def import_framework(module: str, title: str, *packages: str) -> Any:
    """Import a framework; WorkFailed in one sentence when its installation is broken."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # noqa: BLE001 - a broken installation raises whatever it likes
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise WorkFailed(
            f"{title} cannot be imported: {lines[0]}",
            remedy=f"install it again with {pip_install('--force-reinstall', *packages)}",
            detail=traceback.format_exc(),
        ) from None


def quieten() -> None:
    """Have TensorFlow and XLA tell of errors alone; unless the user asked for more."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
