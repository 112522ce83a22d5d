"""What the doctor looks at, apart from the devices: packages, drivers, Qt's libraries, folders."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

import gpuexplorer
from gpuexplorer.cli.display import why_no_window
from gpuexplorer.core.cuda_choice import without_cupti
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.frozen import clean_environment, is_frozen, module_command
from gpuexplorer.core.units import count

MIN_PYTHON = (3, 11)
TOOL_TIMEOUT_S = 20.0


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at. ``warn`` is something only some users need."""

    area: str
    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    remedy: str = ""


REQUIRED = (
    "numpy", "msgspec", "simpleeval", "rich", "platformdirs", "psutil", "matplotlib", "sqlalchemy",
    "optuna",
)  # fmt: skip

OPTIONAL: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    # title, distributions of which one is enough, what it gives, what to install
    ("PySide6", ("PySide6-Essentials", "PySide6"), "the window", "'PySide6-Essentials==6.10.*'"),
    ("pyqtgraph", ("pyqtgraph",), "the window's plots", "'pyqtgraph==0.14.*'"),
    ("PyOpenCL", ("pyopencl",), "kernels on CPUs and on GPUs with OpenCL", "pyopencl"),
    (
        "OpenCL for the CPU",
        ("intel-opencl-rt", "pocl-binary-distribution"),
        "kernels on the CPU",
        "intel-opencl-rt",
    ),
    (
        "CuPy",
        ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
        "kernels on NVIDIA GPUs",
        "cupy-cuda13x, or cupy-cuda12x for a driver older than 580 or a GPU older than compute "
        "capability 7.5",
    ),
    (
        "NVRTC",
        ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12"),
        "kernels compiled for any NVIDIA GPU: analyze and the Kernel view",
        "'gpuexplorer[nvrtc]'",
    ),
    (
        "nvdisasm",
        ("nvidia-cuda-nvdisasm",),
        "the machine instructions of kernels: analyze --sass and the Kernel view",
        "nvidia-cuda-nvdisasm",
    ),
    (
        "NVML",
        ("nvidia-ml-py",),
        "clock, power and temperature of NVIDIA GPUs",
        "nvidia-ml-py, where there is an NVIDIA GPU",
    ),
    ("PyTorch", ("torch",), "torch's own kernels to compare with", "torch"),
)

_LIBRARY_PACKAGES = {
    # what the loader misses: the Debian and Ubuntu package that has it
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libgl1",
    "libOpenGL.so.0": "libopengl0",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}


def program() -> list[Check]:
    """Check the interpreter and this package."""
    version = platform.python_version()
    new_enough = sys.version_info >= MIN_PYTHON
    return [
        Check(
            area="program",
            name="GPU Explorer",
            status="ok",
            found=f"{gpuexplorer.__version__}, installed in {Path(gpuexplorer.__file__).parent}",
        ),
        Check(
            area="program",
            name="Python",
            status="ok" if new_enough else "fail",
            found=f"{version}, started as {sys.executable}, {platform.platform()}",
            remedy="" if new_enough else "install Python 3.11 or newer",
        ),
    ]


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def packages() -> list[Check]:
    """Check the packages that are needed, and those that give more."""
    made = []
    for name in REQUIRED:
        version = _version(name)
        made.append(
            Check(
                area="packages",
                name=name,
                status="ok" if version else "fail",
                found=version or "not installed",
                remedy="" if version else f"pip install {name}",
            )
        )
    for title, distributions, gives, wanted in OPTIONAL:
        installed = {name: v for name in distributions if (v := _version(name))}
        listed = ", ".join(f"{name} {version}" for name, version in installed.items())
        made.append(
            Check(
                area="packages",
                name=title,
                status="ok" if installed else "warn",
                found=listed or f"not installed ({gives})",
                remedy="" if installed else f"pip install {wanted}",
            )
        )
    return [*made, *_cupti()]


def _cupti() -> list[Check]:
    """Check CUPTI's package, where CUDA 13's libraries are that it goes with."""
    if _version("cupy-cuda13x") is None:
        return []
    version = _version("cupti-python")
    torch = _version("torch")
    beside_torch = torch is not None and not torch.endswith("+cpu")
    why = without_cupti(sys.platform, sys.version_info[:2], beside_torch)
    gives = "kernel times without gaps, and the GPU's counters"
    missing = f"left out: {why}" if why else f"not installed ({gives})"
    return [
        Check(
            area="packages",
            name="CUPTI",
            status="ok" if version else "warn",
            found=f"cupti-python {version}" if version else missing,
            remedy="" if version or why else "pip install 'gpuexplorer[cupti]'",
        )
    ]


