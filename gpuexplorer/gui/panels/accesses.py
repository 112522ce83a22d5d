"""The Accesses view: what a warp of the present kernel asks of memory, request by request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QSlider,
    QSpinBox,
    QWidget,
)

from gpuexplorer.analysis.compiled_accesses import compiled_accesses
from gpuexplorer.charts.caption import Caption
from gpuexplorer.core.accesses import AccessLook, AccessProfile, CompiledAccesses, accesses_document
from gpuexplorer.core.chunked import encode
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import Cancelled, ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.sharing import shared
from gpuexplorer.core.units import count
from gpuexplorer.engine.accesses import middle_looks
from gpuexplorer.exchange.csv_table import write_sheet
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.job import EngineJob
from gpuexplorer.gui.model.accesses_file import HeldAccesses
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.warp import grid_words, picture
from gpuexplorer.gui.notice import capital
from gpuexplorer.gui.panels.kernel_worker import Answer, KernelWorker, Question
from gpuexplorer.gui.panels.recording_view import RecordingView, column_of
from gpuexplorer.gui.plots.warp import GridPlot, WarpPlot
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.show.table import SheetTable
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.widgets.button import button
from gpuexplorer.gui.widgets.late import scrolled
from gpuexplorer.gui.widgets.words import Words
from gpuexplorer.gui.worker import EngineWorker
from gpuexplorer.results.accesses import place_words, sheet_of
from gpuexplorer.workloads.plan import KernelLaunch
from gpuexplorer.workloads.workload import Workload

FORMATS = {"csv": "CSV table of the accesses", "json": "JSON document with every request"}
TABLE_HEIGHT = 168
"""Pixels of the table with three rows and of the notes below it, which the pictures leave."""
NOTHING_YET = (
    "What does a warp ask of memory?",
    "Count its accesses to see which sectors and banks its lanes meet in, line by line. One block "
    "runs on the CPU device, and measuring pauses meanwhile.",
)


Tried = tuple[RunConfig, str, AccessLook]
"""A configuration, its source's SHA-256, and where it was looked at."""


class AccessesJob(EngineJob):
    """Counts the accesses of one warp, and of another configuration's warp to hold it against.

    ``ended`` carries both profiles, None for the other where none was asked for, and one of each of
    the ``steps``, for what no manifest says.
    """

    doing = "counting the accesses of a warp"
    done = "accesses counted"
    not_done = "counting was stopped"

    def __init__(
        self,
        worker: EngineWorker,
        config: RunConfig,
        workload: Workload,
        look: AccessLook,
        beside: RunConfig | None = None,
        steps: Sequence[KernelLaunch] = (),
    ) -> None:
        super().__init__(worker)
        self.setObjectName("accesses")
        self._config, self._workload, self._look = config, workload, look
        self._beside, self._steps = beside, steps

    def work(self) -> object:
        """Count."""
        beside = None
        if self._beside is not None:
            beside = self.accesses(self._beside, self._workload, AccessLook())
        profile = self.accesses(self._config, self._workload, self._look)
        return profile, beside, self._requests()

    def _requests(self) -> tuple[AccessProfile, ...]:
        """Count what all launches ask for, by a block of each; nothing where that fails."""
        looks = middle_looks(self._steps)
        try:
            return tuple(self.accesses(self._config, self._workload, look) for look in looks)
        except Cancelled:
            raise
        except ExplorerError:
            return ()


