"""Session files in the window: save, open, go back, recent ones, dropped ones.

Reading and writing happen in a thread. An opened file is checked and rebuilt as a whole there; only
then it changes places with what is shown, so a file that is refused leaves the window as it was,
and what was there before can be brought back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
from msgspec.structs import replace
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QMainWindow, QMessageBox

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import listed
from gpuexplorer.gui.drops import FileDrops
from gpuexplorer.gui.model.knobs import Knobs
from gpuexplorer.gui.model.live import Live
from gpuexplorer.gui.model.session_suffix import SUFFIX
from gpuexplorer.gui.notice import Action, Notice, capital, engine_busy
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.session_part import Part
from gpuexplorer.gui.settings import Settings
from gpuexplorer.gui.task import Tasks
from gpuexplorer.workloads.workload import WorkloadSource

if TYPE_CHECKING:
    from gpuexplorer.gui.model.replay import Shown
    from gpuexplorer.gui.model.session_document import SessionContents, View

FILTER = f"GPU Explorer sessions (*{SUFFIX})"
TICKETS = 64
"""Tickets that the runs of one file take at most."""
BACK = "Back to what was here"
NO_PARTS: Mapping[str, Part] = {}
OCCUPIED = Notice("warning", "Another session file is still being worked on.")


Authored = tuple[Knobs, tuple[int, ...], str]
"""Knobs, numbers of the ghosts, and notes."""


class Left(msgspec.Struct, frozen=True):
    """A window as it was left."""

    session: str
    """The file with the session."""
    path: str = ""
    """The user's own file of it; empty where it has none."""
    modified: bool = False
    """Whether that lacks the latest changes."""
    live: bool = False
    python: str | None = None
    """The engine that measured, by its word; None: the built-in one."""
    threads: int | None = None
    """The CPU threads that work could use; None: as many as it gets by itself."""


class _Opened(msgspec.Struct, frozen=True):
    contents: SessionContents
    live: Live
    parts: dict[str, object]
    lost: tuple[InputError, ...] = ()
    """Why parts of what the window before this one left cannot be shown."""


class _Before(msgspec.Struct):
    """What was there before a file was opened; ``live`` holds the timeline that had to go."""

    knobs: Knobs
    view: View
    notes: str
    live: Live
    parts: dict[str, object | None]
    path: Path | None
    authored: Authored | None
    measuring: bool
    kernels: dict[str, WorkloadSource]


