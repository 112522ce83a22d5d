"""A sweep's chart fits its axes, shows every point once, and says what it leaves out."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import msgspec
import numpy as np
import pytest

from gpuexplorer.charts import render, spec
from gpuexplorer.charts.spec import ChartSpec, Panel, Series
from gpuexplorer.charts.style import THEMES
from gpuexplorer.charts.sweep import MOST_PANELS, MOST_REASONS, chart_of_sweep
from gpuexplorer.charts.sweep_panels import MOST_BARS
from gpuexplorer.charts.sweep_points import Figure
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult, Throughput
from gpuexplorer.core.sweep import SweepDocument, SweepOutcomes, SweptRun
from tests.support.results import made_result

BLOCKS: dict[str, list[Any]] = {"block.x": [1, 8, 16, 32], "block.y": [1, 4, 64]}


def config_of(values: dict[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if "size.N" in values:
        changes["size"] = {"N": values["size.N"]}
    if "block.x" in values:
        changes["block"] = (values["block.x"], values.get("block.y", 1), 1)
    if "block" in values:
        changes["block"] = tuple(values["block"])
    if "tunable.TILE" in values:
        changes["tunables"] = {"TILE": values["tunable.TILE"]}
    return changes | {n: v for n, v in values.items() if n in ("precision", "variant", "fill")}


def sweep(axes: dict[str, list[Any]]) -> SweepDocument:
    """Return a sweep in which larger and squarer blocks are faster, and some cannot run."""
    entries = []
    for combination in product(*axes.values()):
        values = dict(zip(axes, combination, strict=True))
        x, y = values.get("block.x", 16), values.get("block.y", 16)
        n = values.get("size.N", 512)
        run: RunResult = made_result(40, n**3 / (x * y) ** 0.5 * 1e-9, **config_of(values))
        config: RunConfig = run.config
        skipped = "too many threads" if x * y > 1024 else None
        entries.append(
            SweptRun(values=values, config=config, skipped=skipped)
            if skipped
            else SweptRun(values=values, config=config, run=run)
        )
    return SweepDocument(
        id="1", time_utc="2026-01-01T00:00:00Z", workload="matmul", title="Matrix multiply",
        points=len(entries), axes=axes, runs=entries,
    )  # fmt: skip


def panels(chart: ChartSpec) -> list[Panel]:
    return [panel for row in chart.rows for panel in row]


def kind(panel: Panel, name: str) -> list[Series]:
    return [s for s in panel.series if s.kind == name]


def test_threads_in_x_and_y_make_a_heat_map_with_the_best_framed() -> None:
    document = sweep(BLOCKS)
    (panel,) = panels(chart_of_sweep(document.outcomes))
    (heat,) = kind(panel, "heat")
    (frame,) = kind(panel, "outline")
    assert panel.x.categories == ("1", "8", "16", "32")
    assert panel.y.categories == ("1", "4", "64")
    cells = dict(zip(zip(heat.x, heat.y, strict=True), heat.z, strict=True))
    assert len(cells) == 12 and np.isnan(cells[3, 2])  # 32×64 cannot run
    assert heat.keys == tuple(str(number) for number in range(12))
    assert (heat.x[5], heat.y[5]) == (1, 2)  # the sixth configuration of the sweep
    for run in document.measured:
        assert run.config.block is not None
        x, y, _ = run.config.block
        place = BLOCKS["block.x"].index(x), BLOCKS["block.y"].index(y)
        assert cells[place] == run.throughput.flop_per_s
    assert cells[float(frame.x[0]), float(frame.y[0])] == np.nanmax(heat.z)
    assert panel.z is not None
    assert (panel.z.unit, panel.z.scale) == ("FLOP/s", "log")
    assert sum(map(bool, heat.labels)) == 11


def test_a_size_makes_lines_on_logarithmic_axes_with_their_intervals() -> None:
    axes: dict[str, list[Any]] = {
        "variant": ["naive", "tiled"], "size.N": [64, 128, 256, 512], "precision": ["fp32"],
    }  # fmt: skip
    (panel,) = panels(chart_of_sweep(sweep(axes).outcomes))
    assert (panel.x.scale, panel.y.scale) == ("log", "log")
    assert list(panel.x.ticks) == [64, 128, 256, 512]
    lines = kind(panel, "line")
    assert [line.name for line in lines] == ["naive", "tiled"]
    for line, band in zip(lines, kind(panel, "band"), strict=True):
        assert line.x.tolist() == [64, 128, 256, 512]
        assert np.all(band.y[:4] <= line.y)
        assert np.all(band.y[4:] >= line.y)
        assert band.colour == line.colour


def test_sizes_beside_blocks_make_the_best_of_each_and_a_map_of_each() -> None:
    document = sweep({**BLOCKS, "size.N": [64, 128, 256]})
    chart = chart_of_sweep(document.outcomes)
    best, *maps = panels(chart)
    (line,) = kind(best, "line")
    runs = document.measured
    for size, value in zip(line.x, line.y, strict=True):
        speeds = [r.throughput.flop_per_s or 0 for r in runs if r.config.size["N"] == size]
        assert value == max(speeds)
    assert kind(best, "points")[0].labels == ("16×64",) * 3
    assert [m.title for m in maps] == ["N = 64", "N = 128", "N = 256"]
    assert len({(m.z.low, m.z.high) for m in maps if m.z}) == 1
    assert [bool(m.z and m.z.label) for m in maps] == [False, False, True]


def test_one_number_makes_lines_two_make_a_map_and_names_make_bars() -> None:
    (panel,) = panels(chart_of_sweep(sweep({"block.x": [1, 2, 4, 8]}).outcomes))
    assert kind(panel, "line")
    (panel,) = panels(
        chart_of_sweep(sweep({"block.x": [1, 2], "tunable.TILE": [4, 8, 16]}).outcomes)
    )
    assert kind(panel, "heat")
    (panel,) = panels(
        chart_of_sweep(sweep({"variant": ["naive", "tiled"], "fill": ["normal", "zeros"]}).outcomes)
    )
    (stems,) = kind(panel, "stems")
    assert panel.y.categories == (
        "naive, normal", "naive, zeros", "tiled, normal", "tiled, zeros",
    )  # fmt: skip
    assert len(stems.labels) == 4


@pytest.mark.parametrize(
    ("axes", "drawn", "x", "count"),
    [
        ({"block.x": [1, 2], "block.y": [1, 2]}, "heat", "threads in x", 1),
        ({"block.x": [1, 2], "block.y": [1, 2], "fill": ["a", "b"]}, "heat", "threads in x", 2),
        ({"size.N": [64, 128], "variant": ["naive", "tiled"]}, "line", "N", 1),
        ({"size.N": [64, 128], "block.x": list(range(1, 9))}, "line", "N", 8),
        ({"tunable.TILE": [8, 16], "block.x": [1, 2]}, "heat", "TILE", 1),
        ({"block.x": [1, 2, 4]}, "line", "threads in x", 1),
        ({"precision": ["fp32", "fp64"], "fill": ["normal", "zeros"]}, "stems", "", 1),
    ],
)
def test_the_axes_decide_the_chart(
    axes: dict[str, list[Any]], drawn: str, x: str, count: int
) -> None:
    found = panels(chart_of_sweep(sweep(axes).outcomes))
    assert len(found) == count
    for panel in found:
        assert kind(panel, drawn)
        assert not x or panel.x.label == x


def test_more_lines_than_a_panel_holds_go_to_panels_side_by_side() -> None:
    axes: dict[str, list[Any]] = {
        "variant": ["a", "b", "c", "d", "e"],
        "precision": ["fp64", "fp32", "fp16"],
        "size.N": [64, 128],
    }
    chart = chart_of_sweep(sweep(axes).outcomes)
    assert [p.title for p in panels(chart)] == ["a", "b", "c", "d", "e"]
    assert [len(row) for row in chart.rows] == [3, 2]
    assert all(len(kind(p, "line")) == 3 for p in panels(chart))


def test_what_is_left_out_is_said() -> None:
    sizes = list(range(64, 64 + 32 * (MOST_PANELS + 3), 32))
    chart = chart_of_sweep(sweep({**BLOCKS, "size.N": sizes}).outcomes)
    assert len(panels(chart)) == 1 + MOST_PANELS
    assert f"The first {MOST_PANELS} of {MOST_PANELS + 3} values of N are shown." in chart.notes
    assert any(
        f"{15 * 11} of 180 configurations were measured" in note
        and "15 could not run or were skipped (hatched)" in note
        for note in chart.notes
    )
    fills = [f"f{i}" for i in range(MOST_BARS + 5)]
    (bars,) = panels(chart_of_sweep(sweep({"fill": fills}).outcomes))
    assert bars.title == f"(the first {MOST_BARS} of {MOST_BARS + 5})"


def test_figures_that_cannot_be_true_are_not_shown_and_that_is_said() -> None:
    document = sweep({"size.N": [64, 128, 256]})
    timing = msgspec.structs.replace(document.measured[1].timing, suspect="too fast")
    odd = msgspec.structs.replace(document.measured[1], timing=timing)
    runs = [document.runs[0], msgspec.structs.replace(document.runs[1], run=odd), document.runs[2]]
    chart = chart_of_sweep(msgspec.structs.replace(document, runs=runs).outcomes)
    (line,) = kind(panels(chart)[0], "line")
    assert line.x.tolist() == [64, 256]
    assert "1 cannot be true and is not shown." in chart.notes
    assert "SUSPECT: too fast." in chart.notes


@pytest.mark.parametrize(
    "axes", [BLOCKS, {**BLOCKS, "size.N": [64, 128]}, {"size.N": [64, 128]}, {"fill": ["a", "b"]}]
)
@pytest.mark.parametrize("figure", [None, "best"])
def test_where_no_figure_can_be_true_none_is_drawn_or_the_best(
    axes: dict[str, list[Any]], figure: Figure | None, tmp_path: Path
) -> None:
    document = sweep(axes)
    runs = [
        msgspec.structs.replace(e, run=msgspec.structs.replace(
            e.run, timing=msgspec.structs.replace(e.run.timing, suspect=f"{i} times too fast")
        )) if e.run is not None else e
        for i, e in enumerate(document.runs)
    ]  # fmt: skip
    outcomes = msgspec.structs.replace(document, runs=runs).outcomes
    chart = chart_of_sweep(outcomes, figure=figure)
    for panel in panels(chart):
        assert not any(kind(panel, name) for name in ("outline", "line", "points"))
        assert all(len(stems.y) == 0 for stems in kind(panel, "stems"))
        assert not any(np.isfinite(heat.z).any() for heat in kind(panel, "heat"))
    many = len(outcomes.measured)
    assert f"{many} cannot be true and are not shown." in chart.notes
    assert 2 <= sum(note.startswith("SUSPECT") for note in chart.notes) <= MOST_REASONS
    render.render(chart, tmp_path / "a.svg")


def test_without_operations_bytes_are_shown_and_without_bytes_the_time() -> None:
    document = sweep(BLOCKS)

    def without(flops: float | None, bandwidth: float | None) -> ChartSpec:
        speed = Throughput(flop_per_s=flops, bandwidth_B_per_s=bandwidth)
        runs = [
            msgspec.structs.replace(
                e, run=msgspec.structs.replace(e.run, throughput=speed) if e.run else None
            )
            for e in document.runs
        ]
        return chart_of_sweep(msgspec.structs.replace(document, runs=runs).outcomes)

    (panel,) = panels(without(None, 1e9))
    assert panel.z is not None and panel.z.unit == "B/s"
    (panel,) = panels(without(None, None))
    assert panel.z is not None and panel.z.unit == "s"
    (heat,), (frame,) = kind(panel, "heat"), kind(panel, "outline")
    best = int(np.nanargmin(heat.z))
    assert (frame.x[0], frame.y[0]) == (heat.x[best], heat.y[best])


def test_configurations_without_a_figure_cost_next_to_nothing() -> None:
    measured = sweep({"block.x": [1], "block.y": [1]}).measured
    wide = {"block.x": range(1, 101), "block.y": range(1, 101)}
    reason = "too many threads"
    outcomes = SweepOutcomes("", 10_000, wide, [*measured, *[reason] * 5000, *[None] * 4999])
    chart_of_sweep(outcomes)  # what it loads and remembers
    before = sys.getallocatedblocks()
    (panel,) = panels(chart_of_sweep(outcomes))
    kept = sys.getallocatedblocks() - before
    (heat,) = kind(panel, "heat")
    assert np.isfinite(heat.z).sum() == 1 and np.isnan(heat.z).sum() == 5000
    assert heat.keys[-1] == "9999" and (heat.x[-1], heat.y[-1]) == (99, 99)
    assert kept < 1.1 * 10_000  # a key of each


def test_nothing_measured_is_nothing_to_draw() -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        chart_of_sweep(sweep({"block.x": [64, 128], "block.y": [64]}).outcomes)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    "axes",
    [
        {**BLOCKS, "size.N": [64, 128, 256]},
        {"size.N": [64, 128, 256, 512], "variant": ["naive", "tiled", "numpy"]},
        {"variant": ["naive", "tiled"], "fill": ["normal", "zeros", "uniform"]},
        {"block.x": list(range(1, 33)), "block.y": list(range(1, 33))},
        {"block": [[8, 8, 1], [16, 16, 1]]},
    ],
)
def test_no_text_is_clipped(axes: dict[str, list[Any]], theme: str, tmp_path: Path) -> None:
    chart = spec.decode(spec.encode(chart_of_sweep(sweep(axes).outcomes)))
    with mpl.rc_context(render._settings(chart, THEMES[theme])):
        figure = render.draw(chart, THEMES[theme])
        figure.draw_without_rendering()
        drawer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        width, height = figure.canvas.get_width_height()
        texts = [t.get_window_extent(drawer) for t in figure.texts if t.get_text()]
        boxes = [axes.get_tightbbox(drawer) for axes in figure.axes]
    for box in (*texts, *(b for b in boxes if b is not None)):
        assert -1 <= box.x0 <= box.x1 <= width + 1
        assert -1 <= box.y0 <= box.y1 <= height + 1
    for panel in (b for b in boxes if b is not None):
        assert not any(panel.overlaps(text) for text in texts)


def test_a_file_is_drawn(tmp_path: Path) -> None:
    render.render(
        chart_of_sweep(sweep({**BLOCKS, "size.N": [64, 128]}).outcomes), tmp_path / "a.png"
    )
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
