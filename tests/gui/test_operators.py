"""The Operators view: recorded through the window's engine, drawn, sorted, picked, saved."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.words import config_words
from gpuexplorer.core.operators import Call
from gpuexplorer.gui.model.flame import Flame, RecordedProfile
from gpuexplorer.gui.panels.operators import OperatorsView
from tests.gui.conftest import OpenWindow
from tests.gui.driver import until
from tests.support.operators import made_profile


def test_each_track_has_its_rows_below_its_name() -> None:
    flame = Flame(made_profile())
    assert flame.begins == [1, 5]
    assert flame.rows == 6
    assert flame.row.tolist() == [1, 2, 3, 1, 1, 2, 5, 5]


def test_a_view_shows_wide_calls_alone_and_narrow_ones_together() -> None:
    many = tuple(Call(1, 0, 0, i * 1e-6, 9e-7) for i in range(1000))
    flame = Flame(msgspec.structs.replace(made_profile(gpu=False), calls=many))
    everything = flame.visible(0.0, 1e-3, 100)
    assert len(everything.row) == 100  # a column each
    assert set(everything.index.tolist()) == {-1}
    zoomed = flame.visible(0.0, 1e-5, 1000)
    assert len(zoomed.row) == 11
    assert -1 not in zoomed.index.tolist()


@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 400), st.integers(0, 3)), max_size=60),
    st.integers(0, 900), st.integers(1, 1000), st.integers(1, 300),
)  # fmt: skip
def test_what_is_visible_lies_in_the_view_and_fits_its_columns(
    spans: list[tuple[int, int, int]], low: int, wide: int, pixels: int
) -> None:
    calls = tuple(Call(0, 0, d, s * 1e-6, w * 1e-6) for s, w, d in spans)
    flame = Flame(msgspec.structs.replace(made_profile(gpu=False), calls=calls))
    low_s, high_s = low * 1e-6, (low + wide) * 1e-6
    seen = flame.visible(low_s, high_s, pixels)
    inside = [
        i for i, c in enumerate(calls)
        if c.start_s + c.duration_s >= low_s and c.start_s <= high_s
    ]  # fmt: skip
    alone = [i for i in seen.index.tolist() if i >= 0]
    assert set(alone) <= set(inside)
    assert set(flame.row[inside].tolist()) == set(seen.row.tolist())
    together = seen.index < 0
    assert np.count_nonzero(together) <= 4 * (pixels + 2)


def test_the_call_under_the_pointer() -> None:
    flame = Flame(made_profile())
    assert flame.at(2e-4, 2, 1e-9) == 1
    assert flame.at(4.5e-4, 1, 1e-9) is None
    assert flame.at(4.5e-4, 1, 6e-5) in (0, 3)
    assert flame.at(0.0, 0, 1.0) is None  # where the track's name stands
    assert "aten::addmm" in flame.words(1) and "30 % of the iteration" in flame.words(1)


def shown(qtbot: QtBot, open_window: OpenWindow) -> OperatorsView:
    """Return the view of a window that measures nothing, showing a profile made by hand."""
    window = open_window()
    window.session.live_at_start = False
    window.panels.places.show_view(window.panels.operators)
    view = window.panels.operators.view
    assert isinstance(view, OperatorsView)
    profile = made_profile(shapes=True)
    view.show_profile(RecordedProfile(profile, Flame(profile)))
    view.refresh()
    return view


def test_a_profile_is_shown_sorted_and_picked(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    view = shown(qtbot, open_window)
    table, header = view.table, view.table.horizontalHeader()
    titles = [column.title for column in table.shown.columns]
    assert titles == [
        "operator", "calls", "GPU", "GPU total", "self", "total", "share", "memory", "shapes"
    ]  # fmt: skip
    assert [row.key for row in table.shown.rows][:1] == ["aten::addmm"]
    view.grab()  # which lays it out
    table.scrollTo(table.shown.index(0, titles.index("total")))
    total = QPoint(header.sectionViewportPosition(titles.index("total")) + 12, 5)
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=total)
    assert table.shown.rows[0].key == "aten::linear"
    QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=total)
    assert table.shown.rows[-1].key == "aten::linear"
    table.selectRow(0)
    name = table.shown.rows[0].key
    assert view.plot.flame_item.picked.tolist() == view.plot.flame.named(name).tolist()  # type: ignore[union-attr]
    view.plot.picked.emit("aten::gelu")
    assert table.key == "aten::gelu"
    view.plot.picked.emit("ampere_sgemm_128x64_tn")  # a kernel, of which no row tells
    assert not table.selectionModel().hasSelection()
    assert "800 µs an iteration, 4 operators, 8 calls" in view.status.text()

    view.plot.fit()
    (low, high), _ = view.plot.box.viewRange()
    QTest.keyClick(view.plot, Qt.Key.Key_Plus)
    (closer, _), _ = view.plot.box.viewRange()
    assert closer > low
    QTest.keyClick(view.plot, Qt.Key.Key_Home)
    assert view.plot.box.viewRange()[0] == pytest.approx([low, high])
    until(qtbot, lambda: view.plot.flame_item.drawn > 0)

    for suffix in view.exported().formats:
        view.exported().write(tmp_path / f"o.{suffix}", suffix, "dark")
        assert (tmp_path / f"o.{suffix}").stat().st_size > 500


def test_a_kernel_has_no_operators_and_the_view_says_so(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    window.session.live_at_start = False
    window.panels.places.show_view(window.panels.operators)
    view = window.panels.operators.view
    assert isinstance(view, OperatorsView)
    until(qtbot, lambda: window.session.experiment.devices is not None)
    assert not view.record_button.isEnabled()
    assert "Choose a variant that PyTorch runs: PyTorch." in view.empty.text


def test_a_profile_names_its_run_and_is_dim_beside_other_knobs(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    view = shown(qtbot, open_window)
    again = open_window()  # as after a change of language
    again.session.live_at_start = False
    other = again.panels.operators.made()
    assert isinstance(other, OperatorsView) and view.held() is not None
    other.show_held(view.held())
    assert other.shown is view.shown and other.pages.currentWidget() is other.split
    line = view.caption
    config = view.shown.profile.config if view.shown is not None else None
    assert config is not None
    line.follow(config)
    assert line.words.text() == config_words(config) and not line.moved
    line.follow(msgspec.structs.replace(config, precision="fp64"))
    until(qtbot, lambda: line.moved)
    (veil,) = line._veils
    assert not veil.isHidden() and veil.parentWidget() is view.split.parentWidget()
    with qtbot.waitSignal(view.restored) as put_back:
        line.back.click()
    assert put_back.args == [config]


def test_what_a_file_brings_can_be_exported(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    window.session.live_at_start = False
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.show_state()
    assert not window.commands.export.isEnabled()
    profile = made_profile()
    window.panels.operators.show_held(RecordedProfile(profile, Flame(profile), "a.gpux"))
    window.show_state()
    assert window.commands.export.isEnabled()


def test_a_profile_is_dim_beside_another_source(qtbot: QtBot, open_window: OpenWindow) -> None:
    view = shown(qtbot, open_window)
    session = view._session
    until(qtbot, lambda: session.config is not None)
    sources = {True: session.experiment.workload.sha256, False: "0" * 64}
    for same, source in sources.items():
        made = made_profile()
        environment = msgspec.structs.replace(made.environment, source_sha256=source)
        profile = msgspec.structs.replace(made, config=session.config, environment=environment)
        view.show_profile(RecordedProfile(profile, Flame(profile)))
        view.refresh()
        until(qtbot, lambda same=same: view.caption.moved is not same)  # type: ignore[misc]
    assert "another source of matmul" in view.caption.words.text()
    assert not view.caption.back.isVisible()
