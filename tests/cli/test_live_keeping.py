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


def test_what_a_run_has_when_it_is_prepared_again_is_over_and_what_follows_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was removed, and before that nothing more of the run was kept as it went."""
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.db"))
    monkeypatch.setattr(keeping, "LONG_S", 0.0)
    monkeypatch.setattr(keeping, "CHUNK_S", 3600.0)
    first, second = RunRecord(prepared()), RunRecord(prepared())
    with LiveKeeping(argparse.Namespace(no_history=False)) as live:
        sampled(first)
        live.take(first)
        sampled(first)  # since the last chunk
        first.end("timing")
        monkeypatch.setattr(keeping, "CHUNK_S", 0.0)
        for _ in range(2):
            sampled(second)
            live.take(second)
        assert live.has_begun
        with Store.open_to_read() as store:
            rows = {row.id: row for row in store.find()}
            assert len(rows) == 2
            assert (rows[first.id].samples, rows[first.id].stopped_by) == (8, "timing")
            assert (rows[second.id].samples, rows[second.id].running) == (8, True)
            assert not rows[first.id].running
