"""Ceilings kept on disk: one JSON file per hardware, driver and number of CPU threads."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gpuexplorer.core.ceilings import CEILINGS_SCHEMA, Ceilings
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.hardware_id import without_machine
from gpuexplorer.exchange import atomic_file, write_error

ENVIRONMENT_VARIABLE = "GPUEXPLORER_DATA_DIR"
MAX_FILE_B = 1 << 20


def data_folder() -> Path:
    """Return the user's data folder, or the one the environment names."""
    import platformdirs

    named = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("gpuexplorer", False)


class CeilingStore:
    """A user's calibrations. Reading never fails: ``take_problems`` says what is of no use."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = (folder or data_folder()) / "ceilings"
        self._problems: tuple[str, ...] = ()
        self._loaded: list[Ceilings] | None = None

    @classmethod
    def holding(cls, ceilings: Iterable[Ceilings]) -> CeilingStore:
        """Return one with these in place of what the folder holds."""
        store = cls()
        store._loaded = list(ceilings)
        return store

    def all(self) -> list[Ceilings]:
        """Return every calibration that can be read, newest first."""
        if self._loaded is None:
            self.reload()
        return list(self._loaded or ())

    def reload(self) -> None:
        """Read the folder again."""
        problems: list[str] = []
        found: list[Ceilings] = []
        try:
            paths = sorted(self.folder.glob("*.json"))
        except OSError:
            paths = []
        for path in paths:
            try:
                found.append(_read(path))
            except (OSError, ValueError, msgspec.DecodeError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                problems.append(
                    f"the calibration in {path} cannot be used ({reason}); "
                    "run 'gpuexplorer calibrate' again"
                )
        found.sort(key=lambda c: c.time_utc, reverse=True)
        self._loaded, self._problems = found, tuple(problems)

    def take_problems(self) -> tuple[str, ...]:
        """Return a sentence for each file that could not be used, once."""
        problems, self._problems = self._problems, ()
        return problems

    def of(self, devices: Iterable[DeviceInfo]) -> list[Ceilings]:
        """Return every calibration of the hardware of some devices, newest first."""
        hardware = {known for device in devices for known in _known_as(device)}
        return [one for one in self.all() if one.hardware_id in hardware]

    def find(self, device: DeviceInfo) -> Ceilings | None:
        """Return the ceilings of a device with its number of CPU threads; None for none.

        A backend of kernels needs its very driver. A library's view of the same hardware takes
        what was measured last there, because it brings no driver of its own.
        """
        same = [
            c
            for known in _known_as(device)
            for c in self.all()
            if c.hardware_id == known and c.threads == device.threads
        ]
        exact = [c for c in same if c.driver == device.driver]
        if exact or device.runs_kernels:
            return next(iter(exact), None)
        return next(iter(same), None)

    def before(self, ceilings: Ceilings) -> Ceilings | None:
        """Return the calibration whose place one would take; None where there is none."""
        name = file_name(ceilings)
        return next((one for one in self.all() if file_name(one) == name), None)

    def save(self, ceilings: Ceilings) -> Path:
        """Write one calibration in place of the last of its kind; InputError when that fails."""
        path = self.folder / file_name(ceilings)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.folder, error) from None
        with atomic_file(path) as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(ceilings), indent=2) + b"\n")
        self._loaded = None
        return path


def _known_as(device: DeviceInfo) -> tuple[str, ...]:
    """Return the ids that a device's hardware may have here, the one of now first."""
    return tuple(dict.fromkeys((device.hardware_id, without_machine(device.hardware_id))))


def file_name(ceilings: Ceilings) -> str:
    """Return a file name that differs for other hardware, drivers and numbers of threads."""
    key = msgspec.json.encode([ceilings.hardware_id, ceilings.driver, ceilings.threads])
    words = re.sub(r"[^a-z0-9]+", "-", ceilings.name.lower()).strip("-")[:40]
    return f"{words or 'device'}-{hashlib.sha256(key).hexdigest()[:12]}.json"


def _read(path: Path) -> Ceilings:
    with path.open("rb") as stream:
        data = stream.read(MAX_FILE_B + 1)
    if len(data) > MAX_FILE_B:
        raise ValueError("it is too large to be one")
    schema = msgspec.json.decode(data, type=_Head).schema
    if schema != CEILINGS_SCHEMA:
        raise ValueError(f"it is of another version, '{schema}'")
    ceilings = msgspec.json.decode(data, type=Ceilings)
    if not all(c.value > 0 for c in ceilings.ceilings):
        raise ValueError("it holds a ceiling that is not above 0")
    return ceilings


class _Head(msgspec.Struct):
    schema: str = ""
