"""Edits of the user's own kernels: measured as they are typed, kept at once, saved when asked."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.language import tr
from gpuexplorer.core.units import listed
from gpuexplorer.exchange.files import atomic_file
from gpuexplorer.gui.code.drafts import Draft, drop_draft, find_draft, keep_draft
from gpuexplorer.gui.notice import Notice, capital
from gpuexplorer.gui.session import Session
from gpuexplorer.workloads.loader import is_own, read_source
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from gpuexplorer.gui.code.versions import VersionBench
    from gpuexplorer.gui.model.versions_file import HeldVersions

PAUSE_MS = 250
"""After the last key, until what is typed is compiled and measured."""


def file_of(workload: Workload, source: str) -> Path | None:
    """Return the file of a source that may be edited here; None for one that may not.

    Those are kernels of the user's own, also while their file is gone: saving writes it anew. A
    model's file is a program, which is agreed to as it is.
    """
    if workload.is_own_model or not is_own(workload):
        return None
    return Path(workload.source.origin).absolute().parent / source


def texts_of(workload: Workload) -> dict[Path, str]:
    """Return the sources of a workload that can be shown and edited here, by their files."""
    variants = workload.manifest.variants.values()
    names = dict.fromkeys(step.source for variant in variants for step in variant.launch)
    found = ((file_of(workload, name), name) for name in names)
    return {path: workload.source.files[name] for path, name in found if path is not None}


class Editing(QObject):
    """Holds what was edited and is not saved, and has it measured in place of the file's text.

    The versions that were measured are a ``Part`` of session files.

    ``changed`` says that a file has other edits than before, or none any more; ``reverted`` carries
    one whose edits were dropped; ``notice`` a sentence for the banner.
    """

    changed = Signal()
    reverted = Signal(object)
    notice = Signal(object)

    def __init__(self, parent: QWidget, session: Session) -> None:
        super().__init__(parent)
        self._parent, self._session = parent, session
        self._drafts: dict[Path, Draft] = {}
        self._unkept: set[Path] = set()
        """Files with edits that could not be kept, as on a full disk: they are here alone."""
        self._stale: set[Path] = set()
        """Files without edits whose draft could not be taken away: it is not looked at again."""
        self._told_of: set[Path] = set()
        """Files with edits that another program saved, which the banner was told of."""
        self._typed: tuple[Path, str] | None = None
        """A text that is still being typed, and its file."""
        self._dropped: dict[Path, str] = {}
        """Edits that the file's text took the place of, until the file is shown: undo has them."""
        self._held: tuple[HeldVersions, ...] | None = None
        """Versions that were opened before anybody looked at a source."""
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self.take)

    @cached_property
    def bench(self) -> VersionBench:
        """What measures each version."""
        from gpuexplorer.gui.code.versions import VersionBench

        bench = VersionBench(self, self._session)
        bench.show_held(self._held)
        return bench

    # ---- versions in a session file

    def held(self) -> tuple[HeldVersions, ...] | None:
        """Return the versions of edited sources; None without any."""
        return self.bench.held() if "bench" in vars(self) else self._held

    def encode(self, held: object) -> bytes:
        """Return them as JSON."""
        from gpuexplorer.gui.model.versions_file import encode

        return encode(cast("tuple[HeldVersions, ...]", held))

    def decode(self, data: bytes, origin: str) -> object:
        """Read them; InputError for what cannot be."""
        from gpuexplorer.gui.model.versions_file import decode_versions

        return decode_versions(data, origin)

    def show_held(self, held: object | None) -> None:
        """Show them instead of those that are shown."""
        self._held = cast("tuple[HeldVersions, ...] | None", held)
        if "bench" in vars(self):
            self.bench.show_held(self._held)

    def is_edited(self, path: Path | None) -> bool:
        """Return whether a file has edits that are not saved."""
        return path in self._drafts or (self._typed is not None and self._typed[0] == path)

    # ---- typing

    def typed(self, path: Path | None) -> str | None:
        """Return a file's text that waits for a pause; None where nothing does."""
        return self._typed[1] if self._typed is not None and self._typed[0] == path else None

    def type(self, path: Path, text: str) -> None:
        """Take a file's text after a key; it is measured once there is a pause."""
        if self._typed is not None and self._typed[0] != path:
            self.take()
        first = not self.is_edited(path)
        self._typed = (path, text)
        self._pause.start()
        if first:
            self.changed.emit()

    def take(self) -> None:
        """Keep what was typed, and have it measured."""
        self._pause.stop()
        if self._typed is None:
            return
        (path, text), self._typed = self._typed, None
        self._note(path, text)
        self._show({path: text})

    def put(self, shown: Path, texts: Mapping[Path, str]) -> list[Path]:
        """Put texts in place of those of some files, measured together; return which they were.

        The one that is shown has its text already and is none of these; they can be undone once
        they are shown.
        """
        if self._typed is not None and self._typed[0] != shown:
            self.take()
        self._pause.stop()
        self._typed = None
        before = {path: self._shown(path) for path in texts}
        changed = {path: text for path, text in texts.items() if text != before[path]}
        others = [path for path in changed if path != shown]
        for path, text in changed.items():
            self._note(path, text)
        self._dropped |= {path: before[path] for path in others}
        self._show(changed)
        self.changed.emit()
        return others

    def _note(self, path: Path, text: str) -> None:
        """Keep a file's text as its edits, or forget these where it is what the file holds."""
        draft = self._drafts.get(path)
        saved = draft.saved if draft is not None else self._shown(path)
        if text == saved:
            self._forget(path)
        else:
            unasked = draft is not None and draft.unasked
            self._keep(Draft(path=str(path), text=text, saved=saved, unasked=unasked))

    def _shown(self, path: Path) -> str:
        """Return the text of a file that is measured, which is what the user began with."""
        for workload in self._session.experiment.workloads.values():
            text = workload.source.files.get(path.name)
            folder = Path(workload.source.origin).absolute().parent
            if text is not None and folder / path.name == path:
                return text
        return self._text_of(path) or ""

    def _text_of(self, path: Path) -> str | None:
        """Return what a file holds; None where it cannot be read, which is told."""
        try:
            return read_source(path)
        except InputError as error:
            self._tell(error)
            return None

    def _keep(self, draft: Draft) -> None:
        path = Path(draft.path)
        self._drafts[path] = draft
        self._dropped.pop(path, None)
        try:
            keep_draft(draft)
            self._unkept.discard(path)
            self._stale.discard(path)
        except ExplorerError as error:
            self._unkept.add(path)
            self._tell(error)
        self.changed.emit()

    def _kept(self, path: Path) -> Draft | None:
        """Return what an earlier window did not save of a file; None for nothing."""
        return None if path in self._stale else find_draft(path)

    def _forget(self, path: Path) -> None:
        self._drafts.pop(path, None)
        self._unkept.discard(path)
        if path in self._told_of:  # what goes wrong below is said after that
            self._told_of.remove(path)
            self.notice.emit(None)
        try:
            drop_draft(path)
            self._stale.discard(path)
        except ExplorerError as error:
            self._stale.add(path)
            self._tell(error)
        self.changed.emit()

    def _show(self, texts: Mapping[Path, str]) -> None:
        """Have files' texts measured in place of those before."""
        experiment = self._session.experiment
        before, workloads = experiment.workload, experiment.workloads
        for path, text in texts.items():
            workloads = {name: _with_text(one, path, text) for name, one in workloads.items()}
        experiment.set_workloads(workloads)
        if experiment.workload.sha256 != before.sha256:
            self.bench.take(before, experiment.workload)

    # ---- saving

    def save(self, path: Path) -> bool:
        """Write a file's edits into it; return whether that was done.

        What another program wrote is replaced by the second save; the first one says so.
        """
        self.take()
        draft = self._drafts.get(path)
        if draft is None:
            return True
        held = _held(path)
        if held is not None and held != draft.text and (draft.unasked or held != draft.saved):
            self._drafts[path] = msgspec.structs.replace(draft, saved=held, unasked=False)
            self._ask(
                path,
                f"{path.name} was saved by another program. Nothing is written yet; save once more "
                "to replace what it wrote.",
            )
            return False
        try:
            with atomic_file(path) as stream:
                stream.write(_as_before(path, draft.text))
        except ExplorerError as error:
            self._tell(error)
            return False
        self._forget(path)
        return True

    def write_anew(self, drafts: Sequence[Draft]) -> bool:
        """Write edits that were kept into their files, which are gone; False where that failed."""
        paths = [Path(draft.path) for draft in drafts]
        for path, draft in zip(paths, drafts, strict=True):
            self._drafts.setdefault(path, draft)
        return all(self.save(path) for path in paths)

    def may_close(self) -> bool:
        """Keep what was typed, and ask about edits that cannot be; False: the window stays."""
        self.take()
        for path in sorted(self._unkept):
            self._keep(self._drafts[path])
        if not self._unkept:
            return True
        names = listed(path.name for path in sorted(self._unkept))
        buttons = QMessageBox.StandardButton
        answer = QMessageBox.question(
            self._parent,
            tr("Edits that are not saved"),
            tr(
                f"Edits of {names} are not saved, and the folder of your data cannot be written. "
                "Save them? Otherwise they are lost."
            ),
            buttons.Save | buttons.Discard | buttons.Cancel,
            buttons.Save,
        )
        if answer == buttons.Save:
            return all(self.save(path) for path in sorted(self._unkept))
        return answer == buttons.Discard

    def revert(self, path: Path) -> None:
        """Go back to what the file holds."""
        text = self._text_of(path)
        if text is None:
            return
        draft, edits = self._drafts.get(path), self.typed(path)
        if edits is not None:
            self._typed = None
        elif draft is not None:
            edits = draft.text
        if edits is not None:
            self._dropped[path] = edits
        self._forget(path)
        self._show({path: text})
        self.reverted.emit(path)

    def take_dropped(self, path: Path | None) -> str | None:
        """Return the edits that a file that is shown now has lost, once; None for none."""
        return None if path is None else self._dropped.pop(path, None)

    # ---- with what is on the disk

    def with_edits(self, workloads: dict[str, Workload]) -> dict[str, Workload]:
        """Return workloads as they were read, with the edits that are not saved in their place.

        Those of an earlier window are among them. A file that another program saved meanwhile is
        told of, and the user chooses.
        """
        self.take()
        found, back, others = dict(workloads), list[str](), list[Path]()
        for workload in workloads.values():
            for name, text in workload.source.files.items():
                path = file_of(workload, name)
                draft = None if path is None else self._drafts.get(path) or self._kept(path)
                if path is None or draft is None:
                    continue
                if text == draft.text:
                    self._forget(path)
                    continue
                unasked = draft.unasked or text != draft.saved
                if text != draft.saved or (unasked and path not in self._drafts):
                    others.append(path)
                if path not in self._drafts:
                    back.append(path.name)
                self._drafts[path] = msgspec.structs.replace(draft, saved=text, unasked=unasked)
                found = {key: _with_text(one, path, draft.text) for key, one in found.items()}
        if back:
            words = f"Edits of {listed(back)} that were not saved are back."
            self.notice.emit(Notice("info", words))
        for path in others:  # after whatever is said of the reading itself
            QTimer.singleShot(0, self, partial(self._tell_of, path))
        self.changed.emit()
        return found

    def restore(self) -> None:
        """Bring back the edits that an earlier window did not save."""
        experiment = self._session.experiment
        found = self.with_edits(experiment.workloads)
        if any(found[name] is not experiment.workloads[name] for name in found):
            experiment.set_workloads(found)

    def _tell_of(self, path: Path) -> None:
        """Say that a file was saved by another program, if there are edits of it still."""
        if path in self._drafts:
            self._ask(
                path,
                f"{path.name} was saved by another program. Your edits here are kept; Save asks "
                "once more before it replaces what that program wrote.",
            )

    def _ask(self, path: Path, words: str) -> None:
        """Offer a file that was saved elsewhere in place of its edits, until one is chosen."""
        self._told_of.add(path)
        self.notice.emit(
            Notice(
                "warning",
                words,
                (("Take the file", lambda: self.revert(path)),),
                stays=lambda: path in self._told_of,
            )
        )

    def _tell(self, error: ExplorerError) -> None:
        self.notice.emit(Notice("bad", f"{capital(str(error))}."))


def _held(path: Path) -> str | None:
    """Return what a file holds; None where it cannot be read."""
    try:
        return read_source(path)
    except InputError:
        return None


def _as_before(path: Path, text: str) -> bytes:
    """Return a text as bytes, with the line ends and the byte order mark that its file has."""
    try:
        before = path.read_bytes()
    except OSError:
        return text.encode()
    if b"\r\n" in before:
        text = text.replace("\n", "\r\n")
    return (codecs.BOM_UTF8 if before.startswith(codecs.BOM_UTF8) else b"") + text.encode()


def _with_text(workload: Workload, path: Path, text: str) -> Workload:
    """Return a workload with another text of one of its files; the same one if it has it not."""
    source = workload.source
    if file_of(workload, path.name) != path or source.files.get(path.name, text) == text:
        return workload
    files = {**source.files, path.name: text}
    return Workload(msgspec.structs.replace(source, files=files))
