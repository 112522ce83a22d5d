"""Session files: what is saved comes back bit for bit, and nothing else ever comes in."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QMessageBox
from pytestqt.qtbot import QtBot

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.sample import Reading, SampleBatch
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.model import bench_file
from gpuexplorer.gui.model.bench import SESSION_SCHEMA, Bench, View
from gpuexplorer.gui.model.bench_file import DOCUMENT, SUMS, read_array, read_bench, write_bench
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.replay import bench_of, open_bench, replay, take
from gpuexplorer.gui.model.tally import Tally
from gpuexplorer.gui.model.times import sample_times_s
from gpuexplorer.gui.session_dialogs import SourcesDialog
from gpuexplorer.workloads.workload import WorkloadSource
from tests.gui.conftest import OpenWindow
from tests.gui.driver import find, until, wait_measured
from tests.support.prepared import prepared

KNOBS = Knobs(
    workload="matmul", variant="naive", size={"N": 512}, precision="fp32", block=(16, 16, 1)
)
SOURCE = WorkloadSource(manifest="name = 'mine'\n", files={"mine.cu": "__global__ void f() {}\n"})


def batch(seed: int, *, start_s: float, rows: int = 12, size: int = 7) -> SampleBatch:
    generator = np.random.default_rng(seed)
    seconds = generator.lognormal(-7, 0.05, rows * size)
    starts = (start_s + 0.05 * np.arange(rows)) * 1e9
    return SampleBatch(
        seconds=seconds.astype("<f8").tobytes(),
        counts=(size,) * rows,
        starts_ns=tuple(int(s) for s in starts),
        clocks_Hz=(None,) * rows,
    )


def measure(live: Live, ticket: int, x: int, start_s: float) -> None:
    """Let a timeline live through a run, as the session does."""
    ready = prepared()
    config = msgspec.structs.replace(ready.config, block=(x, 16, 1))
    live.begin(ticket, config)
    live.prepare(msgspec.structs.replace(ready, config=config))
    tally = Tally(ready.resolution_s)
    for number in range(3):
        piece = batch(ticket * 10 + number, start_s=start_s + number)
        live.add(sample_times_s(piece, 0), piece.durations_s, [piece])
        live.read(
            Reading(t_ns=int((start_s + number + 0.3) * 1e9), source="cpu", sm_clock_Hz=2e9,
                    load=0.5),
            start_s + number + 0.3,
        )  # fmt: skip
        tally.extend(piece)
        live.summarize(tally.summary())


def timeline() -> Live:
    live = Live()
    measure(live, 1, 8, 100.0)
    measure(live, 2, 16, 110.0)
    live.pin("the second, in words")
    measure(live, 3, 32, 120.0)
    return live


def bench(live: Live | None = None) -> Bench:
    shown = take(
        live or timeline(), KNOBS, View(tab="Roofline", span_s=10.0), "a note", {"mine": SOURCE}
    )
    return bench_of(shown, {"later": b'{"schema": "gpuexplorer/later/1"}'})


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "bench.gpux"
    write_bench(bench(), path)
    return path


def test_what_was_shown_comes_back_as_it_was(tmp_path: Path) -> None:
    before, saved = timeline(), tmp_path / "bench.gpux"
    write_bench(bench(before), saved)
    read = read_bench(saved)
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


def test_saving_what_was_opened_gives_the_same_again(saved: Path, tmp_path: Path) -> None:
    first = read_bench(saved)
    once = replay(first, "a.gpux", 1)
    again = bench(once)
    twice = replay(again, "b.gpux", 1)
    assert once.current is not None and twice.current is not None
    assert once.current.summary == twice.current.summary
    assert [p.label for p in once.pins] == [p.label for p in twice.pins]
    write_bench(again, tmp_path / "again.gpux")
    assert read_bench(tmp_path / "again.gpux").document.runs[0].id == first.document.runs[0].id


def test_an_empty_bench_is_a_session_too(tmp_path: Path) -> None:
    write_bench(bench(Live()), tmp_path / "empty.gpux")
    live = replay(read_bench(tmp_path / "empty.gpux"), "empty.gpux", 1)
    assert live.current is None and not live.pins and not live.past


def test_measuring_goes_on_after_a_replay_beside_what_was_replayed(saved: Path) -> None:
    live = replay(read_bench(saved), "bench.gpux", 900)
    end = live.end_s
    measure(live, 2000, 64, 5000.0)
    assert live.current is not None and live.current.trace.start_s > end
    assert live.current.trace.start_s < end + 1.0
    assert live.past[-1].ticket == 900 or live.past[-1].ticket == 901
    assert live.current.origin == ""


def test_timelines_change_places_and_back(saved: Path) -> None:
    shown, other = timeline(), replay(read_bench(saved), "bench.gpux", 900)
    track, run = shown.device, shown.current
    shown.exchange(other)
    assert shown.device is track and shown.current is not run
    assert shown.current is not None and shown.current.origin == "bench.gpux"
    shown.exchange(other)
    assert shown.current is run


# ---- what is refused


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, parts: dict[str, bytes], *, sums: bool = True) -> None:
    """Write a session of these members; with check sums that fit unless told otherwise."""
    import hashlib

    if sums:
        named = {n: hashlib.sha256(d).hexdigest() for n, d in parts.items() if n != SUMS}
        parts = {**parts, SUMS: json.dumps(named).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit the document of a session file."""
    parts = members(path)
    document = json.loads(parts[DOCUMENT])
    edit(document)
    rewrite(path, {**parts, DOCUMENT: json.dumps(document).encode()})


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        open_bench(path, 1)
    words = str(caught.value)
    assert words.startswith(f"cannot open {path}: ") and "\n" not in words
    return words