class AccessesView(RecordingView):
    """Counts through the session's engine, and again whenever the knobs move while it is shown.

    What was counted is then held against the instructions of ``architecture``.
    """

    counted = Signal(object)
    """The profile that was counted, why none could be, or None where counting was stopped."""
    requests_counted = Signal(object)
    """A profile of each launch, where the manifest does not say what its threads ask for."""

    def __init__(self, session: Session, architecture: Callable[[], str]) -> None:
        super().__init__(session, "accesses", *NOTHING_YET)
        self.shown: AccessProfile | None = None
        self._architecture = architecture
        self.beside: AccessProfile | None = None
        """What the shown accesses are held against."""
        self._against: RunConfig | None = None
        self._worker = KernelWorker()
        self._worker.answered.connect(self._compiled)
        self._asked = 0
        self._compiles = False
        """Whether the compiler was asked about what is shown."""
        self._job: AccessesJob | None = None
        self._look = AccessLook()
        self._tried: Tried | None = None
        """What was counted last, or could not be."""
        self._brought_with: Knobs | None = None
        """The knobs beside which what is shown was brought: until they move it stays."""
        self._recount = QTimer(self)
        self._recount.setSingleShot(True)
        self._recount.setInterval(0)  # once all of a file is shown, or all knobs have moved
        self._recount.timeout.connect(self._count_moved)
        self.count_button = button("Count accesses", "countAccessesButton", act=self.count)
        self.launch_box = QSpinBox()
        self.launch_box.setObjectName("accessLaunchBox")
        self.launch_box.setAccessibleName(tr("Launch of the variant"))
        self.launch_label = QLabel(tr("Launch"))
        self.launch_label.setBuddy(self.launch_box)
        self.launch_box.setToolTip(tr("Which launch of the variant is looked at, from 0"))
        self.launch_box.valueChanged.connect(self._launch_chosen)
        upper, lower = self._upper, _ = self._parts()
        controls = (self.launch_label, self.launch_box)
        self.arrange(self.count_button, controls, upper, lower, (330, 210))
        self.refresh()

    def close_down(self) -> None:
        """End the compiler's thread."""
        self._recount.stop()
        self._worker.close()

    # ---- construction

    def _parts(self) -> tuple[QWidget, QWidget]:
        self.scrubber = QSlider(Qt.Orientation.Horizontal)
        self.scrubber.setObjectName("requestSlider")
        self.scrubber.setAccessibleName(tr("Request of the warp, in the order of the program"))
        self.scrubber.setToolTip(tr("The warp's requests, in the order of the program"))
        self.scrubber.valueChanged.connect(self._show_request)
        self.grid = GridPlot()
        self.grid.warp_picked.connect(self._pick_warp)
        self.grid.block_picked.connect(self._pick_block)
        self.warp = WarpPlot()
        self.warp.stepped.connect(lambda step: self.scrubber.setValue(self.scrubber.value() + step))
        self.place = Words()
        self.place.setContentsMargins(12, 4, 12, 0)
        self.place.setProperty("role", "muted")
        self.request_words = Words()
        self.request_words.setObjectName("requestWords")
        self.request_words.setContentsMargins(12, 4, 12, 0)
        self.table = SheetTable("accessTable", "Accesses of the warp by line and array")
        self.table.current.connect(self._row_chosen)
        self.notes = QLabel()
        self.notes.setObjectName("accessNotes")
        self.notes.setWordWrap(True)
        self.notes.setTextFormat(Qt.TextFormat.PlainText)  # it quotes the source
        self.notes.setProperty("role", "muted")
        self.notes.setContentsMargins(12, 4, 12, 6)
        upper, lower = QWidget(), QWidget()
        above, below = column_of(upper), column_of(lower)
        for widget, stretch in ((self.place, 0), (self.grid, 2), (self.request_words, 0),
                                (self.warp, 3)):  # fmt: skip
            above.addWidget(widget, stretch)
        line = QHBoxLayout()
        line.setContentsMargins(12, 0, 12, 6)
        line.addWidget(self.scrubber)
        above.addLayout(line)
        below.addWidget(self.table, 1)
        room = scrolled(self.notes)
        room.setObjectName("accessNotesRoom")
        room.setAccessibleName(tr("What follows from the accesses"))
        room.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        room.setMaximumHeight(for_text(92))
        below.addWidget(room)
        return upper, lower

    # ---- counting

    def _wanted(self) -> RunConfig:
        """Return what is counted now; an ExplorerError says why nothing can be."""
        experiment = self._session.experiment
        if experiment.devices is None:
            raise InputError("the devices are not known yet")
        if experiment.variant.call is not None:
            raise InputError("this variant is no kernel, and only those have accesses to count")
        device = experiment.device
        if device is None or device.kind != "cpu" or device.backend != "opencl":
            raise InputError(
                "accesses are counted on the CPU device", remedy="choose it among the devices"
            )
        return experiment.config()

    def refresh(self) -> None:
        """Say whether the present knobs can be counted, and count again what was shown."""
        if not self.isVisible():
            return
        session = self._session
        self.follow_caption(measuring=self._job is not None)
        why_not = ""
        try:
            self._wanted()
            with QSignalBlocker(self.launch_box):
                self.launch_box.setMaximum(max(len(session.experiment.plan().steps) - 1, 0))
        except ExplorerError as error:
            why_not = capital(f"{error}.")
        for widget in (self.launch_label, self.launch_box):
            widget.setVisible(self.launch_box.maximum() > 0)
        if self._job is not None:
            why_not = "Counting…"
        elif session.jobs.measuring:
            why_not = "The engine is busy with something else."
        self.count_button.setEnabled(not why_not)
        self.count_button.setToolTip(
            tr(why_not or "Run one block on the CPU device and note what its threads access")
        )
        self.say(why_not or self._headline() if self.shown is not None else "", why_not)
        if self.shown is not None and not why_not:
            self._recount.start()

    @Slot()
    def _count_moved(self) -> None:
        """Count again what is shown, unless the knobs stand as they did."""
        session = self._session
        busy = self._job is not None or session.jobs.measuring
        if self.shown is None or busy or not self.isVisible():
            return
        try:
            wanted = self._wanted()
        except ExplorerError:
            return
        source, brought_with = session.experiment.workload.sha256, self._brought_with
        self._brought_with = None
        if brought_with is not None and _same(brought_with, session.experiment.knobs):
            self._tried = wanted, source, self.shown.look
        if self._tried != (wanted, source, self._look):
            self.count()
        elif self.shown.compiled is None and not self._compiles:
            self._compile(self.shown)  # which waited for the devices

    def _headline(self) -> str:
        if self.shown is None:
            return ""
        requests = count(self.shown.requests_total)
        return f"{requests} requests of '{self.shown.entry}'"

    def hold_against(self, config: RunConfig) -> None:
        """Hold what is counted from now on against another configuration of the same kernel."""
        self._against, self.beside, self._look = config, None, AccessLook()
        self._brought_with = self._tried = None

    def count(self) -> None:
        """Count the accesses of the chosen warp with the present knobs."""
        if self._job is not None:
            return
        try:
            config = self._wanted()
        except ExplorerError:
            self.refresh()
            return
        self._look = self._inside(self._look)
        session = self._session
        against = self._against
        if against is not None and msgspec.structs.replace(
            against, block=config.block, grid=config.grid, tunables=config.tunables
        ) != config:  # fmt: skip
            against = self._against = self.beside = None
        plan, workload = session.experiment.plan(), session.experiment.workload
        beside = self.beside
        if beside is not None and beside.environment.source_sha256 != workload.sha256:
            self.beside = None
        missing = against if self.beside is None else None
        unknown = plan.requested_read_B is None and plan.requested_write_B is None
        steps = plan.steps if unknown else ()
        job = AccessesJob(session.worker, config, workload, self._look, missing, steps)
        job.ended.connect(self._counted)
        self._brought_with, self._tried = None, (config, workload.sha256, self._look)
        if session.jobs.begin(job):
            self._job = job
        self.refresh()

    def _inside(self, look: AccessLook) -> AccessLook:
        """Return the place that is meant, within the present grid and block."""
        steps = self._session.experiment.plan().steps
        launch = min(look.launch, len(steps) - 1)
        step = steps[launch]
        x, y, z = (min(at, size - 1) for at, size in zip(look.block, step.grid, strict=True))
        warps = -(-step.threads_per_block // 32)
        return AccessLook(launch=launch, block=(x, y, z), warp=min(look.warp, warps - 1))

    @Slot(object)
    def _counted(self, outcome: object) -> None:
        self._job = None
        profile = outcome[0] if isinstance(outcome, tuple) else None
        if isinstance(outcome, tuple) and isinstance(profile, AccessProfile):
            if outcome[1] is not None:
                self.beside = outcome[1]
            self.show_profile(profile)
            if outcome[2]:
                self.requests_counted.emit(tuple(outcome[2]))
        self.refresh()
        self.counted.emit(profile or outcome)

    def _pick_warp(self, warp: int) -> None:
        self._look = msgspec.structs.replace(self._look, warp=warp)
        self.refresh()

    def _pick_block(self, x: int, y: int) -> None:
        self._look = msgspec.structs.replace(self._look, block=(x, y, self._look.block[2]))
        self.refresh()

    def _launch_chosen(self, launch: int) -> None:
        self._look = AccessLook(launch=launch)
        self.refresh()

    # ---- showing

    def show_profile(self, profile: AccessProfile, origin: str = "") -> None:
        """Show what was counted, here or in the file ``origin``."""
        self.shown = profile
        self._compile(profile)
        at_once = profile.config.threads or profile.device.compute_units or 1
        self.take_caption(profile, profile.device.name, origin)
        self.grid.show_profile(profile, at_once)
        self.place.setText(tr(f"{place_words(profile)} · {grid_words(profile, at_once)}"))
        self._show_sheet(profile)
        with QSignalBlocker(self.scrubber):
            self.scrubber.setRange(0, max(len(profile.requests) - 1, 0))
            self.scrubber.setPageStep(max(len(profile.requests) // 20, 1))
        self._show_request(self.scrubber.value())
        if self.pages.currentWidget() is not self.split:
            self.pages.setCurrentWidget(self.split)
            self._share_height()

    def _compile(self, profile: AccessProfile) -> None:
        """Ask the compiler what becomes of what was counted, where the knobs still say that."""
        self._asked += 1
        experiment, now, caption = (
            self._session.experiment, self._session.config, Caption.of([profile])
        )  # fmt: skip
        moved = caption.moved(now) or caption.outdated(now, experiment.workload.sha256)
        self._compiles = not moved
        if moved:
            return
        question = Question(
            ticket=self._asked,
            workload=experiment.workload,
            request=experiment.knobs.request(),
            arch=self._architecture(),
            python=self._session.options.python,
            listed=True,
        )
        self._worker.ask(question)

    def held(self) -> HeldAccesses | None:
        """Return what is shown, for a session file; None without anything."""
        if self.shown is None:
            return None
        return HeldAccesses(self.shown, self.beside, self._against, self.origin)

    def show_held(self, held: HeldAccesses | None) -> None:
        """Show it again; None: nothing. What a file brings stays until the knobs move."""
        self._look = AccessLook() if held is None else held.profile.look
        self.beside, self._against = (held.beside, held.against) if held else (None, None)
        self._tried = self._brought_with = None
        if held is not None and held.origin:
            self._brought_with = self._session.experiment.knobs
        elif held is not None:
            source = held.profile.environment.source_sha256 or ""
            self._tried = held.profile.config, source, self._look
        with QSignalBlocker(self.launch_box):
            self.launch_box.setMaximum(max(self.launch_box.maximum(), self._look.launch))
            self.launch_box.setValue(self._look.launch)
        with QSignalBlocker(self.scrubber):
            self.scrubber.setValue(0)
        if held is not None:
            self.show_profile(held.profile, held.origin)
            self.refresh()
        elif self.shown is not None:
            self.shown = None
            self._asked += 1  # no answer of the compiler is wanted any more
            self.let_go()

    def _share_height(self) -> None:
        """Give the pictures what they need, and the table with its notes the rest."""
        upper, whole = self._upper, sum(self.split.sizes())
        above = min(upper.sizeHint().height(), whole - for_text(TABLE_HEIGHT))
        above = max(above, upper.minimumSizeHint().height())
        if above < whole:
            self.split.setSizes([above, whole - above])

    def _show_sheet(self, profile: AccessProfile) -> None:
        sheet = sheet_of(profile, self.beside)
        self.table.show_sheet(sheet)
        self.notes.setText(tr(" ".join(sheet.notes)))

    @Slot(object, object)
    def _compiled(self, ticket: int, answer: object) -> None:
        """Show what the accesses became on the chosen architecture."""
        profile = self.shown
        if ticket != self._asked or profile is None:
            return
        found = answer.listings if isinstance(answer, Answer) else answer
        arch = self._architecture()
        if isinstance(found, ExplorerError) and profile.compiled is None:
            compiled = CompiledAccesses(arch=arch, unknown=str(found))
        elif isinstance(found, list) and profile.look.launch < len(found):
            files = self._session.experiment.workload.source.files
            compiled = compiled_accesses(found[profile.look.launch], files)
        else:
            return
        self.shown = msgspec.structs.replace(profile, compiled=compiled)
        with QSignalBlocker(self.table):
            key = self.table.key
            self._show_sheet(self.shown)
            self.table.show_key(key)

    def _show_request(self, number: int) -> None:
        if self.shown is None or not self.shown.requests:
            self.warp.show_request(None)
            self.request_words.setText(tr("This warp asks for nothing."))
            return
        shown = picture(self.shown, number)
        self.warp.show_request(shown)
        at, total = count(number + 1), count(len(self.shown.requests))
        self.request_words.setText(tr(" · ".join((f"Request {at} of {total}", shown.words))))
        with QSignalBlocker(self.table):
            self.table.show_key(str(shown.row))

    def _row_chosen(self, key: str) -> None:
        """Show the first request of a row, unless one of its own is shown."""
        drawn = self.warp.shown
        if self.shown is None or not key or (drawn is not None and str(drawn.row) == key):
            return
        number = self.shown.requests.first_of(int(key))
        if number is not None:
            self.scrubber.setValue(number)

    # ---- files

    def exported(self) -> Exported:
        """Return how the counts are written; InputError when there are none."""
        profile = self.shown
        if profile is None:
            raise InputError("no accesses were counted yet", remedy="press Count accesses first")
        config = profile.config
        return Exported(
            f"{config.workload}-{config.variant}-{config.precision}-accesses",
            lambda: shared(encode(accesses_document(profile)), [profile.environment]) + b"\n",
            csv=lambda path: write_sheet(sheet_of(profile), path),
            formats=FORMATS,
        )


def _same(one: Knobs, other: Knobs) -> bool:
    """Return whether knobs stand alike, but for a device that had to be chosen anew."""
    return msgspec.structs.replace(one, device="") == msgspec.structs.replace(other, device="")
