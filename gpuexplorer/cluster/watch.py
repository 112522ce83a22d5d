"""How a cluster is told to end: by an event that the program that started it waits for.

Dask could end the scheduler from outside; its launcher would then look for it for half a minute.
"""

from __future__ import annotations

import threading

from gpuexplorer.cluster.connection import connect
from gpuexplorer.cluster.place import ClusterPlace
from gpuexplorer.core.closing import Closing

END = "gpuexplorer-end"
END_S = 20.0
"""How long the program that has started a cluster may take to end it."""


class Watch(Closing):
    """Looks at a cluster for the program that has started it."""

    def __init__(self, place: ClusterPlace) -> None:
        self._client = connect(place)
        self._ended = threading.Event()
        self._client.subscribe_topic(END, lambda event: self._ended.set())

    def close(self) -> None:
        """Look no more."""
        self._client.close()

    def workers(self) -> int:
        """Return how many workers there are."""
        try:
            return len(self._client.nthreads())
        except (OSError, RuntimeError):  # the scheduler has just ended
            return 0

    def ended(self, wait_s: float) -> bool:
        """Return whether the cluster has ended, or is to end, after waiting so long for that."""
        return self._ended.wait(wait_s) or self._client.status != "running"


def end(place: ClusterPlace) -> None:
    """End a cluster, and wait for that; where its starter is gone, the scheduler is ended itself.

    Raises CannotRunHere where none answers.
    """
    client = connect(place)
    gone = threading.Event()
    try:
        client.log_event(END, None)
        for _ in range(int(END_S / 0.1)):
            if client.status != "running":
                return
            gone.wait(0.1)
        client.shutdown()
    finally:
        client.close()
