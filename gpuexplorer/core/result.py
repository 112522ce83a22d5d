"""One run as a document: the JSON that every part reads and writes (SI units throughout).

A value that was not measured is None, never 0 and never a guess.
"""

from __future__ import annotations

from typing import Literal, Self

import msgspec

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.fields import Seconds
from gpuexplorer.core.memory import MemoryUse
from gpuexplorer.core.statistics import relative_error
from gpuexplorer.core.units import listed

RUN_SCHEMA = "gpuexplorer/run/1"
MOST_PRINTED = 16 << 20
"""Characters of what kernels printed: no message of an engine's holds more."""

TrafficKind = Literal["compulsory", "requested", "dram", "l2", "pcie"]
TrafficSource = Literal["model", "counted", "gpm", "cupti", "ncu", "nvml"]
"""``counted``: from the source, by running one block on the CPU device."""


class DeviceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The device of a run, as it stands in the document."""

    id: str
    hardware_id: str
    name: str
    backend: str
    driver: str
    compute_units: int | None
    peak_bandwidth_B_per_s: float | None
    peak_source: str | None

    @classmethod
    def of(cls, device: DeviceInfo) -> Self:
        """Return what a document says of a device."""
        return cls(**{name: getattr(device, name) for name in cls.__struct_fields__})


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Versions that a figure may depend on."""

    gpuexplorer: str | None
    python: str | None
    numpy: str | None = None
    cupy: str | None = None
    pyopencl: str | None = None
    torch: str | None = None
    tensorflow: str | None = None
    keras: str | None = None
    jax: str | None = None
    cuda: str | None = None
    source_sha256: str | None = None
    engine: str | None = None
    """The name, or else the path, of the interpreter that measured; None: the program's own."""
    kernels: str | None = None
    """The user's own folder or model file that the workload came from, with its path in the local
    history alone (see ``core.sharing``); None: it is a shipped one, or that is not known."""
    machine: str | msgspec.UnsetType = msgspec.UNSET
    """The name of the machine that measured, in a history alone, as is the next."""
    person: str | msgspec.UnsetType = msgspec.UNSET
    """Who measured: a user's name there."""


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """The series in figures, and how it was taken."""

    samples: int
    median_s: Seconds
    mean_s: float
    min_s: float
    p05_s: float
    p95_s: float
    stdev_s: float | None
    ci95_low_s: float | None
    ci95_high_s: float | None
    method: str
    resolution_s: float | None
    stopped_by: str
    converged: bool
    """Whether the median is known to ``max_noise``."""
    max_noise: float = 0.005
    """Half the 95 % interval over the median that the run aimed at."""
    marked_throttled: int = 0
    """Samples taken while the clock was held down; they are marked, and not in the figures unless
    they are the majority."""
    outliers: int = 0
    """Samples far outside the rest; marked, and still in the figures."""
    dropped: int | None = None
    """Samples that were measured and lost, because they came faster than they were taken in; the
    figures are those of the rest. None: written before this was told, or by another program."""
    warnings: tuple[str, ...] = ()
    """What is odd about the series, a sentence each: a drift, two modes, throttling."""
    suspect: str | None = None
    """Why the figure is impossible (above a measured ceiling); such a run is never ranked."""

    @property
    def relative_error(self) -> float | None:
        """Half the 95 % interval over the median; None when there were too few samples."""
        return relative_error(self.median_s, self.ci95_low_s, self.ci95_high_s)


class BatchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One batch of launches: when it began on the engine's clock, and its state."""

    start_s: float
    samples: int
    median_s: float
    sm_clock_Hz: float | None = None
    power_W: float | None = None
    throttled: bool | msgspec.UnsetType = msgspec.UNSET
    """Whether its clock was held down, so that its samples are marked; stands only where it was."""
    launches: int | msgspec.UnsetType = msgspec.UNSET
    """Launches that each of its samples is the mean of; stands only where there are several."""

    @property
    def launches_each(self) -> int:
        """Launches that each of its samples is the mean of."""
        return 1 if self.launches is msgspec.UNSET else self.launches


