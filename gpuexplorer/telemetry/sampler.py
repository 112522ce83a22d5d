"""A thread that reads one device's state ten times a second and hands the readings on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.sample import Reading
from gpuexplorer.telemetry.base import TelemetrySource
from gpuexplorer.telemetry.ladder import open_source

INTERVAL_S = 0.1


class Sampler:
    """Reads the watched device; ``on_reading`` is called from the sampler's own thread."""

    def __init__(self, on_reading: Callable[[str, Reading], None]) -> None:
        self._on_reading = on_reading
        self._changed = threading.Condition()
        self._wanted: DeviceInfo | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def watch(self, device: DeviceInfo) -> None:
        """Read this device from now on."""
        with self._changed:
            if self._wanted is None or self._wanted.hardware_id != device.hardware_id:
                self._wanted = device
                self._changed.notify()

    def stop(self, timeout_s: float = 1.0) -> None:
        """End the thread and close the source."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        device: DeviceInfo | None = None
        source: TelemetrySource | None = None
        while True:
            with self._changed:
                if not self._stopping and self._wanted is device:
                    self._changed.wait(INTERVAL_S if source is not None else None)
                if self._stopping:
                    break
                wanted = self._wanted
            if wanted is not None and wanted is not device:
                if source is not None:
                    source.close()
                device, source = wanted, open_source(wanted)
            if source is not None and device is not None:
                self._on_reading(device.id, source.read())
        if source is not None:
            source.close()
