"""A job of the window measures on the hardware of a cluster that was chosen, or not at all."""

from __future__ import annotations

from typing import Any, cast

import pytest

pytest.importorskip("distributed")

from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.gui import cluster_job
from gpuexplorer.gui.cluster_job import JobCluster, WantedCluster
from gpuexplorer.gui.job import EngineJob
from tests.support.problems import device


def card(id_: str, name: str) -> DeviceInfo:
    return device(id_, kind="gpu", name=name, hardware_id=f"GPU-{name}")


class Found:
    """A cluster whose most frequent hardware has changed."""

    def __init__(self, *_: object, **__: object) -> None:
        self.devices = DeviceList(devices=(card("cuda:0", "Card B"), card("cuda:1", "Card A")))
        self.workers: list[Any] = []
        self.closed = False
        found.append(self)

    def close(self) -> None:
        self.closed = True


found: list[Found] = []


def test_hardware_that_got_another_name_is_not_measured_in_place_of_what_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Job:
        def keep_going(self) -> None:
            pass

    monkeypatch.setattr(cluster_job, "Cluster", Found)
    monkeypatch.setattr(cluster_job, "find_cluster", lambda where: where)
    known = DeviceList(devices=(card("cuda:0", "Card A"), card("cuda:2", "Card B")))

    def job_on(name: str) -> JobCluster:
        wanted = WantedCluster("there", name, known)
        return JobCluster(cast("EngineJob", Job()), wanted, lambda _: None, lambda _: None)

    for name in ("cuda:0", "cuda:2"):
        with pytest.raises(InputError, match=f"{name} of the cluster is not the hardware any more"):
            job_on(name)
        assert found[-1].closed
    known = DeviceList(devices=(card("cuda:0", "Card B"),))
    with job_on("cuda:0"):
        assert not found[-1].closed
