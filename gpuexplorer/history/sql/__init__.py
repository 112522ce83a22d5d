"""The store in SQL: the only place that imports SQLAlchemy, and never before a store is opened."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuexplorer.history.sql import damage as damage
    from gpuexplorer.history.sql import database as database
    from gpuexplorer.history.sql import folding as folding
    from gpuexplorer.history.sql import groups as groups
    from gpuexplorer.history.sql import imports as imports
    from gpuexplorer.history.sql import lists as lists
    from gpuexplorer.history.sql import live as live
    from gpuexplorer.history.sql import marks as marks
    from gpuexplorer.history.sql import runs as runs
    from gpuexplorer.history.sql import search as search


def __getattr__(name: str) -> ModuleType:
    """Import a module of the package when it is first asked for."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
