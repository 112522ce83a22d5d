"""Versions of what is installed beside an engine, found without importing any of it."""

from __future__ import annotations

from importlib import metadata

SHOWN = (
    "numpy", "msgspec", "torch", "tensorflow", "tensorflow-cpu", "keras", "jax", "jaxlib",
    "pyopencl", "intel-opencl-rt", "pocl-binary-distribution", "cupy", "cupy-cuda12x",
    "cupy-cuda13x", "triton", "nvidia-ml-py",
)  # fmt: skip
"""Distributions whose version a figure may depend on."""


def installed() -> dict[str, str]:
    """Return the version of each of ``SHOWN`` that is installed, in that order."""
    found = {}
    for name in SHOWN:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
