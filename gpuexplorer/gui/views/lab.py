"""The Lab: the studies side by side, each made when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gpuexplorer.core.language import tr
from gpuexplorer.core.studies import Study
from gpuexplorer.gui.export import Exported
from gpuexplorer.gui.model.job import Held
from gpuexplorer.gui.session import Session
from gpuexplorer.gui.theme import theme
from gpuexplorer.gui.typeface import for_text
from gpuexplorer.gui.views.study import StudyView
from gpuexplorer.gui.widgets.flow import Flow
from gpuexplorer.gui.widgets.two_lines import TwoLines
from gpuexplorer.studies import KINDS, kind_of

DOT_PX = 6


class StudyButton(QToolButton):
    """Shows a study; a dot in its corner says that it is being measured, and moves nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.running = False

    def show_running(self, running: bool) -> None:
        """Say whether the study is being measured."""
        self.running = running
        self.setAccessibleDescription(tr("It is being measured." if running else ""))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the dot, too."""
        super().paintEvent(event)
        if self.running:
            painter, size = QPainter(self), for_text(DOT_PX)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme().q("accent"))
            painter.drawEllipse(self.width() - size - 3, 3, size, size)
            painter.end()


class LabView(QWidget):
    """A button for each study; what is shown and what is measured need not be the same."""

    notice = Signal(object)
    message = Signal(str)
    restored = Signal(object)
    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("labView")
        self.setAutoFillBackground(True)
        self.setBackgroundRole(self.palette().ColorRole.Base)
        self._session = session
        self.kernel_folders: Callable[[], Sequence[Path]] = tuple
        """Returns the user's kernel folders, which a copied command names."""
        self.views: dict[str, StudyView] = {}
        """Those that were shown by now: all at once would be felt."""
        self.buttons: dict[str, StudyButton] = {}
        self.heads, self.pages = QStackedWidget(), QStackedWidget()
        group = QButtonGroup(self)
        for name, kind in KINDS.items():
            button = StudyButton()
            button.setObjectName(f"labView_{name}")
            button.setText(tr(kind.title))
            button.setToolTip(tr(kind.tip))
            button.setProperty("role", "view")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.clicked.connect(lambda _=False, name=name: self.show_kind(name))
            group.addButton(button)
            self.buttons[name] = button
        self.heads.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        line = TwoLines(
            (Flow(tuple(self.buttons.values())),), (self.heads,),
            grows=self.heads, margins=(10, 6, 8, 4), spacing=4,
        )  # fmt: skip
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(line)
        whole.addWidget(self.pages, 1)
        self.show_kind(next(iter(KINDS)))

    def view_of(self, name: str) -> StudyView:
        """Return the view of a study, made now or before."""
        view = self.views.get(name)
        if view is None:
            view = self.views[name] = StudyView(self._session, KINDS[name])
            view.kernel_folders = lambda: self.kernel_folders()
            for signal in ("notice", "message", "restored", "changed"):
                getattr(view, signal).connect(getattr(self, signal))
            view.changed.connect(partial(self._mark, name))
            self.heads.addWidget(view.head)
            self.pages.addWidget(view)
        return view

    def _mark(self, name: str) -> None:
        """Show on its button that a study is being measured."""
        self.buttons[name].show_running(self.views[name].running)

    @property
    def view(self) -> StudyView:
        """The study that is shown."""
        shown = self.pages.currentWidget()
        assert isinstance(shown, StudyView)
        return shown

    def show_kind(self, name: str) -> None:
        """Show another study; the one that is measured goes on."""
        view = self.view_of(name)
        self.buttons[name].setChecked(True)
        self.heads.setCurrentWidget(view.head)
        self.pages.setCurrentWidget(view)

    def held(self) -> tuple[Held[Study], ...] | None:
        """Return the studies as far as they were measured; None without any."""
        views = self.views.values()
        return tuple(found for view in views if (found := view.model.held()) is not None) or None

    def show_held(self, held: Sequence[Held[Study]] | None) -> None:
        """Show the studies of a session; those that it has none of are empty."""
        by_name = {kind_of(one.result).name: one for one in held or ()}
        for name in KINDS:
            if name in by_name or name in self.views:
                self.view_of(name).show_held(by_name.get(name))
        if by_name and self.view.kind.name not in by_name:
            self.show_kind(next(name for name in KINDS if name in by_name))

    def open_study(self, held: Held[Study]) -> None:
        """Show one study, in place of what its view has."""
        name = kind_of(held.result).name
        self.view_of(name).show_held(held)
        self.show_kind(name)

    def exported(self) -> Exported:
        """Return how the study that is shown is written; InputError when there is none."""
        return self.view.exported()

    def close_down(self) -> None:
        """End what the views have started."""
        for view in self.views.values():
            view.close_down()
