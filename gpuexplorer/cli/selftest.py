"""``gpuexplorer selftest``: what has to hold on a device before its figures deserve belief."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpuexplorer.cli import EXIT_INTERRUPTED
from gpuexplorer.cli.delivery import Delivery
from gpuexplorer.cli.messages import output_console, say, shorten
from gpuexplorer.cli.output import check_targets, json_path, pretty_json
from gpuexplorer.cli.progress import Steps, StepSink, steps_progress
from gpuexplorer.cli.sessions import python_of
from gpuexplorer.core.errors import CannotRunHere, WorkFailed
from gpuexplorer.core.interrupts import interrupts_held
from gpuexplorer.selftest.context import SelfTestOptions
from gpuexplorer.selftest.report import CheckResult, SectionResult, SelfTestReport
from gpuexplorer.selftest.run import run_selftest

if TYPE_CHECKING:
    from rich.console import Console

SHOWN_REASONS = 4
"""Reasons for skipped checks shown of each section, beside those of frameworks that are not here;
the document has them all."""


def command(options: argparse.Namespace) -> int:
    """Test a device; 1 when a check failed, 3 when nothing could be run here."""
    check_targets(json_path(options.json))
    asked = SelfTestOptions(
        device=options.device,
        quick=options.quick,
        kernels=tuple(options.kernels),
        sections=tuple(options.section),
        python=python_of(options),
        threads=options.threads,
    )
    log = (lambda line: say(f"engine: {line}")) if options.verbose else None
    with steps_progress("self-test") as sink:
        report = run_selftest(asked, _Checks(sink), log=log)
    delivery = Delivery(json=options.json, verbose=options.verbose)
    with interrupts_held():
        delivery.document(lambda: pretty_json(report))
        delivery.show(lambda: _print(report, output_console(), options.verbose))
        delivery.say_written()
    if report.interrupted:
        done = sum(s.tried for s in report.sections)
        say(
            f"gpuexplorer: stopped after {done} of {sum(s.planned for s in report.sections)} checks"
        )
        return EXIT_INTERRUPTED
    if report.failures:
        return WorkFailed.exit_code
    return delivery.code if report.ok else CannotRunHere.exit_code


class _Checks:
    """Shows how far the self-test is; the number of its checks becomes known later."""

    def __init__(self, sink: StepSink) -> None:
        self._steps = Steps(sink)

    def planned(self, sections: Sequence[SectionResult]) -> None:
        self._steps.total = sum(s.planned for s in sections)

    def running(self, section: str, name: str) -> None:
        self._steps.running(f"{section}: {name}")

    def done(self, result: CheckResult) -> None:
        self._steps.done()


def _print(report: SelfTestReport, console: Console, verbose: bool) -> None:
    from rich.text import Text

    from gpuexplorer.cli.sheets import print_sheet
    from gpuexplorer.selftest.report import sheet_of

    device = report.device
    console.print(f"{device.name} ({device.id}), {device.driver}\n", markup=False)
    print_sheet(sheet_of(report.sections), console)
    for section in report.sections:
        _print_skipped(section, console)
    for check in report.failures:
        _print_failure(check, console, verbose)
    console.print(Text(f"\n{report.verdict}", style=_style(report)))


def _style(report: SelfTestReport) -> str:
    return "red" if report.failures else "green" if report.ok else "yellow"


def _print_skipped(section: SectionResult, console: Console) -> None:
    shown = section.why_skipped[: len(section.left_out) + SHOWN_REASONS]
    for reason in shown:
        console.print(f"skipped in {section.name}: {reason}", style="dim", markup=False)
    more = len(section.reasons) - SHOWN_REASONS
    if more > 0:
        console.print(
            f"skipped in {section.name}: {more} more reasons, all in the JSON", style="dim"
        )


def _print_failure(check: CheckResult, console: Console, verbose: bool) -> None:
    console.print(
        f"\nFAILED {check.section}: {check.name}: {check.found}", markup=False, soft_wrap=True,
        style="red",
    )  # fmt: skip
    for line in check.detail.splitlines() if verbose else shorten(check.detail):
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.print(f"  repeat it with: {check.command}", markup=False, soft_wrap=True)
