"""Who else uses a GPU: the programs that NVML sees there, without this one's own."""

from __future__ import annotations

import os
import time
from typing import Any

from gpuexplorer.core.sample import DeviceUser

LOOK_EVERY_S = 1.0
"""Between two looks; what NVML tells of a process's work reaches back to the one before."""
FIRST_SPAN_S = 2.0
"""How far the first look reaches back."""
FIRST_NAMESPACE = 0xEFFFFFFC
"""What Linux calls the namespace of processes that it begins with (``PROC_PID_INIT_INO``)."""
UNTOLD = (
    "NVML names programs by their numbers outside of this container, and does not tell which of "
    "them are others"
)


def has_own_numbers() -> bool:
    """Return whether processes have other numbers here than outside, as in a container."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino != FIRST_NAMESPACE
    except OSError:  # another system
        return False


class DeviceUsers:
    """The other programs with work or memory on one GPU.

    Those of the program that this engine measures for are left out: the engine itself, and others
    that it has started. Where the driver numbers processes as outside of this container, nothing
    tells which those are.
    """

    def __init__(self, nvml: Any, handle: Any) -> None:
        """``nvml`` is the module ``pynvml``."""
        self._nvml, self._handle = nvml, handle
        self._is_apart = has_own_numbers()
        # A container's first process may be the program; a machine's is an ancestor of them all.
        self._ours = {os.getpid(), os.getppid()} - ({0} if self._is_apart else {0, 1})
        self._known: dict[int, tuple[str, str] | None] = {}
        """Program and user of a process, None for one of ours."""
        self._due = 0.0
        self._seen_us = int((time.time() - FIRST_SPAN_S) * 1e6)
        self._found: tuple[DeviceUser, ...] | None = None
        self.untold = ""
        """Why the others are not told, where that is known."""

    def read(self) -> tuple[DeviceUser, ...] | None:
        """Return the others, as of the last look; None where NVML does not tell them."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + LOOK_EVERY_S
            self._found = self._look()
        return self._found

    def _look(self) -> tuple[DeviceUser, ...] | None:
        try:
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except Exception:  # noqa: BLE001 - with a driver too old for it, pynvml raises no NVMLError
            return None
        loads = self._loads()
        self._known = {p.pid: self._who(p.pid) for p in processes}
        self.untold = UNTOLD if self._are_numbered_outside() else ""
        if self.untold:
            return None
        found = tuple(
            DeviceUser(
                pid=one.pid,
                program=who[0],
                user=who[1],
                memory_B=None if one.usedGpuMemory is None else float(one.usedGpuMemory),
                load=None if loads is None else loads.get(one.pid, 0.0),
            )
            for one in sorted(processes, key=lambda p: -(p.usedGpuMemory or 0))
            if (who := self._known[one.pid]) is not None
        )
        if all(one.memory_B is not None or one.load for one in found):
            return found
        drawing = self._drawing()
        return tuple(
            one for one in found if one.memory_B is not None or one.load or one.pid not in drawing
        )

    def _are_numbered_outside(self) -> bool:
        """Return whether NVML's numbers, as far as can be seen, are not those of this container.

        Then there is no such process here, and none of ours is named, although one of those that
        are named may be ours.
        """
        if not self._is_apart or None in self._known.values():
            return False
        return not all(os.path.exists(f"/proc/{pid}") for pid in self._known)

    def _drawing(self) -> set[int]:
        """Return the processes that draw.

        Windows keeps the GPU's memory itself, and there NVML lists every program with a window
        among those that compute: of these, nothing says that they do.
        """
        try:
            processes = self._nvml.nvmlDeviceGetGraphicsRunningProcesses(self._handle)
        except Exception:  # noqa: BLE001 - as above
            return set()
        return {one.pid for one in processes}

    def _loads(self) -> dict[int, float] | None:
        """Return the share of time that each process had work there since the last look."""
        nvml, since = self._nvml, self._seen_us
        self._seen_us = int(time.time() * 1e6)
        try:
            samples = nvml.nvmlDeviceGetProcessUtilization(self._handle, since)
        except AttributeError:
            return None
        except nvml.NVMLError as error:
            nobody = (nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_SUCCESS)
            return {} if error.value in nobody else None
        found: dict[int, float] = {}
        for sample in samples:
            if sample.timeStamp > since:
                found[sample.pid] = max(found.get(sample.pid, 0.0), sample.smUtil / 100)
        return found

    def _who(self, pid: int) -> tuple[str, str] | None:
        """Return what a process is called and whose it is, None for one of ours."""
        if pid in self._known:
            return self._known[pid]
        if pid in self._ours:
            return None
        try:
            import psutil

            process = psutil.Process(pid)
            if any(parent.pid in self._ours for parent in process.parents()):
                return None
            name = process.name()
        except Exception:  # noqa: BLE001 - gone, not to be seen, or no psutil: it is there still
            return f"process {pid}", ""
        try:
            return name, process.username()
        except Exception:  # noqa: BLE001 - a user that this machine has no name for
            return name, ""
