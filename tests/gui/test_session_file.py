"""Session files: what is saved comes back bit for bit, and nothing else ever comes in."""

from __future__ import annotations

import zipfile
from pathlib import Path

import msgspec
import numpy as np
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine.record import MAX_SAMPLES
from gpuexplorer.gui.model import session_archive
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.replay import replay
from gpuexplorer.gui.model.session_archive import read_session, write_session
from gpuexplorer.gui.model.session_document import SESSION_SCHEMA
from gpuexplorer.gui.model.trace import COARSEST, Trace, sample_times_s
from tests.support.sessions import (
    KNOBS,
    SOURCE,
    batch,
    contents,
    measure,
    timeline,
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "bench.gpux"
    write_session(contents(), path)
    return path


def test_what_was_shown_comes_back_as_it_was(tmp_path: Path) -> None:
    before, saved = timeline(), tmp_path / "bench.gpux"
    write_session(contents(before), saved)
    read = read_session(saved)
    after = replay(read, saved.name, 900)
    old, new = before.current, after.current
    assert old is not None and new is not None
    assert old.record is not None and new.record is not None
    assert new.record.samples_s().tobytes() == old.record.samples_s().tobytes()
    np.testing.assert_allclose(
        new.trace.draw(-np.inf, np.inf, 9999).x, old.trace.draw(-np.inf, np.inf, 9999).x, atol=1e-6
    )
    assert new.summary == old.summary
    np.testing.assert_array_equal(new.medians.rows(), old.medians.rows())
    np.testing.assert_array_equal(new.rates.rows(), old.rates.rows())
    assert (new.label, new.over, new.origin) == (old.label, True, "bench.gpux")
    assert new.record.id == old.record.id and new.record.readings == old.record.readings
    mine = msgspec.structs.replace(old.record.result().timing, stopped_by="user")
    assert new.record.result().timing == mine
    assert [p.label for p in after.past] == [p.label for p in before.past]
    for ours, theirs in zip(after.past, before.past, strict=True):
        np.testing.assert_array_equal(ours.drawing.y, theirs.drawing.y)
        assert (ours.start_s, ours.end_s) == (theirs.start_s, theirs.end_s)
    assert len(after.device) == len(before.device) or len(after.device) == len(old.record.readings)
    (pin,) = after.pins
    assert pin.samples_s.tobytes() == before.pins[0].samples_s.tobytes()
    assert pin.label.startswith(before.pins[0].label) and "from file" in pin.label
    assert read.document.knobs == KNOBS and read.document.notes == "a note"
    assert read.document.kernels == {"mine": SOURCE}
    assert read.parts == {"later": b'{"schema": "gpuexplorer/later/1"}'}


def test_what_a_profiler_counted_comes_back_before_what_counters_say(tmp_path: Path) -> None:
    before, saved = timeline(), tmp_path / "bench.gpux"
    assert before.current is not None and before.current.record is not None
    before.current.record.count(Counters(kernels=("k",), dram_read_B=3e6, dram_write_B=1e6))
    write_session(contents(before), saved)
    after = replay(read_session(saved), saved.name, 900).current
    assert after is not None and after.counted is not None
    assert (after.counted.source, after.counted.total_B) == ("ncu", 4e6)


def test_what_was_lost_on_its_way_comes_back(tmp_path: Path) -> None:
    before, saved = timeline(), tmp_path / "bench.gpux"
    assert before.current is not None and before.current.record is not None
    ours = before.current.record
    parts = [batch(41, start_s=124.0), batch(42, start_s=126.0)]
    times_s = [sample_times_s(part, 0) for part in parts]
    durations_s = [part.durations_s for part in parts]
    before.add(np.concatenate(times_s), np.concatenate(durations_s), parts, 9)
    assert (ours.dropped, ours.lost_until_ns) == (9, parts[-1].starts_ns[0])
    write_session(contents(before), saved)
    after = replay(read_session(saved), saved.name, 900).current
    assert after is not None and after.record is not None
    assert (after.record.dropped, after.record.lost_until_ns) == (9, ours.lost_until_ns)


def test_columns_come_back_with_the_launches_behind_them(tmp_path: Path) -> None:
    before, saved = timeline(), tmp_path / "bench.gpux"
    assert before.current is not None
    run = before.current
    run.trace = Trace(4 * COARSEST)
    for part in np.array_split(before.end_s + 1e-3 * np.arange(12 * COARSEST), 24):
        run.trace.extend(part, np.full(len(part), 1e-3))
    before.pin("a long one, in words")
    before.begin(4, run.config)
    write_session(contents(before), saved)
    after = replay(read_session(saved), saved.name, 900)
    drawn = [(before.past[-1].drawing, after.past[-1].drawing)]
    drawn += [(before.pins[-1].drawing, after.pins[-1].drawing)]
    for ours, theirs in drawn:
        assert ours.launches.min() < ours.launches.max() == ours.stretch == theirs.stretch
        np.testing.assert_array_equal(ours.launches, theirs.launches)


def test_a_session_names_the_users_folders_and_does_not_say_where_they_lie(tmp_path: Path) -> None:
    before = timeline()
    assert before.current is not None and before.current.record is not None
    prepared = before.current.record.prepared
    environment = msgspec.structs.replace(prepared.environment, kernels="/home/ada/mine")
    before.current.record.prepared = msgspec.structs.replace(prepared, environment=environment)
    write_session(contents(before), tmp_path / "bench.gpux")
    document = read_session(tmp_path / "bench.gpux").document
    assert b"/home/ada" not in msgspec.json.encode(document)
    assert "mine" in [run.prepared.environment.kernels for run in document.runs]


def test_saving_what_was_opened_gives_the_same_again(saved: Path, tmp_path: Path) -> None:
    first = read_session(saved)
    once = replay(first, "a.gpux", 1)
    again = contents(once)
    twice = replay(again, "b.gpux", 1)
    assert once.current is not None and twice.current is not None
    assert once.current.summary == twice.current.summary
    assert [p.label for p in once.pins] == [p.label for p in twice.pins]
    write_session(again, tmp_path / "again.gpux")
    assert read_session(tmp_path / "again.gpux").document.runs[0].id == first.document.runs[0].id


def test_an_empty_session_is_one_too(tmp_path: Path) -> None:
    write_session(contents(Live()), tmp_path / "empty.gpux")
    live = replay(read_session(tmp_path / "empty.gpux"), "empty.gpux", 1)
    assert live.current is None and not live.pins and not live.past


def test_measuring_goes_on_after_a_replay_beside_what_was_replayed(saved: Path) -> None:
    live = replay(read_session(saved), "bench.gpux", 900)
    end = live.end_s
    measure(live, 2000, 64, 5000.0)
    assert live.current is not None and live.current.trace.start_s > end
    assert live.current.trace.start_s < end + 1.0
    assert live.past[-1].ticket == 900 or live.past[-1].ticket == 901
    assert live.current.origin == ""


def test_timelines_change_places_and_back(saved: Path) -> None:
    shown, other = timeline(), replay(read_session(saved), "bench.gpux", 900)
    track, run = shown.device, shown.current
    shown.exchange(other)
    assert shown.device is track and shown.current is not run
    assert shown.current is not None and shown.current.origin == "bench.gpux"
    shown.exchange(other)
    assert shown.current is run


def test_a_file_appears_whole_or_not_at_all(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(*_args: object, **_named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(InputError, match="disk is full"):
        write_session(contents(), saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_the_schema_is_the_one_the_help_names() -> None:
    assert contents().document.schema == SESSION_SCHEMA == "gpuexplorer/session/1"


def test_a_session_of_a_kernel_that_prints_comes_back(tmp_path: Path) -> None:
    printed = "<tid 3> a<b\x1b[2J\r\n" * 8192 + "\0"
    made = contents()
    runs = [
        msgspec.structs.replace(r, prepared=msgspec.structs.replace(r.prepared, printed=printed))
        for r in made.document.runs
    ]
    made.document = msgspec.structs.replace(made.document, runs=runs)
    write_session(made, tmp_path / "bench.gpux")
    read = read_session(tmp_path / "bench.gpux")
    assert [r.prepared.printed for r in read.document.runs] == [printed] * len(runs)


def test_a_run_of_the_greatest_length_with_its_transfers_comes_back(tmp_path: Path) -> None:
    made = contents()
    longest = {
        "seconds": np.full(MAX_SAMPLES, 1e-3), "phases_s": np.full((MAX_SAMPLES, 5), 1e-4),
        "counts": np.array([MAX_SAMPLES]), "starts_ns": np.array([0]),
        "launches": np.array([1]), "clocks_Hz": np.array([np.nan]),
    }  # fmt: skip
    made.arrays |= {f"run0-{name}": array for name, array in longest.items()}
    write_session(made, tmp_path / "bench.gpux")
    read = read_session(tmp_path / "bench.gpux").arrays
    for name, array in longest.items():
        np.testing.assert_array_equal(read[f"run0-{name}"], array)


@pytest.mark.parametrize(
    ("limit", "named"),
    [("MAX_DOCUMENT_B", "session.json"), ("MAX_SUMS_B", "sha256"), ("MAX_PART_B", "later.json")],
)
def test_what_would_not_be_read_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, named: str
) -> None:
    monkeypatch.setattr(session_archive, limit, 10)
    path = tmp_path / "bench.gpux"
    with pytest.raises(InputError, match=named):
        write_session(contents(), path)
    assert not list(tmp_path.iterdir())
