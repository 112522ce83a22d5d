"""``--detach``: have a search measured without this program, and take what it has found."""

from __future__ import annotations

import argparse
import shlex

from gpuexplorer.cli.messages import say
from gpuexplorer.cli.sessions import python_of
from gpuexplorer.core.errors import InputError
from gpuexplorer.environments import detached
from gpuexplorer.environments.detached import Detached
from gpuexplorer.search.detached import Outcome, Work


def check_detach(options: argparse.Namespace) -> None:
    """Raise InputError where something else is to measure."""
    if options.detach and options.cluster is not None:
        raise InputError(
            "a cluster's workers are told what to measure by this program",
            remedy="leave --detach out, or --cluster",
        )


def detach(work: Work, options: argparse.Namespace) -> int:
    """Begin a job, and say how it is found again."""
    arguments = [word for word in options.arguments if word not in ("--detach", "--resume")]
    one = detached.begin(shlex.join(arguments), work, arguments, python_of(options))
    say(
        f"gpuexplorer: job {one.id} is measured without this program; 'gpuexplorer jobs' lists it, "
        f"'gpuexplorer jobs collect {one.id}' takes what it has into the history"
    )
    return 0


def collected(word: str) -> tuple[Detached, Work, list[Outcome]]:
    """Return a job with what it has measured; InputError where that is nothing yet."""
    one = detached.find_detached(word)
    found = detached.outcomes(one)
    if not found:
        raise InputError(
            f"job {one.id} has measured nothing yet", remedy=f"follow it: jobs follow {one.id}"
        )
    return one, detached.work_of(one), found
