"""Dask distributed, which is loaded on first use and set for measuring."""

from __future__ import annotations

import logging
from functools import cache
from types import ModuleType

from gpuexplorer.core.errors import CannotRunHere

SETTINGS = {
    # A worker starts an engine, and what is a daemon may start nothing.
    "distributed.worker.daemon": False,
    # Ctrl-C in a terminal reaches workers as well, which would end in pages of Python.
    "distributed.worker.preload": ["gpuexplorer.cluster.worker"],
    # Nothing is moved from a worker that may just be measuring it.
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 1,
    # Results pass through the scheduler as events, and it keeps so many of the latest.
    "distributed.admin.low-level-log-length": 100,
    # Those of a client that has left are forgotten.
    "distributed.scheduler.events-cleanup-delay": "1s",
    # Its own looks at a worker, hundreds a second, would disturb what is measured there.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    # Its workers would open every GPU, each of which belongs to one engine.
    "distributed.diagnostics.nvml": False,
    # It always serves pages, which nobody needs to see.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # What goes wrong is told by us, in a sentence.
    "logging": {
        "distributed": "critical",
        "distributed.client": "critical",
        "tornado.application": "critical",
    },
    # In place of its own, which would leave an engine's libraries one thread.
    "distributed.nanny.pre-spawn-environ": {"DASK_LOGGING__DISTRIBUTED": "critical"},
}


@cache
def load_distributed() -> ModuleType:
    """Return Dask's library, set once; CannotRunHere where it is not installed."""
    try:
        import dask

        dask.config.set(SETTINGS)  # before the library reads what it logs
        import distributed
    except ImportError:
        raise CannotRunHere(
            "a cluster needs Dask distributed, which is not installed here",
            remedy="install it with: pip install 'gpuexplorer[cluster]'",
        ) from None
    for name in ("distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    library: ModuleType = distributed
    return library
