"""Files drawn from charts: whole, in the format asked for, nothing clipped, errors told."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest
from msgspec.structs import replace

from gpuexplorer.charts import render, spec
from gpuexplorer.charts.build import run_chart
from gpuexplorer.charts.style import THEMES
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.fonts import CHINESE
from tests.support.cli import cli_environment
from tests.support.crossed import crossed
from tests.support.results import made_result

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("ending", render.FORMATS)
def test_each_format_is_written(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"chart.{ending.upper()}"
    render.render(run_chart(made_result()), target)
    assert target.read_bytes().startswith(MAGIC[ending])
    assert os.listdir(tmp_path) == [target.name]


def test_a_chart_has_the_windows_letters_and_other_signs_from_elsewhere(tmp_path: Path) -> None:
    chart = run_chart(made_result(), title="‖A‖ → B ∈ C, 16×16")
    target = tmp_path / "chart.pdf"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a letter that no font has is a box, and a warning
        render.render(chart, target)
    assert b"Inter" in target.read_bytes()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("pins", [0, 5])
@pytest.mark.parametrize("over_time", [False, True])
def test_no_text_is_clipped_or_overlaps_the_notes(theme: str, pins: int, over_time: bool) -> None:
    pinned = [made_result(block=(2**i, 1, 1), median_s=7e-3 * (1 + i)) for i in range(pins)]
    chart = run_chart(made_result(), pinned, title="Matrix multiply", over_time=over_time)
    with mpl.rc_context(render._settings(chart, THEMES[theme])):
        figure = render.draw(chart, THEMES[theme])
        figure.draw_without_rendering()
        drawer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
        width, height = figure.canvas.get_width_height()
        written = [t for t in figure.texts if t.get_text()]
        panels = [a.get_tightbbox(drawer) for a in figure.axes]
    for text in written:
        box = text.get_window_extent(drawer)
        assert 0 <= box.x0 <= box.x1 <= width, text.get_text()
        assert 0 <= box.y0 <= box.y1 <= height, text.get_text()
        assert not any(p is not None and p.overlaps(box) for p in panels), text.get_text()
    for panel in panels:
        assert panel is not None
        assert 0 <= panel.x0 <= panel.x1 <= width + 1
        assert 0 <= panel.y0 <= panel.y1 <= height


@pytest.mark.parametrize(
    ("factor", "low"), crossed([1.03, 1.4, 2.9, 7.0, 40.0, 1e7], [1.0, 2.1e6, 7.3e-5])
)
def test_a_logarithmic_axis_has_two_figures(factor: float, low: float) -> None:
    axis = spec.Axis(label="time", unit="s", scale="log", low=low, high=low * factor)
    line = spec.series("a", "line", "model", x=[low, low * factor], y=[low, low * factor])
    narrow = spec.Panel(x=axis, y=axis, series=(line,), height=0.5)
    figure = render.draw(spec.ChartSpec(title="Narrow", rows=((narrow,) * 4,)), THEMES["light"])
    figure.canvas.draw()
    for axes in figure.axes:
        for one, (least, most) in (
            (axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()),
        ):  # fmt: skip
            seen = {
                words.get_text()
                for place, words in zip(one.get_ticklocs(), one.get_ticklabels(), strict=True)
                if least <= place * (1 + 1e-9) and place * (1 - 1e-9) <= most and words.get_text()
            }
            assert len(seen) >= 2


def test_drawing_twice_gives_the_same_picture(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        render.render(run_chart(made_result()), tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


@pytest.mark.parametrize("ending", render.FORMATS)
@pytest.mark.parametrize("where", ["title", "series", "note"])
@pytest.mark.filterwarnings("error:Glyph")
def test_chinese_is_drawn_with_the_letters_brought_along_wherever_it_stands(
    ending: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "MORE_FONTS", ())
    words = "每次启动的耗时（毫秒），线程块"
    axis = spec.Axis(label="x", low=0, high=2)
    line = spec.series(
        words if where == "series" else "y", x=[0, 1], y=[0, 1], kind="line", role="measured"
    )
    chart = spec.ChartSpec(
        title=words if where == "title" else "times",
        notes=(words,) if where == "note" else (),
        rows=((spec.Panel(x=axis, y=axis, series=(line, line)),),),
    )
    with_it, without = tmp_path / f"chinese.{ending}", tmp_path / f"english.{ending}"
    render.render(chart, with_it)
    if ending == "pdf":
        weight = "Bold" if where == "title" else "Regular"
        assert f"GPUExplorerChinese-{weight}".encode() in with_it.read_bytes()
        assert with_it.stat().st_size < 100_000, "of a font only the letters of the chart"
    monkeypatch.setattr(render, "_fonts", lambda _: ["DejaVu Sans"])
    with pytest.raises(WorkFailed, match="Glyph"):
        render.render(chart, without)


@pytest.mark.filterwarnings("error:Glyph")
def test_a_rarer_letter_comes_from_a_font_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rare = "鬱"
    chart = replace(run_chart(made_result()), title=f"忧{rare}")
    monkeypatch.setattr(render, "MORE_FONTS", ("No Such Font", "STIXGeneral", "cmr10"))
    assert render._fonts(chart) == ["Inter", "DejaVu Sans", CHINESE, "STIXGeneral"]
    assert render._fonts(replace(chart, title="忧")) == ["Inter", "DejaVu Sans", CHINESE]
    assert render._fonts(run_chart(made_result())) == ["Inter", "DejaVu Sans"]


@pytest.mark.parametrize("name", ["chart.gif", "chart", "chart."])
def test_an_unknown_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.png, \.svg, \.pdf"):
        render.render(run_chart(made_result()), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_a_child_process_draws_what_it_is_given(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpuexplorer.charts"]
    data = spec.encode(run_chart(made_result()))
    done = subprocess.run(
        [*command, "-", str(tmp_path / "a.svg"), "dark"], input=data, env=cli_environment(),
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "data", "said"),
    [
        (["-", "a.png"], b"\xc1", "is not a chart"),
        (["missing.msgpack", "a.png"], b"", "cannot read missing.msgpack"),
        (["-"], b"", "usage"),
        (["-", "a.png", "pink"], b"", "usage"),
    ],
)
def test_a_child_process_says_what_is_wrong(
    arguments: list[str], data: bytes, said: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpuexplorer.charts", *arguments], input=data, cwd=tmp_path,
        env=cli_environment(), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.decode().count("\n") == 1
    assert said in done.stderr.decode()
    assert os.listdir(tmp_path) == []


def test_describing_a_chart_imports_no_plotter() -> None:
    code = (
        "import sys, gpuexplorer.charts.build, gpuexplorer.charts.style, gpuexplorer.exchange\n"
        "sys.exit(any(m in sys.modules for m in ('matplotlib', 'PySide6', 'pyopencl', 'torch')))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=cli_environment(), check=False)
    assert done.returncode == 0