def test_a_newer_file_says_so(saved: Path) -> None:
    change(saved, lambda d: d.update(schema="gpuexplorer/session/7"))
    assert "newer GPU Explorer (format 7" in refusal(saved)


@pytest.mark.parametrize(
    "data", [b"", b"PK", b"\x89PNG\r\n\x1a\n" + bytes(400), b"{}", b"PK\x03\x04" + bytes(80)]
)
def test_a_foreign_file_says_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "foreign.gpux"
    path.write_bytes(data)
    assert "not a session" in refusal(path) or "damaged" in refusal(path)


def test_another_program_s_zip_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "other.gpux"
    rewrite(path, {"hello.txt": b"hello"})
    assert "not a session of GPU Explorer" in refusal(path)
    rewrite(path, {DOCUMENT: b'{"schema": "gpuexplorer/run/1"}'})
    assert "not a session of GPU Explorer" in refusal(path)


def test_a_missing_file_and_a_folder_are_sentences(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none.gpux")
    assert "cannot open" in refusal(tmp_path)


def test_a_changed_byte_is_found(saved: Path) -> None:
    parts = members(saved)
    name = "arrays/run0-seconds.npy"
    data = bytearray(parts[name])
    data[-3] ^= 1
    rewrite(saved, {**parts, name: bytes(data)}, sums=False)
    assert "check sum" in refusal(saved)


def test_every_cut_of_a_file_is_refused(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 60)):
        path = tmp_path / "cut.gpux"
        path.write_bytes(whole[:length])
        refusal(path)


def test_a_zip_bomb_is_not_unpacked(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_file, "MAX_TOTAL_B", 1 << 20)
    parts = members(saved)
    rewrite(saved, {**parts, "arrays/zeros.npy": bytes(8 << 20)})
    assert "larger" in refusal(saved)


def test_a_part_longer_than_it_says_is_refused(saved: Path) -> None:
    """The size in the list of contents is a promise; the packed data may hold more."""
    data = bytearray(saved.read_bytes())
    at = data.rindex(b"PK\x01\x02", 0, data.rindex(DOCUMENT.encode()) + 1)
    size_at = at + 24
    (size,) = struct.unpack_from("<L", data, size_at)
    struct.pack_into("<L", data, size_at, size // 2)
    saved.write_bytes(bytes(data))
    refusal(saved)


def test_paths_in_names_lead_nowhere(saved: Path, tmp_path: Path) -> None:
    parts = members(saved)
    outside = {"../evil.npy": b"x", "/etc/evil": b"x", "arrays/../../evil.npy": b"x"}
    rewrite(saved, {**parts, **outside})
    before = sorted(tmp_path.rglob("*"))
    assert read_bench(saved).arrays.keys() == read_bench(saved).arrays.keys()
    assert sorted(tmp_path.rglob("*")) == before
    change(saved, lambda d: d.update(parts=["../../etc/passwd"]))
    assert "cannot open" in refusal(saved)


def test_deep_nesting_is_refused(saved: Path) -> None:
    parts = members(saved)
    deep = b'{"schema": "gpuexplorer/session/1", "notes": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    rewrite(saved, {**parts, DOCUMENT: deep})
    assert "damaged" in refusal(saved)


class Bomb:
    """What a pickle could do."""

    fired = False

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("from tests.gui import test_session_file as t; t.Bomb.fired = True",)


def test_a_pickle_is_never_loaded(saved: Path) -> None:
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()], dtype=object), allow_pickle=True)
    for data in (stream.getvalue(), pickle.dumps(Bomb())):
        rewrite(saved, {**members(saved), "arrays/run0-seconds.npy": data})
        refusal(saved)
    assert not Bomb.fired


