"""Which engine measures: its Python and its CPU threads, chosen and remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace
from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QComboBox, QWidget

from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.engine.cores import default_threads, usable_cores
from gpuexplorer.engine.interpreters import (
    BUILT_IN,
    Interpreters,
    default_engine,
    interpreter_at,
    name_for,
)
from gpuexplorer.engine.known_devices import Elsewhere, elsewhere
from gpuexplorer.gui.model.frameworks import lacks_cuda
from gpuexplorer.gui.notice import threads_stay
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.widgets.list_box import heading

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.engines import EnginesDialog

ALL_UP_TO = 16
"""With more cores than this only powers of two are offered, the default and every core."""
ENGINES_ITEM = "settings:engines"
"""What the device box holds in its last line, which opens the engines."""
ELSEWHERE = "elsewhere:"
"""What it holds for a device of another machine begins so; engine and device follow."""
SET_UP_ITEM = "settings:set-up"
"""What it holds in a line that opens the way to an engine with CUDA."""


def thread_choices(cores: int, present: int) -> list[int]:
    """Return the numbers of CPU threads to choose from, among them the ``present`` one."""
    if cores <= ALL_UP_TO:
        return sorted({*range(1, cores + 1), present})
    powers = (1 << k for k in range(cores.bit_length()))
    return sorted({*powers, cores - 1, cores, present})


def engine_at_start(option: str | None, settings: Settings) -> tuple[str | None, list[str]]:
    """Return the word for the engine to start with, and a sentence for each problem with it.

    ``option`` is what the command line says; otherwise it is the user's default. An interpreter
    that an older version remembered gets a name and is the default from now on.
    """
    complaints = []
    remembered = settings.take_python()
    word = option
    try:
        known = Interpreters()
        if remembered is not None and not known.read().engines:
            path = interpreter_at(remembered)
            name = name_for(path, set())
            known.add(name, str(path))
            known.choose(name)
        if word is None:
            word = default_engine()
    except ExplorerError as error:
        complaints.append(f"{error}.")
    return (None if word == BUILT_IN else word), complaints


def offer_engines(
    box: QComboBox, devices: DeviceList | None = None, word: str | None = None
) -> None:
    """Put below the devices what opens the engines, and the devices of other machines.

    ``word`` is the engine that measures.
    """
    with QSignalBlocker(box):
        if devices is not None and lacks_cuda(devices):
            box.addItem(tr("NVIDIA GPU: set up an engine for it…"), SET_UP_ITEM)
        box.addItem(tr("Engines: other Pythons…"), ENGINES_ITEM)
        for place in elsewhere(word):
            _offer_machine(box, place)


def _offer_machine(box: QComboBox, place: Elsewhere) -> None:
    """Put the devices of another machine below a line with its name."""
    model = box.model()
    title = f"On {place.host}, engine '{place.engine}'" if place.host else "On this machine"
    if isinstance(model, QStandardItemModel):
        model.appendRow(heading(title))
    tip = "Ends the present engine and measures there; what was measured is kept"
    for device in place.devices:
        box.addItem(tr(f"{device.name} · {device.id}"), f"{ELSEWHERE}{place.engine}:{device.id}")
        box.setItemData(box.count() - 1, tr(tip), Qt.ItemDataRole.ToolTipRole)
    if not place.devices:
        box.addItem(tr("Connect, and see its devices"), f"{ELSEWHERE}{place.engine}:auto")
        box.setItemData(box.count() - 1, tr(tip), Qt.ItemDataRole.ToolTipRole)


class EngineChoice(QObject):
    """Restarts the session's engine with other options, and remembers them.

    ``help_asked`` wants the help page on engines, ``message`` carries a sentence for the status
    bar, ``switched`` says that a device of another machine was chosen, whose engine starts.
    """

    help_asked = Signal()
    message = Signal(str)
    switched = Signal()

    def __init__(self, window: QWidget, session: Session, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._session, self._settings = window, session, settings
        self._dialog: EnginesDialog | None = None
        self._was_live = False
        self._pauses = 0

    # ---- threads

    @property
    def threads(self) -> int:
        """The CPU threads a kernel may use."""
        return self._session.options.threads or default_threads()

    @property
    def thread_choices(self) -> list[int]:
        """The numbers of CPU threads to choose from on this machine."""
        return thread_choices(usable_cores(), self.threads)

    def use_threads(self, threads: int) -> None:
        """Let kernels use so many CPU threads."""
        if threads == self.threads:
            return
        chosen = None if threads == default_threads() else threads
        self._settings.threads = chosen
        self._session.restart(replace(self._session.options, threads=chosen))

    def follow_threads(self, threads: int) -> None:
        """Use the CPU threads of a run, or of an advice, unless that would end a job."""
        jobs = self._session.jobs
        job = jobs.current
        if job is None or threads == self.threads:
            self.use_threads(threads)
        else:  # Live, beside a paused job, hides what does not stay
            said = threads_stay(job.doing, lambda: jobs.current is job)
            self._session.notice.emit(said)

    # ---- the interpreter

    def use_python(self, word: str | None) -> None:
        """Measure in another engine; None means the built-in one. Nothing measured is lost."""
        self._session.restart(
            replace(self._session.options, python=None if word == BUILT_IN else word)
        )

    def restart(self) -> None:
        """End the engine's process and start a fresh one."""
        self._session.restart(self._session.options)

    def show(self) -> None:
        """Open the engines."""
        dialog = self._made()
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def set_up(self) -> None:
        """Open the way to a new engine."""
        self.show()
        self._made().set_up()

    def open_item(self, item: object) -> bool:
        """Open what a line of the device box stands for; False: it is a device's."""
        word = str(item)
        if word.startswith(ELSEWHERE):
            engine, _, device = word.removeprefix(ELSEWHERE).partition(":")
            self.use_python(engine)
            self._session.experiment.set_device(device)
            self.switched.emit()
            return True
        actions = {ENGINES_ITEM: self.show, SET_UP_ITEM: self.set_up}
        act = actions.get(word)
        if act is not None:
            act()
        return act is not None

    def _made(self) -> EnginesDialog:
        """Return the dialog, made now or before."""
        if self._dialog is None:
            from gpuexplorer.gui.panels.engines import EnginesDialog

            dialog = self._dialog = EnginesDialog(
                self._window, lambda: self._session.options.python, self._busy_with
            )
            dialog.use_asked.connect(self._use)
            dialog.check_begins.connect(self._pause)
            dialog.check_ended.connect(self._go_on)
            dialog.help_asked.connect(self.help_asked)
            dialog.message.connect(self.message)
            self._session.state_changed.connect(self._follow)
        return self._dialog

    def may_close(self) -> bool:
        """Ask whether what is being set up shall be stopped; False: the window stays."""
        return self._dialog is None or self._dialog.may_close()

    def close_down(self) -> None:
        """Wait until nothing is left running."""
        if self._dialog is not None:
            self._dialog.close_down()

    def _use(self, name: str) -> None:
        if name != (self._session.options.python or BUILT_IN):
            self.use_python(name)

    def _follow(self) -> None:
        """Show which engine measures, once that has changed."""
        dialog = self._dialog
        if dialog is None:
            return
        if self._session.engine_state in ("ready", "lost"):
            dialog.engine_ended()
        if dialog.isVisible():
            dialog.follow(self._session.options.python or BUILT_IN)

    def _busy_with(self) -> str:
        job = self._session.jobs.current
        return job.doing if job is not None and self._session.jobs.measuring else ""

    def _pause(self) -> None:
        if self._pauses == 0:
            self._was_live = self._session.live
        self._pauses += 1
        self._session.jobs.disturbed_by = self._disturbance()
        self._session.jobs.give_way()
        self._session.set_live(False)

    def _disturbance(self) -> str:
        name = self._dialog.making if self._dialog is not None else ""
        if name:
            return f"setting up '{name}' (Settings > Engines)"
        return "asking an engine what it has (Settings > Engines)"

    def _go_on(self) -> None:
        self._pauses -= 1
        self._session.jobs.disturbed_by = self._disturbance() if self._pauses else ""
        lent = self._session.jobs.measuring  # to a job that was paused when this began
        if self._pauses == 0 and self._was_live and not lent and not self._session.live:
            self._session.set_live(True)
