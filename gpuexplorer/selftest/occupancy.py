"""Section: the occupancy formula gives what the CUDA driver answers for the loaded kernel."""

from __future__ import annotations

import math

from gpuexplorer.analysis.occupancy import LIMITS, occupancy
from gpuexplorer.charts.words import block_words
from gpuexplorer.core.config import Block, RunConfig
from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.units import percent
from gpuexplorer.selftest.cases import SECONDS_EACH
from gpuexplorer.selftest.context import SelfTestContext
from gpuexplorer.selftest.task import Found, Skipped, Task
from gpuexplorer.workloads.workload import Workload

NAME = "occupancy"
TITLE = "Occupancy formula = driver"

SIZE = 512
_BLOCKS: tuple[Block, ...] = (
    (1, 1, 1), (32, 1, 1), (96, 1, 1), (256, 1, 1), (1000, 1, 1), (1024, 1, 1),
    (8, 8, 1), (16, 16, 1), (24, 20, 1), (32, 32, 1),
)  # fmt: skip
_EXACT = 1e-9


def plan(context: SelfTestContext) -> list[Task]:
    """Return a check for each kernel and several blocks; one that is skipped on a CPU."""
    command = context.options.command(NAME)
    if context.device.backend != "cuda":
        reason = f"{context.device.backend} has no occupancy query, only the CUDA driver has"
        return [Task("driver's query", lambda: _skip(reason), command)]
    if context.device.compute_capability not in LIMITS:
        capability = context.device.compute_capability
        reason = f"no limits are known for compute capability {capability}"
        return [Task("driver's query", lambda: _skip(reason), command)]
    tasks = []
    for workload in context.shipped.values():
        for variant, spec in workload.manifest.variants.items():
            blocks = [b for b in _BLOCKS if (b[1] == 1) == (spec.dimensions == 1)]
            for block in blocks if spec.dimensions in (1, 2) else ():
                tasks += _tasks(context, workload, variant, block)
    return tasks


def _skip(reason: str) -> Found:
    raise Skipped(reason)


def _tasks(context: SelfTestContext, workload: Workload, variant: str, block: Block) -> list[Task]:
    """Return the check of one block, nothing where the variant does not run here."""
    try:
        config = context.config(workload, variant=variant, size={"": SIZE}, block=block)
    except (Skipped, InputError):
        return []
    return [
        Task(
            f"{workload.name}/{variant} {config.precision} {block_words(block)}",
            lambda: _compare(context, config),
            context.options.run_command(config),
        )
    ]


def _compare(context: SelfTestContext, config: RunConfig) -> Found:
    try:
        resources = context.measure(config, seconds=SECONDS_EACH).resources
    except InputError as error:
        raise Skipped(f"this block is not legal: {error.what}") from None
    if resources.occupancy is None or resources.registers_per_thread is None:
        raise Skipped("the driver does not answer the query")
    capability = context.device.compute_capability
    assert capability is not None and config.block is not None
    threads = math.prod(config.block)
    found = occupancy(
        LIMITS[capability], threads, resources.registers_per_thread, resources.shared_B or 0
    )
    words = (
        f"{percent(found.occupancy, 3)} by formula, {percent(resources.occupancy, 3)} by driver, "
        f"with {threads} threads of {resources.registers_per_thread} registers and "
        f"{resources.shared_B or 0} B of shared memory"
    )
    if abs(found.occupancy - resources.occupancy) > _EXACT:
        raise WorkFailed(f"occupancy differs: {words}")
    return Found(words, {"formula": found.occupancy, "driver": resources.occupancy})
