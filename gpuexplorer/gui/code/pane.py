"""A kernel's source with its title, what can be done with its edits, and a line to find words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QTextBrowser, QVBoxLayout, QWidget

from gpuexplorer.core.language import as_is, tr
from gpuexplorer.core.units import listed
from gpuexplorer.gui.code.editing import Editing, texts_of
from gpuexplorer.gui.code.find import FindBar
from gpuexplorer.gui.code.messages import LineMessage
from gpuexplorer.gui.code.versions import VersionStrip, differences
from gpuexplorer.gui.code.view import CodeView
from gpuexplorer.gui.info_dialog import InfoDialog
from gpuexplorer.gui.notice import Notice
from gpuexplorer.gui.plots.base import muted_label
from gpuexplorer.gui.screen import open_size
from gpuexplorer.search.versions import Version
from gpuexplorer.workloads.workload import Workload


class CodePane(QWidget):
    """Shows one source; one of the user's own can be edited, and is measured as it is typed."""

    def __init__(self, editing: Editing) -> None:
        super().__init__()
        self._editing = editing
        self._path: Path | None = None
        self._workload: Workload | None = None
        self._title_words = ""
        self.title = muted_label()
        self.title.setObjectName("codeTitle")
        self.view = CodeView("kernelSource", "Kernel source")
        self.view.edited.connect(self._type)
        self.strip = VersionStrip()
        self.find_bar = FindBar(self.view)
        self.save_button = self._button(
            "&Save", "codeSave", "Write the edits into the file (Ctrl+S)"
        )
        self.save_button.clicked.connect(lambda _=False: self.save())
        self.save_button.clicked.connect(lambda _=False: self.view.setFocus())
        self.revert_button = self._button("&Revert", "codeRevert", "Go back to what the file holds")
        self.revert_button.clicked.connect(lambda _=False: self.revert())
        self.view.save_asked.connect(self.save)
        self.view.find_asked.connect(self.find_bar.begin)
        head = QHBoxLayout()
        head.setContentsMargins(12, 4, 12, 4)
        head.setSpacing(8)
        head.addWidget(self.title, 1)
        head.addWidget(self.save_button)
        head.addWidget(self.revert_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.strip)
        column.addWidget(self.view, 1)
        column.addWidget(self.find_bar)
        self.strip.restored.connect(self._restore)
        self.strip.compared.connect(self._compare)
        editing.changed.connect(self._tell_state)
        editing.reverted.connect(self._let_undo)
        editing.bench.changed.connect(self._show_versions)
        self._tell_state()

    def _button(self, words: str, name: str, tip: str) -> QPushButton:
        button = QPushButton(tr(words))
        button.setObjectName(name)
        button.setToolTip(tr(tip))
        return button

    def show_source(
        self, title: str, text: str, line: int | None = None, path: Path | None = None
    ) -> None:
        """Show a text and mark one of its lines; with ``path`` the file may be edited."""
        other = (title, path) != (self._title_words, self._path)
        same_file = path is not None and path == self._path
        self._title_words, self._path = title, path
        self.view.set_editable(path is not None)
        typed, dropped = self._editing.typed(path), self._editing.take_dropped(path)
        if dropped is not None and not same_file:
            self.view.show_text(dropped)
        undo = same_file or dropped is not None
        self.view.show_text(text if typed is None else typed, undo=undo)
        self.view.mark_line(line)
        if other:
            self.view.scroll_to(line or 0)
        self._tell_state()

    def show_messages(self, messages: Sequence[LineMessage]) -> None:
        """Mark what compilers say of lines."""
        if tuple(messages) != self.view.messages:
            self.view.show_messages(messages)

    def save(self) -> None:
        """Write the edits into the file."""
        if self._path is not None:
            self._editing.save(self._path)

    def revert(self) -> None:
        """Drop the edits."""
        if self._path is not None:
            self._editing.revert(self._path)

    def _let_undo(self, path: Path) -> None:
        """Have Ctrl+Z bring back edits of the file that is shown, rather than a knob."""
        if path == self._path:
            self.view.setFocus()

    def show_workload(self, workload: Workload | None) -> None:
        """Show the versions of a workload in the strip; None shows none."""
        self._workload = workload
        self._show_versions()

    def _show_versions(self) -> None:
        bench, found = self._editing.bench, self._workload
        versions = bench.of(found) if found is not None else []
        self.strip.show_versions(versions, [bench.registers_of(v) for v in versions])

    def _restore(self, version: Version) -> None:
        """Put the sources of a version in place of the present ones.

        Of the one that is shown this is a step of undo, of the others once they are shown.
        """
        if self._path is None or self._workload is None:
            return
        held, present = version.workload.source.files, self._workload.source.files
        texts = {path: held[path.name] for path in texts_of(self._workload) if path.name in held}
        if (text := texts.get(self._path)) is not None:
            if text != self.view.text:
                self.view.replace_text(text)
            self.view.setFocus()
        names = [path.name for path in self._editing.put(self._path, texts)]
        here = {path.name for path in texts}
        left = [n for n in held if n not in here and present.get(n, held[n]) != held[n]]
        self._tell_restored(version, names, left)

    def _tell_restored(self, version: Version, others: list[str], left: list[str]) -> None:
        """Say in which sources a version is back beside the one that is shown, and which not."""
        said, number = [], version.number
        if others:
            names = listed(others)
            said.append(
                f"Version {number} is back in {names} as well; Ctrl+Z goes back in each source by "
                "itself."
            )
        if left:
            names = listed(left)
            said.append(
                f"Version {number} had another text of {names}, which stays as it is: it cannot be "
                "edited here."
            )
        if said:
            kind = "warning" if left else "info"
            self._editing.notice.emit(Notice(kind, " ".join(said)))

    def _compare(self, version: Version) -> None:
        """Show what changed from a version to the present texts of its sources."""
        if self._path is not None and self._workload is not None:
            present = {**self._workload.source.files, self._path.name: self.view.text}
            dialog = InfoDialog(self, "differences", f"From version {version.number} on")
            dialog.text.setLineWrapMode(QTextBrowser.LineWrapMode.NoWrap)
            words = differences(version, present)
            dialog.text.setFontFamily(self.view.font().family())
            dialog.text.setPlainText(as_is(words))
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.resize(open_size(dialog, 760, 520))
            dialog.open()

    def _type(self) -> None:
        if self._path is not None:
            self._editing.type(self._path, self.view.text)

    def _tell_state(self) -> None:
        edited = self._editing.is_edited(self._path)
        words = [self._title_words, *(["edited, not saved"] if edited else [])]
        self.title.setText(tr(" · ".join(filter(None, words))))
        for button in (self.save_button, self.revert_button):
            button.setVisible(self._path is not None)
            button.setEnabled(edited)
