"""What a cluster's workers run to be many: a measurement is a sleep, and takes no processor."""

from __future__ import annotations

import asyncio
import os
import random
from typing import Any

import msgspec
from distributed import get_worker

import gpuexplorer
from gpuexplorer.cluster.messages import Answer, Described, encode, read_asked
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.result import RunResult
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.workloads.loader import load
from tests.search.engine import MadeEngine
from tests.support.prepared import prepared
from tests.support.problems import device

__all__ = ["FASTER", "describe", "duration_s", "measure"]

FASTER = "GPUEXPLORER_TEST_FASTER"
"""Names by how much the sleeps are shorter than the measurements that they stand for."""
DURATION_S = (0.5, 5.0)
_made: list[RunResult] = []


def duration_s(config: RunConfig) -> float:
    """Return how long the measurement of a configuration takes, the same each time."""
    return random.Random(config.key).uniform(*DURATION_S)


def describe() -> bytes:
    """Return what this worker is; eight of them are in a machine."""
    card = device("cuda:0", kind="gpu", name="Card", hardware_id="GPU-Card")
    host = f"machine {int(float(get_worker().name)) // 8}"
    devices = DeviceList(devices=(card,))
    return encode(Described(version=gpuexplorer.__version__, host=host, devices=devices))


def a_result() -> RunResult:
    """Return what one measurement would be, of 30 samples."""
    if not _made:
        _made.append(
            MadeEngine().measure(prepared().config, load()["matmul"], Measuring()).result()
        )
    return _made[0]


async def measure(task: bytes) -> None:
    """Sleep as long as the measurement would take, and tell a result."""
    worker: Any = get_worker()
    asked = read_asked(task)
    seconds = duration_s(asked.config) / float(os.environ[FASTER])
    result = msgspec.structs.replace(a_result(), config=asked.config)
    await asyncio.sleep(seconds)
    worker.log_event(asked.topic, encode(Answer(tag=asked.tag, result=result, seconds=seconds)))