@pytest.mark.parametrize(
    "head",
    [
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,), }\n",
        b"__import__('os').system('true')\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1, 1), }\n",
    ],
)
def test_an_array_s_head_is_matched_and_not_evaluated(head: bytes) -> None:
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(8)
    with pytest.raises(InputError):
        read_array(data)


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d["runs"][0]["prepared"]["config"].update(workload="<img src=x>"),
        lambda d: d["runs"][0]["prepared"]["device"].update(name="<b>H200</b>"),
        lambda d: d["runs"][0]["prepared"]["config"].update(size={"N": 2**60}),
        lambda d: d["knobs"].update(block=[0, 1, 1]),
        lambda d: d["knobs"].update(size={"N": -1}),
        lambda d: d.update(current=5),
        lambda d: d["pins"][0].update(run=-1),
        lambda d: d["pins"][0].update(number=2**40),
        lambda d: d["pins"].append(d["pins"][0]),
        lambda d: d.update(runs=d["runs"] * 40),
        lambda d: d["past"][0].update(start_s=1e12),
        lambda d: d["runs"][0].update(shift_s=1e300),
        lambda d: d["runs"][0].update(label="x" * 10**6),
        lambda d: d["runs"][0].update(label="\x1b[2J"),
        lambda d: d["view"].update(span_s=-1),
        lambda d: d.update(parts=["later", "nothing-there"]),
        lambda d: d["kernels"]["mine"]["files"].update({"../up.cu": "x"}),
        lambda d: d["kernels"]["mine"]["files"].update({".hidden.cu": "x"}),
        lambda d: d["kernels"]["mine"]["files"].update({"run.sh": "x"}),
        lambda d: d["kernels"].update({"../up": d["kernels"]["mine"]}),
    ],
)
def test_what_no_bench_can_hold_is_refused(saved: Path, edit: Callable[[Any], object]) -> None:
    change(saved, edit)
    assert "it is damaged" in refusal(saved)


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("run0-seconds", lambda a: -a),
        ("run0-seconds", lambda a: np.full_like(a, np.nan)),
        ("run0-seconds", lambda a: a[:-1]),
        ("run0-counts", lambda a: -a),
        ("run0-starts_ns", lambda a: a[::-1]),
        ("run0-launches", lambda a: a * 0),
        ("run0-medians", lambda a: a[:, :2]),
        ("run0-rates", lambda a: a[::-1] + np.arange(len(a))[::-1, None]),
        ("pin0-drawing", lambda a: np.full_like(a, np.nan)),
        ("pin0-samples", lambda a: a[:0]),
        ("past0-drawing", lambda a: a[:0]),
    ],
)
def test_arrays_that_cannot_be_are_refused(tmp_path: Path, name: str, made: Any) -> None:
    one = bench()
    arrays = {**one.arrays, name: np.ascontiguousarray(made(one.arrays[name]))}
    path = tmp_path / "odd.gpux"
    write_bench(replace(one, arrays=arrays), path)
    assert "it is damaged" in refusal(path)


def read_or_refuse(path: Path) -> None:
    try:
        _, live = open_bench(path, 1)
    except InputError as error:
        said = str(error)
    else:
        said = "read"
        assert live.current is None or live.current.summary is not None
    assert said and "\n" not in said


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_mutation_is_read_whole_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    whole = _whole()
    edits = data.draw(
        st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), max_size=6)
    )
    made = bytearray(whole)
    for at, value in edits:
        made[at] = value
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(whole))))
    path = tmp_path / "mutated.gpux"
    path.write_bytes(bytes(made[:cut]))
    read_or_refuse(path)