class SessionFiles(QObject):
    """The window's session: where it is kept, whether it changed, and its notes.

    ``replaced`` says that everything shown is new; ``changed`` that the title has to be.
    """

    notice = Signal(object)
    message = Signal(str)
    replaced = Signal()
    changed = Signal()
    sources_asked = Signal()

    def __init__(
        self,
        window: QMainWindow,
        session: Session,
        settings: Settings,
        view: Callable[[], View],
        show_view: Callable[[View], None],
    ) -> None:
        """``view`` tells what is in front, ``show_view`` brings it there."""
        super().__init__(window)
        self._window, self._session, self._settings = window, session, settings
        self._view, self._show_view = view, show_view
        self._parts: dict[str, Part] = {}
        self._left_parts: dict[str, Part] = {}
        """Those for the next start alone."""
        self._tasks = Tasks(self)
        self._before: _Before | None = None
        self._start_live = False
        self._left: Left | None = None
        """What is being opened, where the window before this one left it."""
        self._was_modified = self._unwritten = False
        self.path: Path | None = None
        """The file of this session; None: it has none yet."""
        self.notes = ""
        self.kernels: dict[str, WorkloadSource] = {}
        """Sources that the opened file brought."""
        self._saved: Authored | None = None
        FileDrops(window, lambda path: path.suffix.lower() == SUFFIX, self._dropped)
        session.frame.connect(lambda _: self.look())
        session.knobs_changed.connect(self.look)
        session.devices_changed.connect(self._know_devices)
        self._awaits_devices = False
        """Whether a file was opened before it was known which of its devices are here."""

    def add_part(self, name: str, part: Part) -> None:
        """Keep another view's results in session files under a name."""
        self._parts[name] = part

    def leave_part(self, name: str, part: Part) -> None:
        """Keep a view's results for the next start, and in no session file of the user's."""
        self._left_parts[name] = part

    # ---- whether it changed

    def _authored(self) -> Authored:
        """Return what a user would miss: knobs, ghosts and notes; samples go to the history."""
        pins = tuple(pin.number for pin in self._session.live_model.pins)
        return self._session.experiment.knobs, pins, self.notes

    @property
    def modified(self) -> bool:
        """Whether the session has a file that lacks the latest changes."""
        return self.path is not None and self._authored() != self._saved

    def _know_devices(self) -> None:
        """Count a device that had to be chosen anew as part of the file."""
        if self._awaits_devices and self._saved is not None:
            _, pins, notes = self._saved
            self._saved = self._session.experiment.knobs, pins, notes
            self.look()
        self._awaits_devices = False

    def look(self) -> None:
        """Note whether the session differs from its file, and tell when that changed."""
        if self.modified != self._was_modified:
            self._was_modified = self.modified
            self.changed.emit()

    @property
    def title(self) -> str:
        """The window's title, with the place for the mark of a changed session."""
        return f"{self.path.name}[*] – GPU Explorer" if self.path is not None else "GPU Explorer"

    def set_notes(self, notes: str) -> None:
        """Take the session's notes."""
        self.notes = notes
        self.look()

    # ---- saving

    def save(self) -> None:
        """Write to the session's file; ask for one the first time."""
        if self.path is None:
            self.save_as()
        else:
            self.write(self.path)

    def save_as(self) -> None:
        """Ask for a file and write to it."""
        path = self._ask_path()
        if path is not None:
            self.write(path)

    def _ask_path(self) -> Path | None:
        """Ask for a file to write to; None where none is chosen."""
        run = self._session.live_model.current
        name = (
            self.path.name
            if self.path is not None
            else f"{run.config.workload}{SUFFIX}"
            if run is not None
            else f"session{SUFFIX}"
        )
        offered = self._settings.session_folder / name
        chosen, _ = QFileDialog.getSaveFileName(
            self._window, tr("Save session"), str(offered), tr(FILTER)
        )
        path = Path(chosen)
        return (path if path.suffix else path.with_suffix(SUFFIX)) if chosen else None

    def write(self, path: Path) -> None:
        """Write the session to a file in the background, then say where it is."""
        if self.busy:
            self.notice.emit(OCCUPIED)
            return
        work = self._writing(path)
        self._tasks.do(f"saving {path.name}", lambda _: work(), partial(self._written, path))

    def leave(self, path: Path, then: Callable[[object], None]) -> None:
        """Write a copy for the next start; ``then`` gets None, or the ExplorerError."""
        if self.busy:
            self.notice.emit(OCCUPIED)
            return
        from gpuexplorer.exchange import write_error

        work = self._writing(path, self._left_parts)

        def write(_: object) -> object:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise write_error(path, error) from None
            work()
            return None

        self._tasks.do("saving the session", write, then)

    def _writing(self, path: Path, also: Mapping[str, Part] = NO_PARTS) -> Callable[[], Authored]:
        """Return what writes the session as it is now, with ``also``, in any thread."""
        from gpuexplorer.gui.model.replay import contents_of
        from gpuexplorer.gui.model.session_archive import write_session

        shown, parts = self._shown(), {**self._parts, **also}
        held = {name: part.held() for name, part in parts.items()}
        authored = self._authored()

        def work() -> Authored:
            documents = {
                name: parts[name].encode(one) for name, one in held.items() if one is not None
            }
            write_session(contents_of(shown, documents), path)
            return authored

        return work

    def _written(self, path: Path, outcome: object) -> None:
        self._unwritten = isinstance(outcome, ExplorerError)
        if isinstance(outcome, ExplorerError):
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}.", detail=outcome.detail))
            return
        self.path, self._saved = path, cast("Authored", outcome)
        self._remember(path)
        self.message.emit(f"Saved {path}")
        self._was_modified = self.modified
        self.changed.emit()

    def _shown(self) -> Shown:
        from gpuexplorer.gui.model.replay import take
        from gpuexplorer.gui.model.session_document import plain_source

        session = self._session
        live = session.live_model
        used = {p.record.prepared.config.workload for p in live.pins}
        used |= {session.experiment.knobs.workload}
        if live.current is not None:
            used.add(live.current.config.workload)
        loaded = session.experiment.workloads
        kernels = {name: plain_source(loaded[name]) for name in sorted(used) if name in loaded}
        kernels |= {name: s for name, s in self.kernels.items() if name in used}
        return take(live, session.experiment.knobs, self._view(), self.notes, kernels)

    def _held(self) -> dict[str, object | None]:
        return {name: part.held() for name, part in self._parts.items()}

    # ---- opening

    def ask_open(self) -> None:
        """Ask for a file and open it."""
        chosen, _ = QFileDialog.getOpenFileName(
            self._window, tr("Open session"), str(self._settings.session_folder), tr(FILTER)
        )
        if chosen:
            self.open_instead(Path(chosen))

    def _dropped(self, path: Path) -> None:
        """Open it once it has landed: until then its own program waits for an answer."""
        QTimer.singleShot(0, self._window, lambda: self.open_instead(path))

    def open_instead(self, path: Path) -> None:
        """Open a file that the user chose, here or outside, after a question where changes are not
        saved.
        """
        if self.may_close():
            self.open(path)

    def open_left(self, left: Left) -> None:
        """Show the session that the window before this one left, as if it had not been closed."""
        self._left = left
        self.open(Path(left.session))

    def open(self, path: Path) -> None:
        """Read a file in the background and show what it holds instead of what is shown.

        Where nothing was measured yet, measuring starts by itself only if the file is refused.
        """
        refusal = self._refusal()
        if refusal is not None:
            self.notice.emit(refusal)
            return
        self._start_live, self._session.live_at_start = self._session.live_at_start, False
        ticket = self._session.requests.take_tickets(TICKETS)
        parts = dict(self._parts)
        if self._left is not None:
            parts |= self._left_parts
        origin = path.name if self._left is None else ""  # what was left was measured here

        def work(_: object) -> object:
            from gpuexplorer.gui.model.replay import open_session
            from gpuexplorer.gui.model.session_archive import damaged

            contents, live = open_session(path, ticket, origin)
            shown = [(name, data) for name, data in contents.parts.items() if name in parts]
            documents: dict[str, object] = {}
            lost: list[InputError] = []
            for name, data in shown:
                try:
                    documents[name] = parts[name].decode(data, origin)
                except InputError as error:
                    if origin:
                        raise damaged(path, error.what) from None
                    lost.append(error)  # what this window shows is not lost with it
            return _Opened(contents, live, documents, tuple(lost))

        self._tasks.do(f"opening {path.name}", work, partial(self._read, path))

    def _read(self, path: Path, outcome: object) -> None:
        start_live, self._start_live = self._start_live, False
        left, self._left = self._left, None
        if isinstance(outcome, _Opened) and left is not None:
            self._show_left(left, outcome)
        elif isinstance(outcome, _Opened) and self._session.jobs.current is not None:
            self._session.live_at_start |= start_live
            self.notice.emit(engine_busy(self._session.jobs.current.doing))
        elif isinstance(outcome, _Opened):
            self._show(path, outcome)
        elif start_live:
            self._session.begin_by_itself()
        if isinstance(outcome, ExplorerError):
            self._settings.forget_session(path)
            self.notice.emit(Notice("bad", f"{capital(str(outcome))}.", detail=outcome.detail))

    def _show_left(self, left: Left, opened: _Opened) -> None:
        """Show it with the user's own file, and measure on if that was so."""
        for name, part in self._left_parts.items():
            part.show_held(opened.parts.get(name))
        self._replace(opened, "showing what was here")
        self.path = Path(left.path) if left.path else None
        self._saved = None if left.modified else self._authored()
        Path(left.session).unlink(missing_ok=True)
        self._replaced()
        for error in opened.lost:
            self.notice.emit(Notice("bad", f"{capital(str(error))}.", detail=error.detail))
        if left.live:
            self._session.begin_by_itself()

    def _show(self, path: Path, opened: _Opened) -> None:
        session = self._session
        before = _Before(
            knobs=session.experiment.knobs,
            view=self._view(),
            notes=self.notes,
            live=opened.live,  # once both have changed places
            parts=self._held(),
            path=self.path,
            authored=self._saved,
            measuring=session.live,
            kernels=self.kernels,
        )
        knobs_fit = self._replace(opened, f"showing {path.name}")
        self._before = before
        self.path, self._saved = path, self._authored()
        self._awaits_devices = session.experiment.devices is None
        self._remember(path)
        self._replaced()
        self.notice.emit(self._opened_notice(path, opened.contents, knobs_fit))

    def _replace(self, opened: _Opened, activity: str) -> bool:
        """Show what was opened in place of what is shown; return whether its knobs fit."""
        session, document = self._session, opened.contents.document
        session.show_instead(opened.live, activity)
        self.kernels = document.kernels
        self.notes = document.notes
        knobs_fit = session.experiment.restore(self._here(document.knobs))
        for name, part in self._parts.items():
            part.show_held(opened.parts.get(name))
        self._show_view(document.view)
        return knobs_fit

    def _here(self, knobs: Knobs) -> Knobs:
        """Return a file's knobs for the devices of this machine: one that is not here is chosen
        anew."""
        devices = self._session.experiment.devices
        known = devices is None or any(d.id == knobs.device for d in devices)
        named = ":" in knobs.device
        return msgspec.structs.replace(knobs, device="auto") if named and not known else knobs

    def _opened_notice(self, path: Path, contents: SessionContents, knobs_fit: bool) -> Notice:
        document = contents.document
        devices = dict.fromkeys(run.prepared.device.name for run in document.runs)
        day = document.saved_utc[:10]
        parts = [
            f"Opened {path.name} of {day}, measured on {listed(devices)}."
            if devices
            else f"Opened {path.name} of {day}."
        ]
        foreign = self.foreign_kernels()
        if not knobs_fit:
            parts.append(f"Its workload '{document.knobs.workload}' is not loaded here.")
        elif foreign:
            parts.append(f"Its source of '{next(iter(foreign))}' differs from the one here.")
        unknown = [name for name in document.parts if name not in self._parts]
        if unknown:
            parts.append(f"This version cannot show its {', '.join(unknown)}.")
        parts.append("Nothing is measured until you press Live.")
        actions: list[tuple[str, Action | None]] = [(BACK, self.back)]
        if foreign:
            actions.append(("Look at its sources", self.sources_asked.emit))
        return Notice("info", " ".join(parts), tuple(actions), offers=True)

    def foreign_kernels(self) -> dict[str, WorkloadSource]:
        """Return the sources of the opened file that are not those loaded here."""
        loaded = self._session.experiment.workloads
        return {
            name: source
            for name, source in self.kernels.items()
            if name not in loaded or loaded[name].sha256 != source.sha256
        }

    def back(self) -> None:
        """Show what was shown before the latest file was opened, and measure on if that was so.

        The notice that offers it stays until that is done: changes made since are asked about.
        """
        if self._before is None:
            return
        refusal = self._refusal()
        if refusal is not None:
            self.notice.emit(replace(refusal, actions=((BACK, self.back),), offers=True))
            return
        before = self._before
        if not self.may_close():
            return
        if self._before is not before or self._refusal() is not None:
            self.back()  # while the question was shown something else began
            return
        self._before = None
        self.notice.emit(None)
        self._session.show_instead(before.live, "back to what was here")
        self.kernels, self.notes = before.kernels, before.notes
        self._session.experiment.restore(before.knobs)
        for name, part in self._parts.items():
            part.show_held(before.parts.get(name))
        self._show_view(before.view)
        self.path, self._saved = before.path, before.authored
        self._replaced()
        self._session.set_live(before.measuring)

    def _replaced(self) -> None:
        self._was_modified = self.modified
        self.replaced.emit()
        self.changed.emit()

    def _remember(self, path: Path) -> None:
        self._settings.session_folder = path.parent
        self._settings.remember_session(path)

    # ---- one file at a time

    @property
    def busy(self) -> bool:
        """Whether a file is being read or written."""
        return self._tasks.busy

    def _refusal(self) -> Notice | None:
        """Return why nothing else can be shown now; None where it can."""
        if self.busy:
            return OCCUPIED
        job = self._session.jobs.current
        return None if job is None else engine_busy(job.doing)

    def wait(self) -> None:
        """Wait until no file is being read or written."""
        self._tasks.wait()

    def finish(self) -> bool:
        """Wait for a file that is being written; False, and a notice, where it cannot be."""
        self._unwritten = False
        self._tasks.finish()
        return not self._unwritten

    def may_close(self) -> bool:
        """Ask whether changes shall be saved before they go; False: all stays as it is.

        Notes are changes also where the session has no file yet: they are nowhere else.
        """
        if not self.modified and (self.path is not None or not self.notes.strip()):
            return True
        words = "Save the session? Its notes are kept nowhere else."
        if self.path is not None:
            words = f"Save the changes to {self.path.name}?"
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self._window,
            tr("Save session"),
            tr(words),
            buttons.Save | buttons.Discard | buttons.Cancel,
            buttons.Save,
        )
        if answer != buttons.Save:
            return answer == buttons.Discard
        path = self.path or self._ask_path()
        if path is None:
            return False
        self.wait()
        try:
            self._saved = self._writing(path)()
        except ExplorerError as error:
            self.notice.emit(Notice("bad", f"{capital(str(error))}.", detail=error.detail))
            return False
        self.path = path
        self._remember(path)
        return True