class Phases(msgspec.Struct, frozen=True, kw_only=True):
    """The steps of the textbook program, timed apart."""

    compile: float | None = None
    allocate: float | None = None
    host_to_device: float | None = None
    kernel: float | None = None
    device_to_host: float | None = None
    free: float | None = None


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """Useful work over the median."""

    flop_per_s: float | None
    bandwidth_B_per_s: float | None
    """Compulsory bytes over the median."""


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes one launch moves, and whose word that is."""

    kind: TrafficKind
    read_B: float | None
    write_B: float | None
    combined_B: float | None = None
    """Reads and writes together, where the source cannot tell them apart."""
    source: TrafficSource

    @property
    def total_B(self) -> float:
        """Reads and writes together."""
        if self.combined_B is not None:
            return self.combined_B
        return (self.read_B or 0.0) + (self.write_B or 0.0)


VERIFIED = "verified"
"""What is said of a result of which every output was found right."""


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The result against float64."""

    ok: bool
    max_rel_error: float
    tolerance: float
    method: str
    rms_rel_error: float | None = None
    """‖result − reference‖ over ‖reference‖, the largest over the outputs, of what was compared.
    None where the reference is zero or does not fit into the type, and in older documents."""
    not_compared: tuple[str, ...] = ()
    """Outputs of which nothing says what they should be: ``ok`` is about the others alone."""

    @property
    def whole(self) -> bool | None:
        """Whether every output was found right; None where right ones were not all there are."""
        return None if self.ok and self.not_compared else self.ok

    @property
    def words(self) -> str:
        """What a figure says of its result: that it is wrong, or verified, and what is not."""
        if not self.ok:
            return "WRONG"
        if self.not_compared:
            return f"verified except {listed(self.not_compared)}"
        return VERIFIED


def not_verified(check: Verification | None) -> str:
    """Return what a figure says of a result that was not all verified; empty for others."""
    if check is None:
        return "not verified"
    return "" if check.whole is not None else check.words


class Arithmetic(msgspec.Struct, frozen=True, kw_only=True):
    """What a framework really computed in, beside what it was asked for."""

    asked: str
    """The configuration's precision."""
    ran: str | None
    """The precision that ran; None where that cannot be told."""
    accumulates_in: str | None = None
    """The type that products are added in, such as ``fp32``; None where that is not known."""
    how: str = ""
    """How this is known, such as the names of the kernels that ran."""
    fallback: str | None = None
    """One sentence when another precision ran than was asked for."""


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """What the compiled kernel takes of the device."""

    registers_per_thread: int | None = None
    shared_B: int | None = None
    local_B: int | None = None
    occupancy: float | None = None
    occupancy_limiter: str | None = None


class TelemetrySummary(msgspec.Struct, frozen=True, kw_only=True):
    """The device's state over the run: medians of what was read."""

    sm_clock_Hz: float | None = None
    power_W: float | None = None
    energy_per_launch_J: float | None = None
    temperature_C: float | None = None
    load: float | None = None
    other_cores: float | None = None
    """Cores of the processor that other programs kept busy."""
    stolen: float | None = None
    """Share of the processor's time that the host of a virtual machine gave to others."""
    other_programs: tuple[str, ...] | None = None
    """Other programs that had work on the device; their names alone."""
    memory_used_B: float | None = None
    energy_reason: str | None = None
    """Why there is no energy per launch."""
    idle_power_W: float | None = None
    """Power at rest, which the energy per launch does not contain."""
    dram_reason: str | None = None
    """Why the hardware's word on DRAM bytes is missing."""
    dram_B_per_s: float | None = None
    pcie_rx_B_per_s: float | None = None
    pcie_tx_B_per_s: float | None = None
    occupancy: float | None = None
    """Achieved occupancy, as the hardware counted it."""
    throttle_reasons: tuple[str, ...] | None = None
    source: str | None = None


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run comes from that another program measured."""

    program: str
    """Such as ``NVBench``."""
    version: str | None = None
    file: str
    """The name of the file it was read from."""
    what: str
    """What the run is called there."""
    note: str = ""
    """What the file does not say, or says otherwise than a run of ours would."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """One finished run; ``run --json`` prints exactly this."""

    schema: str = RUN_SCHEMA
    id: str
    time_utc: str
    config: RunConfig
    device: DeviceSummary
    environment: Environment
    timing: Timing
    samples_s: list[float]
    """An array of float64 in place of a list where it only passes through this program."""
    batches: list[BatchSummary]
    phases_s: Phases
    throughput: Throughput
    traffic: list[Traffic]
    verification: Verification | None
    """None: the result was not checked, as far as an imported file or ``not_verified`` says."""
    resources: Resources
    telemetry: TelemetrySummary
    origin: Origin | None = None
    """None: this program measured it."""
    memory: MemoryUse | None = None
    """None: written before memory was looked at, or by another program."""
    arithmetic: Arithmetic | None = None
    """None: a kernel or library call, or written before this was looked at."""
    not_verified: str | None = None
    """Why the result could not be checked; None where it was, or the reason is not known."""
    printed: str | None = None
    """What the kernels printed in the launch that was checked, as far as it was kept: their text
    as it is, of ``MOST_PRINTED`` characters at the most."""

    @property
    def verified(self) -> bool:
        """Whether the result was checked, all of it, and found right."""
        return self.verification is not None and self.verification.whole is True