_cache: list[bytes] = []


def _whole() -> bytes:
    if not _cache:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bench.gpux"
            write_bench(bench(), path)
            _cache.append(path.read_bytes())
    return _cache[0]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_document_with_fitting_sums_is_read_or_refused(
    data: st.DataObject, tmp_path: Path
) -> None:
    """Whoever writes hostile files also writes fitting check sums."""
    path = tmp_path / "hostile.gpux"
    path.write_bytes(_whole())
    parts = members(path)
    document = json.loads(parts[DOCUMENT])
    for _ in range(data.draw(st.integers(1, 3))):
        spot: Any = document
        while True:
            keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(spot[key], (dict, list)) and spot[key] and data.draw(st.booleans()):
                spot = spot[key]
                continue
            spot[key] = data.draw(json_values)
            break
    rewrite(path, {**parts, DOCUMENT: json.dumps(document).encode()})
    read_or_refuse(path)


def test_a_file_appears_whole_or_not_at_all(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(*_args: object, **_named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(InputError, match="disk is full"):
        write_bench(bench(), saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_the_schema_is_the_one_the_help_names() -> None:
    assert bench().document.schema == SESSION_SCHEMA == "gpuexplorer/session/1"


# ---- in the window


def test_a_saved_session_is_replayed_and_left_again(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    run = wait_measured(qtbot, window)
    window.pin()
    window.session.experiment.set_block((32, 4, 1))
    run = wait_measured(qtbot, window)
    window.sessions.set_notes("what I found")
    path = tmp_path / "bench.gpux"
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    window.sessions.write(path)
    until(qtbot, lambda: window.sessions.path == path)
    assert window.windowTitle().startswith("bench.gpux") and not window.isWindowModified()
    kept = run.summary
    assert kept is not None
    window.session.experiment.set_block((8, 8, 1))
    assert window.isWindowModified()
    window.session.set_live(True)
    later = wait_measured(qtbot, window)
    window.sessions.set_notes("something else")

    window.sessions.open(path)
    until(qtbot, lambda: window.banner.text.startswith("Opened bench.gpux"))
    shown = window.session.live_model.current
    assert shown is not None and shown.summary == kept and shown.origin == "bench.gpux"
    assert not window.session.live and not window.commands.live.isChecked()
    assert window.session.experiment.knobs.block == (32, 4, 1)
    assert window.sessions.notes == "what I found"
    assert "from file" in window.session.live_model.pins[0].label
    assert window.panels.origin.isVisible()
    assert shown.record is not None
    assert shown.record.prepared.device.name in find(window, "originWords", QLabel).text()
    assert find(window, "headline", QLabel).text() == quantity(kept.median_s, "s")

    window.sessions.back()
    assert window.session.live_model.current is later
    assert window.session.experiment.knobs.block == (8, 8, 1)
    assert window.sessions.notes == "something else"
    assert not window.panels.origin.isVisible()
    again = wait_measured(qtbot, window)
    assert again is not later and again.origin == ""
    window.sessions.set_notes("what I found")
    window.session.experiment.set_block((32, 4, 1))


def test_a_bad_file_leaves_the_window_as_it_was(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    wait_measured(qtbot, window)
    path = tmp_path / "bad.gpux"
    path.write_bytes(_whole()[:-40])
    before = window.session.live_model.current, window.session.experiment.knobs
    window.sessions.open(path)
    until(qtbot, lambda: window.banner.kind == "bad")
    assert str(path) in window.banner.text and "damaged" in window.banner.text
    assert (window.session.live_model.current, window.session.experiment.knobs) == before
    assert window.session.live and window.sessions.path is None


def test_a_session_named_on_the_command_line_is_shown_and_nothing_is_measured(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(_whole())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    run = window.session.live_model.current
    assert run is not None and run.origin == "bench.gpux" and not window.session.live
    assert window.panels.tabs.tabText(window.panels.tabs.currentIndex()) == "Roofline"
    assert window.sessions.foreign_kernels() == {"mine": SOURCE}
    window.session.set_live(True)
    fresh = wait_measured(qtbot, window)
    assert fresh.origin == "" and not window.panels.origin.isVisible()


def test_runs_of_a_gpu_are_replayed_where_there_is_none(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    def on_a_gpu(document: dict[str, Any]) -> None:
        document["knobs"]["device"] = "cuda:3"
        for run in document["runs"]:
            run["prepared"]["device"] |= {"id": "cuda:3", "name": "NVIDIA H200", "kind": "gpu"}
            run["prepared"]["config"]["device"] = "cuda:3"

    path = tmp_path / "gpu.gpux"
    path.write_bytes(_whole())
    change(path, on_a_gpu)
    window = open_window()
    wait_measured(qtbot, window)
    window.sessions.open(path)
    until(qtbot, lambda: window.sessions.path == path)
    assert "NVIDIA H200" in window.banner.text
    assert "NVIDIA H200 (cuda:3)" in find(window, "originWords", QLabel).text()
    assert "NVIDIA H200" in window.session.live_model.pins[0].label
    assert window.session.experiment.knobs.device == "auto" and not window.session.live
    window.session.set_live(True)
    assert wait_measured(qtbot, window).config.device != "cuda:3"


def test_a_bad_file_on_the_command_line_lets_measuring_begin(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window("--threads", "1", str(tmp_path / "none.gpux"))
    wait_measured(qtbot, window)
    assert window.sessions.path is None


def test_recent_files_are_offered_and_forgotten_when_they_fail(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    window = open_window()
    path = tmp_path / "bench.gpux"
    path.write_bytes(_whole())
    window.sessions.open(path)
    until(qtbot, lambda: window.sessions.path == path)
    menu = find(window, "recentSessions", QMenu)
    menu.aboutToShow.emit()
    assert [a.text() for a in menu.actions()] == ["bench.gpux"]
    path.unlink()
    menu.actions()[0].trigger()
    until(qtbot, lambda: window.banner.kind == "bad")
    menu.aboutToShow.emit()
    assert [a.text() for a in menu.actions()] == ["None yet"]


def test_dropping_a_file_opens_it(qtbot: QtBot, open_window: OpenWindow, tmp_path: Path) -> None:
    window = open_window()
    path = tmp_path / "bench.gpux"
    path.write_bytes(_whole())
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left, none = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton, Qt.KeyboardModifier(0)
    enter = QDragEnterEvent(window.rect().center(), copy, data, left, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    drop = QDropEvent(window.rect().center().toPointF(), copy, data, left, none)
    QApplication.sendEvent(window, drop)
    until(qtbot, lambda: window.sessions.path == path)
    data.setUrls([QUrl.fromLocalFile("/tmp/picture.png")])
    other = QDragEnterEvent(window.rect().center(), copy, data, left, none)
    QApplication.sendEvent(window, other)
    assert not other.isAccepted()


def test_sources_of_a_file_are_text_and_run_only_from_a_folder_of_the_user_s(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(_whole())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    assert "mine" not in window.session.experiment.workloads
    window.show_sources()
    dialog = find(window, "sourcesDialog", SourcesDialog)
    dialog.list.setCurrentRow(1)
    assert dialog.text.toPlainText() == SOURCE.files["mine.cu"] and dialog.text.isReadOnly()
    folder = tmp_path / "mine-to-read"
    folder.mkdir()
    dialog.save(folder)
    assert (folder / "mine" / "mine.cu").read_text() == SOURCE.files["mine.cu"]
    dialog.save(folder)
    assert "there already" in dialog.words.text()
    assert "mine" not in window.session.experiment.workloads
    dialog.close()


def test_closing_with_unsaved_changes_asks(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bench.gpux"
    path.write_bytes(_whole())
    window = open_window(str(path))
    until(qtbot, lambda: window.sessions.path == path)
    window.sessions.set_notes("new")
    buttons = QMessageBox.StandardButton
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Cancel)
    assert not window.close()
    monkeypatch.setattr(QMessageBox, "question", lambda *_: buttons.Save)
    assert window.close()
    assert read_bench(path).document.notes == "new"


def test_without_a_display_a_session_file_is_a_sentence(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in DISPLAYS}
    done = subprocess.run(
        [sys.executable, "-m", "gpuexplorer", str(tmp_path / "bench.gpux")],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3
    assert "bench.gpux" in done.stderr and "no display" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
