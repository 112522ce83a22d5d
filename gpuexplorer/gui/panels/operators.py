"""The Operators view: what one iteration of the present model calls, over time and in a table."""

from __future__ import annotations

from functools import partial

import msgspec
from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QLabel,
    QWidget,
)

from gpuexplorer.charts.operators import FAMILY_COLOURS, OTHER, operator_chart
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.operators import FAMILIES, OperatorProfile, family
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.units import count, listed, quantity
from gpuexplorer.exchange.operator_trace import write_operator_trace
from gpuexplorer.gui.export import CHARTS, Exported
from gpuexplorer.gui.model.flame import RecordedProfile
from gpuexplorer.gui.operators_job import OperatorsJob
from gpuexplorer.gui.panels.recording_view import RecordingView, column_of
from gpuexplorer.gui.plots.flame import FlamePlot
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.scroll_room import ScrollArea
from gpuexplorer.gui.widgets.words import Remarks
from gpuexplorer.results.operators import sheet_of
from gpuexplorer.workloads.operators import told_variants

TRACE = "trace.json"
FORMATS = {
    **CHARTS,
    "json": "JSON document of the operators",
    TRACE: "Chrome trace of the calls, for Perfetto",
}
GAP = " \u00a0 "
"""Between the families in the legend."""
NOTHING_YET = (
    "Which operators of a model take the time?",
    "Record one iteration to see which operators it calls, how long each takes, and what calls "
    "what. Measuring pauses meanwhile.",
)


