"""The devices of every machine that an engine has answered from, so that one list has them all.

They stand in ``devices.json`` beside ``engines.json``, by the engine's address, as they were when
it answered last: nobody connects to another machine to draw a list.
"""

from __future__ import annotations

import msgspec

from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.interpreters import (
    BUILT_IN,
    Interpreter,
    Interpreters,
    config_folder,
    find_interpreter,
)
from gpuexplorer.exchange.files import atomic_file, changing, read_file

SCHEMA = "gpuexplorer/known-devices/1"
MOST_B = 1 << 20


class KnownDevice(msgspec.Struct, frozen=True):
    """A device as a list shows it."""

    id: str
    name: str


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Another machine than the one that measures, by its engine."""

    engine: str
    """The word for its engine."""
    host: str
    """What the machine is called; empty for this one."""
    devices: tuple[KnownDevice, ...]
    """What it had when it answered last; none before it has."""


class _File(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    devices: dict[str, tuple[KnownDevice, ...]] = {}
    """By the engine's address, or ``built-in``."""


def remember_devices(word: str | None, devices: DeviceList) -> None:
    """Note what an engine has, if it is the built-in one or on another machine."""
    try:
        found = find_interpreter(word)
        if found is not None and found.machine is None:
            return
        key = BUILT_IN if found is None else found.where
        known = tuple(KnownDevice(one.id, one.name) for one in devices)
        if _read().devices.get(key) == known:
            return
        path = config_folder() / "devices.json"
        with changing(path):
            made = _File(devices={**_read().devices, key: known})
            with atomic_file(path) as stream:
                stream.write(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    except (ExplorerError, OSError):
        return  # a list that lacks something is no reason to stop


def host_of(word: str | None) -> str:
    """Return the machine that an engine is on; empty for this one."""
    try:
        found = find_interpreter(word)
    except ExplorerError:
        return ""
    return found.machine.host if found is not None and found.machine is not None else ""


def elsewhere(word: str | None) -> list[Elsewhere]:
    """Return the machines that ``word``'s engine is not on: this one first, then the others."""
    try:
        present, others = find_interpreter(word), Interpreters().all()
    except ExplorerError:
        return []
    file = _read()
    found = []
    if present is not None and present.machine is not None:
        here = file.devices.get(BUILT_IN, ())
        found.append(Elsewhere(engine=BUILT_IN, host="", devices=here))
    found += [
        Elsewhere(engine=one.name, host=one.machine.host, devices=file.devices.get(one.where, ()))
        for one in others
        if one.machine is not None and one.name is not None and not _same(one, present)
    ]
    return found


def _same(one: Interpreter, other: Interpreter | None) -> bool:
    return other is not None and one.where == other.where


def _read() -> _File:
    try:
        return msgspec.json.decode(read_file(config_folder() / "devices.json", MOST_B), type=_File)
    except (ExplorerError, OSError, msgspec.DecodeError):
        return _File()
