"""A file comes into the store whole or not at all; what is there already is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.document import run_json, runs_json
from gpuexplorer.exchange.formats import write_runs
from gpuexplorer.history.importing import import_file
from gpuexplorer.history.store import Query, Store
from tests.support.exchange import cache_text, made_run, made_sweep


def test_a_run_comes_in_once_and_is_left_alone_afterwards(tmp_path: Path) -> None:
    run = made_run(1, samples=30)
    (tmp_path / "run.json").write_bytes(run_json(run))
    with Store.open("sqlite://") as store:
        first = import_file(store, tmp_path / "run.json")
        assert [r.id for r in first.added] == [run.id] and first.duplicates == ()
        assert first.group is None
        store.note(run.id, "mine")
        second = import_file(store, tmp_path / "run.json")
        assert second.added == () and second.duplicates == (run.id,)
        assert "1 was in the history already" in second.words
        (row,) = store.find()
        assert row.note == "mine"
        assert store.get(run.id) == run


def test_fields_of_a_newer_program_stay_with_the_run(tmp_path: Path) -> None:
    text = run_json(made_run()).decode().replace('"id"', '"colour": "red", "id"', 1)
    (tmp_path / "run.json").write_text(text)
    with Store.open("sqlite://") as store:
        import_file(store, tmp_path / "run.json")
        assert json.loads(store.json(made_run().id))["colour"] == "red"


def test_several_runs_and_what_was_skipped_are_a_group(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_bytes(sweep_json(made_sweep()))
    (tmp_path / "cache.json").write_text(cache_text())
    with Store.open("sqlite://") as store:
        for name, runs, skipped in (("sweep.json", 2, 1), ("cache.json", 3, 2)):
            done = import_file(store, tmp_path / name)
            assert (len(done.added), len(done.skipped)) == (runs, skipped)
            assert done.group is not None
            group = store.group(done.group)
            assert group.kind == "import" and group.finished and group.runs == runs
            assert group.document["file"] == name
            assert len(group.document["skipped"]) == skipped
            assert store.count(Query(group=done.group)) == runs


def test_only_what_is_new_comes_in(tmp_path: Path) -> None:
    runs = [made_run(i) for i in range(3)]
    write_runs(runs, tmp_path / "f.parquet")
    with Store.open("sqlite://") as store:
        store.add(runs[1])
        done = import_file(store, tmp_path / "f.parquet")
        assert [r.id for r in done.added] == [runs[0].id, runs[2].id]
        assert done.duplicates == (runs[1].id,)
        assert store.count() == 3


def test_a_deleted_run_comes_back(tmp_path: Path) -> None:
    run = made_run()
    (tmp_path / "run.json").write_bytes(run_json(run))
    with Store.open("sqlite://") as store:
        store.add(run)
        store.delete(run.id)
        assert [r.id for r in import_file(store, tmp_path / "run.json").added] == [run.id]
        assert store.count() == 1


def test_deleted_runs_come_back_in_the_group_of_the_file_that_brings_them(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_bytes(sweep_json(made_sweep()))
    with Store.open("sqlite://") as store:
        first = import_file(store, tmp_path / "sweep.json")
        store.delete([run.id for run in first.added])
        second = import_file(store, tmp_path / "sweep.json")
        assert second.group is not None and second.group != first.group
        assert store.count(Query(group=second.group)) == len(second.added) == 2
        assert store.group(second.group).runs == 2


def test_one_wrong_run_keeps_all_out(tmp_path: Path) -> None:
    runs = [made_run(i) for i in range(3)]
    document = json.loads(runs_json(runs))
    document["runs"][2]["samples_s"][0] = -1.0
    (tmp_path / "f.json").write_text(json.dumps(document))
    with Store.open("sqlite://") as store:
        with pytest.raises(InputError, match="cannot be true"):
            import_file(store, tmp_path / "f.json")
        assert store.count() == 0 and store.groups() == []


def test_a_store_that_fails_midway_holds_nothing_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuexplorer.history.sql import runs

    (tmp_path / "f.json").write_bytes(runs_json([made_run(i) for i in range(3)]))

    def fail(*_: object) -> None:
        raise InputError("the disk is full")

    with Store.open(tmp_path / "h.sqlite") as store:
        with monkeypatch.context() as patch:
            patch.setattr(runs, "add", fail)  # once the group is there
            with pytest.raises(ExplorerError, match="the disk is full"):
                import_file(store, tmp_path / "f.json")
        assert store.count() == 0 and store.groups() == []
        assert len(import_file(store, tmp_path / "f.json").added) == 3


def test_a_file_without_a_measured_run_is_refused(tmp_path: Path) -> None:
    document = json.loads(cache_text())
    document["cache"] = {k: v for k, v in document["cache"].items() if "__error__" in v}
    (tmp_path / "cache.json").write_text(json.dumps(document))
    with Store.open("sqlite://") as store:
        with pytest.raises(InputError, match="holds no run that was measured"):
            import_file(store, tmp_path / "cache.json")
        assert store.groups() == []
