"""Workers run a user's Python file once the user has agreed to it, and not before."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

pytest.importorskip("distributed")

from gpuexplorer.cluster import worker
from gpuexplorer.cluster.agenda import Agenda, Lane
from gpuexplorer.cluster.connection import Cluster
from gpuexplorer.cluster.messages import Answer, Asked, encode, read_asked
from gpuexplorer.cluster.paces import Paces
from gpuexplorer.core.deadline import BUILD_DEADLINE_VARIABLE
from gpuexplorer.core.run_options import RunOptions
from gpuexplorer.core.shared_device import NICE_VARIABLE, WHEN_SHARED_VARIABLE
from gpuexplorer.workloads import trust
from gpuexplorer.workloads.loader import load
from gpuexplorer.workloads.workload import Workload
from tests.support.problems import device
from tests.support.results import made_config

OPTIONS = RunOptions(samples=3)


def checked_by_python(text: str) -> Workload:
    """Return a workload whose results a Python function says."""
    source = load()["vector_add"].source
    manifest = source.manifest.replace(
        'outputs = { C = "A + B" }\ncheck = "rows"\nrow_arrays = ["A", "B"]',
        'python = "check.py:added"',
    )
    files = {**source.files, "check.py": text}
    return Workload(msgspec.structs.replace(source, manifest=manifest, files=files))


@pytest.mark.parametrize("agreed", [True, False])
def test_a_worker_knows_what_the_user_agreed_to(
    agreed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = checked_by_python(f"def added(A, B):\n    return A + B  # {agreed}\n")
    found: list[bool] = []

    def measure(asked: Asked, workload: Workload) -> Answer:
        found.append(trust.agreed(workload))
        return Answer(tag=asked.tag)

    plugins = {
        worker.NAME: SimpleNamespace(measure=measure),
        worker.workload_name(workload.sha256): SimpleNamespace(workload=workload),
    }
    here = SimpleNamespace(plugins=plugins, log_event=lambda topic, told: None)
    monkeypatch.setattr(worker, "get_worker", lambda: here)
    asked = Asked(
        tag=1, config=made_config(), sha256=workload.sha256, options=OPTIONS, topic="t",
        agreed=agreed,
    )  # fmt: skip
    worker.measure(encode(asked))
    assert found == [agreed]


def test_workers_are_told_what_the_user_agreed_to_and_said_of_engines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A deadline and waiting for others were taken, and no worker heard of them."""
    monkeypatch.setenv(BUILD_DEADLINE_VARIABLE, "7")
    monkeypatch.setenv(WHEN_SHARED_VARIABLE, "wait")
    monkeypatch.setenv(NICE_VARIABLE, "3")
    workload, told = checked_by_python("def added(A, B):\n    return A + B\n"), []
    config = made_config()
    lane = Lane("tls://there", "there", {config.device: device(config.device)})

    class Client:
        id = "this one"

        def submit(self, task: Any, data: bytes, **options: Any) -> Any:
            told.append(read_asked(data))
            return SimpleNamespace(add_done_callback=lambda done: None)

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **named: None

    cluster = Cluster.__new__(Cluster)
    cluster.client, cluster.tasks = Client(), worker
    cluster._known, cluster.only, cluster.most, cluster.on_live = {"a": lane}, None, None, None
    cluster.alone_s, cluster.tags = 1.0, itertools.count(1)
    cluster.look = lambda: ([], [])  # type: ignore[method-assign]
    for agrees in (False, True):
        if agrees:
            trust.agree_here(workload)
        news = cluster._news(Agenda([config], OPTIONS), workload, OPTIONS, Paces([]))
        next(news)
        news.close()
        lane.going.clear()
    assert [one.agreed for one in told] == [False, True]
    assert {(one.waits, one.deadline_s, one.nice) for one in told} == {(True, 7.0, 3)}
