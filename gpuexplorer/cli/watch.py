"""``gpuexplorer run FILE --watch``: each version of a file that is saved, beside the one before."""

from __future__ import annotations

import argparse
import time

from gpuexplorer.charts.words import config_words, median_words, when_words
from gpuexplorer.cli.keeping import keep
from gpuexplorer.cli.knob_options import request_of
from gpuexplorer.cli.messages import report, tell
from gpuexplorer.cli.own_files import chosen
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.units import plural
from gpuexplorer.search.versions import Version, Versions
from gpuexplorer.workloads.loader import Stamps, load_one, own_root, source_paths, stamps
from gpuexplorer.workloads.workload import Workload

LOOK_S = 0.05
"""Between two looks at the files; a change counts once it is as old."""
NOT_WITH = ("csv", "json", "ncu", "noise", "plot", "seconds", "tuned")
"""Options of a single run."""


def watch(options: argparse.Namespace) -> int:
    """Measure a workload of one's own whenever its files change, until Ctrl-C."""
    for name in NOT_WITH:
        if getattr(options, name):
            raise InputError(
                f"--{name} is for a single run", remedy="leave it out, or leave --watch out"
            )
    workload = chosen(options, options.workload)
    if own_root(workload) is None:
        raise InputError(
            f"--watch follows files of your own, and '{workload.name}' comes with GPU Explorer",
            remedy="copy its folder, and name the copy with --kernels",
        )
    seen = stamps(source_paths(workload))
    versions, request = Versions(allow_long=options.yes), request_of(options)
    try:
        with open_session(options) as session:
            devices = session.devices()
            while True:
                version = versions.take(session, workload, devices, request)
                _show(version, options)
                workload, seen = _next(workload, seen, options)
    except KeyboardInterrupt:
        words = ("measured {number} version", "measured {number} versions")
        tell(plural(versions.ran, *words))
    return 0


def _next(workload: Workload, seen: Stamps, options: argparse.Namespace) -> tuple[Workload, Stamps]:
    """Wait for another version of a workload; what cannot be read is told, and waited for."""
    paths = source_paths(workload)
    while True:
        time.sleep(LOOK_S)
        found = stamps(paths)
        if found == seen or not found:
            continue
        time.sleep(LOOK_S)
        if stamps(paths) != found:  # it is being written
            continue
        seen = found
        try:
            new = load_one(options.workload, options.kernels)
        except ExplorerError as error:
            report(error, verbose=options.verbose)
            continue
        if new.sha256 != workload.sha256:
            return new, seen


def _show(version: Version, options: argparse.Namespace) -> None:
    """Print what is known of a version, and keep its run."""
    when = when_words(version.time_utc, seconds=True).rpartition(" ")[2]
    if version.error is not None:
        tell(f"{when}  version {version.number} did not run")
        report(version.error, verbose=options.verbose)
        return
    run = version.run
    assert run is not None  # as every version has that has no error
    try:
        keep([run], options)
    except ExplorerError as error:
        report(error, verbose=options.verbose)
    name = f"version {version.number}"
    cells = [
        when,
        name,
        median_words(run),
        "not verified" if run.verification is None else run.verification.words,
    ]
    if version.before is None:
        tell(f"{run.config.workload}  {config_words(run.config)}")
    else:
        cells.append(version.beside)
    tell("  ".join(cells))
