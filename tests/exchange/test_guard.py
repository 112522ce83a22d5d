"""Files that are not what they say are refused in one sentence: what, where, what to do."""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.result import MOST_PRINTED
from gpuexplorer.exchange import files, formats, read_nvbench
from gpuexplorer.exchange.document import run_json
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.exchange.guard import look_over
from tests.support.exchange import made_run


def refused(path: Path) -> str:
    """Return the sentence a file is refused with."""
    with pytest.raises(ExplorerError) as error:
        read_runs(path)
    said = str(error.value)
    assert "\n" not in said and len(said) < 600
    assert str(path) in said
    return said


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Write a run's document with something changed."""
    document = json.loads(run_json(made_run()))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"   \n", "is empty"),
        (b"\x89PNG....", "no file of runs that is known"),
        (b"[1, 2]", "no file of runs that is known"),
        (b"{", "cannot be read as JSON"),
        (b'{"schema": "gpuexplorer/run/1", "id": NaN}', "cannot be read"),
        (b"{}", "JSON that holds no runs"),
        (b'{"schema": 7}', "JSON that holds no runs"),
        (b'{"schema": "gpuexplorer/run/2"}', "another version of GPU Explorer"),
        (b'{"schema": "gpuexplorer/ceilings/1"}', "holds no runs"),
        (b'{"schema": "gpuexplorer/runs/1", "runs": 3}', "Expected `array`"),
        (b'{"schema": "gpuexplorer/runs/1", "runs": [7]}', "cannot be read"),
        (b'{"a": 1, "a": 2}', 'the key "a" stands there twice (line 1)'),
        (b'{"a": 1,\n "\\u0061": 2}', "twice (line 2)"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested too deeply"),
        (b'{"a":' * 100_000, "cannot be read"),
        (b'{"traceEvents": []}', "a trace for a viewer"),
        (b"<!DOCTYPE html>", "a report for reading"),
        (b"PAR1PAR1", "Parquet"),
    ],
)
def test_what_is_no_file_of_runs(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    assert words in refused(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["samples_s"].__setitem__(0, -1e-3), "negative, endless or not a number"),
        (lambda d: d["samples_s"].__setitem__(0, 1e12), "negative, endless or not a number"),
        (lambda d: d["samples_s"].clear(), "0 samples"),
        (lambda d: d["samples_s"].pop(), "it says 12 samples and holds 11"),
        (lambda d: d["timing"].__setitem__("median_s", 3.0), "median lies outside"),
        (lambda d: d["timing"].__setitem__("stdev_s", -1.0), "stdev_s is -1"),
        (lambda d: d["batches"][0].__setitem__("samples", -5), "impossible number"),
        (lambda d: d["traffic"][0].__setitem__("read_B", -1.0), "read_B is negative"),
        (lambda d: d.__setitem__("id", "../../x"), "an id has"),
        (lambda d: d.__setitem__("time_utc", "yesterday"), "not a time"),
        (lambda d: d.__setitem__("time_utc", "2026-01-01T00:00:00"), "not a time with its zone"),
        (lambda d: d["config"].__setitem__("block", [0, 1, 1]), "a block or grid"),
        (lambda d: d["config"].__setitem__("threads", 0), "0 CPU threads"),
        (lambda d: d["config"].__setitem__("variant", "v" * 20_000), "20000 letters"),
        (lambda d: d["config"].__setitem__("variant", "a\0b"), "zero byte"),
        (lambda d: d["config"]["size"].__setitem__("N", 2**70), "too large a number"),
        (lambda d: d["config"]["size"].update({f"s{i}": 1 for i in range(200)}), "201 sizes"),
        (lambda d: d["config"].__setitem__("size", {"N": "512"}), "Expected `int`"),
        (lambda d: d.pop("config"), "missing required field `config`"),
    ],
)
def test_a_run_that_cannot_be_true(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    assert words in refused(changed(tmp_path / "run.json", change))


def test_a_document_that_holds_a_run_twice(tmp_path: Path) -> None:
    run = json.loads(run_json(made_run()))
    document = {"schema": "gpuexplorer/runs/1", "runs": [run, run]}
    (tmp_path / "f.json").write_text(json.dumps(document))
    assert "holds a run twice" in refused(tmp_path / "f.json")


def test_what_is_too_much_is_refused_before_it_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_nvbench, "MOST_VALUES", 1000)
    for many in (b"[],", b"0,", b'"",', b"{},"):
        bomb = b'{"benchmarks": [' + many * 2000 + b"0]}"
        (tmp_path / "bomb.json").write_bytes(bomb)
        assert "more than 1,000 values" in refused(tmp_path / "bomb.json")
    with pytest.raises(InputError, match="a text is too long"):
        look_over(b'{"a": "' + b"y" * (17 << 20) + b'"}', tmp_path / "f")
    monkeypatch.setattr(formats, "MOST_FILE_B", 1000)
    (tmp_path / "large.json").write_bytes(b"{" + b" " * 2000 + b"}")
    assert "larger than" in refused(tmp_path / "large.json")


def test_an_unclosed_text_does_not_take_for_ever(tmp_path: Path) -> None:
    data = b'{"a": "' + b'\\"' * 1_000_000
    began = time.monotonic()
    look_over(data, tmp_path / "f")
    assert time.monotonic() - began < 5


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "it is a folder" in refused(tmp_path)
    assert "no such file" in refused(tmp_path / "missing.json")
    with pytest.raises(InputError, match="is larger than"):
        (tmp_path / "f").write_bytes(b"x" * 10)
        files.read_file(tmp_path / "f", 5)


def test_a_document_in_nvbench_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_nvbench, "MOST_DOCUMENT_B", 1 << 20)
    packed = base64.b64encode(zlib.compress(b" " * (3 << 20), 9)).decode()
    data = [{"name": "value", "type": "string", "value": packed}]
    state = {"name": "s", "summaries": [{"tag": "gpuexplorer/run", "data": data}]}
    document = {"benchmarks": [{"name": "b", "states": [state]}]}
    (tmp_path / "f.json").write_text(json.dumps(document))
    assert "too large" in refused(tmp_path / "f.json")


@pytest.mark.parametrize("field", ["samples", "outliers", "marked_throttled"])
@pytest.mark.parametrize("number", [10**400, -(10**4000)], ids=["10**400", "-10**4000"])
def test_a_count_that_no_float_holds_is_refused(tmp_path: Path, field: str, number: int) -> None:
    def enlarge(document: dict[str, Any]) -> None:
        document["timing"][field] = number

    said = refused(changed(tmp_path / "run.json", enlarge))
    assert f"timing.{field} is too large a number" in said


def test_whatever_kernels_printed_is_imported(tmp_path: Path) -> None:
    printed = "<tid 3> a<b\x1b[2J\n" * 8192 + "\0" + "n" * (2 << 20)
    run = msgspec.structs.replace(made_run(), printed=printed)
    (tmp_path / "run.json").write_bytes(run_json(run))
    assert read_runs(tmp_path / "run.json").runs[0].printed == printed
    endless = msgspec.structs.replace(run, printed="n" * (MOST_PRINTED + 1))
    (tmp_path / "run.json").write_bytes(run_json(endless))
    assert "too long" in refused(tmp_path / "run.json")
