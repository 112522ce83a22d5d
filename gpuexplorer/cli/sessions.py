"""Sessions with the engine as the commands' options ask for them."""

from __future__ import annotations

import argparse

from gpuexplorer.cli.messages import say
from gpuexplorer.engine.session import Session


def open_session(options: argparse.Namespace) -> Session:
    """Start an engine with the interpreter and threads that were asked for; log it with -v."""
    return Session(
        python=options.python,
        threads=getattr(options, "threads", None),
        log=(lambda line: say(f"engine: {line}")) if options.verbose else None,
    )
