"""Measured runs go into the history; what cannot be kept is said, and the result is not lost."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from gpuexplorer.cli.messages import say
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.result import RunResult


def keep(
    results: Sequence[RunResult],
    options: argparse.Namespace,
    *,
    group: tuple[str, Any] | None = None,
) -> None:
    """Store runs unless ``--no-history`` was given; a failure is a warning on standard error.

    Runs that belong together come with the kind and the document of their ``group``.
    """
    if options.no_history:
        return
    from gpuexplorer.history.store import Store

    try:
        with Store.open() as store:
            if group is None:
                store.add_all(results)
            else:
                store.add_group(*group, results)
    except ExplorerError as error:
        what = "the run is" if len(results) == 1 else "the runs are"
        say(f"gpuexplorer: warning: {what} not kept: {error}")
