"""Files appear whole or not at all, and hold what other programs read."""

from __future__ import annotations

import csv
import errno
import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.exchange import atomic_file, check_target
from gpuexplorer.exchange.csv_table import write_csv
from gpuexplorer.exchange.document import run_json, write_json
from tests.support.results import made_result


def test_a_document_reads_back_equal(tmp_path: Path) -> None:
    result = made_result(50)
    write_json(result, tmp_path / "run.json")
    again = msgspec.json.decode((tmp_path / "run.json").read_bytes(), type=RunResult)
    assert again == result


def test_a_document_starts_with_its_schema() -> None:
    assert run_json(made_result(50)).startswith(b'{\n  "schema": "gpuexplorer/run/1",\n')


def test_the_table_has_a_row_for_every_launch_and_repeats_the_configuration(tmp_path: Path) -> None:
    runs = [made_result(30), made_result(20, variant="tiled", block=(8, 8, 4))]
    write_csv(runs, tmp_path / "samples.csv")
    with (tmp_path / "samples.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(r["duration_s"]) for r in rows] == runs[0].samples_s + runs[1].samples_s
    assert {r["variant"] for r in rows[:30]} == {"naive"}
    assert {(r["variant"], r["block"], r["size"]) for r in rows[30:]} == {
        ("tiled", "8x8x4", "N=512")
    }
    assert [r["batch"] for r in rows[:9]] == ["0"] * 8 + ["1"]
    second = runs[0].batches[1].start_s - runs[0].batches[0].start_s
    assert float(rows[8]["batch_start_s"]) == pytest.approx(second, abs=1e-9)


def test_batches_that_do_not_fit_the_samples_leave_their_columns_empty(tmp_path: Path) -> None:
    result = msgspec.structs.replace(made_result(30), batches=[])
    write_csv([result], tmp_path / "samples.csv")
    with (tmp_path / "samples.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(r["batch"], r["batch_start_s"]) for r in rows} == {("", "")}
    assert len(rows) == 30


def test_a_failure_midway_leaves_what_stood_there(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    target.write_text("before")

    def write_half() -> None:
        with atomic_file(target) as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert target.read_text() == "before"
    assert os.listdir(tmp_path) == ["run.json"]


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "run.json"

    def write() -> None:
        with atomic_file(target):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="the disk is full"):
        write()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_that_is_full_is_one_sentence() -> None:
    with pytest.raises(InputError, match="the disk is full"):
        write_json(made_result(), Path("/dev/full"))


@pytest.mark.parametrize("check", [check_target, lambda p: write_json(made_result(20), p)])
def test_targets_that_cannot_be_are_refused(tmp_path: Path, check: object) -> None:
    (tmp_path / "file").write_text("")
    for target, said in (
        (tmp_path / "missing" / "a.json", "no such folder"),
        (tmp_path, "it is a folder"),
        (tmp_path / "file" / "a.json", "a file, not a folder"),
    ):
        with pytest.raises(InputError, match=said):
            check(target)  # type: ignore[operator]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_an_existing_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("before")
    real.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(real)
    write_json(made_result(20), link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_text().startswith("{")


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(InputError, match="leads back to itself"):
        check_target(link)
    with pytest.raises(InputError, match="leads back to itself"), atomic_file(link):
        pass
