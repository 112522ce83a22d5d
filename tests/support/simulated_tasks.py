"""What a cluster's workers run in simulations: each has a machine, a card and a speed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from distributed import WorkerPlugin, get_worker

import gpuexplorer
from gpuexplorer.cluster.messages import Answer, Asked, Described, encode
from gpuexplorer.cluster.worker import engine_of, measure
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.engine.errors import failed_of
from gpuexplorer.workloads.workload import Workload
from tests.search.engine import MadeEngine
from tests.support.problems import device

__all__ = [
    "LAUNCH_S",
    "MACHINES",
    "TIMES",
    "Machine",
    "describe",
    "measure",
]

LAUNCH_S = 1e-3
"""What every launch takes on a machine of the usual speed."""


@dataclass
class Machine:
    """How one worker behaves."""

    card: str = "Card A"
    slower: Callable[[int], float] = lambda done: 1.0
    """By what factor it is slower after so many measurements."""
    breaks_after: int | None = None
    version: str = gpuexplorer.__version__
    takes_s: float = 0.002
    """How long a measurement takes here."""
    done: int = 0


TIMES: dict[str, Callable[[RunConfig], float]] = {}
"""What a launch takes on a kind of card at the usual speed, where it is not ``LAUNCH_S``."""
MACHINES: dict[Any, Machine] = {}
"""By the worker's name; tests set them, in whose process the workers are."""


class WorkerEngine(WorkerPlugin):  # type: ignore[misc]
    """Stands for an engine."""

    def measure(self, asked: Asked, workload: Workload) -> Answer:
        """Return a result after a while."""
        worker = get_worker()
        machine = MACHINES[worker.name]
        if machine.breaks_after is not None and machine.done >= machine.breaks_after:
            return Answer(tag=asked.tag, failed=failed_of(WorkFailed("it broke")), gone=True)
        time.sleep(machine.takes_s)  # the measurement
        times, slower = TIMES.get(machine.card), machine.slower(machine.done)
        launch_s = slower * (LAUNCH_S if times is None else times(asked.config))
        machine.done += 1
        record = MadeEngine(lambda config: launch_s).measure(asked.config, workload, asked.options)
        whose = msgspec.structs.replace(
            record.prepared.environment, machine=f"machine-{worker.name}", person="ada"
        )
        record.prepared = msgspec.structs.replace(
            record.prepared, device=_card(worker.name), environment=whose
        )
        return Answer.of(asked, record, machine.takes_s)


def _card(name: Any) -> Any:
    card = MACHINES[name].card
    return device("cuda:0", kind="gpu", name=card, hardware_id=f"GPU-{card}-{name}")


def describe() -> bytes:
    """Return what this worker is; each is a machine of its own."""
    engine_of(get_worker(), WorkerEngine)
    name = get_worker().name
    said = Described(
        version=MACHINES[name].version,
        host=f"machine {name}",
        devices=DeviceList(devices=(_card(name),)),
    )
    return encode(said)
