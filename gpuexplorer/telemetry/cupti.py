"""CUPTI's PM sampling: DRAM bytes read and written, SM load, occupancy, PCIe.

The hardware counts by itself and the counters are fetched a few times a second. It is off unless
``GPUEXPLORER_PM_SAMPLING`` is 1: the profiler may hold the GPU's clock while it samples, which
would change what is being measured, and it needs the counters' permission.
"""

from __future__ import annotations

import importlib.metadata
import logging
import os
import sys
import time
from typing import Any, ClassVar

import msgspec

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import Refusal, TelemetrySource
from gpuexplorer.telemetry.nvml import ALLOW_COUNTERS

_log = logging.getLogger(__name__)
SWITCH = "GPUEXPLORER_PM_SAMPLING"
FETCH_EVERY_S = 0.25
"""Each fetch evaluates its samples on the host, which is dear."""
SAMPLE_EVERY_NS = 10_000_000
"""Or so many cycles, where a GPU cannot sample by time."""
BUFFER_B = 16 << 20
MAX_SAMPLES = 1024
LEAST_CAPABILITY = (7, 5)
WANTED = "'cupti-python>=13.3'"


class Metric(msgspec.Struct, frozen=True):
    """A field of a reading and the counters that may hold it: their names differ by chip."""

    field: str
    names: tuple[str, ...]
    roll_up: str
    is_amount: bool
    """Whether it is bytes to be divided by the time; otherwise a percentage."""


METRICS = (
    Metric(
        "dram_read_B_per_s",
        ("dram__bytes_read", "dram__bytes_op_read", "dram__read_bytes"),
        "sum",
        True,
    ),
    Metric(
        "dram_write_B_per_s",
        ("dram__bytes_write", "dram__bytes_op_write", "dram__write_bytes"),
        "sum",
        True,
    ),
    Metric("sm_active", ("sm__cycles_active",), "avg.pct_of_peak_sustained_elapsed", False),
    Metric("occupancy", ("sm__warps_active",), "avg.pct_of_peak_sustained_active", False),
    Metric("pcie_rx_B_per_s", ("pcie__read_bytes", "pcie__rx_bytes"), "sum", True),
    Metric("pcie_tx_B_per_s", ("pcie__write_bytes", "pcie__tx_bytes"), "sum", True),
)
"""Most wanted first: what does not fit into one pass is left out from the end."""


class CuptiSource(TelemetrySource):
    """One GPU by CUPTI's PM sampling."""

    name: ClassVar[str] = "cupti"
    title: ClassVar[str] = "CUPTI PM sampling"
    offers: ClassVar[tuple[str, ...]] = (*(m.field for m in METRICS), "dram_B_per_s")

    def __init__(self, collector: Any, metrics: tuple[Metric, ...]) -> None:
        """``collector`` is a ``cupti.pm_sampling.Collector`` that samples ``metrics``."""
        self._collector = collector
        self._metrics = metrics
        self._fetched_at = time.perf_counter()
        self._is_first = True
        self._missing = {
            metric.field: f"{self.title}: this chip has no such counter beside the others"
            for metric in METRICS
            if metric not in metrics
        }

    @classmethod
    def open(cls, device: DeviceInfo) -> CuptiSource | Refusal | None:
        """Return a source for a GPU that runs CUDA in this very process."""
        if device.kind != "gpu" or device.backend != "cuda":
            return None
        if device.compute_capability is not None and device.compute_capability < LEAST_CAPABILITY:
            return Refusal("this GPU is too old: it takes compute capability 7.5")
        if os.environ.get(SWITCH, "0") in ("", "0"):
            return Refusal("off, because it may hold the GPU's clock", f"set {SWITCH}=1")
        try:
            import cupti.cupti
            import cupti.pm_sampling
            import cupti.profiler_host
        except (ImportError, OSError, RuntimeError) as error:
            return _cannot_import(error)
        return cls.find(cupti, int(device.id.partition(":")[2]))

    @classmethod
    def find(cls, cupti: Any, index: int) -> CuptiSource | Refusal:
        """Return a source that samples CUDA's device ``index``."""
        collector = cupti.pm_sampling.Collector(device_index=index)
        try:
            collector.enable()
            chosen = _choose(_counters(cupti, index))
            configured = _configure(collector, chosen, cupti.pm_sampling.TriggerMode)
            if not configured:
                collector.disable()
                return Refusal("this chip's counters are not known by the names it asks for")
            collector.start()
        except Exception as error:  # noqa: BLE001 - CUPTI's own errors, and five built-in kinds
            refusal = _explain(cupti, error)
            _disable(collector)
            return refusal
        return cls(collector, configured)

    def read(self) -> Reading:
        """Fetch what was sampled since the last fetch; nothing in between two fetches."""
        now = time.perf_counter()
        missing, self._missing = self._missing, {}
        if now - self._fetched_at < FETCH_EVERY_S:
            return Reading(t_ns=time.perf_counter_ns(), source=self.name, missing=missing)
        self._fetched_at = now
        data = self._collector.decode(MAX_SAMPLES)
        t_ns = time.perf_counter_ns()
        samples = list(data)
        if self._is_first and samples:  # its timestamp is not one
            samples = samples[1:]
            self._is_first = False
        spans_s = [(s.end_timestamp - s.start_timestamp) * 1e-9 for s in samples]
        total_s = sum(spans_s)
        if total_s <= 0:
            return Reading(t_ns=t_ns, source=self.name, missing=missing)
        fields: dict[str, Any] = {}
        for index, metric in enumerate(self._metrics):
            values = [s.metric_values[index] for s in samples]
            if metric.is_amount:
                fields[metric.field] = sum(values) / total_s
            else:
                weighted = (v * span for v, span in zip(values, spans_s, strict=True))
                fields[metric.field] = sum(weighted) / total_s / 100
        if {"dram_read_B_per_s", "dram_write_B_per_s"} <= fields.keys():
            fields["dram_B_per_s"] = fields["dram_read_B_per_s"] + fields["dram_write_B_per_s"]
        return Reading(t_ns=t_ns, source=self.name, interval_s=total_s, missing=missing, **fields)

    def close(self) -> None:
        """Stop sampling; what was not fetched is lost."""
        try:
            self._collector.stop()
        finally:
            self._collector.disable()


