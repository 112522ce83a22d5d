"""``gpuexplorer check-kernels``: run and verify every variant and precision of a folder."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from gpuexplorer.charts.words import block_words
from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.messages import error_console, output_console, say, shorten
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.progress import PLAIN_EVERY_S
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, WorkFailed, WrongResult
from gpuexplorer.core.result import Verification
from gpuexplorer.core.units import percent
from gpuexplorer.engine.session import Session
from gpuexplorer.workloads.check import CheckCase, SkippedCase, check_plan
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.loader import read_folder, workload_folders
from gpuexplorer.workloads.workload import Workload

if TYPE_CHECKING:
    from rich.table import Table

SCHEMA = "gpuexplorer/check/1"
SECONDS_EACH = 1e-6
"""One batch of launches is enough: the figure that counts is the verification before it."""


@dataclass
class Tried:
    """One case with what came of it: a verification or an error."""

    case: CheckCase
    config: RunConfig | None = None
    verification: Verification | None = None
    error: ExplorerError | None = None


@dataclass
class Group:
    """One variant of a workload in one precision: its cases so far, or why it cannot run here."""

    workload: Workload
    variant: str
    precision: str
    skipped: str = ""
    cases: list[CheckCase] = field(default_factory=list)
    tried: list[Tried] = field(default_factory=list)

    @property
    def failures(self) -> list[Tried]:
        """The cases that failed."""
        return [t for t in self.tried if t.error is not None]

    @property
    def margin(self) -> float | None:
        """The largest error as a share of its tolerance."""
        checks = [t.verification for t in self.tried if t.verification is not None]
        return max((c.max_rel_error / c.tolerance for c in checks), default=None)


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
        groups = [g for w in workloads for g in _groups(w, session, device)]
        with _progress(sum(len(g.cases) for g in groups)) as progress:
            try:
                for group in groups:
                    _check(group, session, progress)
            except KeyboardInterrupt:
                interrupted = True
    _deliver(groups, device, options)
    if interrupted:
        say("gpuexplorer: stopped before every case was tried")
        return EXIT_INTERRUPTED
    if any(g.failures for g in groups):
        return WorkFailed.exit_code
    return 0 if any(g.tried for g in groups) else CannotRunHere.exit_code


def _groups(workload: Workload, session: Session, device: DeviceInfo) -> list[Group]:
    """Return the cases of a workload, by variant and precision."""
    cases, skipped = check_plan(workload, session.devices(), device)
    groups: dict[tuple[str, str], Group] = {}
    for case in cases:
        key = (str(case.request.variant), str(case.request.precision))
        groups.setdefault(key, Group(workload, *key)).cases.append(case)
    for one in skipped:
        groups[one.variant, one.precision] = _skipped_group(workload, one)
    return list(groups.values())


def _skipped_group(workload: Workload, one: SkippedCase) -> Group:
    return Group(workload, one.variant, one.precision, skipped=one.reason)


def _check(group: Group, session: Session, progress: _Progress) -> None:
    """Try a group's cases; after one that breaks in another way than a wrong result, no more."""
    for index, case in enumerate(group.cases):
        progress.running(f"{group.workload.name}/{group.variant} {group.precision}")
        tried = Tried(case)
        group.tried.append(tried)
        try:
            tried.config = complete(case.request, group.workload, session.devices())
            result = session.measure(tried.config, group.workload, seconds=SECONDS_EACH)
            tried.config, tried.verification = result.config, result.verification
        except ExplorerError as error:
            tried.error = error
            if not isinstance(error, WrongResult):
                progress.done(len(group.cases) - index)
                return
        progress.done(1)


# ---- what is shown


class _Progress(Protocol):
    def running(self, what: str) -> None: ...
    def done(self, cases: int) -> None: ...


class _PlainProgress:
    """A line now and then."""

    def __init__(self, total: int) -> None:
        self._total, self._count = total, 0
        self._due = time.monotonic() + PLAIN_EVERY_S

    def running(self, what: str) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + PLAIN_EVERY_S
            say(f"checked {self._count} of {self._total} cases, now {what}")

    def done(self, cases: int) -> None:
        self._count += cases


@contextmanager
def _progress(total: int) -> Iterator[_Progress]:
    if not sys.stderr.isatty():
        yield _PlainProgress(total)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        BarColumn(bar_width=30), MofNCompleteColumn(), TextColumn("{task.description}"),
        console=error_console(), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task("", total=total)

        class Bar:
            def running(self, what: str) -> None:
                bar.update(task, description=what)

            def done(self, cases: int) -> None:
                bar.advance(task, cases)

        yield Bar()


def _deliver(groups: list[Group], device: DeviceInfo, options: argparse.Namespace) -> None:
    if options.json is not None:
        document = {
            "schema": SCHEMA,
            "device": device.id,
            "ok": not any(g.failures for g in groups),
            "cases": [_case_document(g, t) for g in groups for t in g.tried],
            "skipped": [_group_document(g) | {"skipped": g.skipped} for g in groups if g.skipped],
        }
        write_document(options.json, pretty_json(document))
    if options.json == "-":
        return
    console = output_console()
    console.print(f"{device.name} ({device.id})\n", markup=False)
    console.print(table(groups))
    for line in _skipped_words(groups):
        console.print(line, style="dim", markup=False)
    for group in groups:
        for tried in group.failures:
            _print_failure(group, tried, options.verbose)


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
        "finds": tried.case.finds,
        "ok": check is not None and check.ok,
        "max_rel_error": check.max_rel_error if check else None,
        "tolerance": check.tolerance if check else None,
        "error": str(error) if error else None,
        "detail": error.detail or None if error else None,
    }


def table(groups: list[Group]) -> Table:
    """Return one row for each variant and precision."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("workload", "variant", "precision", "cases", "error / tolerance", "result"):
        made.add_column(
            title, justify="right" if title in ("cases", "error / tolerance") else "left"
        )
    for group in groups:
        if group.skipped:
            result = Text("skipped", style="dim")
        elif group.failures:
            result = Text(f"{len(group.failures)} failed", style="bold red")
        elif len(group.tried) < len(group.cases):
            result = Text("not finished", style="yellow")
        else:
            result = Text("verified", style="green")
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
    say(f"{group.workload.name}/{group.variant} {_case_words(tried.case.request)}: {error}")
    for line in error.detail.splitlines() if verbose else shorten(error.detail):
        say(f"  {line}")


def _case_words(request: RunRequest) -> str:
    parts = [str(request.precision)]
    parts += [f"{symbol}={value}" for symbol, value in request.size.items()]
    if request.block is not None:
        parts.append(block_words(request.block))
    parts += [f"{name}={value}" for name, value in request.tunables.items()]
    if request.fill is not None:
        parts.append(f"{request.fill} inputs")
    return " ".join(parts)
