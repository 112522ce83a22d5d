"""Which OpenCL drivers there are, and which of them work: each is tried in a child process.

A broken driver can abort the process that loads it (PoCL does when the system's linker is
missing), so nothing is loaded here before a child has built and run a kernel with it. A good
answer is kept on disk until something it depends on changes: usually no child is started at all.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from pathlib import Path

import msgspec

import gpuexplorer
from gpuexplorer.backends.cpu import cpu_cores, cpu_name
from gpuexplorer.backends.opencl.blanks import without_blanks
from gpuexplorer.compile.cache import DiskCache, cache_folder, key
from gpuexplorer.core.frozen import module_command
from gpuexplorer.core.opencl_choice import (
    CHOICE_VARIABLE,
    OURS_VARIABLE,
    VENDORS_VARIABLE,
    chosen_by_user,
)

PROBE_LIMIT_S = 60.0
TARGET_VARIABLE = "CL_CONFIG_CPU_TARGET_ARCH"
"""Has Intel's compiler build for an older CPU than this one."""
_SYSTEM_VENDORS = Path("/etc/OpenCL/vendors")
_WINDOWS_VARIABLE = "OCL_ICD_FILENAMES"


class ProbedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """One device as a driver's child process saw it, after a kernel ran on it."""

    platform: str
    index: int
    """Position among its platform's devices."""
    name: str
    kind: str
    driver: str
    compute_units: int
    language: str
    """``clc++`` or ``c``."""
    standard: str
    """The compiler's ``-cl-std``."""
    extensions: tuple[str, ...]
    max_threads_per_block: int
    max_block: tuple[int, int, int]
    local_memory_B: int
    memory_B: int
    max_allocation_B: int
    unified_memory: bool
    uuid: str | None = None
    cache_B: int | None = None
    """Its cache for global memory, as the driver says."""
    clock_Hz: float | None = None
    lanes: int | None = None
    """How many threads its compiler runs together in a CPU's vector unit, where it says so."""
    time_limit: bool = False
    """Whether the system ends long kernels, because the GPU has a display."""


class ProbeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a child found: devices, or what went wrong."""

    devices: tuple[ProbedDevice, ...] = ()
    error: str = ""


class Driver(msgspec.Struct, frozen=True):
    """One driver: a library, or a file of the system that names one."""

    name: str
    """``intel``, ``pocl`` or ``system``."""
    path: Path

    def environment(self, threads: int) -> dict[str, str]:
        """Return what must stand in the environment before pyopencl is imported."""
        return environment([self], threads)


def environment(drivers: list[Driver], threads: int) -> dict[str, str]:
    """Return the environment in which the loader finds exactly these drivers.

    The number of CPU threads is fixed there too, for the life of the process.
    """
    found = {
        "DPCPP_CPU_NUM_CUS": str(threads),
        "POCL_MAX_PTHREAD_COUNT": str(threads),
        "POCL_CACHE_DIR": os.environ.get("POCL_CACHE_DIR", str(cache_folder() / "pocl")),
        "PYOPENCL_NO_CACHE": "1",  # programs are cached here, with the driver's version in the key
    }
    if os.name == "nt":
        found[_WINDOWS_VARIABLE] = os.pathsep.join(str(d.path) for d in drivers)
    elif len(drivers) == 1:
        # The library itself: with a folder the loader of pyopencl's wheel adds pip's PoCL.
        found[VENDORS_VARIABLE] = _library_of(drivers[0])
    else:
        found[VENDORS_VARIABLE] = str(_vendor_folder(drivers))
    found[OURS_VARIABLE] = found.get(VENDORS_VARIABLE, "")
    return found


def _vendor_folder(drivers: list[Driver]) -> Path:
    """Return a folder with one ``.icd`` file a driver, as the loader wants several of them."""
    texts = [_library_of(driver) for driver in drivers]
    folder = cache_folder() / "vendors" / key(*texts)[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for index, text in enumerate(texts):
        path = folder / f"{index:02}.icd"
        if not path.is_file() or path.read_text(encoding="utf-8").strip() != text:
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(text + "\n", encoding="utf-8")
            os.replace(temporary, path)
    return folder


def _library_of(driver: Driver) -> str:
    if driver.path.suffix == ".icd":
        return driver.path.read_text(encoding="utf-8", errors="replace").strip()
    return str(without_blanks(driver.path) if driver.name == "intel" else driver.path)


# ---- what is installed


def installed_drivers() -> list[Driver]:
    """Return the drivers to try, in order of preference; the environment may choose one."""
    found = [
        *(Driver("intel", p) for p in [_packaged("intel-opencl-rt", _INTEL_NAMES)] if p),
        *(Driver("system", p) for p in _system_files()),
        *(Driver("pocl", p) for p in [_pocl()] if p),
    ]
    chosen = os.environ.get(CHOICE_VARIABLE)
    return [d for d in found if chosen in (None, "", d.name)]


_INTEL_NAMES = ("libintelocl.so", "intelocl64.dll")


def _packaged(distribution: str, names: tuple[str, ...]) -> Path | None:
    prefix = Path(sys.prefix)  # of a frozen program: its folder of libraries
    for folder in (prefix / "lib", prefix / "Library" / "bin"):
        for name in names:
            if (folder / name).is_file():
                return folder / name
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name in names:
            path = Path(str(file.locate())).resolve()
            if path.is_file():
                return path
    return None


def _pocl() -> Path | None:
    """Return PoCL's library from pip: it stands beside pyopencl's own loader."""
    try:
        files = importlib.metadata.files("pocl-binary-distribution") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        if file.name.startswith("libpocl") and (".so" in file.name or file.suffix == ".dylib"):
            path = Path(str(file.locate())).resolve()
            if path.is_file():
                return path
    return None


def _system_files() -> list[Path]:
    """Return the ``.icd`` files of the system, or those the user's environment names."""
    place = Path(chosen_by_user().get(VENDORS_VARIABLE, _SYSTEM_VENDORS))
    if place.is_file():
        return [place]
    try:
        return sorted(place.glob("*.icd"))
    except OSError:
        return []


