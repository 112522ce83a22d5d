"""The look of the window: sets of colours, one style sheet, and a signal when they change."""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from typing import Literal, cast

from PySide6.QtCore import QByteArray, QDir, QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from gpuexplorer.charts.style import THEMES
from gpuexplorer.charts.style import Theme as ChartTheme
from gpuexplorer.core import resources

Choice = Literal["system", "light", "dark", "contrast"]
CHOICES: tuple[Choice, ...] = ("system", "light", "dark", "contrast")


@lru_cache(maxsize=4)
def _colours(scheme: str) -> dict[str, str]:
    return cast(dict[str, str], tomllib.loads(resources.text("themes", f"{scheme}.toml")))


def blend(colour: str, background: str, share: float) -> str:
    """Return ``colour`` thinned to ``share`` over a background, as an opaque ``#rrggbb``.

    Opaque pens draw many times faster than transparent ones.
    """
    a, b = QColor(colour), QColor(background)
    parts = [
        round(x * share + y * (1 - share))
        for x, y in ((a.red(), b.red()), (a.green(), b.green()), (a.blue(), b.blue()))
    ]
    return "#{:02x}{:02x}{:02x}".format(*parts)


LARGER = "\n#experimentPanel QWidget, #views QWidget {{ font-size: {points:.1f}pt; }}\n"
"""What a style sheet has besides where letters are larger."""


class Theme(QObject):
    """The colours in force; ``changed`` tells everything that paints by itself to do so again.

    Not ``dressed`` it leaves the style sheet until ``dress``, when a window is made: with one, a
    widget is styled again, and all that it holds, whenever it gets a parent.
    """

    changed = Signal()

    def __init__(
        self, application: QApplication, choice: Choice = "system", *, dressed: bool = True
    ) -> None:
        super().__init__(application)
        self._application = application
        self._choice: Choice = choice
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._dressed = dressed
        self._points: float | None = None
        """How large letters of knobs and views are; None: as the program's font."""
        self.scheme = ""
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._apply)
        hints.accessibility().contrastPreferenceChanged.connect(self._apply)
        self.choose(choice)

    @property
    def choice(self) -> Choice:
        """What the user chose."""
        return self._choice

    def choose(self, choice: Choice) -> None:
        """Use the system's colours, light or dark ones, or those of high contrast."""
        self._choice = choice
        wanted = {
            "system": Qt.ColorScheme.Unknown,
            "light": Qt.ColorScheme.Light,
            "dark": Qt.ColorScheme.Dark,
            "contrast": Qt.ColorScheme.Dark,
        }[choice]
        QGuiApplication.styleHints().setColorScheme(wanted)
        self._apply()

    def dress(self) -> None:
        """Put the style sheet on, now and from now on."""
        if not self._dressed:
            self._dressed = True
            self._application.setStyleSheet(self._sheet())

    def undress(self) -> None:
        """Take the style sheet off while widgets are made: moving one about would match it anew."""
        self._dressed = False
        self._application.setStyleSheet("")

    def enlarge(self, points: float | None) -> None:
        """Draw knobs and views in letters of so many points; None: as everything else."""
        self._points = points
        if self._dressed:
            self._restyle()

    @property
    def chart(self) -> ChartTheme:
        """The plots' colours."""
        return THEMES[self.scheme]

    def colour(self, name: str) -> str:
        """Return a colour of the window as ``#rrggbb``."""
        return _colours(self.scheme)[name]

    def q(self, name: str) -> QColor:
        """Return a colour of the window."""
        return QColor(self.colour(name))

    def icon(self, name: str, colour: str = "text") -> QIcon:
        """Return one of our line icons in a colour of the window."""
        key = (name, self.colour(colour))
        if key not in self._icons:
            self._icons[key] = _icon(name, key[1], self.colour("disabled"))
        return self._icons[key]

    def _apply(self) -> None:
        scheme = self._choice if self._choice != "system" else _of_system()
        if scheme == self.scheme:
            return
        self.scheme = scheme
        self._application.setPalette(self._palette())
        if self._dressed:
            self._restyle()
        self.changed.emit()

    def _restyle(self) -> None:
        """Put the sheet on every widget.

        By itself Qt restyles those that it has matched to the sheet and not forgotten since, as
        ``forget_styles`` has it do: a hidden view, a menu would keep the colours of before.
        """
        forget_styles(self._application)
        self._application.setStyleSheet(self._sheet())
        for widget in self._application.allWidgets():
            if widget.testAttribute(Qt.WidgetAttribute.WA_StyleSheet):  # others will be, once shown
                widget.style().polish(widget)
                self._application.sendEvent(widget, QEvent(QEvent.Type.StyleChange))

    def _sheet(self) -> str:
        # Not by its path: a quote or a blank in it would spoil the whole sheet.
        QDir.setSearchPaths("icons", [str(resources.folder() / "icons")])
        drawn = {name: f"icons:{name}-{self.scheme}.svg" for name in ("arrow", "check")}
        words = {**_colours(self.scheme), **drawn}
        sheet = resources.text("themes", "window.qss")
        if self._points is not None:
            sheet += LARGER.format(points=self._points)
        return re.sub(r"@(\w+)", lambda found: words[found[1]], sheet)

    def _palette(self) -> QPalette:
        palette = QPalette()
        roles = QPalette.ColorRole
        for role, name in (
            (roles.Window, "window"),
            (roles.WindowText, "text"),
            (roles.Base, "panel"),
            (roles.AlternateBase, "raised"),
            (roles.Text, "text"),
            (roles.Button, "raised"),
            (roles.ButtonText, "text"),
            (roles.ToolTipBase, "raised"),
            (roles.ToolTipText, "text"),
            (roles.PlaceholderText, "muted"),
            (roles.Highlight, "selection"),
            (roles.HighlightedText, "text"),
            (roles.Link, "accent"),
            (roles.LinkVisited, "accent"),
            (roles.Mid, "border"),
        ):
            palette.setColor(role, self.q(name))
        for role in (roles.WindowText, roles.Text, roles.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, self.q("disabled"))
        return palette


