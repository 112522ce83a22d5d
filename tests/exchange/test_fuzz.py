"""Spoiled files do no harm; ``tests/bench/fuzz_imports.py`` tries thousands of them, this some."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.exchange import sample_files
from tests.support.fuzz import fuzz

NAMES = (
    "run", "runs", "sweep", "comparison", "kernel-tuner", "kernel-tuner-open", "nvbench",
    "nvbench-ours", "parquet-samples", "parquet-runs",
)  # fmt: skip
EACH = 60


@pytest.mark.parametrize("name", NAMES)
def test_spoiled_files_do_no_harm(tmp_path: Path, name: str) -> None:
    files = sample_files(tmp_path)
    assert set(files) == set(NAMES)
    path, spoil = files[name]
    found = fuzz(name, path, spoil, EACH, seed=7)
    assert found["troubles"] == []
    assert found["outcomes"]["refused"] > EACH // 10
