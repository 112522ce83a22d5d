"""A sweep as a table: a file has every configuration, a terminal the fastest."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core import language
from gpuexplorer.core.axis_words import values_words
from gpuexplorer.core.config import OWN_FILL, RunConfig
from gpuexplorer.core.language import tr
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sheet import EMPTY, Medium, Sheet, told
from gpuexplorer.core.sweep import SweepDocument, SweptRun
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.results.sweep import SHOWN, SweepRows, fastest_sheet, sheet_of
from tests.support.results import made_config, made_result

HEAD = (
    "run,workload,variant,size,block_x,block_y,block_z,precision,tunables,switches,device,cache,"
    "fill,threads,samples,median_s,ci95_low_s,ci95_high_s,min_s,flop_per_s,bandwidth_B_per_s,"
    "compile_s,max_rel_error,rms_rel_error,suspect,skipped"
)


def run_of(config: RunConfig, median_s: float, suspect: str | None = None) -> RunResult:
    made = made_result(samples=20)
    timing = msgspec.structs.replace(made.timing, median_s=median_s, suspect=suspect)
    return msgspec.structs.replace(made, config=config, timing=timing)


def entry(width: int, median_s: float | None, n: int = 64, suspect: str | None = None) -> SweptRun:
    config = made_config(block=(width, 1, 1), size={"N": n})
    if median_s is None:
        return SweptRun(
            values={"block.x": width}, config=config, skipped="=too large", why="cannot"
        )
    run = run_of(config, median_s, suspect)
    return SweptRun(values={"block.x": width, "size.N": n}, config=config, run=run)


def document(*entries: SweptRun) -> SweepDocument:
    return SweepDocument(
        id="s", time_utc="2026-01-01T00:00:00+00:00", workload="matmul", title="Products",
        points=len(entries), axes={"block.x": [1]}, runs=list(entries),
    )  # fmt: skip


def column(sheet: Sheet, name: str) -> list[str]:
    return [row.cells[name].text for row in sheet.rows]


def test_a_file_has_a_row_for_each_with_raw_values(tmp_path: Path) -> None:
    whole = document(entry(8, 1e-3), entry(16, None), entry(32, 5e-4, suspect="above the roof"))
    write_sheet(sheet_of(whole), tmp_path / "sweep.csv")
    text = (tmp_path / "sweep.csv").read_text("utf-8")
    assert text.splitlines()[0] == HEAD
    first, second, third = csv.DictReader(text.splitlines())
    run = whole.measured[0]
    check = run.verification
    assert check is not None
    expected = {
        "run": run.id, "size": "N=64", "block_x": "8", "tunables": "", "threads": "7",
        "samples": "20", "median_s": "0.001", "min_s": str(run.timing.min_s),
        "flop_per_s": str(run.throughput.flop_per_s), "compile_s": "", "suspect": "", "skipped": "",
        "max_rel_error": str(check.max_rel_error), "rms_rel_error": "",
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert (second["block_x"], second["skipped"]) == ("16", "'=too large")
    assert not any(second[name] for name in ("run", "median_s", "flop_per_s", "suspect"))
    assert (third["median_s"], third["suspect"]) == ("0.0005", "above the roof")


def test_a_terminal_lists_the_fastest_without_what_cannot_be_true() -> None:
    entries = [entry(width, width * 1e-3) for width in range(20, 0, -1)]
    sheet = fastest_sheet(document(*entries, entry(64, 1e-9, suspect="no"), entry(65, None)))
    assert sheet.title == "Products: the fastest of 20"
    assert [c.title for c in sheet.columns_on(Medium.TERMINAL)] == [
        "configuration", "median", "throughput"
    ]  # fmt: skip
    assert len(sheet.rows) == SHOWN
    assert column(sheet, "configuration")[0] == "threads in x = 1 · N = 64"
    assert column(sheet, "time")[0].startswith("1.00 ms")
    assert not fastest_sheet(document(entry(8, None))).rows


def test_sizes_are_no_race_and_have_their_fastest_each_in_order() -> None:
    many = [entry(8, 1e-3, 16 * number) for number in range(1, SHOWN + 7)]
    assert len(fastest_sheet(document(*many)).rows) == SHOWN + 6, "each of them"
    entries = (entry(8, 9e-3, 128), entry(8, 2e-3, 64), entry(16, 8e-3, 128), entry(16, 3e-3, 64))
    sheet = fastest_sheet(document(*entries))
    assert sheet.title == "Products: the fastest of each size, of 4"
    assert column(sheet, "configuration") == [
        "threads in x = 16 · N = 128", "threads in x = 8 · N = 64"
    ]  # fmt: skip


def test_what_cannot_be_true_is_shown_and_sorted_by_nothing() -> None:
    rows = SweepRows({"variant": ("naive", "tiled")})
    suspect = run_of(made_config(), 1e-9, "faster than light")
    second, first = rows.sheet(["no room", suspect]).rows
    assert first.cells["median"].text == "1.00 ns" and first.cells["median"].value is None
    assert first.cells["result"].text == "⚠ suspect: faster than light"
    assert first.cells["variant"].value == 1, "by its place on the axis"
    assert second.tip == "variant naive: no room" and second.role == "skipped"


@pytest.mark.parametrize("code", ["en", "zh_CN"])
def test_a_row_without_a_figure_says_all_when_it_is_looked_at(code: str) -> None:
    language.use(code)
    rows = SweepRows({"fill": (OWN_FILL, "normal"), "block.x": tuple(range(1, 3001))})
    tracemalloc.start()
    sheet = rows.sheet([None] * 5999 + ["no room"])
    held_B, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held_B / 6000 < 250, "a wide sweep has thousands, of which a window shows a dozen"
    row, columns = sheet.row_of("2999"), sheet.columns_on(Medium.WINDOW)
    assert row is not None and row.key == "2999" and row.role == row.note == row.part == ""
    waiting = tr("waiting")
    assert row.texts(columns) == [tr("the workload's own"), "3000", "", "", "", "", waiting]
    assert row.tip == tr(f"{values_words({'fill': OWN_FILL, 'block.x': 3000})}: waiting")
    assert row.marks == {"2999": row.title}
    cells = [row.cell(column) for column in columns]
    assert cells == [row.cells.get(column.name, EMPTY) for column in columns]
    assert [cell.value for cell in cells[:2]] == [0, 3000]
    last = told(sheet).rows[-1]
    assert last.role == "skipped" and last.texts(columns)[-1] == tr("no room")
