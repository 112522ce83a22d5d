"""Energy and power of processors, from the counters that Linux shows as powercap (RAPL).

The counters belong to whole processor packages, so the figures are the machine's, not the
kernel's alone. Unit and layout: Documentation/power/powercap in the Linux sources.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import ClassVar

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import Refusal, TelemetrySource

ROOT = Path("/sys/class/powercap")
LEAST_INTERVAL_S = 0.05
"""A power over less time would be the counter's step, which comes each millisecond."""
_UDEV = (
    'SUBSYSTEM=="powercap", ACTION=="add", RUN+="/bin/chmod a+r /sys%p/energy_uj" in '
    "/etc/udev/rules.d/60-powercap.rules"
)
ENABLE = (
    "'sudo chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj' until the next start of the "
    f"system, or for good the udev rule {_UDEV}"
)
_ELSEWHERE = {
    "darwin": "macOS gives a processor's energy to its administrator alone (powermetrics)",
    "win32": "Windows has no energy counter that a program may read without a driver of its own",
}


class _Package:
    """One package's counter, made continuous over its wraps."""

    def __init__(self, folder: Path) -> None:
        """Read it once; OSError or ValueError when that fails."""
        self._counter = folder / "energy_uj"
        self._range_uJ = int((folder / "max_energy_range_uj").read_text())
        self._last_uJ = int(self._counter.read_text())
        self._sum_uJ = 0

    def energy_J(self) -> float:
        """Return the energy since the first look."""
        now_uJ = int(self._counter.read_text())
        step = now_uJ - self._last_uJ
        self._sum_uJ += step if step >= 0 else step + self._range_uJ
        self._last_uJ = now_uJ
        return self._sum_uJ * 1e-6


class RaplSource(TelemetrySource):
    """All processor packages of this machine together."""

    name: ClassVar[str] = "rapl"
    title: ClassVar[str] = "RAPL"
    offers: ClassVar[tuple[str, ...]] = ("power_W", "energy_J")

    def __init__(self, packages: list[_Package]) -> None:
        self._packages = packages
        self._before: tuple[float, float] | None = None
        self._power_W: float | None = None

    @classmethod
    def open(cls, device: DeviceInfo) -> RaplSource | Refusal | None:
        """Return a source for the processor, or why its counters cannot be read."""
        if device.kind != "cpu":
            return None
        if not sys.platform.startswith("linux"):
            return Refusal(_ELSEWHERE.get(sys.platform, "this system shows no energy counters"))
        return cls.find(ROOT)

    @classmethod
    def find(cls, root: Path) -> RaplSource | Refusal:
        """Return a source for the packages under a powercap folder."""
        packages: list[_Package] = []
        for folder in sorted(root.glob("intel-rapl:*")):  # AMD's stand under this name, too
            try:
                if not (folder / "name").read_text().startswith("package"):
                    continue  # cores and memory are parts of a package, psys is more than it
                packages.append(_Package(folder))
            except PermissionError:
                return Refusal(
                    "the system shows its energy counters to the administrator alone, as Linux "
                    "has done since 2020",
                    ENABLE,
                )
            except (OSError, ValueError):
                continue
        if packages:
            return cls(packages)
        return Refusal(
            "the system shows no energy counters, as in most virtual machines",
            "on hardware: 'sudo modprobe intel_rapl_msr'",
        )

    def read(self) -> Reading:
        """Read energy since the source was opened, and power since the last reading."""
        t_ns = time.perf_counter_ns()
        energy_J = sum(package.energy_J() for package in self._packages)
        now_s = t_ns * 1e-9
        if self._before is None:
            self._before = (now_s, energy_J)
        elif now_s - self._before[0] >= LEAST_INTERVAL_S:
            self._power_W = (energy_J - self._before[1]) / (now_s - self._before[0])
            self._before = (now_s, energy_J)
        return Reading(t_ns=t_ns, source=self.name, power_W=self._power_W, energy_J=energy_J)

    def close(self) -> None:
        """Nothing is held."""