class OperatorsView(RecordingView):
    """Records through the session's engine; ``notice`` carries a sentence for the banner."""

    notice = Signal(object)

    def __init__(self, session: Session) -> None:
        super().__init__(session, "operators", *NOTHING_YET)
        self.shown: RecordedProfile | None = None
        self._job: OperatorsJob | None = None
        self.record_button = button(
            "Record one iteration", "recordOperatorsButton", act=self.record
        )
        self.shapes_box = QCheckBox(tr("Shapes"))
        self.shapes_box.setObjectName("operatorShapesBox")
        self.shapes_box.setToolTip(tr("A row for each operator and shapes of its inputs"))
        upper, lower = self._parts()
        self.arrange(self.record_button, (self.shapes_box,), upper, lower, (260, 240))
        self.split.setStretchFactor(0, 1)
        self.split.setStretchFactor(1, 1)
        theme().changed.connect(self._colour)
        self._colour()
        self.refresh()

    # ---- construction

    def _parts(self) -> tuple[QWidget, QWidget]:
        self.plot = FlamePlot()
        self.table = SheetTable("operatorTable", "Operators of one iteration")
        self.plot.picked.connect(self._picked_in_plot)
        self.table.current.connect(self.plot.pick)
        self.legend = QLabel()
        self.legend.setObjectName("flameLegend")
        self.legend.setTextFormat(Qt.TextFormat.RichText)
        self.legend.setWordWrap(True)
        self.legend.setContentsMargins(12, 0, 12, 2)
        self.notes = Remarks()
        self.notes.setObjectName("operatorNotes")
        self.notes.setContentsMargins(12, 3, 12, 4)
        room = ScrollArea()
        room.setObjectName("flameRoom")
        room.setFrameShape(ScrollArea.Shape.NoFrame)
        room.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        room.setMinimumHeight(70)
        room.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the plot in it has the keys
        room.setWidget(self.plot)
        upper, lower = QWidget(), QWidget()
        above, below = column_of(upper), column_of(lower)
        above.addWidget(self.legend)
        above.addWidget(room, 1)
        below.addWidget(self.table, 1)
        below.addWidget(self.notes)
        return upper, lower

    # ---- recording

    @property
    def why_not(self) -> str:
        """Why nothing can be recorded now; empty when it can."""
        experiment, session = self._session.experiment, self._session
        able = told_variants(experiment.workload)
        if not able:
            return (
                f"PyTorch runs no variant of {experiment.workload.manifest.title}, and its "
                "profiler tells operators."
            )
        if experiment.knobs.variant not in able:
            variants = experiment.workload.manifest.variants
            titles = listed([variants[name].title for name in able])
            return f"Choose a variant that PyTorch runs: {titles}."
        if session.jobs.measuring:
            return "The engine is busy with something else."
        if experiment.devices is None:
            return "Looking for devices…"
        try:
            experiment.config()
        except ExplorerError as error:
            return f"{error}."
        return ""

    def refresh(self) -> None:
        """Say whether the present knobs can be recorded."""
        if not self.isVisible():
            return
        self.follow_caption(measuring=self._job is not None)
        why_not = self.why_not if self._job is None else "Recording…"
        self.record_button.setEnabled(not why_not)
        tip = why_not or "Run three iterations, the last one under PyTorch's profiler"
        self.record_button.setToolTip(tr(tip))
        self.say(_headline(self.shown.profile) if self.shown is not None else "", why_not)

    def record(self) -> None:
        """Record the present knobs' iteration."""
        if self.why_not or self._job is not None:
            self.refresh()
            return
        experiment = self._session.experiment
        job = OperatorsJob(
            self._session.worker,
            experiment.config(),
            experiment.workload,
            shapes=self.shapes_box.isChecked(),
        )
        job.ended.connect(self._recorded)
        if self._session.jobs.begin(job):
            self._job = job
        self.refresh()

    @Slot(object)
    def _recorded(self, outcome: object) -> None:
        self._job = None
        if isinstance(outcome, RecordedProfile):
            self.show_profile(outcome)
        self.refresh()

    # ---- showing

    def show_profile(self, recorded: RecordedProfile) -> None:
        """Show what was recorded."""
        self.shown = recorded
        profile = recorded.profile
        self.take_caption(profile, profile.device.name, recorded.origin)
        self.plot.show_flame(recorded.flame)
        sheet = sheet_of(profile)
        self.table.show_sheet(sheet)
        self.notes.say(sheet.notes)
        self._colour()
        self.status.setText(tr(_headline(profile)))
        self.pages.setCurrentWidget(self.split)

    def held(self) -> RecordedProfile | None:
        """Return what is shown, for a session file; None without anything."""
        return self.shown

    def show_held(self, held: RecordedProfile | None) -> None:
        """Show it again; None: nothing."""
        if held is not None:
            self.show_profile(held)
        elif self.shown is not None:
            self.shown = None
            self.plot.show_flame(None)
            self._colour()
            self.let_go()

    def _picked_in_plot(self, name: str) -> None:
        self.plot.pick(name)
        if self.table.shown.sheet.row_of(name) is None:  # as of a GPU's kernel
            self.table.clearSelection()
        self.table.show_key(name)

    def _colour(self) -> None:
        """Write the legend in the theme's colours."""
        chart = theme().chart
        present = set(FAMILIES)
        if self.shown is not None:
            present = {family(name) for name in self.shown.profile.names}
        parts = []
        for kind, words in FAMILIES.items():
            if kind in present:
                slot = FAMILY_COLOURS[kind]
                colour = chart.muted if slot == OTHER else chart.palette[slot]
                plain = tr(words).replace(" ", "&nbsp;")  # a name stays on one line
                parts.append(f"<span style='color:{colour}'>■</span>&nbsp;{plain}")
        self.legend.setText(tr(f"<span style='color:{chart.muted}'>{GAP.join(parts)}</span>"))

    # ---- files

    def exported(self) -> Exported:
        """Return how the profile is written; InputError when there is none."""
        shown = self.shown
        if shown is None:
            raise InputError(
                "no operators were recorded yet", remedy="press Record one iteration first"
            )
        profile = shown.profile
        config = profile.config
        known = self._session.experiment.workloads.get(config.workload)
        title = known.manifest.title if known is not None else config.workload
        return Exported(
            f"{config.workload}-{config.variant}-{config.precision}-operators",
            lambda: shared(msgspec.json.encode(profile), [profile.environment]) + b"\n",
            chart=lambda: operator_chart(profile, title=title),
            formats=FORMATS,
            others={TRACE: partial(write_operator_trace, profile)},
        )


def _headline(profile: OperatorProfile) -> str:
    """Return in a line what was recorded."""
    plain = quantity(profile.plain_s or profile.iteration_s, "s")
    return (
        f"{plain} an iteration, {count(profile.operators_total)} operators, "
        f"{count(profile.calls_total)} calls"
    )
