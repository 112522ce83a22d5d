"""Spoiled files do no harm; ``tests/bench/fuzz_inputs.py`` tries thousands of them, this some."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.exchange import sample_files
from tests.support.fuzz import fuzz, fuzz_reader
from tests.support.readers import readers

NAMES = (
    "run", "runs", "sweep", "comparison", "kernel-tuner", "kernel-tuner-open", "nvbench",
    "nvbench-ours", "parquet-samples", "parquet-runs",
)  # fmt: skip
READ = ("manifest", "source", "sweep-document", "session", "frames", "requests")
EACH = 60
EACH_READ = 300


@pytest.mark.parametrize("name", NAMES)
def test_spoiled_files_do_no_harm(tmp_path: Path, name: str) -> None:
    files = sample_files(tmp_path)
    assert set(files) == set(NAMES)
    path, spoil = files[name]
    found = fuzz(name, path, spoil, EACH, seed=7)
    assert found["troubles"] == []
    assert found["outcomes"]["refused"] > EACH // 10


@pytest.mark.parametrize("name", READ)
def test_spoiled_inputs_are_read_whole_or_refused(name: str) -> None:
    kinds = readers()
    assert set(kinds) == set(READ)
    samples, spoil, read = kinds[name]
    for sample in samples:
        read(sample)
    found = fuzz_reader(name, samples, spoil, read, EACH_READ, seed=7)
    assert found["troubles"] == []
    assert found["outcomes"]["refused"] > EACH_READ // 20
