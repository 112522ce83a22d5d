"""The window's panels and how they share its space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.language import tr
from gpuexplorer.gui.export import Exported, Exports
from gpuexplorer.gui.help_here import PAGE
from gpuexplorer.gui.model.live import Run, origin_words
from gpuexplorer.gui.panels.advice import AdviceSection
from gpuexplorer.gui.panels.compare import CompareTab
from gpuexplorer.gui.panels.experiment import ExperimentPanel
from gpuexplorer.gui.panels.history import HistoryPanel
from gpuexplorer.gui.panels.insight import InsightPanel
from gpuexplorer.gui.panels.kernel import KernelPanel
from gpuexplorer.gui.panels.pins import CaptionAndPins, PinRow
from gpuexplorer.gui.panels.result_tab import ResultTab
from gpuexplorer.gui.panels.tabs import (
    AccessesTab,
    BlockMapTab,
    LabTab,
    LessonsTab,
    OperatorsTab,
    SweepTab,
    TuneTab,
)
from gpuexplorer.gui.panels.welcome import Welcome
from gpuexplorer.gui.places import Places
from gpuexplorer.gui.plots.device import DevicePlots
from gpuexplorer.gui.plots.telemetry import TelemetryStrip
from gpuexplorer.gui.plots.timing import TimingPlot
from gpuexplorer.gui.plots.traffic import TrafficPlot
from gpuexplorer.gui.questions import Bench
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.roofline import RooflineView
from gpuexplorer.gui.widgets.banner import Banner
from gpuexplorer.gui.widgets.caption import CaptionLine
from gpuexplorer.gui.widgets.late import LateView
from gpuexplorer.gui.widgets.scroll_room import ScrollArea

if TYPE_CHECKING:
    from gpuexplorer.core.accesses import AccessProfile
    from gpuexplorer.gui.views.compare import CompareView
    from gpuexplorer.gui.views.lab import LabView

DEVICE_LEAST_HEIGHT = 110
"""Two rows of the device's figures."""
DEVICE_SHARE = 0.34
HISTORY_LEAST_HEIGHT = 36
"""The head of the table and the top of its first row."""
VIEWS_LEAST_WIDTH, VIEWS_WIDTH = 408, 510
"""Pixels in which every tab is seen, whichever view is shown, and that no column shall take from
the views but the one that is always there; a view that needs more is scrolled.
"""


