"""A long run of the terminal in the history while it goes."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from gpuexplorer.cli import keeping
from gpuexplorer.cli.keeping import LiveKeeping
from gpuexplorer.core.sample import SampleBatch
from gpuexplorer.engine.record import RunRecord
from gpuexplorer.history.store import Store
from tests.support.prepared import prepared


def sampled(record: RunRecord) -> None:
    """Have a run take four more samples."""
    seconds = SampleBatch(seconds=b"\0" * 32, counts=(4,), starts_ns=(0,), launches=(1,))
    record.add(seconds)


def test_a_run_that_is_prepared_again_is_kept_under_its_new_id_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first stayed as an interrupted one, and nothing more of the run was kept as it went."""
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))
    monkeypatch.setattr(keeping, "LONG_S", 0.0)
    monkeypatch.setattr(keeping, "CHUNK_S", 3600.0)
    first, second = RunRecord(prepared()), RunRecord(prepared())
    with LiveKeeping(argparse.Namespace(no_history=False)) as live:
        sampled(first)
        live.take(first)
        monkeypatch.setattr(keeping, "CHUNK_S", 0.0)
        for _ in range(2):
            sampled(second)
            live.take(second)
        assert live.has_begun
        with Store.open_to_read() as store:
            (row,) = store.find()
            assert (row.id, row.samples, row.running) == (second.id, 8, True)
