"""What a study of the Lab shall look at."""

from __future__ import annotations

from dataclasses import dataclass

from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.gui.model.lab import Kind
from gpuexplorer.studies import How, Lab, PrecisionLab, SpeedupLab, SwitchesLab
from gpuexplorer.workloads.workload import Workload


@dataclass(frozen=True)
class Wanted:
    """A study that is asked for; None leaves a choice to the study."""

    kind: Kind
    request: RunRequest
    workload: Workload
    devices: DeviceList
    how: How
    precisions: tuple[str, ...] | None = None
    switches: tuple[str, ...] | None = None
    threads: tuple[int, ...] = ()
    """Numbers of CPU threads to try beside the switches."""
    sides: tuple[str, str] | None = None
    symbol: str | None = None
    sizes: tuple[int, ...] | None = None

    def lab(self) -> Lab:
        """Return the study, ready to measure; raises ExplorerError where there is nothing to."""
        common = (self.request, self.workload, self.devices, self.how)
        if self.kind == "precision":
            return PrecisionLab(*common, precisions=self.precisions)
        if self.kind == "switches":
            return SwitchesLab(*common, switches=self.switches, threads=self.threads)
        return SpeedupLab(*common, names=self.sides, symbol=self.symbol, sizes=self.sizes)
