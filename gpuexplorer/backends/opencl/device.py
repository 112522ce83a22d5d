"""One OpenCL device in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpuexplorer.backends.opencl.drivers import ProbedDevice
from gpuexplorer.core.device import DeviceInfo


@dataclass
class OpenDevice:
    """A device's context and queue; ``cl`` is pyopencl."""

    info: DeviceInfo
    probed: ProbedDevice
    cl: Any
    device: Any
    context: Any
    queue: Any
