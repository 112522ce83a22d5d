"""NVML's GPU performance monitoring: DRAM traffic, SM load and occupancy, PCIe.

Two snapshots of the hardware's counters give means over the time between them, which must exceed
100 ms. Hopper and newer data-centre GPUs, and GeForce RTX 50.
"""

from __future__ import annotations

import logging
import time
from typing import Any, ClassVar

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import Refusal, TelemetrySource
from gpuexplorer.telemetry.nvml import ALLOW_COUNTERS, NvmlHandle, load_nvml, open_handle

_log = logging.getLogger(__name__)
LEAST_INTERVAL_S = 0.101
_MiB = float(1 << 20)

SM_UTIL, SM_OCCUPANCY, DRAM_BANDWIDTH, PCIE_TX, PCIE_RX = 2, 3, 10, 20, 21
"""``NVML_GPM_METRIC_...`` numbers of nvml.h: per cent of the best, and MiB/s."""
FIELDS = {
    SM_UTIL: "sm_active",
    SM_OCCUPANCY: "occupancy",
    DRAM_BANDWIDTH: "dram_B_per_s",
    PCIE_TX: "pcie_tx_B_per_s",
    PCIE_RX: "pcie_rx_B_per_s",
}


class GpmSource(TelemetrySource):
    """One GPU by NVML's GPM."""

    name: ClassVar[str] = "gpm"
    title: ClassVar[str] = "NVML GPM"
    offers: ClassVar[tuple[str, ...]] = tuple(FIELDS.values())

    def __init__(self, opened: NvmlHandle, peak_B_per_s: float | None) -> None:
        """``peak_B_per_s`` turns the share of the DRAM's bandwidth into bytes.

        Raises the library's NVMLError when the first snapshot fails.
        """
        self._nvml, self._gpu = opened.nvml, opened.gpu
        self._opened = opened
        self._scale = {
            SM_UTIL: 0.01,
            SM_OCCUPANCY: 0.01,
            DRAM_BANDWIDTH: None if peak_B_per_s is None else 0.01 * peak_B_per_s,
            PCIE_TX: _MiB,
            PCIE_RX: _MiB,
        }
        self._instance: int | None = None
        self._said: set[int] = set()
        if opened.is_mig:
            self._instance = int(self._nvml.nvmlDeviceGetGpuInstanceId(opened.handle))
            self._scale[DRAM_BANDWIDTH] = None  # a share of which peak is not documented
        self._samples: list[Any] = []
        try:
            for _ in range(2):
                self._samples.append(self._nvml.nvmlGpmSampleAlloc())
            self._take(self._samples[0])
        except self._nvml.NVMLError:
            self._free()
            raise
        self._taken_ns = time.perf_counter_ns()

    @classmethod
    def open(cls, device: DeviceInfo) -> GpmSource | Refusal | None:
        """Return a source for an NVIDIA GPU that offers GPM."""
        nvml = load_nvml(device)
        return nvml if nvml is None or isinstance(nvml, Refusal) else cls.find(nvml, device)

    @classmethod
    def find(cls, nvml: Any, device: DeviceInfo) -> GpmSource | Refusal | None:
        """Return a source of the device that NVML knows by the same UUID or PCI address."""
        opened = open_handle(nvml, device)
        if not isinstance(opened, NvmlHandle):
            return opened
        try:
            support = nvml.nvmlGpmQueryDeviceSupport(opened.gpu)
            if support.isSupportedDevice:
                return cls(opened, device.peak_bandwidth_B_per_s)
            refusal = Refusal(
                "this GPU has no performance monitoring: it takes Hopper or newer, or RTX 50"
            )
        except AttributeError:
            refusal = Refusal("this nvidia-ml-py is too old", "pip install -U nvidia-ml-py")
        except nvml.NVMLError as error:
            denied = error.value == nvml.NVML_ERROR_NO_PERMISSION
            refusal = Refusal(
                "counters are closed to this user" if denied else f"it does not start: {error}",
                ALLOW_COUNTERS if denied else "a newer driver may offer it",
            )
        opened.close()
        return refusal

    def read(self) -> Reading:
        """Return means since the last reading; nothing before ``LEAST_INTERVAL_S`` have passed."""
        t_ns = time.perf_counter_ns()
        if (t_ns - self._taken_ns) * 1e-9 < LEAST_INTERVAL_S:
            return Reading(t_ns=t_ns, source=self.name)
        older, newer = self._samples
        self._take(newer)
        t_ns = time.perf_counter_ns()
        interval_s = (t_ns - self._taken_ns) * 1e-9
        self._taken_ns = t_ns
        self._samples = [newer, older]
        fields, missing = self._means(older, newer)
        return Reading(
            t_ns=t_ns, source=self.name, interval_s=interval_s, missing=missing, **fields
        )

    def close(self) -> None:
        """Free the snapshots and let go of NVML."""
        self._free()
        self._opened.close()

    def _take(self, sample: Any) -> None:
        if self._instance is None:
            self._nvml.nvmlGpmSampleGet(self._gpu, sample)
        else:
            self._nvml.nvmlGpmMigSampleGet(self._gpu, self._instance, sample)

    def _means(self, older: Any, newer: Any) -> tuple[dict[str, Any], dict[str, str]]:
        nvml = self._nvml
        asked = nvml.c_nvmlGpmMetricsGet_t()
        asked.version = nvml.NVML_GPM_METRICS_GET_VERSION
        asked.numMetrics = len(FIELDS)
        asked.sample1, asked.sample2 = older, newer
        for metric, number in zip(asked.metrics, FIELDS, strict=False):
            metric.metricId = number
        nvml.nvmlGpmMetricsGet(asked)
        fields: dict[str, Any] = {}
        missing: dict[str, str] = {}
        for metric, (number, field) in zip(asked.metrics, FIELDS.items(), strict=False):
            scale = self._scale[number]
            if metric.nvmlReturn == 0 and scale is not None:
                fields[field] = float(metric.value) * scale
            elif number not in self._said:
                self._said.add(number)
                missing[field] = (
                    f"{self.title}: this GPU does not count it (NVML error {metric.nvmlReturn})"
                    if metric.nvmlReturn
                    else f"{self.title}: only a share of the peak is counted, and the peak of this "
                    "device is not known"
                )
        return fields, missing

    def _free(self) -> None:
        samples, self._samples = self._samples, []
        for sample in samples:
            try:
                self._nvml.nvmlGpmSampleFree(sample)
            except self._nvml.NVMLError as error:
                _log.info("freeing a GPM sample: %s", error)
