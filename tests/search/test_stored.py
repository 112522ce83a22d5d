"""Stored runs held against each other: their names, their interval and their conditions."""

from __future__ import annotations

import re

import msgspec
import pytest

from gpuexplorer.charts.comparison import comparison_chart
from gpuexplorer.charts.words import when_words
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult, TelemetrySummary
from gpuexplorer.core.sheet import Medium
from gpuexplorer.results.comparison import sheet_of
from gpuexplorer.search.stored import compare_runs, labels_of_runs
from tests.support.results import made_result


def day(number: int, median_s: float = 7.6e-3, **state: float) -> RunResult:
    """Return the run of a day; ``state`` is what telemetry said."""
    return msgspec.structs.replace(
        made_result(median_s=median_s),
        id=f"{number:032d}",
        time_utc=f"2026-11-{number:02d}T12:00:00+00:00",
        telemetry=TelemetrySummary(**state),  # type: ignore[arg-type]
    )


def test_one_configuration_on_two_days_has_an_interval_and_its_conditions() -> None:
    before = day(21, sm_clock_Hz=2.5e9, load=0.31)
    after = day(22, 9.5e-3, sm_clock_Hz=1.2e9)
    after = msgspec.structs.replace(
        after, environment=msgspec.structs.replace(after.environment, numpy="9.9.9")
    )
    result = compare_runs([before, after])
    one = result.others[0]
    assert one.verdict == "slower" and one.ci95_low is not None and one.ci95_low > 1
    sheet = sheet_of(result)
    columns = [column.title for column in sheet.columns_on(Medium.WINDOW)]
    assert {"clock", "device load", "versions"} <= set(columns)
    assert "turns" not in columns and "power" not in columns  # nothing is known of them
    said = [dict(zip(columns, sheet.texts(row, Medium.WINDOW), strict=True)) for row in sheet.rows]
    labels = [row["configuration"] for row in said]
    assert all(when_words(r.time_utc) in w for r, w in zip((before, after), labels, strict=True))
    assert re.fullmatch(r"1\.2\d× slower \(1\.2\d*–1\.2\d*\)", said[1]["speed"]), said[1]["speed"]
    assert [row["clock"] for row in said] == ["2.50 GHz", "1.20 GHz"]
    assert [row["device load"] for row in said] == ["31 %", "–"]
    assert "NumPy 9.9.9" in said[1]["versions"]
    assert "weaker evidence" in sheet.notes[0]


def test_the_chart_draws_both_days_over_each_other() -> None:
    chart = comparison_chart(compare_runs([day(21), day(22)]))
    ratios, (trace, distribution) = chart.rows
    assert len(ratios) == 1
    names = [one.name for one in trace.series if one.name]
    assert [name.split(": ")[0] for name in names] == labels_of_runs([day(21), day(22)])
    assert sum(one.kind == "histogram" for one in distribution.series) == 2


def test_runs_are_named_by_what_tells_them_apart() -> None:
    first, second = day(21), day(22)
    assert len(set(labels_of_runs([first, second]))) == 2
    twin = msgspec.structs.replace(first, id="twin")
    assert len(set(labels_of_runs([first, twin]))) == 2
    wide = msgspec.structs.replace(
        second, config=msgspec.structs.replace(second.config, block=(1, 256, 1))
    )
    assert ["16×16" in words for words in labels_of_runs([first, wide])] == [True, False]


def test_one_run_is_no_comparison() -> None:
    with pytest.raises(InputError, match="takes two"):
        compare_runs([day(21)])
