"""Go through the sections of a self-test, and make the report."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import msgspec

from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.result import DeviceSummary
from gpuexplorer.selftest import (
    ceilings,
    kernels,
    memory,
    occupancy,
    recovery,
    telemetry,
    timing,
)
from gpuexplorer.selftest.context import SelfTestContext, SelfTestOptions
from gpuexplorer.selftest.report import CheckResult, SelfTestReport, sum_up
from gpuexplorer.selftest.task import Interrupted, Skipped, Task, Watcher
from gpuexplorer.workloads.strict import suggestion


class Section(msgspec.Struct, frozen=True):
    """One part of the self-test: its name for ``--section``, and what makes its checks."""

    name: str
    title: str
    plan: Callable[[SelfTestContext], list[Task]]


SECTIONS = tuple(
    Section(part.NAME, part.TITLE, part.plan)
    for part in (kernels, memory, occupancy, timing, ceilings, telemetry, recovery)
)


def chosen_sections(names: tuple[str, ...]) -> tuple[Section, ...]:
    """Return the sections of these names, all for none; InputError for an unknown name."""
    known = [s.name for s in SECTIONS]
    for name in names:
        if name not in known:
            raise InputError(f"no section '{name}'", remedy=suggestion(name, known))
    return tuple(s for s in SECTIONS if not names or s.name in names)


def run_selftest(
    options: SelfTestOptions,
    watcher: Watcher,
    stop_asked: Callable[[], bool] = lambda: False,
    log: Callable[[str], None] | None = None,
) -> SelfTestReport:
    """Test a device and return what was found; a KeyboardInterrupt ends it with what there is.

    Raises CannotRunHere or InputError when there is no such device, folder or section.
    """
    sections = chosen_sections(options.sections)
    began = time.monotonic()
    time_utc = datetime.now(UTC).isoformat(timespec="seconds")
    checks: list[CheckResult] = []
    interrupted = False
    with SelfTestContext(options, stop_asked, log) as context:
        plans = [(section, section.plan(context)) for section in sections]
        watcher.planned([sum_up(s.name, s.title, len(tasks), []) for s, tasks in plans])
        try:
            for section, tasks in plans:
                for task in tasks:
                    context.check_stop()
                    context.on_step = partial(_step, watcher, section.name, task.name)
                    watcher.running(section.name, task.name)
                    checks.append(_do(section, task))
                    watcher.done(checks[-1])
        except (KeyboardInterrupt, Interrupted):
            interrupted = True
        failed = any(c.status == "failed" for c in checks)
        passed = any(c.status == "passed" for c in checks)
        return SelfTestReport(
            ok=passed and not failed and not interrupted,
            interrupted=interrupted,
            quick=options.quick,
            time_utc=time_utc,
            time_s=time.monotonic() - began,
            command=context.options.command(),
            device=DeviceSummary.of(context.device),
            threads=context.device.threads,
            environment=context.environment,
            sections=[
                sum_up(s.name, s.title, len(tasks), [c for c in checks if c.section == s.name])
                for s, tasks in plans
            ],
            checks=checks,
        )


def _step(watcher: Watcher, section: str, name: str, words: str) -> None:
    watcher.running(section, f"{name}: {words}")


def _do(section: Section, task: Task) -> CheckResult:
    """Make one check, whatever comes of it."""
    began = time.monotonic()
    detail = ""
    figures: dict[str, float | str | None] = {}
    missing = None
    try:
        found = task.do()
        status, words, figures = "passed", found.words, found.figures
    except Interrupted:
        raise
    except Skipped as reason:
        status, words, missing = "skipped", str(reason), reason.missing
    except ExplorerError as error:
        status, words, detail = "failed", " ".join(str(error).split("\n")), error.detail
    except Exception as error:  # noqa: BLE001 - one broken check must not hide the others
        status, words = "failed", f"the check itself broke: {type(error).__name__}: {error}"
        detail = traceback.format_exc()
    return CheckResult(
        section=section.name,
        name=task.name,
        status=status,  # type: ignore[arg-type]
        time_s=time.monotonic() - began,
        found=words,
        figures=figures,
        missing=missing,
        detail=detail,
        command=task.command,
    )
