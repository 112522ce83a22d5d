"""A run's memory in words and as a chart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gpuexplorer.charts.build import run_chart
from gpuexplorer.charts.facts import facts
from gpuexplorer.charts.memory import has_memory, memory_panel, memory_words
from gpuexplorer.charts.render import render
from gpuexplorer.core.memory import MemoryParts, MemoryUse
from gpuexplorer.core.result import RunResult
from tests.support.results import made_result

PARTS = MemoryParts.of({"weights": 4e6, "gradients": 4e6, "activations": 2e6, "inputs": 1e6})
COUNTED = MemoryUse(predicted=PARTS, peak_B=10e6, counter="a counter")


def with_memory(use: MemoryUse) -> RunResult:
    return msgspec.structs.replace(made_result(), memory=use)


def test_both_figures_and_how_far_they_are_apart() -> None:
    assert memory_words(COUNTED) == "counted by a counter; 11.0 MB predicted, 10 % too much"
    little = MemoryUse(predicted=PARTS, peak_B=12e6, counter="c")
    assert "8.3 % too little" in memory_words(little)
    exact = MemoryUse(predicted=PARTS, peak_B=11e6, counter="c")
    assert memory_words(exact) == "counted by c; as predicted"


def test_what_was_not_counted_says_why() -> None:
    words = memory_words(MemoryUse(predicted=PARTS, reason="nobody counts here"))
    assert words == "11.0 MB predicted, not counted: nobody counts here"
    assert "no formula" in memory_words(MemoryUse(peak_B=1e6, counter="c"))


def test_bars_stack_to_the_sum() -> None:
    panel = memory_panel(COUNTED)
    assert panel.y.categories == ("predicted", "counted")
    predicted = [s for s in panel.series if s.y[0] == 0]
    ends = [float(s.x[0] + s.z[0]) for s in predicted]
    assert [float(s.x[0]) for s in predicted] == [0.0, *ends[:-1]]
    assert ends[-1] == PARTS.total_B
    (counted,) = [s for s in panel.series if s.y[0] == 1]
    assert counted.z[0] == 10e6


def test_one_of_the_two_is_drawn_alone() -> None:
    assert memory_panel(MemoryUse(predicted=PARTS)).y.categories == ("predicted",)
    assert memory_panel(MemoryUse(peak_B=1.0, counter="c")).y.categories == ("counted",)
    with pytest.raises(ValueError, match="nothing is known"):
        memory_panel(MemoryUse())


def test_a_kernel_whose_arrays_are_all_there_is_says_nothing() -> None:
    arrays = MemoryUse(predicted=MemoryParts.of({"inputs": 8.0, "outputs": 4.0}), reason="no")
    assert not has_memory(arrays)
    assert not has_memory(None)
    assert has_memory(COUNTED)
    assert "memory" not in [name for name, _, _ in facts(with_memory(arrays))]


def test_a_runs_figures_name_its_parts() -> None:
    rows = facts(with_memory(COUNTED))
    at = [name for name, _, _ in rows].index("memory")
    assert rows[at][1] == "10.0 MB"
    assert rows[at + 1][2].startswith("weights 4.00 MB · gradients 4.00 MB")


def test_the_chart_is_drawn(tmp_path: Path) -> None:
    chart = run_chart(with_memory(COUNTED), timing=False, traffic=False, memory=True)
    assert chart.rows == ((memory_panel(COUNTED),),)
    render(chart, tmp_path / "memory.svg")
    assert (tmp_path / "memory.svg").stat().st_size > 5000
