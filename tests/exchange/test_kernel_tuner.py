"""Kernel Tuner's caches: closed, open, torn; with configurations that could not be run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.exchange.imported import Imported
from tests.support.exchange import cache_text


def read(folder: Path, text: str) -> Imported:
    (folder / "cache.json").write_text(text)
    return read_runs(folder / "cache.json")


def test_a_cache_becomes_runs_and_skipped_configurations(tmp_path: Path) -> None:
    found = read(tmp_path, cache_text())
    assert [r.config.block for r in found.runs] == [(16, 1, 1), (16, 2, 1), (32, 2, 1)]
    first = found.runs[0]
    assert first.samples_s == pytest.approx([0.5e-3, 0.52e-3, 0.51e-3], rel=1e-12)
    assert first.timing.median_s == first.samples_s[2]
    assert first.config.workload == "matmul_kernel"
    assert first.config.size == {"x": 512, "y": 512}
    assert first.config.tunables == {"tile": 4}
    assert first.config.switches == {"layout": "row"}
    assert first.phases_s.compile == 0.34025
    assert first.telemetry.power_W == 210.5
    assert first.time_utc == "2024-07-01T12:30:05.123456+00:00"
    assert first.device.name == "NVIDIA RTX A6000" and first.device.compute_units is None
    assert first.verification is None
    assert [s.reason for s in found.skipped] == [
        "Kernel Tuner: the configuration breaks a constraint",
        "Kernel Tuner: it did not compile",
    ]
    assert found.skipped[0].values == {
        "block_size_x": 32, "block_size_y": 1, "tile": 4, "layout": "row",
    }  # fmt: skip
    assert found.axes == {
        "block_size_x": [16, 32], "block_size_y": [1, 2], "tile": [4, 8], "layout": ["row"],
    }  # fmt: skip
    assert found.notes == ()


def test_a_cache_that_a_killed_tuning_left_is_read_up_to_its_last_whole_line(
    tmp_path: Path,
) -> None:
    whole = read(tmp_path, cache_text())
    open_ = cache_text(closed=False)
    found = read(tmp_path, open_)
    assert found.runs == whole.runs and found.notes == ()
    last = open_.rindex("\n")
    for cut in range(last + 2, len(open_) - 1):
        torn = read(tmp_path, open_[:cut])
        assert torn.runs == whole.runs[:2]
        assert "torn" in torn.notes[0]
    assert len(read(tmp_path, open_[: last + 1]).runs) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"time": -1.0, "times": [-1.0]}, "a time of -1.0 ms cannot be"),
        ({"time": 1.0, "times": [1.0, "x"]}, "a time of x ms cannot be"),
        ({"time": 1.0, "times": [10**40]}, "ms cannot be"),
        ({"time": 1.0, "times": {"a": 1}}, "its times are no list"),
        ({"time": True, "times": [1.0]}, "a time of True ms"),
    ],
)
def test_an_entry_that_cannot_be_is_named(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    document = json.loads(cache_text())
    document["cache"]["16,1,4,row"] |= change
    with pytest.raises(InputError) as error:
        read(tmp_path, json.dumps(document))
    assert "the entry '16,1,4,row' cannot be read" in str(error.value)
    assert words in str(error.value)


def test_what_older_versions_wrote_is_understood(tmp_path: Path) -> None:
    document = json.loads(cache_text())
    cache = document["cache"]
    cache["16,1,4,row"]["time"] = 1e20
    del cache["16,2,4,row"]["times"], cache["16,2,4,row"]["timestamp"]
    document["problem_size"] = "callable"
    text = json.dumps(document)
    found = read(tmp_path, text)
    assert "holds no time for it" in found.skipped[0].reason
    run = found.runs[0]
    assert run.samples_s == [0.25e-3] and "the mean of the launches" in run.timing.warnings[0]
    assert run.config.size == {}
    assert run.origin is not None and "last written" in run.origin.note


@pytest.mark.parametrize("key", ["device_name", "kernel_name", "cache"])
def test_what_is_no_cache_says_so(tmp_path: Path, key: str) -> None:
    document = json.loads(cache_text())
    document[key] = None
    with pytest.raises(InputError, match=r"is not Kernel Tuner's cache|holds no runs"):
        read(tmp_path, json.dumps(document))


def test_half_of_a_character_is_refused(tmp_path: Path) -> None:
    document = json.loads(cache_text())
    document["kernel_name"] = "\ud800"
    with pytest.raises(InputError, match="half of a character"):
        read(tmp_path, json.dumps(document))
