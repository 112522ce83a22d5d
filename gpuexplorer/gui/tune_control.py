"""What was tuned: between the window's commands, the view, the knobs and the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
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


PROBLEM = ("workload", "variant", "size", "precision", "device")
"""What a tuning is of; the block and the tunables are what it finds."""
LOOK_AFTER_MS = 150
"""Knobs that move are let come to rest before the store is asked."""


class TuneControl(QObject):
    """Sets the knobs to what was found, and knows whether anything was for the present problem.

    ``notice`` carries a sentence for the banner, ``message`` one for the status bar; ``known`` says
    that ``nothing_tuned`` is another.
    """

    notice = Signal(object)
    message = Signal(str)
    known = Signal()

    def __init__(self, window: QWidget, session: Session) -> None:
        super().__init__(window)
        self._session = session
        self.nothing_tuned = "What was tuned is still being looked up."
        """Why there is nothing to use for the present problem; "" where there is."""
        self._problem: object = None
        self._closed = False
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(LOOK_AFTER_MS)
        self._later.timeout.connect(lambda: self._ask(self._take))

    def look(self, *, again: bool = False) -> None:
        """Find out whether the present problem was tuned, if it is another or ``again``."""
        config, experiment = self._session.config, self._session.experiment
        if config is None or self._closed:
            return
        device = experiment.device
        problem = (
            *(getattr(config, name) for name in PROBLEM),
            experiment.workload.sha256,
            device.hardware_id if device is not None else None,  # an id may be another machine's
        )
        if again or problem != self._problem:
            self._problem = problem
            self._later.start()

    def use_tuned(self) -> None:
        """Set the knobs to what the last tuning of this problem found."""
        self._ask(self._found)

    def close_down(self) -> None:
        """Look no more."""
        self._closed = True
        self._later.stop()

    def _ask(self, then: Callable[[RunConfig, object], None]) -> None:
        """Have the store look for what was tuned of the present problem."""
        experiment = self._session.experiment
        config, device, workload = self._session.config, experiment.device, experiment.workload
        if config is None or device is None:
            self._problem = None  # it is looked up once it can be
            return

        def look(store: Store) -> TunedEntry | None:
            return store.find_tuned(
                workload.sha256, config.variant, config.size, config.precision, device.hardware_id
            )

        self._session.runs.do(look, lambda found: then(config, found))

    def _take(self, asked: RunConfig, found: object) -> None:
        """Note whether there is something; a store that fails says so when it is used."""
        nothing = _nothing(asked) if found is None else ""
        if nothing != self.nothing_tuned:
            self.nothing_tuned = nothing
            self.known.emit()

    def _set(self, config: RunConfig) -> bool:
        """Set the knobs; of the present problem the block and the tunables alone."""
        experiment = self._session.experiment
        here = self._session.config
        if here is not None and all(getattr(here, n) == getattr(config, n) for n in PROBLEM):
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
            self.message.emit(_nothing(asked))
        elif self._set(with_tuned(asked, found)):
            day, median = found.time_utc[:10], quantity(found.median_s, "s")
            facts = [f"Tuned on {day}: {knob_words(found.config)}, {median} then"]
            if other := other_conditions(asked, found):
                facts.append(f"tuned with {', '.join(other)}")
            self.message.emit(f"{'; '.join(facts)}.")


def _nothing(asked: RunConfig) -> str:
    parts = config_parts(asked)
    problem = " · ".join(parts[name] for name in PROBLEM if name != "device")
    return f"Nothing is tuned yet for {problem} on this device, as the sources are now."