class Panels(QSplitter):
    """Knobs at the left, plots in the middle, insight at the right, history below.

    The ``welcome`` is to be placed above all of them.
    """

    restored = Signal(object)
    """A configuration that the knobs shall take."""

    def __init__(self, session: Session) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._live_model, self._experiment = session.live_model, session.experiment
        self._told: tuple[object, ...] | None = None
        """What the captions of the live view say."""
        self.lesson_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's own folders of lessons."""
        self.experiment = ExperimentPanel(session.experiment)
        self.insight = InsightPanel(AdviceSection(session.look_for_advice, session.advice_settled))
        self.timing = TimingPlot(session.live_model)
        self.traffic = TrafficPlot(session.live_model, self.timing.plot)
        self.device = DevicePlots(session.live_model.device, self.timing.plot)
        self.strip = TelemetryStrip()
        self.pins = PinRow(self.timing.pin_colour)
        self.kernel = KernelPanel(session)
        self.operators = OperatorsTab(session)
        self.accesses = AccessesTab(session, lambda: self.kernel.architecture)
        for tab in (self.operators, self.accesses):
            tab.restored.connect(self.restored)
        self.accesses.requests_counted.connect(self.take_requests)
        self.block_map = BlockMapTab(session)
        self.roofline = RooflineView(session)
        self.sweep = SweepTab(session)
        self.tune = TuneTab(session)
        self.lab = LabTab(session)
        self.compare = CompareTab(session)
        self.learn = LessonsTab("learnTab", lambda: _learn(session, self))
        self.history = HistoryPanel(session.history, session.history_model, session.runs)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        self.live = self._live_view()
        self.places = self._places()
        self.welcome = Welcome(
            Bench(session, self.places, self.compare, self.lab, self.accesses, self.kernel)
        )
        self.banner = Banner(self.places.room)
        self.places.changed.connect(self.banner.place, Qt.ConnectionType.QueuedConnection)
        for column, stretch in ((self.experiment, 0), (self.places, 1), (self.insight, 0)):
            self.across.addWidget(column)
            self.across.setStretchFactor(self.across.count() - 1, stretch)
        for widget, name in (
            (self.experiment, "Knobs"),
            (self.insight, "Figures and advice"),
            (self.history.table, "History: runs"),
            (self.history.bar.search, "Search the history"),
        ):
            widget.setAccessibleName(tr(name))
        pages: tuple[tuple[QWidget, str], ...] = (
            (self.experiment, "first-steps"),
            (self.insight, "what-numbers-promise"),
            (self.history, "history"),
            (self.strip, "telemetry"),
            (self.block_map, "block-map"),
            (self.roofline, "roofline"),
            (self.sweep, "sweeps"),
            (self.tune, "tuning"),
            (self.lab, "lab"),
            (self.compare, "comparing"),
            (self.welcome, "first-steps"),
            (self.kernel, "kernel"),
            (self.operators, "models"),
            (self.accesses, "accesses"),
            (self.learn, "lessons"),
        )
        for part, page in pages:
            part.setProperty(PAGE, page)
        self.experiment.setMinimumWidth(230)
        self.insight.setMinimumWidth(for_text(250))
        self.history.table.setMinimumHeight(for_text(HISTORY_LEAST_HEIGHT))
        self.across.setSizes([for_text(262), 748, for_text(270)])
        self.addWidget(self.across)
        self.addWidget(self.history)
        self.setStretchFactor(0, 1)
        self.setStretchFactor(1, 0)
        self.setSizes([586, 140])
        for splitter in (self, self.across):
            splitter.setHandleWidth(1)

    @property
    def parts(self) -> dict[str, ResultTab]:
        """The views whose results are exported, and go into session files, by name there."""
        return {
            "sweep": self.sweep,
            "tuning": self.tune,
            "block-map": self.block_map,
            "comparison": self.compare,
            "lab": self.lab,
        }

    @property
    def has_result(self) -> bool:
        """Whether any view has something to export."""
        return any(tab.has_result for tab in (*self.parts.values(), self.operators, self.accesses))

    def minimumSizeHint(self) -> QSize:
        """Return what the views need: the panels around them fold away where there is no more."""
        return QSize(self.places.minimumWidth(), self.across.minimumSizeHint().height())

    def exported(self) -> Exported | None:
        """Return how the view in front is written; None where it has nothing but runs.

        Raises InputError when it has nothing yet.
        """
        view = self.places.current
        shown = view.view if isinstance(view, LateView) else None
        return shown.exported() if isinstance(shown, Exports) else None

    def _places(self) -> Places:
        """Return the views in their places."""
        places = Places()
        places.setMinimumWidth(VIEWS_LEAST_WIDTH)
        places.add(
            "Explore",
            (self.live, "Live"), (self.block_map, "Block map"), (self.roofline, "Roofline"),
        )  # fmt: skip
        places.add(
            "Measure",
            (self.sweep, "Sweep"), (self.tune, "Tune"), (self.compare, "Compare"),
            (self.lab, "Lab"),
        )  # fmt: skip
        places.add(
            "Code",
            (self.kernel, "Kernel"), (self.operators, "Operators"), (self.accesses, "Accesses"),
        )  # fmt: skip
        places.add("Learn", (self.learn, "Lessons"))
        return places

    def _live_view(self) -> QWidget:
        """Return the line of origin and ghosts, both plots and the device's state."""
        plots = self.plots = QSplitter(Qt.Orientation.Vertical)
        plots.setChildrenCollapsible(False)
        plots.setHandleWidth(1)
        room = self._device_room = ScrollArea()
        room.setObjectName("deviceRoom")
        room.setFrameShape(ScrollArea.Shape.NoFrame)
        room.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        room.setMinimumHeight(DEVICE_LEAST_HEIGHT)
        room.setWidget(self.device)
        room.hide()
        self.strip.more.toggled.connect(self._show_device)
        for widget, stretch in ((self.timing, 3), (self.traffic, 2), (room, 2)):
            plots.addWidget(widget)
            plots.setStretchFactor(plots.count() - 1, stretch)
        view = QWidget()
        view.setAutoFillBackground(True)
        view.setBackgroundRole(view.palette().ColorRole.Base)
        column = QVBoxLayout(view)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.caption = CaptionLine("live", dims=(plots,), most=1)  # the column beside has it whole
        self.caption.restored.connect(self.restored)
        column.addWidget(CaptionAndPins(self.caption, self.pins))
        column.addWidget(plots, 1)
        column.addWidget(self.strip)
        return view

    def follow_run(self, run: Run | None, now: RunConfig | None) -> None:
        """Show a run's figures and what it was measured with, beside the knobs at ``now``."""
        self.insight.show_run(run)
        shown = run if run is not None and len(run.trace) else None
        origin = origin_words(shown) if shown is not None else ""
        prepared = shown.prepared if shown is not None else None
        measured = prepared.environment.source_sha256 if prepared is not None else None
        source = self._experiment.workload.sha256
        told = (shown.config if shown is not None else None, measured, origin, now, source)
        if told == self._told:  # as long as no knob moves
            return
        self._told = told
        caption = shown.caption if shown is not None else None
        for line in (self.caption, self.insight.caption):
            line.show_caption(caption, origin)
            line.follow(now, source)

    def _show_device(self, on: bool) -> None:
        """Show the device's figures, with as much room as they need up to a third of the view."""
        room = self._device_room
        room.setVisible(on)
        sizes = self.plots.sizes()
        if not on or not room.isVisible() or sizes[-1] > DEVICE_LEAST_HEIGHT:
            return
        self.device.refresh()
        wanted = min(self.device.sizeHint().height(), int(sum(sizes) * DEVICE_SHARE))
        missing = max(0, wanted - sizes[-1])
        above = max(1, sum(sizes[:-1]))
        self.plots.setSizes([s - missing * s // above for s in sizes[:-1]] + [wanted])

    def take_requests(self, profiles: tuple[AccessProfile, ...]) -> None:
        """Show with the current run what was counted of its kernel."""
        self._live_model.take_requests(profiles)
        self.traffic.refresh()
        self.insight.advice.look()

    def show_bench(self, title: str, what: object) -> None:
        """Show a view with what a lesson measures: configurations, or a study by its name."""
        view = self.places.titled(title)
        if view is None:
            return
        configs = list(what) if isinstance(what, tuple) else []
        if view is self.compare and configs:
            comparing = cast("CompareView", self.compare.made())
            if not comparing.running:
                comparing.put_instead(configs)
        elif view is self.accesses and configs:
            self.accesses.counting().hold_against(configs[0])
        elif view is self.lab and isinstance(what, str):
            cast("LabView", self.lab.made()).show_kind(what)
        self.places.show_view(view)
        if view is self.accesses:
            self.accesses.counting().count()

    def restore(self, settings: Settings) -> None:
        """Share the space as it was shared last."""
        self.across.restoreState(settings.bytes_of("across"))
        self.plots.restoreState(settings.bytes_of("plots"))
        self.strip.more.setChecked(settings.device_plots)
        self.restoreState(settings.bytes_of("down"))
        self.kernel.restore(settings)
        self.history.restore_columns(settings.bytes_of("history"))

    def remember(self, settings: Settings) -> None:
        """Keep how the space is shared."""
        settings.set_bytes("across", self.across.saveState())
        settings.set_bytes("plots", self.plots.saveState())
        settings.device_plots = self.strip.more.isChecked()
        settings.set_bytes("down", self.saveState())
        self.kernel.remember(settings)
        settings.set_bytes("history", self.history.columns())


def _learn(session: Session, panels: Panels) -> QWidget:
    from gpuexplorer.gui.views.learn import LearnView

    view = LearnView(session, lambda: panels.lesson_folders())
    view.restored.connect(panels.restored)
    view.view_asked.connect(panels.show_bench)
    view.notice.connect(session.notice)
    return view
