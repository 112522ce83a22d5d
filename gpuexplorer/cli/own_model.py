"""Model files that a command names: agreed to, or refused with how to agree."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from gpuexplorer.cli.messages import say
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import plural
from gpuexplorer.workloads.loader import own_workload
from gpuexplorer.workloads.own_model import ModelFile, is_model_file, read_model
from gpuexplorer.workloads.trust import NotTrusted, is_trusted, trust

SHOWN_LINES = 12
"""Lines of a file that stand above the question."""


def take_models(options: argparse.Namespace) -> None:
    """Turn every model's file that a command names into a workload the user agreed to run.

    The file becomes a root of workloads and its name the workload's. Raises InputError for a file
    that is no model, and NotTrusted without the user's consent.
    """
    word = getattr(options, "workload", None)
    roots = list(getattr(options, "kernels", ()))
    if isinstance(word, str) and is_model_file(word):
        roots.append(Path(word))
        options.kernels = roots
        options.workload = own_workload(Path(word)).name
    for root in roots:
        if is_model_file(root):
            agree(read_model(root), said_so=bool(getattr(options, "trust", False)))


def agree(
    model: ModelFile, *, said_so: bool, ask: Callable[[ModelFile], bool] | None = None
) -> None:
    """Have the user agree to run a file: with ``--trust``, in a list kept earlier, or when asked.

    Raises NotTrusted without it.
    """
    if is_trusted(model.sha256):
        return
    asked = ask or (_ask if _at_a_terminal() else None)
    if not said_so and (asked is None or not asked(model)):
        raise NotTrusted(model)
    try:
        trust(model)
    except InputError as error:  # it holds for this command all the same
        say(f"gpuexplorer: the agreement is not remembered: {error}")


def _at_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def _ask(model: ModelFile) -> bool:
    """Show what would be run and ask on the terminal."""
    say(f"{model.path} is a program. It will run in the engine, with your rights.")
    say(f"SHA-256 {model.sha256}")
    lines = model.text.splitlines()
    for line in lines[:SHOWN_LINES]:
        say(f"  │ {line}")
    if (more := len(lines) - SHOWN_LINES) > 0:
        say(plural(more, "  … {number} more line", "  … {number} more lines"))
    print("Run it? [y/N]", end=" ", file=sys.stderr, flush=True)
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False
