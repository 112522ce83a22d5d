"""The device's figures over time, as a user opens and reads them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QScrollArea, QToolButton
from pytestqt.qtbot import QtBot

from gpuexplorer.core.result import Traffic
from gpuexplorer.core.sample import Reading
from gpuexplorer.core.telemetry import Counters
from gpuexplorer.engine import protocol
from gpuexplorer.gui.model.device import DeviceTrack
from gpuexplorer.gui.plots.base import Plot
from gpuexplorer.gui.plots.device import MISSING_HEIGHT, PADDING, ROW_HEIGHT, DevicePlots
from gpuexplorer.gui.plots.telemetry import TelemetryStrip
from gpuexplorer.gui.theme import Choice, make_theme, theme
from tests.gui.driver import find, until, wait_measured
from tests.gui.looks import LEAST_CONTRAST, contrast, drawn

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from gpuexplorer.gui.main_window import MainWindow
    from tests.gui.conftest import OpenWindow

NO_GPM = "NVML GPM: this GPU has no performance monitoring"


@pytest.fixture
def plots(qapp: QApplication, qtbot: QtBot) -> DevicePlots:
    make_theme(qapp, "light")
    timing = Plot("s")
    qtbot.addWidget(timing)
    made = DevicePlots(DeviceTrack(), timing)
    qtbot.addWidget(made)
    made.resize(700, 400)
    made.set_kind("gpu")
    made.show()
    return made


def fill(
    track: DeviceTrack, steps: int = 50, *, held_by: str = "power cap", **fields: object
) -> None:
    for step in range(steps):
        reasons = (held_by,) if 20 <= step < 30 else ()
        track.read(
            step * 0.1,
            Reading(
                t_ns=step, source="nvml", throttle_reasons=reasons, power_W=300.0 + step,
                sm_clock_Hz=1.9e9, **fields,  # type: ignore[arg-type]
            ),
        )  # fmt: skip
    track.place(0, steps, 0)


def test_what_is_read_has_a_row_with_its_source_and_the_rest_a_reason(plots: DevicePlots) -> None:
    fill(
        plots._track, occupancy=0.5, sources={"occupancy": "gpm"}, missing={"dram_B_per_s": NO_GPM}
    )
    plots.refresh()
    assert plots.shown == ["clock", "power", "occupancy"]
    assert plots.missing["DRAM traffic"] == NO_GPM
    assert "no source" in plots.missing["PCIe in, out"]
    assert "from gpm" in plots.explanation(PADDING + 2 * ROW_HEIGHT + 5)
    below = PADDING + 3 * ROW_HEIGHT + 3 * MISSING_HEIGHT + 4
    assert plots.explanation(below).endswith(f"not available: {NO_GPM}")
    assert plots.sizeHint().height() == 2 * PADDING + 3 * ROW_HEIGHT + 5 * MISSING_HEIGHT
    assert plots.explanation(5000) == ""


def test_a_source_that_failed_has_no_value_and_its_row_becomes_a_reason(
    plots: DevicePlots,
) -> None:
    fill(plots._track, occupancy=0.5, sources={"occupancy": "gpm"})
    plots.refresh()
    assert "occupancy: 50 %" in plots.spoken()
    later = Reading(t_ns=51, source="nvml", sm_clock_Hz=1.9e9)
    plots._track.read(5.1, later)
    assert "power: 349 W" in plots.spoken(), "it tells less often"
    plots._track.read(9.0, later)
    assert "power: –" in plots.spoken(), "nobody knows what it is by now"
    plots._track.read(9.1, msgspec.structs.replace(later, missing={"occupancy": NO_GPM}))
    plots.refresh()
    assert plots.shown == ["clock", "power"]
    assert plots.missing["occupancy"] == NO_GPM
    assert f"occupancy: {NO_GPM}" in plots.spoken()


def test_a_paint_between_another_track_and_its_rows_draws_none(plots: DevicePlots) -> None:
    fill(plots._track)
    plots.refresh()
    assert plots.shown
    plots._track.exchange(DeviceTrack())  # as opening a session does, before the rows are sorted
    assert not plots.grab().isNull()
    plots.refresh()
    assert plots.shown == []


def test_a_processor_has_rows_of_its_own(plots: DevicePlots) -> None:
    plots.set_kind("cpu")
    plots._track.read(0.0, Reading(t_ns=0, source="cpu", load=0.5, missing={"power_W": "RAPL"}))
    plots.refresh()
    assert plots.shown == ["device load"]
    assert plots.missing["power"] == "RAPL"
    assert "occupancy" not in plots.missing


def test_the_line_is_drawn_where_the_timing_plot_has_its_axis(plots: DevicePlots) -> None:
    timing = plots._timing
    timing.resize(500, 200)
    timing.show()
    timing.box.setXRange(0.0, 5.0, padding=0)
    fill(plots._track)
    plots.refresh()
    left, right = plots._area()
    image = plots.grab().toImage()
    assert 50 < left < right < 700
    row_top = PADDING
    held_x = int(left + (2.5 / 5.0) * (right - left))
    free_x = int(left + (4.5 / 5.0) * (right - left))
    shaded = image.pixelColor(held_x, row_top + ROW_HEIGHT - 4)
    plain = image.pixelColor(free_x, row_top + ROW_HEIGHT - 4)
    assert shaded != plain, "a held clock is shaded"
    drawn = [
        y
        for y in range(row_top + ROW_HEIGHT, row_top + 2 * ROW_HEIGHT - 8)
        if image.pixelColor(free_x, y).blue() > image.pixelColor(free_x, y).red() + 60
    ]
    assert drawn, "the power's line is there"


@pytest.mark.parametrize("choice", ["light", "dark", "contrast"])
@pytest.mark.parametrize("held_by", ["power cap", "power brake"])
def test_why_the_clock_was_held_stands_out_from_its_band(
    plots: DevicePlots, choice: Choice, held_by: str
) -> None:
    made = theme()
    before = made.choice
    made.choose(choice)
    try:
        plots._timing.resize(500, 200)
        plots._timing.show()
        plots._timing.box.setXRange(1.9, 3.1, padding=0)
        fill(plots._track, held_by=held_by)
        plots.refresh()
        left, right = plots._area()
        begin = left + (2.0 - 1.9) / 1.2 * (right - left)
        found = contrast(drawn(plots), QRect(int(begin) + 3, PADDING + 2, 40, 12))
    finally:
        made.choose(before)
    assert found is not None and found >= LEAST_CONTRAST


def shade(plots: DevicePlots, held_by: str) -> QColor:
    """Return the colour behind the figures where ``held_by`` held the clock."""
    timing = plots._timing
    timing.resize(500, 200)
    timing.show()
    timing.box.setXRange(0.0, 5.0, padding=0)
    fill(plots._track, held_by=held_by)
    plots.refresh()
    left, right = plots._area()
    return plots.grab().toImage().pixelColor(int((left + right) / 2), PADDING + ROW_HEIGHT - 4)


def test_only_a_slowdown_has_the_colour_of_a_warning(plots: DevicePlots) -> None:
    limit = shade(plots, "power cap")
    plots._track.clear()
    slowdown = shade(plots, "power brake")
    assert limit.saturation() < slowdown.saturation() / 2


@pytest.mark.parametrize(
    ("reasons", "words", "role"),
    [
        ((), "from nvml", "muted"),
        (("power cap",), "from nvml · at its power limit", "muted"),
        (("power brake",), "from nvml · slowed down: power brake", "warning"),
    ],
)
def test_the_strip_warns_of_slowdowns_alone(
    qapp: QApplication, qtbot: QtBot, reasons: tuple[str, ...], words: str, role: str
) -> None:
    make_theme(qapp, "light")
    strip = TelemetryStrip()
    qtbot.addWidget(strip)
    strip.set_kind("gpu")
    strip.refresh([Reading(t_ns=0, source="nvml", sm_clock_Hz=1.1e9, throttle_reasons=reasons)])
    assert strip._source.text() == words
    assert strip._source.property("role") == role


def test_nothing_is_sorted_or_painted_while_it_is_hidden(plots: DevicePlots) -> None:
    plots.hide()
    fill(plots._track)
    plots.refresh()
    assert plots.shown == []


def test_the_window_shows_and_hides_them_and_remembers(
    open_window: OpenWindow, qtbot: QtBot, config_dir: Path
) -> None:
    window = open_window()
    window.show()
    room = find(window, "deviceRoom", QScrollArea)
    button = find(window, "deviceButton", QToolButton)
    assert not room.isVisible(), "compact at first"
    button.click()
    assert room.isVisible()
    wait_measured(qtbot, window)
    plots = window.panels.device
    until(qtbot, lambda: "device load" in plots.shown)
    until(qtbot, lambda: len(window.session.live_model.device) > 3)
    assert "temperature" in {*plots.shown, *plots.missing}
    x, _ = window.session.live_model.device.series("load", -np.inf, np.inf, 1000)
    assert -0.5 < x[0] <= x[-1] <= window.session.live_model.end_s
    window.close()
    again = open_window()
    again.show()
    assert find(again, "deviceRoom", QScrollArea).isVisible()


def test_measured_bytes_have_their_own_line_and_words(window: MainWindow, qtbot: QtBot) -> None:
    window.show()
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    least = run.traffic["compulsory"]
    assert least.read_B is not None
    traffic = window.traffic
    traffic.refresh()
    assert traffic.legend["dram"].isVisible()
    assert traffic.legend["dram"].value == "–"
    assert "no counter of DRAM bytes" in traffic.legend["dram"].toolTip() or run.state is None
    run.counted = Traffic(kind="dram", read_B=9 * least.read_B, write_B=1.0, source="ncu")
    traffic.refresh()
    assert traffic.legend["dram_read"].isVisible()
    assert not traffic.legend["dram"].isVisible()
    assert "Nsight Compute" in traffic.legend["dram_read"].toolTip()
    assert "reads each byte 9 times (ncu)" in traffic._note.text()
    _, y = traffic._curves["dram_read"].getData()
    assert y is not None
    assert np.isfinite(y).any()
    dashes = [
        traffic._curves[key].opts["pen"].dashPattern()
        for key in ("dram_read", "compulsory_read", "requested_read", "upload")
    ]
    assert len({tuple(d) for d in dashes}) == 4, "kinds never share a line style"


def test_analysing_without_a_gpu_says_so_and_keeps_the_run(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.show()
    analyse = window.commands.analyse
    assert not analyse.isEnabled()
    assert "Devices are still being looked for" in analyse.toolTip()
    run = wait_measured(qtbot, window)
    assert not analyse.isEnabled()
    for tip in (analyse.toolTip(), analyse.statusTip()):
        assert "Nsight Compute looks into NVIDIA GPUs alone" in tip
    analyse.trigger()
    still_live = window.session.live
    assert still_live, "nothing was stopped for it"
    window.session.analyse()
    assert not window.session.live
    until(qtbot, lambda: "Nsight Compute looks into NVIDIA GPUs alone" in window.banner.text)
    assert window.session.live_model.current is run
    assert run.record is not None
    assert run.record.samples > 0
    assert run.record.counters is None


def test_what_nsight_compute_counted_is_said_drawn_and_kept(
    window: MainWindow, qtbot: QtBot
) -> None:
    window.show()
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    least = run.traffic["compulsory"]
    assert least.read_B is not None
    counters = Counters(
        kernels=("matrixMul",), dram_read_B=9 * least.read_B, dram_write_B=1e6, occupancy=0.5
    )
    window.listener.take_run_event(run, protocol.Counted(generation=1, counters=counters))
    assert "The kernel reads each byte 9 times" in window.banner.text
    assert "achieved occupancy 50 %" in window.banner.text
    assert run.record is not None
    assert [t.source for t in run.record.result().traffic if t.kind == "dram"] == ["ncu"]
    window.traffic.refresh()
    assert "reads each byte 9 times (ncu)" in window.traffic._note.text()


def test_a_key_shows_and_hides_the_figures(window: MainWindow) -> None:
    window.show()
    room = find(window, "deviceRoom", QScrollArea)
    window.commands.device_plots.trigger()
    assert room.isVisible()
    find(window, "deviceButton", QToolButton).click()
    assert not room.isVisible()
    assert not window.commands.device_plots.isChecked()
