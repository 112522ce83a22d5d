"""The window: knobs at the left, live plots in the middle, what they mean at the right."""

from __future__ import annotations

import sys

from gpuexplorer.gui import overrides


def _import_pyqtgraph() -> None:
    """Import pyqtgraph without CUDA's Python bindings, which it tries for a widget not used here.

    They take a tenth of a second of the start, and this process never touches a GPU.
    """
    bindings = "cuda.bindings"
    known = bindings in sys.modules
    if not known:
        sys.modules[bindings] = None  # type: ignore[assignment]
    try:
        import pyqtgraph  # noqa: F401
    finally:
        if not known:
            del sys.modules[bindings]


overrides.install()  # before there is a class
_import_pyqtgraph()
