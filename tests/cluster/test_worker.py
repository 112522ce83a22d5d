"""Each worker of a machine has a GPU of its own, and none measures on one that another has."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed")

from gpuexplorer.calibration.store import ENVIRONMENT_VARIABLE
from gpuexplorer.cluster import worker
from gpuexplorer.cluster.messages import Asked
from gpuexplorer.cluster.worker import VISIBLE, WorkerEngine
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE, said_deadline_s
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.run_options import LIVE
from gpuexplorer.core.shared_device import (
    NICE_VARIABLE,
    WHEN_SHARED_VARIABLE,
    niceness,
    when_shared,
)
from gpuexplorer.workloads.loader import load
from tests.support.problems import device
from tests.support.results import made_config


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

        self.deadline_s, self.nice = said_deadline_s(), niceness(0)

    def measure(self, *given: object, **named: object) -> None:
        """Say what it was told, which is no result."""
        gpus = [one.hardware_id for one in self.devices if one.is_nvidia_gpu]
        raise CannotRunHere(f"{when_shared()} {self.deadline_s} {self.nice} {gpus[0]}")

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


@pytest.mark.parametrize("usual", ["warn", "wait"])
@pytest.mark.parametrize("usual_nice", [None, 2])
def test_a_worker_waits_is_nice_and_keeps_the_deadline_as_each_task_says(
    usual: str,
    usual_nice: int | None,
    worker_of: Callable[[list[str]], WorkerEngine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(WHEN_SHARED_VARIABLE, usual)
    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "9")
    monkeypatch.setenv(NICE_VARIABLE, "" if usual_nice is None else str(usual_nice))
    monkeypatch.setattr(worker, "get_worker", lambda: None)
    one, workload, found = worker_of(["GPU-a", "GPU-b"]), load()["matmul"], []
    tasks: list[dict[str, Any]] = [
        {}, {"waits": True}, {"deadline_s": 5.0}, {"nice": 7}, {"nice": 0}, {},
    ]  # fmt: skip
    # No task makes a worker less nice than it was started.
    for said in tasks:
        asked = Asked(tag=1, config=made_config(), sha256="", options=LIVE, topic="", **said)
        failed = one.measure(asked, workload).failed
        assert failed is not None and Started.running == 1
        found.append(failed.what)
    own = usual_nice or 0
    assert found == [
        f"{usual} 9.0 {own} GPU-a", f"wait 9.0 {own} GPU-a", f"{usual} 5.0 {own} GPU-a",
        f"{usual} 9.0 7 GPU-a", f"{usual} 9.0 {own} GPU-a", f"{usual} 9.0 {own} GPU-a",
    ]  # fmt: skip
