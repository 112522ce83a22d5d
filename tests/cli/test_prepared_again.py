"""What a run has sampled when the way it was timed stops working is a run of its own."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.cli import main
from gpuexplorer.core.units import count
from gpuexplorer.engine import protocol
from gpuexplorer.engine.client import Event
from gpuexplorer.engine.receiver import Receiver
from gpuexplorer.history.store import Store

RUN = ["run", "matmul", "--device", "cpu", "--size", "64", "--seconds", "0.5"]
LOST = "the way it was timed stopped working after"


def lose_timing(monkeypatch: pytest.MonkeyPatch, *, fails: bool = False) -> None:
    """Have each run prepared again after its first samples, or end there as it fails."""
    take = Receiver.take

    def taken(run: Receiver, told: Event) -> bool:
        ended, record = take(run, told), run.record
        if isinstance(told, protocol.Samples) and record is not None and not run.earlier:
            take(run, msgspec.structs.replace(record.prepared, method="another way"))
            if fails:
                return take(run, protocol.Failed(generation=1, kind="work", what="it is lost"))
        return ended

    monkeypatch.setattr(Receiver, "take", taken)


def test_both_parts_are_kept_each_with_its_own_way_of_timing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.sqlite"))
    lose_timing(monkeypatch)
    assert main([*RUN, "--json", str(tmp_path / "run.json")]) == 0
    document = json.loads((tmp_path / "run.json").read_bytes())
    with Store.open_to_read() as store:
        kept = {row.id: store.get(row.id) for row in store.find()}
    second = kept.pop(document["id"])
    (first,) = kept.values()
    assert (first.timing.stopped_by, second.timing.stopped_by) == ("timing", "time")
    assert second.timing.method == "another way" != first.timing.method
    assert second.samples_s == document["samples_s"]
    said = f"{LOST} {count(len(first.samples_s))} samples, kept as run {first.id[:8]}; from then on"
    assert said in capsys.readouterr().err


def test_without_a_history_it_is_said_that_the_first_part_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.sqlite"))
    lose_timing(monkeypatch)
    assert main([*RUN, "--no-history"]) == 0
    said = capsys.readouterr().err
    assert LOST in said and "samples, not kept; from then on" in said
    assert not (tmp_path / "history.sqlite").exists()


def test_the_first_part_is_kept_where_no_other_way_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(tmp_path / "history.sqlite"))
    lose_timing(monkeypatch, fails=True)
    assert main(RUN) == 1
    said = capsys.readouterr().err
    assert LOST in said and "error: it is lost" in said
    with Store.open_to_read() as store:
        assert [row.stopped_by for row in store.find()] == ["timing"]
