"""A study as a table: the same rows for window, terminal, page and file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from gpuexplorer.cli.sheets import print_sheet
from gpuexplorer.core.sheet import Medium, Row, Sheet
from gpuexplorer.core.studies import Study
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.report.html import sheet_sections
from gpuexplorer.studies import chart_of, sheet_of
from tests.support.lab_studies import (
    STUDIES,
    ladder_study,
    precision_study,
    speedup_study,
    switches_study,
)


def shown(study: Study, medium: Medium = Medium.WINDOW) -> list[dict[str, str]]:
    """Return the words of the rows by their columns' names."""
    sheet = sheet_of(study)
    names = [column.name for column in sheet.columns_on(medium)]
    return [
        dict(zip(names, sheet.texts(row, medium), strict=True)) for row in sheet.rows_on(medium)
    ]


def rows(sheet: Sheet, part: str = "") -> dict[str, Row]:
    return {row.title: row for row in sheet.rows if row.part == part}


@pytest.mark.parametrize("kind", STUDIES)
def test_every_mark_of_the_chart_has_a_row_with_words(kind: str) -> None:
    study = STUDIES[kind]
    sheet = sheet_of(study)
    drawn = {
        key
        for line in chart_of(study).rows
        for panel in line
        for one in panel.series
        for key in one.keys
        if key
    }
    assert drawn and drawn <= set(sheet.marks) <= {run.id for run in study.runs}
    for key in drawn:
        row = sheet.row_of(key)
        assert row is not None and sheet.marks[key].strip()
    assert all(row.tip for row in sheet.rows_on(Medium.WINDOW))


def test_a_precision_that_was_not_measured_has_its_reason() -> None:
    found = {row["precision"]: row for row in shown(precision_study())}
    assert found["tf32"]["remarks"] == "no such arithmetic here" and found["tf32"]["time"] == "–"
    assert found["fp32"]["speed"] == "reference"
    assert found["bf16"]["speed"] == "2.00× faster (1.96–2.04)"
    assert found["bf16"]["error"].endswith("✗") and found["fp16"]["ran"] == "fp32 ⚠"
    assert found["fp64"]["error"] == "0"
    assert rows(sheet_of(precision_study()))["fp64 (double)"].role == "best"


def test_switches_stand_by_what_they_were_measured_beside() -> None:
    sheet = sheet_of(switches_study())
    found = {(row["title"], row["part"]): row for row in shown(switches_study())}
    compile_, alone = "torch.compile: default", "by itself"
    assert found[compile_, alone]["effect"] == "2.00× faster (1.96–2.04)"
    assert found[compile_, "on top"]["remarks"] == "kept ✓"
    assert found["Without batching", alone]["effect"].startswith("3.00× slower (")
    assert found["Gradient mode: grad", alone]["remarks"] == "it does not compile"
    assert found["CUDA graph", "not offered"]["remarks"] == "it is for a GPU"
    assert found["combination", "in turns"]["effect"].startswith("2.22× faster (")
    assert rows(sheet, "In turns with the combination")["combination"].role == "best"


def test_a_rung_stands_beside_the_one_before_and_the_library() -> None:
    found = {row["variant"]: row for row in shown(ladder_study())}
    assert found["packed"]["step"] == "2.50× faster (2.45–2.55)"
    assert found["packed"]["beside"] == "1.25× faster (1.23–1.27)"
    assert found["packed"]["roof"] == "80 %" and found["packed"]["remarks"] == "the best rung"
    assert found["naive"]["step"] == "–" and found["tiled"]["knobs"] == "16×16 *"
    assert found["cublas"]["remarks"] == "there is no GPU here"
    assert "cublas" not in {row["variant"] for row in shown(ladder_study(), Medium.TERMINAL)}


def test_a_size_has_both_times_and_both_speed_ups() -> None:
    found = shown(speedup_study())
    assert found[0]["N"] == "64" and found[0]["speedup"] == "10.0× slower (9.09–11.1)"
    assert found[0]["speedup_with"] == "30.0× slower"
    assert found[3]["remarks"] == "not measured yet"
    assert len(shown(speedup_study())) == 4


FIGURES = (
    "run,time_s,ci95_low_s,ci95_high_s,flop_per_s,rms_rel_error,max_rel_error,tolerance,wrong,"
    "memory_B,suspect"
)
RATIO = "ratio,ratio_ci95_low,ratio_ci95_high,verdict"
HEADS = {
    "precision": f"precision,{FIGURES},{RATIO},ran,accumulates_in,fallback,front,skipped",
    "scaling": f"size,variant,arrays_B,skipped,{FIGURES}",
    "ladder": f"variant,library,knobs,tuned,{FIGURES},rate,speedup,speedup_ci95_low,"
    "speedup_ci95_high,before,library_speedup,library_speedup_ci95_low,library_speedup_ci95_high,"
    "share_of_roof,skipped",
    "switches": f"part,switch,value,{FIGURES},{RATIO},kept,skipped",
    "speedup": f"size,device,transfers,{FIGURES},speedup,speedup_ci95_low,speedup_ci95_high,"
    "skipped",
}


@pytest.mark.parametrize("kind", STUDIES)
def test_a_file_keeps_its_columns_and_its_raw_values(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    write_sheet(sheet_of(STUDIES[kind]), path)
    assert path.read_text().splitlines()[0] == HEADS[kind]


def test_a_file_has_a_row_for_each_device_at_each_size(tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    write_sheet(sheet_of(speedup_study()), path)
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert len(lines) == 12
    assert (lines[1]["size"], lines[1]["transfers"], lines[1]["time_s"]) == (
        "64",
        "False",
        "0.0001",
    )
    assert lines[9]["skipped"] == "not measured yet" and lines[9]["time_s"] == ""


def test_a_file_tells_the_way_to_the_combination(tmp_path: Path) -> None:
    path = tmp_path / "study.csv"
    write_sheet(sheet_of(switches_study()), path)
    parts = [line["part"] for line in csv.DictReader(path.read_text().splitlines())]
    assert parts == [
        "baseline", *["alone"] * 4, "added", "added", "share", "share", "combination", "combining",
        "not offered",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("kind", STUDIES)
def test_the_terminal_cuts_no_figure_off(kind: str, width: int) -> None:
    stream = io.StringIO()
    sheet = sheet_of(STUDIES[kind])
    print_sheet(sheet, Console(width=width, file=stream))
    expected = [
        text for row in sheet.rows_on(Medium.TERMINAL) for text in sheet.texts(row, Medium.TERMINAL)
    ]
    for sign in ("±", "×", "(", ")"):
        wanted = sum(text.count(sign) for text in (*expected, *sheet.notes))
        assert stream.getvalue().count(sign) == wanted, sign


def test_the_page_lists_what_is_not_offered_with_its_reason() -> None:
    page = sheet_sections(sheet_of(switches_study()))
    assert "<li>CUDA graph: it is for a GPU</li>" in page
    assert page.count("<table") == 3
