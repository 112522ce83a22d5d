"""The window: knobs at the left, live plots in the middle, what they mean at the right."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from gpuexplorer.gui import overrides

MODULES = ("QtCore", "QtGui", "QtWidgets")
"""Those of Qt that pyqtgraph copies."""
UNUSED = {
    "graphicsItems": """
        ArrowItem BoxplotItem ColorBarItem CurvePoint DateAxisItem ErrorBarItem GradientEditorItem
        GradientLegend GraphItem GraphicsLayout GridItem HistogramLUTItem ImageItem IsocurveItem
        LinearRegionItem PColorMeshItem ROI ScaleBar TargetItem VTickGroup""",
    "widgets": """
        BusyCursor CheckTable ColorButton ColorMapMenu ColorMapWidget ComboBox DataFilterWidget
        DataTreeWidget DiffTreeWidget FeedbackButton GradientWidget GraphicsLayoutWidget GroupBox
        HistogramLUTWidget JoystickButton LayoutWidget PathButton ProgressDialog RawImageWidget
        RemoteGraphicsView ScatterPlotWidget SpinBox TableWidget TreeWidget ValueLabel
        VerticalLabel""",
}
"""Modules that pyqtgraph would load by itself, with some fifty others that they need."""


def _import_pyqtgraph() -> None:
    """Import pyqtgraph without most of what it loads and what is not used here.

    Such a class of it, ``pyqtgraph.SpinBox`` say, is loaded when it is first asked for.
    """
    modules = {
        name: f"pyqtgraph.{part}.{name}" for part, names in UNUSED.items() for name in names.split()
    }
    modules["ImageView"] = "pyqtgraph.imageview"
    unused = {path: _Unused(name) for name, path in modules.items() if path not in sys.modules}
    sys.modules.update(unused)
    try:
        with _classes_on_demand():
            import pyqtgraph
    finally:
        for path in unused:
            del sys.modules[path]

    def asked_for(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module 'pyqtgraph' has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    vars(pyqtgraph).setdefault("__getattr__", asked_for)


class _Unused(ModuleType):
    """Stands in for a module while one is loaded that takes names from it and does not use them."""

    __all__ = ()

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


@contextmanager
def _classes_on_demand() -> Iterator[None]:
    """Have pyqtgraph's copies of Qt's modules take a class from Qt when it is first asked for.

    PySide makes a class when it is taken, and pyqtgraph would take each of some two thousand.
    """
    if "pyqtgraph" in sys.modules:
        yield
        return
    sources: list[Any] = [import_module(f"PySide6.{name}") for name in MODULES]
    listed = [source.__dir__ for source in sources]
    for source in sources:
        copy = _Copy(source)
        sys.modules[copy.__name__] = copy
        source.__dir__ = list
    try:
        yield
    finally:
        for source, names in zip(sources, listed, strict=True):
            source.__dir__ = names


class _Copy(ModuleType):
    """One of pyqtgraph's copies; it may add names of its own, as it does."""

    def __init__(self, source: ModuleType) -> None:
        super().__init__(source.__name__.replace("PySide6", "pyqtgraph.Qt"))
        self._source = source

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._source, name)
        setattr(self, name, found)
        return found


overrides.install()  # before there is a class
gc.set_threshold(20_000)  # classes and widgets are made by the thousand, and stay
gc.disable()  # what is imported here stays
try:
    _import_pyqtgraph()
finally:
    gc.freeze()
    gc.enable()
