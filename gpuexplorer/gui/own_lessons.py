"""The user's own folders of lessons in the window: opened, dropped, remembered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.language import tr
from gpuexplorer.gui.drops import FileDrops
from gpuexplorer.gui.layout import Panels
from gpuexplorer.gui.model.experiment import Experiment
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.settings import Settings

if TYPE_CHECKING:
    from gpuexplorer.gui.views.learn import LearnView

LESSON_FILE = "lesson.toml"


class OwnLessons(QObject):
    """Adds folders of lessons to Learn; ``notice`` carries a sentence for the banner."""

    notice = Signal(object)

    def __init__(
        self, window: QWidget, panels: Panels, experiment: Experiment, settings: Settings
    ) -> None:
        super().__init__(window)
        self._window, self._panels, self._settings = window, panels, settings
        self._experiment = experiment
        panels.lesson_folders = lambda: settings.lesson_folders
        FileDrops(window, is_lessons_folder, self.open)

    def pick(self) -> None:
        """Ask for a folder and open it."""
        name = QFileDialog.getExistingDirectory(
            self._window, tr("Open lessons folder"), str(Path.home())
        )
        if name:
            self.open(Path(name))

    def open(self, folder: Path) -> None:
        """Add a folder of lessons and show them; a bad one is told in a sentence, and not added."""
        from gpuexplorer.lessons.loader import lesson_folders, read_lesson
        from gpuexplorer.workloads.loader import load

        folder = folder.absolute()
        try:
            workloads = {**self._experiment.workloads, **load()}
            found = [read_lesson(one, workloads) for one in lesson_folders(folder)]
        except ExplorerError as error:
            self.notice.emit(Notice("bad", f"{capital(str(error))}.", detail=error.detail))
            return
        known = [one for one in self._settings.lesson_folders if one != folder]
        self._settings.lesson_folders = [*known, folder]
        self._panels.places.show_view(self._panels.learn)
        self.reload()
        view: LearnView = self._panels.learn.made()  # type: ignore[assignment]
        if len(found) == 1:
            view.open_lesson(found[0].name)
        else:
            view.show_list()

    def reload(self) -> None:
        """Read all lessons again, if they were ever shown."""
        view: LearnView | None = self._panels.learn.view  # type: ignore[assignment]
        if view is not None:
            view.reload()


def is_lessons_folder(path: Path) -> bool:
    """Return whether a folder is a lesson, or holds lessons."""
    return path.is_dir() and ((path / LESSON_FILE).is_file() or any(path.glob(f"*/{LESSON_FILE}")))
