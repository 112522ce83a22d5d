"""An impossible figure is shown and marked wherever runs are compared, and never comes first."""

from __future__ import annotations

import io

import msgspec
from rich.console import Console

from gpuexplorer.charts.build import sweep_chart
from gpuexplorer.charts.facts import facts
from gpuexplorer.cli.explore import Outcome, table
from gpuexplorer.core.result import RunResult
from tests.support.results import made_result

WHY = "900 GFLOP/s is 4.5 times the 200 GFLOP/s that this device was measured to reach"


def suspect(result: RunResult) -> RunResult:
    return msgspec.structs.replace(
        result, timing=msgspec.structs.replace(result.timing, suspect=WHY)
    )


FAST = suspect(made_result(60, 1e-4, block=(64, 4, 1)))
HONEST = made_result(60, 5e-3, block=(32, 8, 1))
SLOW = made_result(60, 9e-3, block=(1, 256, 1))


def test_the_exploration_ranks_it_last() -> None:
    shown = io.StringIO()
    console = Console(file=shown, width=200, color_system=None)
    console.print(table([Outcome(r.config, r) for r in (FAST, SLOW, HONEST)]))
    lines = [line for line in shown.getvalue().splitlines() if "×" in line.split(" ")[0]]
    assert [line.split()[0] for line in lines] == ["1×256", "32×8", "64×4"]
    assert "SUSPECT" in lines[-1] and "━" not in lines[-1]
    assert lines[1].count("━") > lines[0].count("━")


def test_the_chart_puts_it_last_and_says_why() -> None:
    chart = sweep_chart([FAST, SLOW, HONEST])
    (panel,) = chart.rows[0]
    (stems,) = panel.series
    assert stems.labels[-1].endswith("SUSPECT")
    assert not any("SUSPECT" in label for label in stems.labels[:-1])
    assert any(WHY in note for note in chart.notes)


def test_the_summary_of_the_run_says_it() -> None:
    assert ("SUSPECT", "", WHY) in facts(FAST)
    assert all(name != "SUSPECT" for name, *_ in facts(HONEST))
