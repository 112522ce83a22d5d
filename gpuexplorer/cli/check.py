"""``gpuexplorer check-kernels``: run and verify every variant and precision of a folder."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.messages import output_console, say, shorten
from gpuexplorer.cli.output import check_targets, json_path, pretty_json
from gpuexplorer.cli.progress import Steps, steps_progress
from gpuexplorer.cli.sessions import open_session, opener
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.core.result import VERIFIED
from gpuexplorer.core.units import percent
from gpuexplorer.engine.session import EngineSession
from gpuexplorer.selftest.cases import Group, Tried, case_words, plan_groups, try_case
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.loader import read_folder, workload_folders
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from rich.table import Table

SCHEMA = "gpuexplorer/check/1"


def command(options: argparse.Namespace) -> int:
    """Check every workload; 1 when one is wrong, 3 when nothing could be run here."""
    check_targets(json_path(options.json))
    workloads = [
        Workload(read_folder(folder))
        for root in (options.folder, *options.kernels)
        for folder in workload_folders(root)
    ]
    interrupted = False
    with open_session(options) as session:
        device = find_device(session.devices(), options.device)
        groups = plan_groups(workloads, session.devices(), device)
        threads = other_threads(device)
        again = [g for g in groups if threads is not None and g.cases and g.runs_kernels]
        total = sum(len(g.cases) for g in groups) + len(again)
        with steps_progress("checking the cases") as sink:
            progress = Steps(sink, total)
            try:
                for group in groups:
                    _check(group, session, progress)
                if again:
                    session.close()  # two engines' threads would be in each other's way
                    with opener(options)(threads) as other:
                        _check_again(again, other, progress)
            except KeyboardInterrupt:
                interrupted = True
    code = _deliver(groups, device, options)
    if interrupted:
        say("gpuexplorer: stopped before every case was tried")
        return EXIT_INTERRUPTED
    if any(g.failures for g in groups):
        return WorkFailed.exit_code
    return code if any(g.tried for g in groups) else CannotRunHere.exit_code


def _check(group: Group, session: EngineSession, progress: Steps) -> None:
    """Try a group's cases; after one that breaks in another way than a wrong result, no more."""
    for index, case in enumerate(group.cases):
        progress.running(f"{group.workload.name}/{group.variant} {group.precision}")
        try_case(group, case, session)
        if group.broken is not None:
            progress.done(len(group.cases) - index)
            return
        progress.done()


def _check_again(groups: list[Group], session: EngineSession, progress: Steps) -> None:
    """Try the largest case of each group that was right with another number of CPU threads."""
    for group in groups:
        progress.running(f"{group.workload.name}/{group.variant} {group.precision}, other threads")
        if not group.failures:
            largest = max(group.cases, key=lambda case: math.prod(case.request.size.values()))
            try_case(group, largest, session)
        progress.done()


def other_threads(device: DeviceInfo) -> int | None:
    """Return another number of CPU threads than a device uses; None where there is none."""
    if device.threads is None or device.compute_units < 2:
        return None
    return 1 if device.threads > 1 else 2


# ---- what is shown


@interrupts_held()
def _deliver(groups: list[Group], device: DeviceInfo, options: argparse.Namespace) -> int:
    delivery = Delivery(json=options.json, verbose=options.verbose)
    delivery.document(lambda: pretty_json(_document(groups, device)))
    delivery.show(lambda: _print(groups, device, verbose=options.verbose))
    return delivery.code


def _document(groups: list[Group], device: DeviceInfo) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "device": device.id,
        "ok": not any(g.failures for g in groups),
        "cases": [_case_document(g, t) for g in groups for t in g.tried],
        "skipped": [_group_document(g) | {"skipped": g.skipped} for g in groups if g.skipped],
    }


def _print(groups: list[Group], device: DeviceInfo, *, verbose: bool) -> None:
    console = output_console()
    console.print(f"{device.name} ({device.id})\n", markup=False)
    console.print(table(groups))
    for line in (*_skipped_words(groups), *_refused_words(groups)):
        console.print(line, style="dim", markup=False)
    for group in groups:
        for tried in group.failures:
            _print_failure(group, tried, verbose)


def _skipped_words(groups: list[Group]) -> list[str]:
    """Return why variants were skipped, each reason once for all its precisions."""
    precisions: dict[tuple[str, str, str], list[str]] = {}
    for group in groups:
        if group.skipped:
            key = (group.workload.name, group.variant, group.skipped)
            precisions.setdefault(key, []).append(group.precision)
    return [
        f"skipped {name}/{variant} in {', '.join(listed)}: {reason}"
        for (name, variant, reason), listed in precisions.items()
    ]


def _refused_words(groups: list[Group]) -> list[str]:
    """Return which cases could not be launched, and why."""
    return [
        f"not launched {group.workload.name}/{group.variant} {case_words(tried.case.request)}: "
        f"{tried.refused}"
        for group in groups
        for tried in group.tried
        if tried.refused
    ]


def _group_document(group: Group) -> dict[str, Any]:
    return {
        "workload": group.workload.name,
        "variant": group.variant,
        "precision": group.precision,
    }


def _case_document(group: Group, tried: Tried) -> dict[str, Any]:
    shape = tried.config or tried.case.request
    check, error = tried.verification, tried.error
    return _group_document(group) | {
        "size": shape.size,
        "block": shape.block,
        "tunables": shape.tunables,
        "fill": shape.fill,
        "threads": shape.threads,
        "finds": tried.case.finds,
        "ok": check is not None and check.ok,
        "max_rel_error": check.max_rel_error if check else None,
        "tolerance": check.tolerance if check else None,
        "not_launched": tried.refused or None,
        "error": str(error) if error and not tried.refused else None,
        "detail": error.detail or None if error else None,
    }


def table(groups: list[Group]) -> Table:
    """Return one row for each variant and precision."""
    from rich.text import Text

    figures = ("cases", "error / tolerance")
    made = plain_table("workload", "variant", "precision", *figures, "result", figures=figures)
    for group in groups:
        if group.skipped:
            result = Text("skipped", style="dim")
        elif group.failures:
            result = Text(f"{len(group.failures)} failed", style="bold red")
        elif len(group.tried) < len(group.cases):
            result = Text("not finished", style="yellow")
        else:
            found = group.outcome
            result = Text(found, style="green" if found == VERIFIED else "yellow")
        made.add_row(
            group.workload.name,
            group.variant,
            group.precision,
            str(len(group.tried)) if group.tried else "",
            percent(group.margin) if group.margin is not None else "",
            result,
        )
    return made


def _print_failure(group: Group, tried: Tried, verbose: bool) -> None:
    error = tried.error
    assert error is not None
    say(f"{group.workload.name}/{group.variant} {case_words(tried.case.request)}: {error}")
    for line in error.detail.splitlines() if verbose else shorten(error.detail):
        say(f"  {line}")