def _run(command: list[str]) -> tuple[int, str]:
    """Run a small program; return its status and the last line it said."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TOOL_TIMEOUT_S,
            check=False,
            env=clean_environment(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def nvidia_driver() -> Check:
    """Check for NVIDIA's driver through its own tool."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Check(
            area="drivers",
            name="NVIDIA driver",
            status="warn",
            found="not found",
            remedy="with an NVIDIA GPU: install its driver; without one nothing is missing",
        )
    status, said = _run([tool, "--query-gpu=name,driver_version", "--format=csv,noheader"])
    return Check(
        area="drivers",
        name="NVIDIA driver",
        status="ok" if status == 0 else "warn",
        found=said or "no answer",
        remedy="" if status == 0 else "run 'nvidia-smi' and follow what it says",
    )


def window() -> list[Check]:
    """Check whether Qt loads and whether there is a display; in a child, since Qt may abort."""
    if importlib.util.find_spec("PySide6") is None:
        return []
    x11 = sys.platform.startswith("linux") and bool(os.environ.get("DISPLAY"))
    status, said = _run(module_command("gpuexplorer.gui.qt_probe", *(["x11"] if x11 else [])))
    missing = re.search(r"(lib[\w.+-]+\.so[\w.]*)", said) if status else None
    remedy = ""
    if missing:
        package = _LIBRARY_PACKAGES.get(missing[1])
        remedy = f"install the system package {package}" if package else f"install {missing[1]}"
    elif status:
        remedy = "install GPU Explorer again" if is_frozen() else "reinstall PySide6-Essentials"
    reason = why_no_window()
    return [
        Check(
            area="window",
            name="Qt",
            status="fail" if status else "ok",
            found=said or "it ended without a word",
            remedy=remedy,
        ),
        Check(
            area="window",
            name="display",
            status="warn" if reason else "ok",
            found=reason or _display_words(),
            remedy="'ssh -X', or QT_QPA_PLATFORM=vnc; the command line needs none"
            if reason
            else "",
        ),
    ]


def _display_words() -> str:
    for name in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY"):
        if os.environ.get(name):
            return f"{name}={os.environ[name]}"
    return "the system's"


def cache_folder() -> Check:
    """Check that compiled kernels can be kept."""
    chosen = os.environ.get("GPUEXPLORER_CACHE_DIR")
    folder = Path(chosen) if chosen else Path(platformdirs.user_cache_dir("gpuexplorer"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"x")
    except OSError as error:
        return Check(
            area="folders",
            name="cache",
            status="warn",
            found=f"{folder} cannot be written ({error.strerror})",
            remedy="every kernel is compiled anew; make the folder writable",
        )
    free_B = shutil.disk_usage(folder).free
    low = free_B < 200e6
    return Check(
        area="folders",
        name="cache",
        status="warn" if low else "ok",
        found=f"{folder}, {free_B / 1e9:.1f} GB free",
        remedy="free some space" if low else "",
    )


MAX_NAMED = 10
"""Runs that cannot be read and are named."""


def history() -> Check:
    """Check that the history can be read and written; looking at it makes none."""
    from gpuexplorer.history.place import find_place
    from gpuexplorer.history.store import Store

    try:
        place = find_place()
        if place.path is not None and not place.path.exists():
            return Check(
                area="folders", name="history", status="ok", found=f"{place.words}, none yet"
            )
        with Store.open_to_read() as store:
            found = f"{store.words}, {count(store.count())} runs"
            writable = store.can_write
            damaged = store.damaged()
    except ExplorerError as error:
        return Check(
            area="folders", name="history", status="warn", found=error.what, remedy=error.remedy
        )
    if damaged:
        few = damaged[:MAX_NAMED]
        command = f"gpuexplorer history delete {' '.join(few)}"
        return Check(
            area="folders",
            name="history",
            status="warn",
            found=f"{found}, {count(len(damaged))} of which cannot be read",
            remedy=f"the others are unharmed; '{command}', and so on, takes them out of the list"
            if len(damaged) > len(few)
            else f"the others are unharmed; '{command}' takes them out of the list",
        )
    return Check(
        area="folders",
        name="history",
        status="ok" if writable else "warn",
        found=found if writable else f"{found}, read-only",
        remedy="" if writable else "runs are not kept; allow writing, or name another: --history",
    )
