"""One device in use, with what is made once for all of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpuexplorer.backends.opencl.device import OpenDevice
from gpuexplorer.backends.opencl.flush import CacheFlush
from gpuexplorer.backends.opencl.surroundings import can_fence


@dataclass
class OpenclSession(OpenDevice):
    """An open device, and the programs built for it."""

    programs: dict[str, Any] = field(default_factory=dict)
    flush: CacheFlush = field(init=False)
    """What empties the device's cache before a cold launch."""
    fences_arrays: bool = field(init=False)
    """Whether arrays lie between fences that no kernel may touch."""

    def __post_init__(self) -> None:
        """Attach what belongs to this session."""
        self.flush = CacheFlush(self)
        self.fences_arrays = can_fence(self)
