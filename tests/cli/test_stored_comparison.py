"""A comparison in the history: its runs with its verdicts, which a report shows again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpuexplorer.cli.chosen import Chosen, choose
from gpuexplorer.core.compared import ComparisonResult, comparison_json, without_runs
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE
from gpuexplorer.history.store import Store
from gpuexplorer.report.page import Report, report_page
from tests.support.exchange import made_comparison


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "history.sqlite"
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(found))
    return found


def page_of(found: Chosen) -> str:
    return report_page(Report(runs=found.runs, labels=found.labels, rests=found.rests))


def check(page: str, result: ComparisonResult) -> None:
    assert "Verdicts" in page
    for one in result.contestants:
        assert one.label in page
    assert result.others[0].verdict is not None
    assert f">{result.others[0].verdict}<" in page


def test_a_group_keeps_the_verdicts_beside_the_runs(path: Path) -> None:
    result = made_comparison()
    runs = [one.run for one in result.contestants]
    with Store.open(path) as store:
        group = store.add_group("comparison", without_runs(result), runs)
        kept = store.group(group).document
    assert msgspec.json.encode(kept) == msgspec.json.encode(without_runs(result))
    whole = [{**c, "run": r} for c, r in zip(kept["contestants"], runs, strict=True)]
    again = msgspec.convert(msgspec.to_builtins({**kept, "contestants": whole}), ComparisonResult)
    assert comparison_json(again) == comparison_json(result)
    check(page_of(choose([group])), result)


def test_the_stored_run_that_it_was_held_against_comes_along(path: Path) -> None:
    result = made_comparison()
    reference, *new = [one.run for one in result.contestants]
    with Store.open(path) as store:
        store.add(reference)
        group = store.add_group("comparison", without_runs(result), new)
    found = choose([group])
    assert [run.id for run in found.runs] == [reference.id, *(run.id for run in new)]
    check(page_of(found), result)
    with Store.open(path) as store:
        store.delete(reference.id)
    assert "Verdicts" not in page_of(choose([group]))  # it cannot be told any more


def test_a_group_of_an_earlier_version_has_its_runs(path: Path) -> None:
    result = made_comparison()
    runs = [one.run for one in result.contestants]
    with Store.open(path) as store:
        group = store.add_group("comparison", {"id": "a", "reference": 0, "rounds": 3}, runs)
    found = choose([group])
    assert found.runs == runs
    assert runs[0].config.workload in page_of(found)
