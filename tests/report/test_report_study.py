"""A study as a page, and back from its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.result import RunResult
from gpuexplorer.core.studies import STUDY_GROUP, Study, study_json, without_runs
from gpuexplorer.exchange.formats import read_runs
from gpuexplorer.history.importing import import_file
from gpuexplorer.history.store import Store
from gpuexplorer.report.page import Report, report_page
from gpuexplorer.studies import study_of, with_runs
from gpuexplorer.studies.precision import PrecisionLab
from gpuexplorer.studies.running import How
from gpuexplorer.studies.speedup import SpeedupLab
from gpuexplorer.studies.switches import SwitchesLab
from tests.support.results import made_result
from tests.support.studies import SHIPPED, StudyMachine, asked, cpu, devices, gpu, torch_cpu

HOW = How(rounds=6, seconds=0.006, seed=1)
ON = devices(cpu(), gpu(), torch_cpu())


def gain(switches: object) -> float:
    return 1e-3 / (1 + len(switches)) if isinstance(switches, dict) else 1e-3


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    machine = StudyMachine(lambda c: gain(c.switches), memory_B=lambda c: 1e6, noise=1e-4)
    return {
        "precision": PrecisionLab(
            asked("softmax", variant="torch"), SHIPPED["softmax"], ON, HOW
        ).run(machine),
        "switches": SwitchesLab(
            asked("mlp", variant="torch"), SHIPPED["mlp"], ON, HOW,
            switches=["compile=default", "in_place", "cuda_graph"],
        ).run(machine),
        "speedup": SpeedupLab(
            asked("matmul"), SHIPPED["matmul"], ON, HOW, sizes=[16, 32]
        ).run(machine),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("precision", ["fp32 (float)", "has no precision", "on the front"]),
        (
            "switches",
            ["torch.compile: default", "CUDA graph: ", "On top of those", "1.00 MB"],
        ),
        ("speedup", ["opencl:0 (naive)", "Break-even", "with transfers"]),
    ],
)
def test_the_page_has_the_chart_the_tables_and_the_study_itself(
    studies: dict[str, Study], kind: str, words: list[str]
) -> None:
    study = studies[kind]
    page = report_page(Report(runs=study.runs, rests=[without_runs(study)]))
    for text in (*words, "<svg", "study.json.gz", "How it was measured"):
        assert text in page, text
    assert "There is no chart" not in page


def device_section(page: str) -> str:
    return page.split("<h2>Device</h2>")[1].split("</section>")[0]


def on(run: RunResult, device: str, driver: str) -> RunResult:
    about = msgspec.structs.replace(run.device, id=device, hardware_id=driver, driver=driver)
    return msgspec.structs.replace(run, device=about)


def test_the_devices_on_a_studys_page_are_all_those_it_was_measured_on(
    studies: dict[str, Study],
) -> None:
    study, other = studies["speedup"], on(made_result(20), "cuda:7", "1.2.3")
    *some, last = study.runs
    runs = [other, *some, on(last, "cuda:0", "580.1")]
    page = report_page(Report(runs=runs, rests=[without_runs(study)]))
    about = device_section(page)
    assert "<td>cuda:7</td>" not in about, "that run is no part of the study"
    assert "<td>opencl:0</td>" in about and "<td>580.1</td>" in about
    assert f"<td>{other.id}</td>" not in page.split("<h2>Environment</h2>")[1]


def test_a_file_is_read_with_its_runs_and_is_the_same_study(
    studies: dict[str, Study], tmp_path: Path
) -> None:
    for kind, study in studies.items():
        path = tmp_path / f"{kind}.json"
        path.write_bytes(study_json(study))
        found = read_runs(path)
        assert list(found.runs) == study.runs
        assert found.rest is not None and with_runs(found.rest, found.runs) == study


def test_the_history_keeps_it_as_a_group_and_an_imported_one_is_a_study_again(
    studies: dict[str, Study], tmp_path: Path
) -> None:
    study = studies["switches"]
    with Store.open(tmp_path / "h.sqlite") as store:
        group = store.group(store.add_group(STUDY_GROUP, without_runs(study), study.runs))
        plain = msgspec.json.decode(msgspec.json.encode(group.document))
        assert with_runs(plain, [store.get(run.id) for run in study.runs]) == study
    path = tmp_path / "study.json"
    path.write_bytes(study_json(study))
    with Store.open(tmp_path / "other.sqlite") as store:
        import_file(store, path)
        (group,) = store.groups()
        rest: dict[str, Any] = (group.document or {})["rest"]
        assert study_of([rest], study.runs) == study


def test_a_run_that_the_document_names_no_more_keeps_no_study_from_being_one(
    studies: dict[str, Study],
) -> None:
    """One that dropped out after some rounds stands in the history beside the others."""
    study, left = studies["precision"], made_result()
    assert study_of([without_runs(study)], [left, *study.runs]) == study
    page = report_page(Report(runs=[left, *study.runs], rests=[without_runs(study)]))
    assert study.title in page and "study.json.gz" in page
    assert f"every sample of {len(study.runs)} runs" in page
    assert "run.json.gz" in page and "every sample of 1 run<" in page


def test_a_study_of_which_runs_are_gone_is_one_as_long_as_all_left_are_its(
    studies: dict[str, Study],
) -> None:
    study = studies["precision"]
    found = study_of([without_runs(study)], study.runs[1:])
    assert found is not None and found.runs == study.runs[1:]
    assert study_of([without_runs(study)], [*study.runs[1:], made_result()]) is None


def test_runs_of_something_else_are_no_study(studies: dict[str, Study]) -> None:
    study = studies["precision"]
    assert study_of([without_runs(study)], [made_result()]) is None
    nothing = msgspec.structs.replace(study, points=[])
    assert study_of([without_runs(nothing)], study.runs) is None
    assert study_of([{"schema": "gpuexplorer/study/1", "kind": "other"}], study.runs) is None
    assert study_of([], study.runs) is None
