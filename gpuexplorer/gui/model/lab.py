"""The Lab: three studies, and how far each is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuexplorer.core.studies import Study
from gpuexplorer.core.units import count
from gpuexplorer.gui.model.lab_file import HeldStudy
from gpuexplorer.gui.model.lab_words import duration

Kind = Literal["precision", "switches", "speedup"]
State = Literal["empty", "running", "paused", "stopped", "done"]
TITLES: dict[Kind, str] = {
    "precision": "Precision",
    "switches": "Switches",
    "speedup": "CPU against GPU",
}


@dataclass(frozen=True)
class Progress:
    """How far a study is: runs done and to be done, what comes now, and the time that is left."""

    done: int
    total: int
    words: str
    left_s: float | None = None


@dataclass
class LabModel:
    """One of the three studies."""

    kind: Kind
    state: State = "empty"
    study: Study | None = None
    progress: Progress | None = None
    error: str = ""
    """Why the last one ended early, in a sentence."""
    origin: str = ""
    """The file that brought the study; empty for one measured here."""

    @property
    def running(self) -> bool:
        """Whether its job goes on, be it paused."""
        return self.state in ("running", "paused")

    def begin(self) -> None:
        """Start anew."""
        self.state, self.study, self.progress, self.error = "running", None, None, ""
        self.origin = ""

    def take(self, progress: Progress, study: Study | None) -> None:
        """Take in how far it is, and what is known by now where there is news."""
        self.progress = progress
        if study is not None:
            self.study = study

    def end(self, study: Study | None, error: str = "") -> None:
        """Note that nothing is measured any more."""
        if study is not None and has_figures(study):
            self.study = study
        elif self.study is not None and not has_figures(self.study):
            self.study = None
        self.progress, self.error = None, error
        done = self.study is not None and study is self.study and self.study.stopped_by == "done"
        self.state = "empty" if self.study is None else "done" if done and not error else "stopped"

    # ---- in a session file

    def snapshot(self) -> HeldStudy | None:
        """Return the study as far as it was measured; None without one."""
        if self.study is None or not has_figures(self.study):
            return None
        return HeldStudy(self.study, self.error, self.origin)

    def show(self, held: HeldStudy | None) -> None:
        """Show another study; None: nothing."""
        self.progress, self.study = None, held.study if held is not None else None
        self.error, self.origin = (held.error, held.origin) if held is not None else ("", "")
        done = self.study is not None and self.study.stopped_by == "done" and not self.error
        self.state = "empty" if self.study is None else "done" if done else "stopped"

    # ---- in words

    @property
    def words(self) -> str:
        """How far it is, or how it was measured, in a line."""
        if self.running:
            return self._running_words()
        if self.study is None:
            return ""
        early = ("Stopped early.",) if self.state == "stopped" else ()
        file = (f"From file {self.origin}.",) if self.origin else ()
        return " ".join((*file, *early, *self.study.notes))

    def _running_words(self) -> str:
        at = self.progress
        if at is None:
            return "Starting"
        done = f"{count(at.done)} of {count(at.total)} runs"
        if self.state == "paused":
            return f"Paused at {done}"
        left = f", {duration(at.left_s)} left" if at.left_s is not None else ""
        return f"{done}{left}: {at.words}"


def has_figures(study: Study) -> bool:
    """Return whether anything of a study was measured."""
    return bool(study.runs)
