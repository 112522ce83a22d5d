"""``gpuexplorer history`` and what ``run`` keeps, as a user sees them."""

from __future__ import annotations

import getpass
import platform
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.cli import checks, main
from gpuexplorer.core.result import RunResult
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.history.store import Query, Store
from tests.history.conftest import made_run
from tests.support.cli import assert_one_sentence, cli_command, cli_environment, run_cli

Command = Callable[..., str]
A_RUN = ("run", "matmul", "--size", "64", "--seconds", "0.05")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of five runs."""
    made = tmp_path / "history.sqlite"
    with Store.open(made) as store:
        store.add_all(made_run(n, variant=("naive", "tiled")[n % 2]) for n in range(5))
    return made


@pytest.fixture
def history(
    path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run ``gpuexplorer history`` on that store, in this process; return what it printed."""
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(path))

    def call(*arguments: str) -> str:
        code = main(["history", *arguments])
        printed = capfd.readouterr()
        assert code == 0, printed.err
        return printed.out + printed.err

    return call


def rows(history: Command, *arguments: str) -> list[dict[str, Any]]:
    document = msgspec.json.decode(history(*arguments, "--json"))
    assert document["schema"] == "gpuexplorer/history/1"
    found: list[dict[str, Any]] = document["runs"]
    return found


def test_a_run_is_kept_and_listed(tmp_path: Path) -> None:
    env = {"GPUEXPLORER_HISTORY_URL": str(tmp_path / "runs.sqlite")}
    done = run_cli(*A_RUN, "--json", cwd=tmp_path, environment=env)
    assert (done.returncode, done.stderr) == (0, "")
    result = msgspec.json.decode(done.stdout, type=RunResult)
    with Store.open(tmp_path / "runs.sqlite") as store:
        kept = store.get(result.id)
    whose = {"machine": platform.node(), "person": getpass.getuser()}
    environment = msgspec.structs.replace(result.environment, **whose)
    assert kept == msgspec.structs.replace(result, environment=environment)
    assert result.environment.machine is msgspec.UNSET, "what is printed may be given to others"
    for words in ((), ("--machine", whose["machine"], "--person", whose["person"])):
        listed = run_cli("history", *words, cwd=tmp_path, environment=env)
        assert result.id[:10] in listed.stdout and "matmul" in listed.stdout
    other = run_cli("history", "--person", "nobody else", cwd=tmp_path, environment=env)
    assert result.id[:10] not in other.stdout
    shown = run_cli("history", "show", result.id, cwd=tmp_path, environment=env).stdout
    assert whose["machine"] in shown and whose["person"] in shown


