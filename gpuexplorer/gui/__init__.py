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


def _import_pyqtgraph() -> None:
    """Import pyqtgraph without much that it loads and that is not used here.

    CUDA's Python bindings are for a widget of it, and this process never touches a GPU.
    """
    bindings = "cuda.bindings"
    known = bindings in sys.modules
    if not known:
        sys.modules[bindings] = None  # type: ignore[assignment]
    try:
        with _classes_on_demand():
            import pyqtgraph  # noqa: F401
    finally:
        if not known:
            del sys.modules[bindings]


@contextmanager
def _classes_on_demand() -> Iterator[None]:
    """Have pyqtgraph's copies of Qt's modules take a class from Qt when it is first asked for.

    PySide makes a class when it is taken, and pyqtgraph would take each of some two thousand.
    """
    if "pyqtgraph" in sys.modules:
        yield
        return
    sources: list[Any] = [import_module(f"PySide6.{name}") for name in MODULES]
    for source in sources:
        copy = _Copy(source)
        sys.modules[copy.__name__] = copy
        source.__dir__ = list
    try:
        yield
    finally:
        for source in sources:
            del source.__dir__


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
gc.disable()  # what is imported here stays
try:
    _import_pyqtgraph()
finally:
    gc.freeze()
    gc.enable()
