"""A file comes into the store whole or not at all; what is there already is left alone."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Connection

from gpuexplorer.core.compared import comparison_json, document_and_runs
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import study_json
from gpuexplorer.core.sweep import sweep_json
from gpuexplorer.exchange.document import run_json, runs_json
from gpuexplorer.exchange.formats import write_runs
from gpuexplorer.history.grouped import document_of, ids_of
from gpuexplorer.history.importing import ImportedFile, import_file
from gpuexplorer.history.store import Query, Store
from gpuexplorer.report.whole import comparison_of, sweep_of
from gpuexplorer.studies import study_of
from tests.support.exchange import cache_text, made_comparison, made_run, made_sweep
from tests.support.lab_studies import precision_study


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


def runs_of(store: Store, group: str | None) -> list[RunResult]:
    """Return the runs of a group as a report or a view has them."""
    assert group is not None
    found = store.get_all(ids_of(store, store.group(group)))
    return [run for run in found if isinstance(run, RunResult)]


@pytest.mark.parametrize("before", ["one", "one of a sweep", "all", "all of sweeps"])
def test_a_comparison_has_runs_that_were_there_before_and_its_verdicts(
    tmp_path: Path, before: str
) -> None:
    comparison = made_comparison()
    (tmp_path / "compared.json").write_bytes(comparison_json(comparison))
    first, second = (one.run for one in comparison.contestants)
    there = [first, second] if before.startswith("all") else [first]
    with Store.open("sqlite://") as store:
        for run in there:
            if "sweep" in before:
                store.add_group("sweep", {}, [run])
            else:
                store.add(run)
        groups = [store.row(run.id).group for run in there]
        done = import_file(store, tmp_path / "compared.json")
        assert (len(done.added), len(done.duplicates)) == (2 - len(there), len(there))
        assert store.count() == 2, "each is stored once"
        found = runs_of(store, done.group)
        assert [run.id for run in found] == [first.id, second.id]
        again = comparison_of([document_of(store.group(done.group or ""))], found)
        assert again == comparison
        if "sweep" in before:
            assert [store.row(run.id).group for run in there] == groups
        else:
            assert store.count(Query(group=done.group)) == 2
        known = len(store.groups())
        assert import_file(store, tmp_path / "compared.json").group is None
        assert len(store.groups()) == known, "it is in the history already"


def test_what_the_history_measured_itself_gets_no_second_group(tmp_path: Path) -> None:
    comparison = made_comparison()
    (tmp_path / "compared.json").write_bytes(comparison_json(comparison))
    with Store.open("sqlite://") as store:
        store.add_group("comparison", *document_and_runs(comparison))
        assert import_file(store, tmp_path / "compared.json").group is None
        assert len(store.groups()) == 1


def test_a_study_and_a_sweep_have_runs_that_were_there_before(tmp_path: Path) -> None:
    study, sweep = precision_study(), made_sweep()
    (tmp_path / "study.json").write_bytes(study_json(study))
    (tmp_path / "sweep.json").write_bytes(sweep_json(sweep))
    with Store.open("sqlite://") as store:
        store.add_group("sweep", {}, [study.runs[0]])
        done = import_file(store, tmp_path / "study.json")
        whole = study_of([document_of(store.group(done.group or ""))], runs_of(store, done.group))
        assert whole is not None and {run.id for run in whole.runs} == {r.id for r in study.runs}
    with Store.open("sqlite://") as store:
        store.add_group("comparison", {}, sweep.measured[1:])
        done = import_file(store, tmp_path / "sweep.json")
        found = runs_of(store, done.group)
        swept = sweep_of([document_of(store.group(done.group or ""))], found)
        assert swept is not None and [run.id for run in swept.measured] == [
            run.id for run in sweep.measured
        ]


def test_runs_of_several_groups_that_come_again_need_no_other(tmp_path: Path) -> None:
    runs = [made_run(i) for i in range(2)]
    (tmp_path / "f.json").write_bytes(runs_json(runs))
    with Store.open("sqlite://") as store:
        for run in runs:
            store.add_group("sweep", {}, [run])
        assert import_file(store, tmp_path / "f.json").group is None
        assert len(store.groups()) == 2


def test_two_programs_that_import_one_file_at_once_make_one_group(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both found none of the runs, said that they had imported them, and one group stayed empty."""
    from gpuexplorer.history.sql import runs

    (tmp_path / "f.json").write_bytes(runs_json([made_run(i) for i in range(3)]))
    Store.open(store_url).close()
    met, listed = threading.Barrier(2), runs.listed

    def listed_by_both(connection: Connection, ids: Sequence[str]) -> set[str]:
        found = listed(connection, ids)
        with suppress(threading.BrokenBarrierError):  # as it is where one of them has to wait
            met.wait(0.5)
        return found

    monkeypatch.setattr(runs, "listed", listed_by_both)
    done: list[ImportedFile] = []

    def one_program() -> None:
        with Store.open(store_url) as store:
            done.append(import_file(store, tmp_path / "f.json"))

    programs = [threading.Thread(target=one_program) for _ in range(2)]
    for program in programs:
        program.start()
    for program in programs:
        program.join()
    assert sorted((len(one.added), len(one.duplicates)) for one in done) == [(0, 3), (3, 0)]
    with Store.open(store_url) as store:
        assert [group.runs for group in store.groups()] == [3]


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