def _of_system() -> str:
    """Return the colours that the system asks for."""
    hints = QGuiApplication.styleHints()
    if hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast:
        return "contrast"
    return "dark" if hints.colorScheme() == Qt.ColorScheme.Dark else "light"


def _icon(name: str, colour: str, disabled: str) -> QIcon:
    icon = QIcon()
    drawing = resources.text("icons", f"{name}.svg")
    for mode, painted in ((QIcon.Mode.Normal, colour), (QIcon.Mode.Disabled, disabled)):
        renderer = QSvgRenderer(QByteArray(drawing.replace("currentColor", painted).encode()))
        for size in (16, 32):
            pixmap = QPixmap(QSize(size, size))
            pixmap.fill(Qt.GlobalColor.transparent)
            painter = QPainter(pixmap)
            renderer.render(painter)
            painter.end()
            icon.addPixmap(pixmap, mode)
    return icon


def forget_styles(application: QApplication) -> None:
    """Have Qt match the style sheet to widgets anew as they are painted.

    It keeps what it matched to spin boxes and lists for choosing when they are deleted, and these
    small blocks, strewn over the heap, keep the pages around them from being given back.
    """
    application.style().unpolish(application)


def theme() -> Theme:
    """Return the application's theme; it must have been made."""
    application = QApplication.instance()
    found = application.findChild(Theme) if application is not None else None
    if found is None:
        raise RuntimeError("no theme yet: make Theme(application) first")
    return found


def make_theme(application: QApplication, choice: Choice, *, dressed: bool = True) -> Theme:
    """Return the application's theme, made now or before."""
    found = application.findChild(Theme)
    if found is None:
        return Theme(application, choice, dressed=dressed)
    if not dressed:
        found.undress()
    found.choose(choice)
    return found
