"""Sessions with the engine as the commands' options ask for them."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.cli.messages import say
from gpuexplorer.core.ceilings import Ceilings
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.engine.interpreters import default_engine
from gpuexplorer.engine.session import EngineSession


def open_session(options: argparse.Namespace, python: str | None = None) -> EngineSession:
    """Start an engine with the interpreter and threads that were asked for; log it with -v.

    ``python`` is the word for another engine than the options ask for.
    """
    store = CeilingStore()

    def ceilings(device: DeviceInfo) -> Ceilings | None:
        found = store.find(device)
        for problem in store.take_problems():
            say(f"gpuexplorer: {problem}")
        return found

    return EngineSession(
        python=python_of(options) if python is None else python,
        threads=getattr(options, "threads", None),
        log=(lambda line: say(f"engine: {line}")) if options.verbose else None,
        ceilings=ceilings,
        on_shared=lambda words: say(f"gpuexplorer: {words}"),
    )


def opener(options: argparse.Namespace) -> Callable[[int | None], EngineSession]:
    """Return what starts an engine with so many CPU threads, None for its default."""

    def opened(threads: int | None) -> EngineSession:
        return open_session(argparse.Namespace(**{**vars(options), "threads": threads}))

    return opened


def python_of(options: argparse.Namespace) -> str | None:
    """Return the word for the engine: what ``--python`` says, or else the user's default."""
    said: str | None = options.python
    return default_engine() if said is None else said
