"""A thread that reads a device's state ten times a second and hands the readings on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import FIELD_TITLES
from gpuexplorer.telemetry.base import TelemetrySource
from gpuexplorer.telemetry.ladder import open_source

_log = logging.getLogger(__name__)
PERIOD_S = 0.105
"""A little above 100 ms, which two snapshots of a GPU's counters must lie apart."""

OnReading = Callable[[str, Reading], None]
Open = Callable[[DeviceInfo], TelemetrySource | None]


class Sampler:
    """Hands readings of the watched device to ``on_reading``, as its id and the reading.

    ``on_reading`` is called from the sampler's own thread, which starts with the first device.
    Nothing here raises: a source that fails is closed and logged, and readings without any figure
    say so from then on.
    """

    def __init__(
        self, on_reading: OnReading, *, period_s: float = PERIOD_S, open_device: Open = open_source
    ) -> None:
        self._on_reading = on_reading
        self._period_s = period_s
        self._open = open_device
        self._changed = threading.Condition()
        self._wanted: DeviceInfo | None = None
        self._stopping = False
        self._say_again = False
        self._missing: dict[str, str] = {}
        """What the open source said is missing, and why, where it has not come since."""
        self._told: set[str] = set()
        """What it has told."""
        self.latest: Reading | None = None
        """The watched device's latest reading."""
        self._thread: threading.Thread | None = None

    @property
    def clock_reasons(self) -> tuple[str, ...]:
        """What held the watched device's clock at the latest reading, by its driver's word."""
        latest = self.latest
        return () if latest is None else latest.throttle_reasons or ()

    def watch(self, device: DeviceInfo | None) -> None:
        """Follow this device from now on instead of another; None pauses.

        The next reading says again why something is missing, also of a device watched already.
        """
        with self._changed:
            self._say_again = True
            if self._stopping or device == self._wanted:
                return
            if not _same_hardware(device, self._wanted):
                self.latest = None
            self._wanted = device
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
                self._thread.start()
            self._changed.notify()

    def stop(self, timeout_s: float = 1.0) -> None:
        """End the thread and close the source; harmless twice."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        device: DeviceInfo | None = None
        source: TelemetrySource | None = None
        due = time.monotonic()
        while True:
            with self._changed:
                while not self._stopping and self._wanted == device:
                    left_s = None if source is None else due - time.monotonic()
                    if left_s is not None and left_s <= 0:
                        break
                    self._changed.wait(left_s)
                stopping, wanted = self._stopping, self._wanted
            if stopping:
                _close(source)
                return
            if wanted != device:
                if not _same_hardware(wanted, device):
                    _close(source)
                    source = self._opened(wanted)
                device, due = wanted, time.monotonic()
            if device is not None and source is not None:
                source = self._read(device, source)
                due = max(due + self._period_s, time.monotonic())

    def _opened(self, device: DeviceInfo | None) -> TelemetrySource | None:
        self._missing, self._told = {}, set()
        if device is None:
            return None
        try:
            return self._open(device)
        except Exception:  # noqa: BLE001 - readings are an extra, whatever goes wrong
            _log.exception("no telemetry of %s", device.id)
            return None

    def _read(self, device: DeviceInfo, source: TelemetrySource) -> TelemetrySource | None:
        """Read once and hand it on; return what is read from then on."""
        try:
            reading = self._reading(device, source)
            self._on_reading(device.id, reading)
        except Exception as error:  # noqa: BLE001 - as above
            _log.exception("telemetry of %s ended", device.id)
            _close(source)
            name = source.name if self.latest is None else self.latest.source
            why = dict.fromkeys(self._told, f"it failed: {error}")
            return None if isinstance(source, _Failed) else _Failed(name, why)
        return source

    def _reading(self, device: DeviceInfo, source: TelemetrySource) -> Reading:
        """Read once; another device may be watched by the time that it is done."""
        reading = source.read()
        self._told |= {f for f in FIELD_TITLES if getattr(reading, f) is not None}
        self._missing.update(reading.missing)
        for field in [f for f in self._missing if getattr(reading, f, None) is not None]:
            del self._missing[field]  # it has come since
        with self._changed:
            if self._say_again and self._wanted == device:
                self._say_again = False
                reading = msgspec.structs.replace(reading, missing=dict(self._missing))
            if _same_hardware(self._wanted, device):
                self.latest = reading
        return reading


class _Failed(TelemetrySource):
    """Stands for a source that failed: it says so, and gives no figure."""

    def __init__(self, name: str, missing: dict[str, str]) -> None:
        self._name, self._missing = name, missing

    @classmethod
    def open(cls, device: DeviceInfo) -> None:
        """Open nothing: a device's sources are in ``ladder``."""

    def read(self) -> Reading:
        """Return what is missing, and why."""
        return Reading(t_ns=time.perf_counter_ns(), source=self._name, missing=self._missing)

    def close(self) -> None:
        """Do nothing: what failed is closed."""


def _same_hardware(one: DeviceInfo | None, other: DeviceInfo | None) -> bool:
    return one is not None and other is not None and one.hardware_id == other.hardware_id


def _close(source: TelemetrySource | None) -> None:
    if source is None:
        return
    try:
        source.close()
    except Exception:  # noqa: BLE001 - as above
        _log.exception("closing telemetry")