def test_a_run_is_not_kept_where_it_shall_not_be(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    done = run_cli(*A_RUN, "--no-history", "--history", store, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not store.exists()


def test_a_run_that_cannot_be_kept_is_a_warning_and_its_result_is_there(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_bytes(b"not a store " * 100)
    done = run_cli(*A_RUN, "--json", "--history", tmp_path / "runs.sqlite", cwd=tmp_path)
    assert done.returncode == 0
    assert msgspec.json.decode(done.stdout, type=RunResult).samples_s
    (line,) = done.stderr.splitlines()
    assert line.startswith("gpuexplorer: warning: the run is not kept: ")
    assert "is damaged" in line
    assert (tmp_path / "runs.sqlite").read_bytes() == b"not a store " * 100


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX's")
def test_a_long_run_that_is_killed_leaves_what_it_had_sampled(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    run = ("run", "matmul", "--size", "64", "--seconds", "60", "--history", str(path))
    child = subprocess.Popen(
        cli_command(*run), cwd=tmp_path, env=cli_environment(), stderr=subprocess.DEVNULL
    )
    try:
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            if path.exists():
                with Store.open_to_read(path) as store:
                    if any(row.samples for row in store.find()):
                        break
            time.sleep(0.2)
    finally:
        child.kill()
        child.wait()
    with Store.open(path) as store:
        (row,) = store.find()
        assert (row.running, row.stopped_by, row.workload) == (False, "interrupted", "matmul")
        assert len(store.get(row.id).samples_s) == row.samples > 0
        assert sum(b.samples for b in store.get(row.id).batches) == row.samples


def test_looking_at_a_history_makes_none(tmp_path: Path) -> None:
    done = run_cli("history", "--history", tmp_path / "none.sqlite", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("No runs yet")
    assert list(tmp_path.iterdir()) == []


def test_the_list_is_filtered_sorted_and_cut(history: Command) -> None:
    assert [r["id"] for r in rows(history)] == [made_run(n).id for n in (4, 3, 2, 1, 0)]
    assert [r["id"] for r in rows(history, "--search", "tiled", "--sort", "median")] == [
        made_run(n).id for n in (3, 1)
    ]
    some = rows(history, "--ascending", "--limit", "2", "--offset", "1")
    assert [r["id"] for r in some] == [made_run(n).id for n in (1, 2)]
    assert rows(history, "--workload", "copy") == []
    assert len(rows(history, "--since", "2026-01-01T00:02+00:00")) == 3
    assert "2 of 5 runs" in history("--limit", "2")
    assert "No such run among the 5 runs" in history("--search", "nothing")


def test_a_group_is_named_by_the_beginning_of_its_id(
    history: Command, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Store.open(path) as store:
        kept = [made_run(n) for n in (7, 8)]
        for number in "12":
            store.add_group("sweep", {}, kept, group=f"1a2b3c4d{number * 24}")
            kept = []
    whole, empty = (f"1a2b3c4d{number * 24}" for number in "12")
    for name in (whole, whole[:9], f" {whole[:9]} "):
        assert {row["group"] for row in rows(history, "--group", name)} == {whole}
    assert rows(history, "--group", empty[:9]) == []
    assert len(rows(history, "--group", "")) == 5, "those of no group"
    for name, why in (("1a2b3c4d", "more than one entry"), ("9f", "has no group '9f'")):
        assert main(["history", "--group", name]) != 0
        assert why in capfd.readouterr().err


def test_what_is_said_of_runs_is_shown(history: Command) -> None:
    first, second = made_run(0).id, made_run(1).id
    history("star", first)
    history("tag", first, second, "for the thesis")
    history("note", first, "before the update")
    assert [r["tags"] for r in rows(history, "--tag", "for the thesis")] == [["for the thesis"]] * 2
    (starred,) = rows(history, "--starred")
    assert (starred["id"], starred["note"]) == (first, "before the update")
    listed = history()
    assert "★" in listed and "[for the thesis]" in listed and "before the update" in listed
    shown = history("show", first)
    assert "before the update" in shown and "for the thesis" in shown
    assert "gpuexplorer run matmul --variant naive" in shown
    history("unstar", first)
    history("untag", first, "for the thesis")
    history("note", first, "")
    assert rows(history, "--starred") == []
    assert [r["id"] for r in rows(history, "--tag", "for the thesis")] == [second]


def test_a_run_is_shown_as_its_document(history: Command, path: Path) -> None:
    document = history("show", made_run(2).id, "--json")
    assert msgspec.json.decode(document, type=RunResult) == made_run(2)
    assert document.startswith('{\n  "schema": "gpuexplorer/run/1",\n')


def test_deleting_can_be_undone_until_it_is_purged(history: Command, path: Path) -> None:
    ids = [made_run(n).id for n in range(3)]
    said = history("delete", *ids)
    assert "deleted 3 runs" in said and "gpuexplorer history undelete 1" in said
    assert len(rows(history)) == 2
    assert len(rows(history, "--deleted")) == 3
    assert "brought back 3 runs" in history("undelete", "1")
    assert "deleted 1 run;" in history("delete", ids[0])
    assert "removed 1 run for good" in history("purge")
    with Store.open(path) as store:
        assert store.count() == 4
        assert store.count(Query(deleted=True)) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nobody"), "no run 'nobody'"),
        (("star", "nobody"), "no run 'nobody'"),
        (("show", "0"), "more than one run begins with '0'"),
        (("undelete",), "nothing to bring back"),
        (("--since", "yesterday"), "is not a date"),
        (("--sort", "colour"), "invalid choice: 'colour'"),
        (("frobnicate",), "invalid choice: 'frobnicate'"),
        (("--limit", "-1"), "not a whole number"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(path))
    assert main(["history", *arguments]) == 2
    printed = capfd.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith("gpuexplorer: error: ") and said in line


def test_the_doctor_looks_at_the_history(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(path))
    found = checks.history()
    assert (found.status, found.found) == ("ok", f"{path}, 5 runs")
    path.write_bytes(b"junk" * 1000)
    found = checks.history()
    assert found.status == "warn" and "damaged" in found.found and found.remedy
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(path.with_name("none.sqlite")))
    assert checks.history().found.endswith("none yet")
    assert not path.with_name("none.sqlite").exists()


def test_a_damaged_history_is_one_sentence_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_bytes(b"junk" * 1000)
    done = run_cli("history", "--history", tmp_path / "runs.sqlite", cwd=tmp_path)
    assert "set it aside by renaming it to runs.sqlite.damaged" in assert_one_sentence(done, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe's end is told otherwise there")
def test_an_unreachable_server_does_not_show_its_password(tmp_path: Path) -> None:
    url = "postgresql://me:secret@127.0.0.1:1/team"
    done = run_cli("history", "--history", url, cwd=tmp_path)
    assert done.returncode == 1
    assert "me:***@127.0.0.1" in done.stderr and "secret" not in done.stderr


# ---- damaged rows


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_damaged_row_costs_itself_and_is_named_with_how_to_be_rid_of_it(
    path: Path, history: Command
) -> None:
    damage(path, "UPDATE gpuexplorer_runs SET median_s = 'fast' WHERE seq = 2")
    text = history()
    assert all(made_run(n).id[:10] in text for n in range(5))
    assert text.count("UNREADABLE") == 1
    assert (
        "1 run of these cannot be read whole (median_s cannot be read); to take it out of the "
        f"list: gpuexplorer history delete {made_run(1).id}\n"
    ) in text
    document = rows(history)
    assert [r["damaged"] for r in document] == [None] * 3 + ["median_s cannot be read", None]
    assert made_run(1).id in history("show", made_run(1).id)  # its document is whole
    found = checks.history()
    assert (found.status, "1 of which cannot be read" in found.found) == ("warn", True)
    assert f"'gpuexplorer history delete {made_run(1).id}'" in found.remedy
    history("delete", made_run(1).id)
    assert "UNREADABLE" not in history() and len(rows(history)) == 4
    assert checks.history().status == "ok"


def test_a_row_whose_id_cannot_be_read_is_deleted_by_its_number(
    path: Path, history: Command
) -> None:
    damage(path, "UPDATE gpuexplorer_runs SET id = x'ff' WHERE seq = 2")
    assert "gpuexplorer history delete row-2\n" in history()
    history("delete", "row-2")
    assert len(rows(history)) == 4


def test_a_run_whose_document_is_damaged_is_found_by_doctor(path: Path, history: Command) -> None:
    damage(path, "UPDATE gpuexplorer_documents SET data = x'00' WHERE run = 3")
    assert "UNREADABLE" not in history()  # a list does not read documents
    assert made_run(2).id in checks.history().remedy


def test_a_report_and_an_export_of_a_sweep_leave_out_what_cannot_be_read(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUEXPLORER_HISTORY_URL", str(path))
    made = [made_run(n, variant=("naive", "tiled")[n % 2]) for n in range(10, 14)]
    with Store.open(path) as store:
        group = store.add_group("sweep", {"axes": {}}, made)
        store.add_group("sweep", {"axes": {}}, [])
    damage(path, "UPDATE gpuexplorer_documents SET data = x'00' WHERE run = 7")
    damage(path, "UPDATE gpuexplorer_runs SET note = x'ff' WHERE seq = 8")
    damage(path, f"UPDATE gpuexplorer_groups SET document = x'00' WHERE id != '{group}'")
    assert main(["report", group, str(tmp_path / "r.html")]) == 0
    said = capfd.readouterr().err
    assert f"warning: left out: the run '{made[1].id}' in the history cannot be read" in said
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "cannot be read" in page
    assert main(["export", group, str(tmp_path / "r.json")]) == 0
    found = read_runs(tmp_path / "r.json").runs
    assert [run.id for run in found] == [run.id for run in made if run is not made[1]]
    assert main(["export", made[1].id, str(tmp_path / "one.json")]) == 1
    (line,) = capfd.readouterr().err.splitlines()[-1:]
    assert line.startswith(f"gpuexplorer: error: the run '{made[1].id}'") and "delete" in line
