"""Which devices TensorFlow can use, found without importing it, because that takes seconds."""

from __future__ import annotations

import platform
import re
import sys
from typing import ClassVar

from gpuexplorer.backends.framework_backend import FrameworkBackend
from gpuexplorer.backends.frameworks import UNKNOWN, cuda_of_driver, module_folder, version_of
from gpuexplorer.backends.tensorflow.runner import TensorFlowCpuRunner, TensorFlowCudaRunner

DISTRIBUTIONS = ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tf-nightly", "tf-nightly-cpu")


class TensorFlowBackend(FrameworkBackend):
    """The devices of the TensorFlow that is installed."""

    name: ClassVar[str] = "tensorflow"
    title = "TensorFlow"
    on_cpu = TensorFlowCpuRunner
    on_gpu = TensorFlowCudaRunner

    def version(self) -> str | None:
        """Return the installed TensorFlow's version, or None."""
        return tensorflow_version()

    def built_for(self) -> str | None:
        """Return the CUDA version that it is built for, or None."""
        return tensorflow_cuda()

    def package(self) -> str:
        """Return what to install on this machine."""
        return tensorflow_package()


def tensorflow_version() -> str | None:
    """Return the installed TensorFlow's version, or None."""
    return version_of("tensorflow", *DISTRIBUTIONS)


def tensorflow_cuda() -> str | None:
    """Return the CUDA version that the installed TensorFlow is built for, or None."""
    folder = module_folder("tensorflow")
    if folder is None:
        return None
    try:
        text = (folder / "python" / "platform" / "build_info.py").read_text(encoding="utf-8")
    except OSError:
        return None
    if not re.search(r"is_cuda_build['\"],\s*True", text):
        return None
    version = re.search(r"cuda_version['\"],\s*['\"]([\d.]+)", text)
    return version[1] if version else UNKNOWN


def tensorflow_package() -> str:
    """Return what to install for this machine: with CUDA's libraries where there is a driver."""
    driver = cuda_of_driver()
    if driver is not None and driver >= 12 and sys.platform == "linux":
        return "tensorflow[and-cuda]"
    intel = platform.machine().lower() in ("x86_64", "amd64")
    return "tensorflow-cpu" if intel and sys.platform == "linux" else "tensorflow"
