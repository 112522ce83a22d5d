"""How a cluster is told to end: by an event that the program that started it waits for.

Dask could end the scheduler from outside; its launcher would then look for it for half a minute.
"""

from __future__ import annotations

import threading

from gpuexplorer.cluster.connection import connect
from gpuexplorer.cluster.place import ClusterPlace
from gpuexplorer.core.closing import Closing
from gpuexplorer.core.errors import WorkFailed

END = "gpuexplorer-end"
WATCHED = "gpuexplorer-watched"
"""A resource that no worker has."""
END_S = 20.0
"""How long the program that has started a cluster may take to end it."""


class Watch(Closing):
    """Looks at a cluster for the program that has started it, and keeps it from ending idle."""

    def __init__(self, place: ClusterPlace) -> None:
        self._client = connect(place)
        self._scheduler = place.scheduler
        # A scheduler with a task that waits is not idle, and this one waits as long as this client
        # lives: no worker has what it needs.
        self._waiting = self._client.submit(int, pure=False, resources={WATCHED: 1})
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
        """Return whether the cluster is to end, after waiting so long for that.

        Raises WorkFailed where its scheduler does not answer any more.
        """
        if self._ended.wait(wait_s):
            return True
        if self._client.status != "running":
            raise WorkFailed(
                f"the scheduler at {self._scheduler} does not answer any more",
                remedy="see whether its machine is reached, and start the cluster once more",
            )
        return False


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
