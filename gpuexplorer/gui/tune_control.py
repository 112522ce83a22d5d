"""What was tuned: between the window's commands, the view, the knobs and the store."""

from __future__ import annotations

from collections.abc import Callable
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

if TYPE_CHECKING:
    from gpuexplorer.history.store import Store, TunedEntry


class TuneControl(QObject):
    """Sets the knobs to what was found.

    ``notice`` carries a sentence for the banner, ``message`` one for the status bar.
    """

    notice = Signal(object)
    message = Signal(str)

    def __init__(self, window: QWidget, session: Session, show_tune: Callable[[], None]) -> None:
        """``show_tune`` shows the view that tunes."""
        super().__init__(window)
        self._session, self._show_tune = session, show_tune

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

    def _set(self, config: RunConfig) -> bool:
        """Set the knobs; of the present problem the block and the tunables alone."""
        experiment = self._session.experiment
        here = self._session.config
        problem = ("workload", "variant", "size", "precision", "device")
        if here is not None and all(getattr(here, n) == getattr(config, n) for n in problem):
            experiment.apply(Change(block=config.block, tunables=config.tunables))
            return True
        return experiment.restore_run(config)

    def use(self, config: RunConfig) -> None:
        """Set the knobs to a configuration that a tuning tried."""
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
                    actions=(("Show Tune", self._show_tune),),
                )
            )
        elif self._set(with_tuned(asked, found)):
            day, median = found.time_utc[:10], quantity(found.median_s, "s")
            facts = [f"Tuned on {day}: {knob_words(found.config)}, {median} then"]
            if other := other_conditions(asked, found):
                facts.append(f"tuned with {', '.join(other)}")
            self.message.emit(f"{'; '.join(facts)}.")