def _cannot_import(error: Exception) -> Refusal:
    """Say what is missing, and what brings it: PM sampling came with cupti-python 13.3."""
    if sys.platform != "linux":
        return Refusal("NVIDIA has no cupti-python for this system")
    version = _version("cupti-python")
    if version is None:
        reason = "cupti-python is not installed"
    elif isinstance(error, ModuleNotFoundError) and error.name == "cupti.pm_sampling":
        reason = f"cupti-python {version} has no PM sampling"
    else:
        return Refusal(
            f"cupti-python {version} cannot be imported: {error}", f"pip install {WANTED}"
        )
    if _torch_brings_cupti():  # in the version of its own toolkit, and no other beside it
        return Refusal(reason, f"use an engine without PyTorch; there pip install {WANTED}")
    return Refusal(reason, f"pip install {WANTED}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch_brings_cupti() -> bool:
    """Return whether PyTorch asks for a CUPTI of its own."""
    try:
        asked = importlib.metadata.requires("torch") or []
    except importlib.metadata.PackageNotFoundError:
        return False
    return any(words.startswith("nvidia-cuda-cupti") for words in asked)


def _counters(cupti: Any, index: int) -> set[str]:
    """Return the names of the chip's counters."""
    module = cupti.cupti
    # The first spelling is that of 13.4, the second that of 13.3.
    kind = getattr(module, "DeviceGetChipNameParams", None) or module.Device_GetChipName_Params
    parameters = kind()
    parameters.struct_size = module.DEVICE_GET_CHIP_NAME_PARAMS_STRUCT_SIZE
    parameters.device_index = index
    module.device_get_chip_name(parameters.ptr)
    kinds = cupti.profiler_host
    host = kinds.ProfilerHost(parameters.p_chip_name, kinds.ProfilerType.PM_SAMPLING)
    host.initialize()
    try:
        return set(host.get_base_metrics(kinds.MetricType.COUNTER))
    finally:
        host.deinitialize()


def _choose(counters: set[str]) -> list[tuple[Metric, str]]:
    """Return the metrics that the chip has, each with its full name there."""
    return [
        (metric, f"{name}.{metric.roll_up}")
        for metric in METRICS
        for name in [next((n for n in metric.names if n in counters), None)]
        if name is not None
    ]


def _configure(
    collector: Any, chosen: list[tuple[Metric, str]], triggers: Any
) -> tuple[Metric, ...]:
    """Configure as many metrics as one pass holds, by the first trigger that the GPU has.

    Turing and the A100 cannot sample by time, but every so many cycles of the system's clock,
    which makes some milliseconds; samples say themselves when they began and ended.
    """
    refused: ValueError | None = None
    for trigger in (triggers.GPU_TIME_INTERVAL, triggers.GPU_SYSCLK_INTERVAL):
        for count in range(len(chosen), 0, -1):
            try:
                collector.configure(
                    metrics=[name for _, name in chosen[:count]],
                    hardware_buffer_size=BUFFER_B,
                    sampling_interval=SAMPLE_EVERY_NS,
                    trigger_mode=trigger,
                )
            except ValueError as error:
                _log.info("%d metrics are refused: %s", count, error)
                refused = error
            else:
                return tuple(metric for metric, _ in chosen[:count])
    if refused is not None:
        raise refused
    return ()


def _explain(cupti: Any, error: Exception) -> Refusal:
    """Say in a sentence why sampling does not start."""
    if isinstance(error, PermissionError):
        return Refusal("counters are closed to this user", ALLOW_COUNTERS)
    status = getattr(error, "status", None)
    results = cupti.cupti.Result
    if status == results.ERROR_HARDWARE_BUSY:
        return Refusal("another program holds the counters", "end other profilers: ncu, nsys, DCGM")
    if status == results.ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return Refusal("another profiler is attached to this process", "detach it")
    return Refusal(f"it does not start: {error}")


def _disable(collector: Any) -> None:
    try:
        collector.disable()
    except Exception:  # noqa: BLE001 - it never started
        _log.debug("disabling PM sampling", exc_info=True)
