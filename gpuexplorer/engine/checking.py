"""What an engine offers, asked from the engine itself: versions, frameworks and devices."""

from __future__ import annotations

import sys
from collections.abc import Callable

import msgspec

from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import Cancelled, ExplorerError
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import HANDSHAKE_S, Engine, EngineLost, EngineOptions, EngineReady
from gpuexplorer.engine.client import Event as EngineEvent
from gpuexplorer.engine.interpreters import BUILT_IN, find_interpreter
from gpuexplorer.engine.known_devices import remember_devices

POLL_S = 0.1
FRAMEWORKS = {
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "keras": ("keras",),
    "jax": ("jax",),
}
"""Backends that are frameworks, and the distributions whose version is theirs."""


class EngineReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of one engine; ``problem`` says why it cannot be one, None when it can."""

    name: str
    """``built-in``, its name, or its path."""
    path: str
    problem: str | None = None
    remedy: str = ""
    said: list[str] = []
    """The last lines of its own output, where it did not start."""
    python: str | None = None
    gpuexplorer: str | None = None
    handshake_s: float | None = None
    """From the start of its process to its answer."""
    packages: dict[str, str] = {}
    devices: DeviceList | None = None

    @property
    def ok(self) -> bool:
        """Whether it can measure."""
        return self.problem is None

    @property
    def frameworks(self) -> dict[str, str]:
        """The frameworks that are installed, with their versions."""
        found = {}
        for framework, distributions in FRAMEWORKS.items():
            versions = [self.packages[d] for d in distributions if d in self.packages]
            if versions:
                found[framework] = versions[0]
        return found


def check_engine(
    word: str | None,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    on_step: Callable[[str], None] = lambda words: None,
    handshake_s: float = HANDSHAKE_S,
) -> EngineReport:
    """Start an engine, ask it what it has, end it; what goes wrong stands in the report.

    ``on_step`` is told what is being done. Raises Cancelled within a moment after
    ``cancelled``.
    """
    try:
        chosen = find_interpreter(word)
    except ExplorerError as error:
        name = word or BUILT_IN
        return EngineReport(name=name, path=name, problem=error.what, remedy=error.remedy)
    name = BUILT_IN if chosen is None else chosen.name or chosen.where
    path = sys.executable if chosen is None else chosen.where
    on_step("starting")
    asked = _Asked()
    engine = Engine(EngineOptions(python=word, handshake_s=handshake_s), asked.take)
    try:
        engine.start()
        engine.list_devices(packages=True)
        while asked.devices is None and asked.lost is None:
            if cancelled():
                raise Cancelled
            engine.poll(POLL_S)
            if asked.ready is not None:
                on_step("looking for its devices")
    finally:
        engine.close()
    if asked.devices is not None:
        remember_devices(word, asked.devices.devices)
    return asked.report(name, path)


class _Asked:
    """What an engine has said by now."""

    def __init__(self) -> None:
        self.ready: EngineReady | None = None
        self.devices: protocol.Devices | None = None
        self.lost: EngineLost | None = None

    def take(self, event: EngineEvent) -> None:
        if isinstance(event, EngineReady):
            self.ready = event
        elif isinstance(event, protocol.Devices):
            self.devices = event
        elif isinstance(event, EngineLost):
            self.lost = event
        elif isinstance(event, protocol.Failed):
            self.lost = EngineLost(0, "crash", event.what, None, False, event.remedy, event.detail)

    def report(self, name: str, path: str) -> EngineReport:
        known = EngineReport(name=name, path=path)
        if self.ready is not None:
            known = msgspec.structs.replace(
                known,
                python=self.ready.welcome.python,
                gpuexplorer=self.ready.welcome.version,
                handshake_s=self.ready.handshake_s,
            )
        if self.devices is not None:
            return msgspec.structs.replace(
                known, packages=self.devices.packages, devices=self.devices.devices
            )
        assert self.lost is not None
        return msgspec.structs.replace(
            known,
            problem=self.lost.reason,
            remedy=self.lost.remedy,
            said=self.lost.detail.splitlines(),
        )
