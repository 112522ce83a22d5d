"""Session files that are not whole, not ours or hostile: refused in a sentence."""

from __future__ import annotations

import errno
import io
import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuexplorer.core.errors import InputError
from gpuexplorer.gui.model import session_archive
from gpuexplorer.gui.model.replay import open_session
from gpuexplorer.gui.model.session_archive import DOCUMENT, read_session, write_session
from gpuexplorer.gui.model.session_arrays import read_array
from tests.support.sessions import (
    change,
    contents,
    members,
    refusal,
    rewrite,
    whole_file,
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "bench.gpux"
    write_session(contents(), path)
    return path


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
    assert os.strerror(errno.ENOENT) in refusal(tmp_path / "none.gpux")
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
    monkeypatch.setattr(session_archive, "MAX_TOTAL_B", 1 << 20)
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
    assert read_session(saved).arrays.keys() == read_session(saved).arrays.keys()
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
        return exec, ("from tests.gui import test_session_refused as t; t.Bomb.fired = True",)


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
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n",
        b"{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }\n",
        b"{'descr': [('a', '<f4', (2,))], 'fortran_order': False, 'shape': (1,), }\n",
        b"(" * 5000 + b"\n",
        b"-" * 5000 + b"1\n",
        b"\n",
    ],
)
def test_an_array_s_head_is_matched_and_not_evaluated(head: bytes) -> None:
    data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(8)
    with pytest.raises(InputError):
        read_array(data)


@pytest.mark.parametrize(
    "name", ["run0-seconds", "run0-clocks_Hz", "run0-medians", "past0-rates", "pin0-samples"]
)
def test_an_array_that_is_not_there_is_missed(tmp_path: Path, name: str) -> None:
    one = contents()
    arrays = {other: array for other, array in one.arrays.items() if other != name}
    write_session(replace(one, arrays=arrays), tmp_path / "less.gpux")
    assert "it is damaged" in refusal(tmp_path / "less.gpux")


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d["runs"][0]["prepared"]["config"].update(workload="<img src=x>"),
        lambda d: d["runs"][0]["prepared"]["config"].update(seed=10**400),
        lambda d: d["runs"][0]["prepared"]["config"].update(size={}),
        lambda d: d["runs"][0]["prepared"]["config"].update(tunables={"TILE": 2**41}),
        lambda d: d["runs"][0]["prepared"].update(flops=-1),
        lambda d: d["runs"][0]["readings"][0].update(t_ns=-1),
        lambda d: d["runs"][0].update(max_noise=0),
        lambda d: d["runs"][0].update(dropped=-1),
        lambda d: d["knobs"].update(variant="naive\n"),
        lambda d: d["knobs"].update(switches={"a b": True}),
        lambda d: d.update(notes="x" * 200_001),
        lambda d: d["past"][0].update(range_s=[3, 2, 1]),
        lambda d: d["pins"][0].update(stretch=0),
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
def test_what_no_session_can_hold_is_refused(saved: Path, edit: Callable[[Any], object]) -> None:
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
        ("past0-drawing", lambda a: -a),
        ("past0-drawing", lambda a: a[:-1]),
        ("past0-launches", lambda a: a[:-1]),
        ("past0-launches", lambda a: a * 0),
        ("past0-launches", lambda a: a + 2**62),
        ("past0-rates", lambda a: a[:, :3]),
        ("pin0-samples", lambda a: np.full_like(a, np.inf)),
        ("pin0-samples", lambda a: a[:, None]),
        ("run0-seconds", lambda a: np.ones(len(a), np.int64)),
        ("run0-counts", lambda a: a.astype(np.float64)),
        ("run0-counts", lambda a: np.empty((len(a), 0))),
        ("run0-starts_ns", lambda a: a - 2**62),
        ("run0-clocks_Hz", lambda a: np.full_like(a, -1)),
        ("run0-clocks_Hz", lambda a: a[:-1]),
        ("run0-medians", lambda a: np.full_like(a, np.nan)),
        ("run0-rates", lambda a: np.full_like(a, 1e300)),
    ],
)
def test_arrays_that_cannot_be_are_refused(tmp_path: Path, name: str, made: Any) -> None:
    one = contents()
    arrays = {**one.arrays, name: np.ascontiguousarray(made(one.arrays[name]))}
    path = tmp_path / "odd.gpux"
    write_session(replace(one, arrays=arrays), path)
    assert "it is damaged" in refusal(path)


def read_or_refuse(path: Path) -> None:
    try:
        _, live = open_session(path, 1)
    except InputError as error:
        said = str(error)
    else:
        said = "read"
        assert live.current is None or live.current.summary is not None
    assert said and "\n" not in said


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_mutation_is_read_whole_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    whole = whole_file()
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
    path.write_bytes(whole_file())
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
