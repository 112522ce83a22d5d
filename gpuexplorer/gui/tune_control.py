"""Tune and Use tuned: between the window's commands, the dialog, the knobs and the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from gpuexplorer.charts.words import config_parts, knob_words
from gpuexplorer.core.change import Change
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.units import quantity
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings

if TYPE_CHECKING:
    from gpuexplorer.gui.panels.tune import TuneDialog
    from gpuexplorer.history.store import Store, TunedEntry


class TuneControl(QObject):
    """Opens the dialog, and sets the knobs to what was found.

    ``notice`` carries a sentence for the banner, ``message`` one for the status bar.
    """

    notice = Signal(object)
    message = Signal(str)

    def __init__(self, window: QWidget, session: Session, settings: Settings) -> None:
        super().__init__(window)
        self._window, self._session, self._settings = window, session, settings
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self._dialog: TuneDialog | None = None

    def show(self) -> None:
        """Open the dialog; a tuning that is going on, or its outcome, is still there."""
        dialog = self._dialog
        if dialog is None:
            from gpuexplorer.gui.panels.tune import TuneDialog

            dialog = self._dialog = TuneDialog(self._window, self._session, self._settings)
            dialog.view.kernel_folders = lambda: self.kernel_folders()
            dialog.use_asked.connect(self._use)
            dialog.notice.connect(self.notice)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()

    def use_tuned(self) -> None:
        """Set the knobs to what the last tuning of this problem found."""
        from gpuexplorer.search.tune_keep import find_tuned

        experiment = self._session.experiment
        config, device, workload = self._session.config, experiment.device, experiment.workload
        if config is None or device is None:
            self.message.emit("There is no device yet.")
            return

        def look(store: Store) -> TunedEntry | None:
            return find_tuned(store, config, workload, device)

        self._session.runs.do(look, lambda found: self._found(config, found))

    def close_down(self) -> None:
        """End what the dialog has started; the session ends the job."""
        if self._dialog is not None:
            self._dialog.close_down()

    def _set(self, config: RunConfig) -> bool:
        """Set the knobs; of the present problem the block and the tunables alone."""
        experiment = self._session.experiment
        here = self._session.config
        problem = ("workload", "variant", "size", "precision", "device")
        if here is not None and all(getattr(here, n) == getattr(config, n) for n in problem):
            experiment.apply(Change(block=config.block, tunables=config.tunables))
            return True
        return experiment.restore_run(config)

    def _use(self, config: RunConfig) -> None:
        if self._set(config):
            self.message.emit(f"The knobs are set to {knob_words(config)}.")
        else:
            self.message.emit("That workload is not loaded any more.")

    def _found(self, asked: RunConfig, found: object) -> None:
        from gpuexplorer.history.model import TunedEntry
        from gpuexplorer.search.tune_keep import other_conditions, with_tuned

        if isinstance(found, ExplorerError):
            self.notice.emit(Notice("warning", f"{capital(str(found))}.", detail=found.detail))
        elif not isinstance(found, TunedEntry):
            parts = config_parts(asked)
            problem = " · ".join(parts[n] for n in ("workload", "variant", "size", "precision"))
            self.notice.emit(
                Notice(
                    "info",
                    f"Nothing is tuned yet for {problem} on this device, as the sources are now.",
                    actions=(("Tune…", self.show),),
                )
            )
        elif self._set(with_tuned(asked, found)):
            day, median = found.time_utc[:10], quantity(found.median_s, "s")
            facts = [f"Tuned on {day}: {knob_words(found.config)}, {median} then"]
            if other := other_conditions(asked, found):
                facts.append(f"tuned with {', '.join(other)}")
            self.message.emit(f"{'; '.join(facts)}.")
