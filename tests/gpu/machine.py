"""Where the checks run: the checkout, what is installed, and whether there is a GPU at all."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import runpy
import sys
from pathlib import Path

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE as DATA_VARIABLE
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE as CACHE_VARIABLE
from gpuexplorer.engine.interpreters import CONFIG_VARIABLE
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE as HISTORY_VARIABLE

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "gpuexplorer", "numpy", "cupy-cuda12x", "cupy-cuda13x", "cuda-bindings",
    "nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-runtime",
    "nvidia-cuda-runtime-cu12", "nvidia-cublas", "nvidia-cublas-cu12", "nvidia-ml-py",
    "cupti-python", "torch",
)  # fmt: skip
"""What a figure from a card may depend on."""


def why_no_gpu() -> str | None:
    """Return why there is no GPU to check, or None. A GPU without CuPy is no reason."""
    from gpuexplorer.backends.cuda import driver as cu

    library = cu.Driver.load()
    if library is None:
        return "no NVIDIA driver is installed"
    try:
        return None if cu.Driver(library).devices() else "the NVIDIA driver finds no GPU"
    except cu.DriverError as error:
        return f"the NVIDIA driver does not start: {error}"


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a program that imports this checkout and writes UTF-8.

    What it keeps goes below ``folder``: it reads and writes nobody's own runs, ceilings, settings
    and compiled kernels.
    """
    path = os.environ.get("PYTHONPATH")
    fixed = {
        "PYTHONPATH": os.pathsep.join([str(ROOT), path] if path else [str(ROOT)]),
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        CACHE_VARIABLE: str(folder / "cache"),
        CONFIG_VARIABLE: str(folder / "config"),
        DATA_VARIABLE: str(folder / "data"),
    }
    return {k: v for k, v in os.environ.items() if k != HISTORY_VARIABLE} | fixed


def lacks(package: str) -> str:
    """Return why a check that needs a package has nothing to check; empty when it is there.

    PyTorch has to be one for CUDA, which its file of versions says without importing it.
    """
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return f"{package} is not installed"
    versions = Path(found.origin).with_name("version.py")
    if package == "torch" and versions.is_file() and not runpy.run_path(str(versions)).get("cuda"):
        return "this PyTorch is built for the CPU alone"
    return ""


def system() -> dict[str, str]:
    """Return the operating system, the Python, and the packages a figure may depend on."""
    found = {"system": platform.platform(), "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def speak_plainly() -> None:
    """Let no console fail over a character that it cannot show: Windows' may have no µ."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
