"""``--detach``: have a search measured without this program, and take what it has found."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuexplorer.calibration.store import CeilingStore
from gpuexplorer.cli.messages import say
from gpuexplorer.cli.output import json_path
from gpuexplorer.cli.sessions import python_of
from gpuexplorer.core.deadline import said_deadline_s
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.shared_device import when_shared
from gpuexplorer.environments import detached
from gpuexplorer.environments.detached import Detached
from gpuexplorer.history.place import ENVIRONMENT_VARIABLE, file_of, shown
from gpuexplorer.search.detached import Outcome, Work
from gpuexplorer.workloads.trust import agreed
from gpuexplorer.workloads.workload import Workload


@dataclass
class Collecting:
    """A job whose results the command that began it takes into the history.

    The command says in it what became of them.
    """

    job: str
    began_in: str = ""
    """The folder in which it was begun; empty: not known."""
    handed_on: bool = False
    """Whether the history was handed all that was measured."""
    refused: bool = False
    """Whether the history did not take some of it."""
    unfinished: bool = False
    """Whether some of it is to be measured again, as it was lost for a reason that passes."""

    @property
    def is_whole(self) -> bool:
        """Whether the history has all, and nothing of it is to be measured again."""
        return self.handed_on and not self.refused and not self.unfinished

    def place_files(self, options: argparse.Namespace) -> None:
        """Have the files that its command names lie where it was begun, if that is still there."""
        named = {name: value for name, value in vars(options).items() if isinstance(value, Path)}
        history = file_of(options.history) if options.history else None
        for name, path in (("json", json_path(options.json)), ("history", history)):
            named |= {name: path} if path is not None else {}
        named = {name: path for name, path in named.items() if not path.is_absolute()}
        folder = Path(self.began_in)
        if not self.began_in or not named:
            return
        if not folder.is_dir():
            say(
                f"gpuexplorer: the folder in which job {self.job} was begun is gone: {folder}; its "
                "files are written in the present one"
            )
            return
        for name, path in named.items():
            text = isinstance(getattr(options, name), str)
            setattr(options, name, str(folder / path) if text else folder / path)
        if "history" in named:
            os.environ[ENVIRONMENT_VARIABLE] = options.history

    def heard_of(self, warn: Callable[[ExplorerError], None]) -> Callable[[ExplorerError], None]:
        """Return what warns that the history did not take something, noted here as well."""

        def refuse(error: ExplorerError) -> None:
            self.refused = True
            warn(error)

        return refuse


def check_detach(options: argparse.Namespace) -> None:
    """Raise InputError where something else is to measure."""
    if options.detach and options.cluster is not None:
        raise InputError(
            "a cluster's workers are told what to measure by this program",
            remedy="leave --detach out, or --cluster",
        )


def detach(
    asked: argparse.Namespace,
    workload: Workload,
    devices: DeviceList,
    group: str | None = None,
    **what: Any,
) -> int:
    """Begin a job, which continues a ``group`` of the history, and say how it is found again.

    ``what`` are the fields of ``Work`` that say what is measured.
    """
    work = Work(
        source=workload.source,
        devices=devices,
        ceilings=CeilingStore().of(devices),
        agreed=agreed(workload),
        when_shared=when_shared(),
        deadline_s=said_deadline_s(),
        **what,
    )
    arguments = [word for word in asked.arguments if word not in ("--detach", "--resume")]
    title, engine = shown(shlex.join(arguments)), python_of(asked)
    one = detached.begin(title, work, arguments, engine, group or "")
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


def begin_taking(job: Detached, group: str | None) -> None:
    """Note which group of the history takes what a job has measured."""
    if group is not None:
        detached.keep_group(job, group)
