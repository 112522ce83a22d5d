"""The insight panel: the headline figure, its uncertainty, what it means, what to do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from operator import is_not
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer import reproduce
from gpuexplorer.analysis.disturbance import cores_of, disturbance
from gpuexplorer.charts.words import checked_against, interval_words
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.result import TelemetrySummary
from gpuexplorer.core.series.examine import UNCERTAIN
from gpuexplorer.core.statistics import Summary
from gpuexplorer.core.units import listed, quantity, samples_words, span
from gpuexplorer.engine.protocol import Prepared
from gpuexplorer.gui import typeface
from gpuexplorer.gui.model.live import Run
from gpuexplorer.gui.model.steady import Steady
from gpuexplorer.gui.panels.advice import AdviceSection
from gpuexplorer.gui.panels.figures import Figures
from gpuexplorer.gui.panels.memory import MemorySection
from gpuexplorer.gui.panels.missing import MissingFrameworks
from gpuexplorer.gui.speech import announce
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.look import set_look
from gpuexplorer.gui.widgets.phase_bar import PhaseBar
from gpuexplorer.gui.widgets.scroll_room import ScrollArea, keep_room
from gpuexplorer.gui.widgets.words import NoteBox, Words

_Shown = tuple[Summary | None, Prepared | None, TelemetrySummary | None, Ceilings | None]
NO_RUN = "There is nothing to copy: no device, or knobs that make no run."
_FIGURES = re.compile(r"[-+]?\d[\d.,]*")
NO_CHECK = "\n"
"""Keeps the place of the two lines that a check usually takes."""


class InsightPanel(ScrollArea):
    """Says in words what the plots show.

    What comes and goes stands below what is always there, so that nothing read often moves.
    """

    copied = Signal(str)

    def __init__(self, advice: AdviceSection, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("insightPanel")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        keep_room(self)
        self.advice = advice
        self.kernel_folders: Sequence[Path] = ()
        self.engine: str | None = None
        """The word for the engine that measures; None: the built-in one."""
        self._config: RunConfig | None = None
        self._long: RunConfig | None = None
        """That of the run that is shown, where its launches take long."""
        self._notes: Steady[str] = Steady()
        self._noted: int | None = None
        self._announced: int | None = None
        """The run whose figures a screen reader was told."""
        self._shown: _Shown | None = None
        self._tips_due = False
        self._build()
        theme().changed.connect(self._repaint_theme)
        self._repaint_theme()
        self.show_run(None)

    # ---- construction

    def _build(self) -> None:
        content = QWidget()
        content.setObjectName("insightContent")
        layout = self._above = QVBoxLayout(content)
        layout.setContentsMargins(14, 10, 12, 10)
        layout.setSpacing(5)
        self.setWidget(content)
        self._told = QWidget(content)
        """Everything that is of the run alone, and dim once the knobs have moved on."""
        layout.addWidget(self._told)
        layout = self._layout = QVBoxLayout(self._told)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(5)
        self._build_headline()
        self.figures = Figures()
        layout.addWidget(self.figures)
        layout.addSpacing(5)
        self._build_method()
        layout.addSpacing(5)
        self._section("One textbook run, step by step")
        self.phases = PhaseBar()
        layout.addWidget(self.phases)
        layout = self._layout = self._above
        layout.addSpacing(5)
        self._section("Copy this run as a")
        self._build_buttons()
        layout.addSpacing(5)
        for widget in (self.suspect, self.notes, self.advice):
            layout.addWidget(widget)
        layout.addSpacing(5)
        self.memory = MemorySection()
        layout.addWidget(self.memory)
        self._section("What this teaches")
        self.teaches = QLabel()
        self.teaches.setObjectName("teachesLabel")
        self.teaches.setWordWrap(True)
        layout.addWidget(self.teaches)
        self.missing = MissingFrameworks()
        self.missing.copied.connect(self.copied)
        layout.addWidget(self.missing)
        layout.addStretch(1)

    def _build_headline(self) -> None:
        self.caption = CaptionLine("headline", dims=(self._told,), lines=2)
        self._above.insertWidget(0, self.caption)
        self.headline = Words("–")
        self.headline.setObjectName("headline")
        self.headline.setProperty("role", "headline")
        self.headline.setFont(typeface.large(self.headline.font()))
        self.headline.setToolTip(tr("Median time of one launch, in seconds with an SI prefix"))
        self.precision = self._quiet(
            "precisionOfMedian",
            "Half the 95 % confidence interval of the median, from time-separated batches",
        )
        self.suspect = NoteBox(
            "suspectNote", "The figure beats what this device was measured to do: it is not ranked"
        )
        self.spread = self._quiet("spreadOfLaunches", "From the 5th to the 95th percentile")
        for widget in (self.headline, self.precision, self.spread):
            self._layout.addWidget(widget)
        self._layout.addSpacing(5)

    def _build_method(self) -> None:
        self.verified = Words()
        self.verified.setObjectName("verifiedLabel")
        self.verified.setToolTip(
            tr(
                "The result of this very configuration against a float64 reference, before any "
                "timing"
            )
        )
        self.check = QLabel(tr(NO_CHECK))
        self.check.setObjectName("checkLabel")
        self.check.setProperty("role", "muted")
        self.check.setToolTip(
            tr(
                "How every element, or how many of them, was compared, and what error is allowed.\n"
                "Freivalds: the result and the product it should be are both multiplied by random\n"
                "vectors; one element shows that is off by six times what is allowed, without\n"
                "computing the whole product again."
            )
        )
        self.check.setWordWrap(True)
        self.check.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.method = self._quiet(
            "methodLabel", "How one launch is timed, and the finest step of that clock", lines=2
        )
        self.method.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.notes = NoteBox("seriesNotes", "What is odd about the launches timed so far")
        for widget in (self.verified, self.check, self.method):
            self._layout.addWidget(widget)

    def _build_buttons(self) -> None:
        buttons = QHBoxLayout()
        self.command_button = QPushButton(tr("Command"))
        self.command_button.setObjectName("copyCommandButton")
        self.command_button.clicked.connect(self.copy_command)
        self.script_button = QPushButton(tr("Script"))
        self.script_button.setObjectName("copyScriptButton")
        self.script_button.clicked.connect(self.copy_script)
        for button in (self.command_button, self.script_button):
            buttons.addWidget(button, 1)
        self._layout.addLayout(buttons)

    def _repaint_theme(self) -> None:
        for button in (self.command_button, self.script_button):
            button.setIcon(theme().icon("copy"))

    def _section(self, words: str) -> None:
        label = QLabel(tr(words))
        label.setProperty("role", "section")
        label.setWordWrap(True)
        self._layout.addWidget(label)

    @staticmethod
    def _quiet(name: str, tooltip: str, lines: int = 1) -> Words:
        label = Words(lines=lines)
        label.setObjectName(name)
        label.setProperty("role", "muted")
        label.setToolTip(tr(tooltip))
        return label

    def set_kernel_folders(self, folders: Sequence[Path]) -> None:
        """Note the user's kernel folders, which a copied command names."""
        self.kernel_folders = folders

    # ---- showing

    def show_config(self, config: RunConfig | None, teaches: str) -> None:
        """Show what the variant teaches, and what the copy buttons copy."""
        self._config, teaches = config, tr(teaches)
        self.advice.set_present(config)
        if self.teaches.text() != teaches:
            self.teaches.setText(tr(teaches))
        for button in (self.command_button, self.script_button):
            button.setEnabled(config is not None)
        self._show_tips_soon()

    def _show_tips_soon(self) -> None:
        if not self._tips_due:  # once the knobs' move is on its way to the engine
            self._tips_due = True
            QTimer.singleShot(0, self, self._show_tips)

    def _show_tips(self) -> None:
        self._tips_due, config = False, self._config
        for button, make in (
            (self.command_button, reproduce.command_line),
            (self.script_button, reproduce.python_script),
        ):
            button.setToolTip(as_is(NO_RUN if config is None else self._again(config, make)))

    def _again(self, config: RunConfig, make: Callable[..., str]) -> str:
        """Return what measures the knobs' configuration, as ``make`` writes it."""
        agreed = config == self._long
        return make(config, self.kernel_folders, engine=self.engine, agreed=agreed)

    def show_run(self, run: Run | None) -> None:
        """Show a run's figures as far as they are known."""
        record = run.record if run is not None else None
        shown: _Shown = (
            run.summary if run is not None else None,
            run.prepared if run is not None else None,
            run.state if run is not None else None,
            record.ceilings if record is not None else None,
        )
        before, self._shown = self._shown, shown
        anew = before is None or any(map(is_not, shown, before))  # about once a second
        if anew:
            self._note_long(run)
            self._show_figures(*shown)
            self._announce(run)
        self._show_notes(run, anew)
        self.phases.show_phases(self._phases_of(run))
        self.memory.show_memory(record.memory if record is not None else None)

    def _note_long(self, run: Run | None) -> None:
        """Have what is copied agree to long launches where the run that is shown has such."""
        median_s = run.summary.median_s if run is not None and run.summary is not None else None
        before, self._long = self._long, None
        if run is not None and reproduce.is_long(median_s):
            self._long = run.config
        if before != self._long:
            self._show_tips_soon()

    def _announce(self, run: Run | None) -> None:
        """Have a run's figures said once, as soon as they have an interval."""
        if run is None or run.summary is None or run.ticket == self._announced:
            return
        if run.prepared is not None and run.summary.ci95_low_s is not None:
            self._announced = run.ticket
            told = (self.headline, self.precision, self.verified)
            announce(self, ", ".join(label.text() for label in told))

    def _show_figures(
        self, summary: Summary | None, prepared: Prepared | None,
        state: TelemetrySummary | None, ceilings: Ceilings | None,
    ) -> None:  # fmt: skip
        self._show_summary(summary)
        if prepared is None:
            self.figures.clear()
        else:
            self.figures.show_figures(prepared, summary, ceilings)
            self.figures.show_energy(state)
        self._show_check(prepared)

    def _show_summary(self, summary: Summary | None) -> None:
        if summary is None:
            self.headline.setText("–")
            self.precision.setText(tr("no samples yet"))
            self.spread.setText("")
            return
        self.headline.setText(tr(quantity(summary.median_s, "s")))
        interval = interval_words(summary.median_s, summary.ci95_low_s, summary.ci95_high_s)
        self.spread.setText(tr(f"90 % of samples: {span(summary.p05_s, summary.p95_s, 's')}"))
        samples = samples_words(summary.samples)
        self.precision.setText(
            tr(f"{interval} (95 %) · {samples}" if interval else f"{samples}, no interval yet")
        )

    def _show_check(self, prepared: Prepared | None) -> None:
        if prepared is None:
            self.verified.setText(tr("Not verified yet"))
            set_look(self.verified, role="muted")
            self._say_check(NO_CHECK)
            self.method.setText("")
            return
        check = prepared.verification
        if check is None:
            self.verified.setText(tr("Not verified"))
            self._say_check(prepared.not_verified or "nobody checked the result")
            set_look(self.verified, role="warning")
        else:
            self.verified.setText(
                tr(
                    f"✓ Verified, error {check.max_rel_error:.1e}"
                    if check.ok
                    else f"✗ WRONG RESULT, error {check.max_rel_error:.1e}"
                )
            )
            against, tolerance = checked_against(check.method), f"{check.tolerance:.0e}"
            self._say_check(f"Checked against {against}, tolerance {tolerance}")
            set_look(self.verified, role="good" if check.ok else "bad")
            if check.ok and check.not_compared:
                left = listed(check.not_compared)
                self.verified.setText(tr(f"Not verified: {left}; the rest ✓"))
                self._say_check(
                    f"Nothing says what {left} should be; the rest was checked against {against}, "
                    f"tolerance {tolerance}"
                )
                set_look(self.verified, role="warning")
        step = quantity(prepared.resolution_s, "s", 2)
        self.method.setText(tr(f"{prepared.method} · step {step}"))

    def _say_check(self, words: str) -> None:
        told = tr(words)
        if told != self.check.text():
            self.check.setText(told)

    def _show_notes(self, run: Run | None, anew: bool) -> None:
        """Show what is odd about the series, once it has been so for a while.

        Where the figures above are shown ``anew``, so are those in what is shown already.
        """
        ticket = run.ticket if run is not None else None
        if ticket != self._noted:
            self._noted = ticket
            self._notes.clear()
        warnings = run.warnings if run is not None else ()
        suspect = None
        if run is not None and run.record is not None and run.summary is not None:
            suspect = run.record.suspect(run.summary)
        said = {_FIGURES.sub("#", words): words for words in warnings}
        if suspect is not None:
            said["suspect"] = suspect
        if run is not None and (cause := _cause(run)):
            said["cause"] = cause
        prepared = run.prepared if run is not None else None
        if (
            prepared is not None
            and prepared.arithmetic is not None
            and prepared.arithmetic.fallback
        ):
            said["fallback"] = prepared.arithmetic.fallback
        self._notes.take(said, time.monotonic(), at_once=anew)
        shown = dict(self._notes.shown)
        self.suspect.show_sentences([shown.pop("suspect")] if "suspect" in shown else [])
        self.notes.show_sentences(list(shown.values()))

    @staticmethod
    def _phases_of(run: Run | None) -> dict[str, float]:
        if run is None:
            return {}
        if run.phases_s:
            return run.phases_s
        if run.record is None:
            return {}
        phases = run.record.phases_s
        kernel = run.summary.median_s if run.summary is not None else phases.kernel
        known = {
            "allocate": phases.allocate,
            "host_to_device": phases.host_to_device,
            "kernel": kernel,
            "device_to_host": phases.device_to_host,
            "free": phases.free,
        }
        return {name: value for name, value in known.items() if value is not None}

    # ---- copying

    def copy_command(self) -> None:
        """Put the run's command line on the clipboard."""
        if self._config is not None:
            QApplication.clipboard().setText(self._again(self._config, reproduce.command_line))
            self.copied.emit("The command line is on the clipboard.")

    def copy_script(self) -> None:
        """Put a Python script of the run on the clipboard."""
        if self._config is not None:
            QApplication.clipboard().setText(self._again(self._config, reproduce.python_script))
            self.copied.emit("The Python script is on the clipboard.")


def _cause(run: Run) -> str:
    """Say what else keeps the processor busy while the median is uncertain."""
    state, error = run.state, run.summary.relative_error if run.summary is not None else None
    if state is None or run.prepared is None or error is None or error < UNCERTAIN:
        return ""
    device = run.prepared.device
    cores = cores_of(device.backend, device.compute_units)
    return disturbance(state.other_cores, state.stolen, cores, state.other_programs or ())