# ---- trying one


def probe(driver: Driver, threads: int) -> ProbeAnswer:
    """Return what a driver offers, from the disk or from a child process."""
    cache = DiskCache("probe")
    name = _probe_key(driver)
    kept = cache.get(name)
    if kept is not None:
        try:
            return msgspec.json.decode(kept, type=ProbeAnswer)
        except msgspec.MsgspecError:
            cache.remove(name)
    answer = _probe_in_child(driver, threads)
    if answer.devices:
        cache.put(name, msgspec.json.encode(answer))
    return answer


def _probe_key(driver: Driver) -> str:
    """Return what a driver's answer depends on."""
    try:
        status = driver.path.stat()
        file = f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        file = "absent"
    parts = [
        gpuexplorer.__version__, sys.version, _version("pyopencl"), _version("numpy"),
        driver.name, str(driver.path), file, platform.node(), cpu_name(), str(cpu_cores()),
        os.environ.get(TARGET_VARIABLE, ""),
    ]  # fmt: skip
    if driver.name == "system":  # its library is updated, and its devices come and go, behind us
        parts += [_boot(), _library_of(driver), os.environ.get("CUDA_VISIBLE_DEVICES", "")]
    return key(*parts)


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8")
    except OSError:
        return str(os.getppid())


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _probe_in_child(driver: Driver, threads: int) -> ProbeAnswer:
    command = module_command("gpuexplorer.backends.probe", "opencl")
    child_environment = {**os.environ, **driver.environment(threads)}
    try:
        done = subprocess.run(
            command,
            env=child_environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ProbeAnswer(error=f"did not answer within {PROBE_LIMIT_S:.0f} s")
    except OSError as error:
        return ProbeAnswer(error=f"could not be tried: {error.strerror}")
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    try:
        return msgspec.json.decode(lines[-1] if lines else "", type=ProbeAnswer)
    except msgspec.MsgspecError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        code = done.returncode
        ended = (
            f"ended its process (signal {-code})"
            if code < 0
            else f"ended its process (code {code})"
        )
        return ProbeAnswer(error=f"{ended}: {said[-1]}" if said else ended)
