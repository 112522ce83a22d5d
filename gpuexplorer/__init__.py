"""GPU Explorer: turn a knob, see the hardware answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "accesses",
    "analyze",
    "compare",
    "devices",
    "ladder",
    "listings",
    "operators",
    "run",
    "study",
    "sweep",
    "tune",
]

if TYPE_CHECKING:
    from gpuexplorer.api import (
        accesses,
        analyze,
        compare,
        devices,
        ladder,
        listings,
        operators,
        run,
        study,
        sweep,
        tune,
    )


def __getattr__(name: str) -> Any:
    """Load the public functions on first use, so that importing the package stays cheap."""
    if name in __all__:
        from gpuexplorer import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
