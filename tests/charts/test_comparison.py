"""The forest plot of a comparison: what stands on it, and where."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.charts.comparison import (
    EMPTY,
    ON_SEVERAL,
    VERDICT_COLOURS,
    Line,
    comparison_chart,
    line_words,
    ratio_range,
    shared_words,
)
from gpuexplorer.charts.render import render
from gpuexplorer.core.compared import ComparisonResult, Contestant
from gpuexplorer.core.verdict import Verdict
from gpuexplorer.results.comparison import Entry, sheet_of, sheet_of_entries
from tests.support.results import made_result


def contestant(
    variant: str, ratio: float | None = None, width: float = 0.02, verdict: Verdict | None = None
) -> Contestant:
    return Contestant(
        label=variant,
        run=made_result(variant=variant),
        turns_s=[1e-3] * 8,
        ratio=ratio,
        ci95_low=ratio / (1 + width) if ratio else None,
        ci95_high=ratio * (1 + width) if ratio else None,
        verdict=verdict,
        warnings=("The driver differs: 1 and 2.",) if verdict == "slower" else (),
    )


def made(**changes: object) -> ComparisonResult:
    result = ComparisonResult(
        id="1", time_utc="2026-01-01T00:00:00.000+00:00", reference=0, interleaved=True, rounds=8,
        stopped_by="verdict", tolerance=0.005,
        contestants=[
            contestant("naive"),
            contestant("tiled", 0.8, verdict="faster"),
            contestant("uncoalesced", 4.0, verdict="slower"),
            contestant("numpy", verdict="can't tell"),
        ],
    )  # fmt: skip
    return msgspec.structs.replace(result, **changes)


def test_each_has_a_row_with_its_words() -> None:
    chart = comparison_chart(made())
    (panel,) = chart.rows[0]
    assert panel.y.categories == ("naive", "tiled", "uncoalesced", "numpy")
    assert panel.x.scale == "log"
    marked = [s for s in panel.series if s.kind == "points"]
    assert [words for s in marked for words in s.labels] == [
        "reference", "1.25× faster (1.23–1.27)", "4.00× slower (3.92–4.08)",
    ]  # fmt: skip
    assert [key for s in marked for key in s.keys] == ["0", "1", "2"]
    assert [(note.text, note.y) for note in panel.annotations] == [("too few rounds", 3)]
    dots = [s for s in panel.series if s.kind == "points" and s.role == "model"]
    assert [s.colour for s in dots] == [VERDICT_COLOURS["faster"], VERDICT_COLOURS["slower"]]
    band = next(s for s in panel.series if s.kind == "band")
    assert band.x == pytest.approx([1 / 1.005, 1.005])
    assert chart.title == "Time beside naive"
    assert "N = 512" in chart.subtitle
    assert any("uncoalesced: The driver differs" in note for note in chart.notes)
    assert ON_SEVERAL not in chart.notes


def test_who_took_turns_on_different_devices_is_said_to() -> None:
    result = made()
    run = result.contestants[1].run
    device = msgspec.structs.replace(run.device, hardware_id="GPU-far", name="Far GPU")
    far = msgspec.structs.replace(
        result.contestants[1], run=msgspec.structs.replace(run, device=device)
    )
    result.contestants[1] = far
    assert ON_SEVERAL in comparison_chart(result).notes
    assert "; Far GPU · " in comparison_chart(result).subtitle
    assert sheet_of(result).notes[0] == ON_SEVERAL


def test_the_limit_is_a_line_and_runs_apart_are_said_to_be() -> None:
    (panel,) = comparison_chart(made(fail_if_slower=0.05)).rows[0]
    limit = next(s for s in panel.series if s.kind == "vline" and s.role == "ceiling")
    assert (limit.name, limit.x[0]) == ("5 % slower", 1.05)
    apart = comparison_chart(made(interleaved=False))
    assert any("Not measured in turns" in n for n in apart.notes)
    assert [note.text for note in apart.rows[0][0].annotations] == ["too few samples"]


def test_the_range_holds_every_interval_and_the_reference() -> None:
    assert ratio_range([]) == EMPTY
    low, high = ratio_range([Line("a", 4.0, 3.9, 4.1, "slower")])
    assert low < 1 < 4.1 < high
    low, high = ratio_range([Line("a", 1.0, 0.9999, 1.0001, "same")])
    assert math.log(high / low) > 0.04  # never so narrow that noise looks large


def test_words() -> None:
    assert shared_words(made()).startswith("matmul · N = 512 · block 16×16")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_drawn(tmp_path: Path, theme: str) -> None:
    path = tmp_path / "c.svg"
    render(comparison_chart(made()), path, theme=theme)
    text = path.read_text()
    assert "uncoalesced" in text and "faster" in text


def test_what_the_interval_leaves_open_is_no_slower_in_table_chart_and_words() -> None:
    one = Line("a", 1.018, 0.947, 1.46, "can't tell", key="1")
    same = Line("b", 1.01, 0.98, 1.03, "same", key="2")
    assert one.words == "can't tell (0.947–1.46)" and same.words == "same (0.980–1.030)"
    told = "can't tell (0.947–1.46) beside c, with the 95 % interval"
    assert line_words(one, "c") == f"a: can't tell\n{told}"
    sheet = sheet_of_entries([Entry(one, False), Entry(same, False)])
    assert [row.cells["ratio"].text for row in sheet.rows] == [one.words, same.words]
