"""One number for one thing: every place that shows a run's figures shows the same ones."""

from __future__ import annotations

import msgspec
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from gpuexplorer.charts.words import interval_words
from gpuexplorer.core.result import TelemetrySummary
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import percent, quantity
from gpuexplorer.gui.main_window import MainWindow
from gpuexplorer.gui.model.live import Run
from tests.gui.driver import find, until, wait_measured


def small(qtbot: QtBot, window: MainWindow) -> None:
    until(qtbot, lambda: window.session.experiment.devices is not None)
    window.session.experiment.set_size("N", 64)


def check_figures(window: MainWindow, run: Run) -> None:
    """Check headline, insight panel and the newest row of the history against one summary."""
    window.insight.show_run(run)
    found = run.summary
    assert found is not None
    model = window.session.history_model
    names = [
        str(model.headerData(column, Qt.Orientation.Horizontal))
        for column in range(model.columnCount())
    ]
    median, error = (str(model.index(0, names.index(n)).data()) for n in ("median", "± 95 %"))
    headline = find(window, "headline", QLabel).text()
    interval = find(window, "precisionOfMedian", QLabel).text().partition(" (95 %)")[0]
    assert headline == median == quantity(found.median_s, "s")
    assert error == percent(found.relative_error)
    assert interval == interval_words(found.median_s, found.ci95_low_s, found.ci95_high_s)


def test_the_headline_and_the_history_show_the_same_figures_all_along(
    qtbot: QtBot, window: MainWindow
) -> None:
    small(qtbot, window)
    run = wait_measured(qtbot, window, 200)
    seen: list[Summary | None] = []
    for _ in range(4):
        seen.append(run.summary)
        until(qtbot, lambda: run.summary is not seen[-1])
        check_figures(window, run)
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    assert run.summary is run.latest and run.summary is not None
    check_figures(window, run)
    assert run.record is not None
    timing = run.record.result().timing  # as it is stored and exported
    assert timing.median_s == run.summary.median_s
    assert timing.relative_error == run.summary.relative_error


def test_a_wide_interval_is_shown_by_its_ends_with_the_range_of_launches_and_the_cause(
    qtbot: QtBot, window: MainWindow
) -> None:
    small(qtbot, window)
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    usual = run.summary
    assert usual is not None
    insight = window.insight

    def told(low_s: float, high_s: float) -> str:
        """Show such an interval: set each time, for the run's last figures may still arrive."""
        run.summary = msgspec.structs.replace(
            usual, median_s=10e-3, ci95_low_s=low_s, ci95_high_s=high_s, p05_s=4e-3, p95_s=31.2e-3
        )
        run.state = TelemetrySummary(load=1.0, other_cores=1.3, stolen=0.0)
        insight.show_run(run)
        return insight.notes.text()

    until(qtbot, lambda: "Other programs keep this CPU busy (1.3 of " in told(5.1e-3, 14.9e-3))
    assert find(window, "precisionOfMedian", QLabel).text().startswith("5.10–14.9 ms (95 %)")
    spread = find(window, "spreadOfLaunches", QLabel).text()
    assert spread == "90 % of samples: 4.00–31.2 ms"
    until(qtbot, lambda: "Other programs" not in told(9.99e-3, 10.01e-3))
    assert find(window, "precisionOfMedian", QLabel).text().startswith("± 0.1 % (95 %)")


def test_a_note_on_noise_says_the_figure_of_the_headline_above_it(
    qtbot: QtBot, window: MainWindow
) -> None:
    small(qtbot, window)
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    insight, usual = window.insight, run.summary
    assert usual is not None

    def noisy(share: float) -> None:
        run.summary = msgspec.structs.replace(
            usual,
            ci95_low_s=usual.median_s * (1 - share),
            ci95_high_s=usual.median_s * (1 + share),
        )
        error = percent(run.summary.relative_error)
        run.warnings = (f"the times are noisy: the median is known only to {error}",)
        insight.show_run(run)

    def told(share: float) -> str:
        noisy(share)
        return insight.notes.text()

    until(qtbot, lambda: "only to 8 %" in told(0.08))
    assert find(window, "precisionOfMedian", QLabel).text().startswith("± 8 % (95 %)")
    noisy(0.06)
    assert find(window, "precisionOfMedian", QLabel).text().startswith("± 6 % (95 %)")
    assert "only to 6 %" in insight.notes.text()


def test_a_shown_run_of_long_launches_is_copied_with_the_agreement_to_them(
    qtbot: QtBot, window: MainWindow
) -> None:
    small(qtbot, window)
    run = wait_measured(qtbot, window)
    window.session.set_live(False)
    until(qtbot, lambda: run.over)
    insight, usual = window.insight, run.summary
    assert usual is not None

    def copied(median_s: float) -> tuple[bool, bool]:
        """Show such a median; return whether what is copied, and the tip of it, agree."""
        run.summary = msgspec.structs.replace(usual, median_s=median_s)
        insight.show_run(run)
        insight.copy_command()
        command = QApplication.clipboard().text()
        insight.copy_script()
        return "--yes" in command, "allow_long=True" in QApplication.clipboard().text()

    assert copied(usual.median_s) == (False, False)
    assert copied(5.0) == (True, True)
    until(qtbot, lambda: "--yes" in insight.command_button.toolTip())
    window.session.experiment.set_block((2, 64, 1))  # a run that nobody knows to be long
    assert copied(5.0) == (False, False)
