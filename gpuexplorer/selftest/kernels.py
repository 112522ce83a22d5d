"""Section: every workload, variant and precision gives the right result, whatever the shape."""

from __future__ import annotations

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import percent
from gpuexplorer.selftest.cases import Group, case_words, plan_groups, try_case
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task
from gpuexplorer.workloads.check import CheckCase, Depth
from gpuexplorer.workloads.choose import complete

NAME = "kernels"
TITLE = "Kernels verified against float64"


def plan(context: SelfTestContext) -> list[Task]:
    """Return one check for each case, and one for each variant and precision that cannot run."""
    depth: Depth = "quick" if context.quick else "full"
    groups = plan_groups(context.workloads.values(), context.devices, context.device, depth)
    return [task for group in groups for task in _tasks(context, group)]


def _tasks(context: SelfTestContext, group: Group) -> list[Task]:
    name = f"{group.workload.name}/{group.variant}"
    if group.skipped:
        return [
            Task(f"{name} {group.precision}", lambda: _skip(group), context.options.command(NAME))
        ]
    return [
        Task(
            f"{name} {case_words(case.request)}",
            lambda case=case: _try(context, group, case),  # type: ignore[misc]
            _command(context, group, case),
        )
        for case in group.cases
    ]


def _command(context: SelfTestContext, group: Group, case: CheckCase) -> str:
    try:
        config = complete(case.request, group.workload, context.devices)
    except InputError:
        return context.options.command(NAME)
    return context.options.run_command(config)


def _skip(group: Group) -> Found:
    raise Skipped(group.skipped, missing=group.missing)


def _try(context: SelfTestContext, group: Group, case: CheckCase) -> Found:
    """Run a case; after one that breaks in another way than a wrong result, no more."""
    if group.broken is not None:
        raise Skipped("not tried: this variant and precision has failed before")
    tried = try_case(group, case, context.session, context.check_stop)
    if tried.refused:
        raise Skipped(tried.refused)
    if tried.error is not None:
        raise tried.error
    check = tried.verification
    assert tried.environment is not None
    context.note(tried.environment)
    if check is None:
        raise Skipped("nothing says what its result should be")
    return Found(
        f"error {check.max_rel_error:.1e}, {percent(check.max_rel_error / check.tolerance)} of "
        "the tolerance",
        {"max_rel_error": check.max_rel_error, "tolerance": check.tolerance},
    )
