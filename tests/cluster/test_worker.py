"""Each worker of a machine has a GPU of its own, and none measures on one that another has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.cluster import worker
from gpuexplorer.cluster.worker import VISIBLE, WorkerEngine
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere
from tests.support.problems import device


class Started:
    """Stands for the engines of a machine with GPUs; ``running`` counts those not closed."""

    running = 0

    def __init__(self, gpus: list[str]) -> None:
        Started.running += 1
        shown = [one for one in gpus if os.environ.get(VISIBLE) in (None, one)]
        found = [
            device(f"{backend}:{number}", kind="gpu", name="NVIDIA Card", hardware_id=one)
            for number, one in enumerate(shown)
            for backend in ("cuda", "opencl")
        ]
        self.devices = DeviceList(devices=(device("cpu:0"), *found))

    def close(self) -> None:
        """End it."""
        Started.running -= 1


@pytest.fixture
def worker_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[str]], WorkerEngine]:
    """Return a function that starts a worker in a machine with some GPUs, as in a process."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path))
    Started.running = 0

    def start(gpus: list[str]) -> WorkerEngine:
        monkeypatch.delenv(VISIBLE, raising=False)
        monkeypatch.setattr(worker, "Engines", lambda *given: Started(gpus))
        made = WorkerEngine()
        made.setup(None)
        return made

    return start


@pytest.mark.parametrize(
    ("gpus", "why"),
    [
        (["GPU-a"], "another worker has the only GPU of "),
        (["GPU-a", "GPU-b"], "other workers have all 2 GPUs of "),
    ],
)
def test_a_worker_has_a_gpu_that_no_other_has(
    worker_of: Callable[[list[str]], WorkerEngine], gpus: list[str], why: str
) -> None:
    workers = []
    for gpu in gpus:
        workers.append(worker_of(gpus))
        seen = {one.hardware_id for one in workers[-1].devices() if one.is_nvidia_gpu}
        assert seen == {gpu}
    one_more = worker_of(gpus)
    with pytest.raises(CannotRunHere, match=re.escape(why)):
        one_more.devices()
    assert Started.running == len(gpus), "no engine is left of one that has no GPU"
    workers[0].teardown(None)
    seen = {one.hardware_id for one in one_more.devices() if one.is_nvidia_gpu}
    assert seen == {gpus[0]}
