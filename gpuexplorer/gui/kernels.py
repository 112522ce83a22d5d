"""The user's own folders of workloads: opened, remembered, read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from gpuexplorer.core.errors import ExplorerError, without_frames
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import listed
from gpuexplorer.gui.code.drafts import Draft, lost_drafts
from gpuexplorer.gui.notice import Action, Notice
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.settings import Settings
from gpuexplorer.workloads.loader import (
    is_own,
    is_own_file,
    load,
    of_root,
    own_root,
    own_workload,
    read_folder,
    source_paths,
    stamps,
    workload_folders,
)
from gpuexplorer.workloads.workload import Workload

WATCH_MS = 150
"""Between two looks at a kernel's files; a change counts once it is as old."""


class Kernels(QObject):
    """Reads folders into the session's experiment, again whenever the present kernel is saved.

    ``folders_changed`` carries the folders in use, ``notice`` a sentence for the banner
    or None to hide it,
    ``message`` one for the status bar.
    """

    folders_changed = Signal(object)
    notice = Signal(object)
    message = Signal(str)

    def __init__(
        self, window: QWidget, session: Session, settings: Settings, given: Sequence[Path]
    ) -> None:
        super().__init__(window)
        self._window, self._session, self._settings = window, session, settings
        self._given = tuple(given)
        self.unread: dict[Path, ExplorerError] = {}
        """The user's folders that could not be read when that was tried last, and why."""
        self.with_edits: Callable[[dict[str, Workload]], dict[str, Workload]] = lambda read: read
        """Puts edits that are not saved into workloads that were read."""
        self.write_anew: Callable[[Sequence[Draft]], bool] = lambda drafts: False
        """Writes edits that were kept into their files, which are gone; False where that failed."""
        self._watched: Workload | None = None
        self._paths: list[Path] = []
        self._seen = self._moved = stamps(())
        """The watched workload's files as they were read, and as they were at the last look."""
        self._watch = QTimer(self)
        self._watch.setInterval(WATCH_MS)
        self._watch.timeout.connect(self._look)
        self._watch.start()
        self.ask_trust: Callable[[Path, Callable[[], None]], bool] = lambda path, then: False
        """Asks about a new program of a folder or file, and goes on once it is agreed to; False
        where there is none."""

    @property
    def folders(self) -> list[Path]:
        """The user's folders that are in use, without those of which nothing could be read."""
        return [one for one in self._wanted if one not in self.unread or self._loaded_of(one)]

    @property
    def _wanted(self) -> list[Path]:
        """The folders of the command line and those opened here."""
        return list(dict.fromkeys([*self._given, *self._settings.kernel_folders]))

    def pick(self) -> None:
        """Ask for a folder and open it."""
        name = QFileDialog.getExistingDirectory(
            self._window, tr("Open kernels folder"), str(Path.home())
        )
        if name:
            self.open(Path(name))

    def open(self, folder: Path) -> None:
        """Add a folder of workloads, or a model's file, and choose its first one."""
        try:
            own = (
                [own_workload(folder).name]
                if is_own_file(folder)
                else [Workload(read_folder(f)).name for f in workload_folders(folder)]
            )
            hidden: list[str] = []

            def hide(other: Workload, winner: Workload) -> None:
                if winner.name in own:
                    hidden.append(other.source.origin)

            workloads = self._read([*self._wanted, folder], hide)
        except ExplorerError as error:
            self._refuse(error)
            return
        if folder in self.unread:
            self._refuse(self.unread[folder])
            return
        if folder not in self._wanted:
            self._settings.kernel_folders = [*self._settings.kernel_folders, folder]
        self._take(workloads)
        if own:
            self._session.experiment.set_workload(own[0])
        loaded = f"Loaded {', '.join(own)} from {folder}."
        if not hidden:
            self.notice.emit(Notice("info", loaded))
            return
        same = f"It has the name of {listed(hidden)}, which is hidden until one of them is renamed."
        self.notice.emit(Notice("warning", f"{loaded} {same}"))

    @property
    def loaded(self) -> list[Workload]:
        """Every workload as it was read last."""
        return list(self._session.experiment.workloads.values())

    def _loaded_of(self, folder: Path) -> dict[str, Workload]:
        """Return what was read of a folder last, by name."""
        place = folder.absolute()
        origins = {one.name: Path(one.source.origin).absolute() for one in self.loaded}
        return {one.name: one for one in self.loaded if origins[one.name].is_relative_to(place)}

    def _read(
        self, folders: Sequence[Path], hidden: Callable[[Workload, Workload], None] | None = None
    ) -> dict[str, Workload]:
        """Read folders; what was read before of one that cannot be any more stays as it is.

        ``unread`` says which those are.
        """
        unread: dict[Path, ExplorerError] = {}
        for folder in dict.fromkeys(folders):
            try:
                of_root(folder)
            except ExplorerError as error:
                unread[folder] = without_frames(error)
        found = self.with_edits(load([one for one in folders if one not in unread], hidden))
        for folder in unread:
            for name, kept in self._loaded_of(folder).items():
                if name not in found or not is_own(found[name]):
                    found[name] = kept
        self.unread = unread
        return found

    def reload(self) -> None:
        """Read every folder and file again, and measure what is in it now."""
        if not any(self.ask_trust(folder, self.reload) for folder in self._wanted):
            self._read_again()

    def _read_again(self, *, if_changed: bool = False) -> None:
        try:
            workloads = self._read(self._wanted)
        except ExplorerError as error:
            self._refuse(error)
            return
        present = self._session.experiment.workload
        if if_changed and any(present.name in self._loaded_of(one) for one in self.unread):
            self.tell_unread()
            return
        read = workloads.get(present.name)
        if if_changed and read is not None and read.sha256 == present.sha256:
            return
        self.notice.emit(None)  # what went wrong did so with the sources as they were
        self._take(workloads)
        self._session.kernels_reloaded()
        if not if_changed:
            self.tell_unread()
        self.message.emit(f"{len(workloads)} workloads read.")

    # ---- what cannot be read

    def tell_unread(self, also: Sequence[str] = ()) -> None:
        """Say what cannot be read, and what else there is to say.

        What is remembered and gone can be forgotten, and edits that were kept of it written anew.
        """
        errors = list(self.unread.values())
        said, actions = [f"{error}." for error in errors], list[tuple[str, Action]]()
        if drafts := lost_drafts(self.unread):
            names = listed(Path(draft.path).name for draft in drafts)
            said.append(f"Edits of {names} that were not saved are kept.")
            words = "Write it anew" if len(drafts) == 1 else "Write them anew"
            actions.append((words, partial(self._write_anew, drafts)))
        known = self._settings.kernel_folders
        gone = [one for one in known if one in self.unread and not os.path.exists(one)]
        if gone:
            words = "Forget it" if len(gone) == 1 else "Forget them"
            actions.append((words, partial(self.forget, gone)))
        if said or also:
            details = "\n".join(error.detail for error in errors if error.detail)
            self.notice.emit(Notice("bad", " ".join([*said, *also]), tuple(actions), details))

    def _write_anew(self, drafts: Sequence[Draft]) -> None:
        if self.write_anew(drafts):
            self.reload()

    def forget(self, folders: Sequence[Path]) -> None:
        """Read folders and files no more, at the next start neither; what was read of them goes."""
        known = self._settings.kernel_folders
        self._settings.kernel_folders = [one for one in known if one not in folders]
        self.reload()

    def stop(self) -> None:
        """Look at files no longer."""
        self._watch.stop()

    def watches(self, path: Path) -> bool:
        """Return whether a file is read again when it is saved."""
        return path in self._paths

    def _look(self) -> None:
        """Read a kernel of the user's own again once it was saved; a model is for F5."""
        workload = self._session.experiment.workload
        if workload is not self._watched:
            last, self._watched = self._watched, workload
            kernel = not workload.is_own_model and is_own(workload)
            self._paths = source_paths(workload) if kernel else []
            if last is None or last.source.origin != workload.source.origin:
                self._moved = stamps(self._paths)
                # what was saved while another one was chosen is read now
                self._seen = self._moved if last is None else stamps(())
        if not self._paths:
            return
        before, self._moved = self._moved, stamps(self._paths)
        if self._moved and self._moved != self._seen and self._moved == before:
            self._seen = self._moved
            root, again = own_root(workload), partial(self._read_again, if_changed=True)
            if root is None or not self.ask_trust(root, again):
                again()

    def _take(self, workloads: dict[str, Workload]) -> None:
        self.folders_changed.emit(self.folders)
        self._session.experiment.set_workloads(workloads)

    def _refuse(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("bad", f"{error}.", detail=error.detail))
