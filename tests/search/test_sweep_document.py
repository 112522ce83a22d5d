"""A sweep's document: runs and reasons side by side, the same after reading."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError, WrongResult
from gpuexplorer.core.sweep import SweepDocument, read_sweep, reasons, sweep_json
from gpuexplorer.search.measuring import Measuring
from gpuexplorer.search.space import Axis, Space
from gpuexplorer.search.space_sweep import SpaceSweep
from gpuexplorer.workloads.loader import load
from tests.search.engine import MadeEngine
from tests.support.problems import device

MATMUL = load()["matmul"]


def made() -> SweepDocument:
    def launch_s(config: RunConfig) -> float:
        if config.block == (8, 8, 1):
            raise WrongResult("the result is wrong")
        return 1e-3

    space = Space(
        RunRequest(workload="matmul", device="cpu"),
        (Axis("variant", ("naive", "tiled", "cublas")), Axis("block", ((8, 8, 1), (64, 64, 1),
                                                                       (16, 16, 1)))),
    )  # fmt: skip
    devices = DeviceList(devices=(device("opencl:0", threads=1),))
    return SpaceSweep(space, MATMUL, devices, Measuring(4)).run(MadeEngine(launch_s))


DOCUMENT = made()


def test_every_entry_is_a_run_or_a_reason_with_its_configuration() -> None:
    raw = json.loads(sweep_json(DOCUMENT))
    assert raw["schema"] == "gpuexplorer/sweep/1"
    assert raw["axes"] == {
        "variant": ["naive", "tiled", "cublas"],
        "block": [[8, 8, 1], [64, 64, 1], [16, 16, 1]],
    }
    assert len(raw["runs"]) == raw["points"] == 9
    for entry in raw["runs"]:
        assert entry["config"]["variant"] == entry["values"]["variant"]
        if entry["skipped"] is None:
            assert entry["config"]["block"] == entry["values"]["block"] == [16, 16, 1]
            assert entry["timing"]["median_s"] == 1e-3
            assert entry["samples_s"] == [1e-3] * 4
        else:
            assert "timing" not in entry
    said = reasons(DOCUMENT.runs)
    assert said["the result is wrong"] == 2
    assert sum(said.values()) == 7
    assert list(said.values()) == sorted(said.values(), reverse=True)


def test_reading_gives_the_same_document() -> None:
    data = sweep_json(DOCUMENT)
    read = read_sweep(data)
    assert read == DOCUMENT
    assert sweep_json(read_sweep(sweep_json(read))) == sweep_json(read)


@given(st.binary(max_size=60))
def test_what_is_no_sweep_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_sweep(data, "x.json")


@given(st.data())
def test_a_damaged_sweep_is_read_whole_or_refused(data: st.DataObject) -> None:
    whole = bytearray(sweep_json(DOCUMENT))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place : place + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=5))
    try:
        assert isinstance(read_sweep(bytes(whole)), SweepDocument)
    except InputError:
        pass


def test_a_document_of_a_kind_of_megabytes_is_refused_in_a_sentence() -> None:
    fields = json.loads(sweep_json(made()))
    with pytest.raises(InputError) as caught:
        read_sweep(json.dumps({**fields, "schema": "y" * 2_000_000}).encode())
    assert len(str(caught.value)) < 300
