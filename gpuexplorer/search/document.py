"""From the cells of a search to the document of a sweep."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gpuexplorer.core.config import OWN_FILL, RunConfig
from gpuexplorer.core.sharing import shared_text
from gpuexplorer.core.sweep import SweepDocument, SweptRun, sharing
from gpuexplorer.search.outcome import SweepCell
from gpuexplorer.search.space import Space
from gpuexplorer.workloads.choose import default_block
from gpuexplorer.workloads.workload import Workload


def sweep_document(
    space: Space, workload: Workload, cells: Sequence[SweepCell], *, group: str | None = None
) -> SweepDocument:
    """Return a sweep's document: every cell that has a result or a reason.

    ``group`` is the sweep's id in the store; without one it gets an id of its own.
    """
    return SweepDocument(
        id=group or uuid.uuid4().hex,
        time_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        workload=workload.name,
        title=workload.manifest.title,
        points=len(cells),
        axes={axis.name: [plain(value) for value in axis.values] for axis in space.axes},
        runs=swept_runs(space, workload, cells),
    )


def swept_runs(
    space: Space, workload: Workload | None, cells: Iterable[SweepCell]
) -> list[SweptRun]:
    """Return an entry of each cell that is done; one without a workload has a configuration."""
    return sharing(_swept(space, workload, cell) for cell in cells if not cell.waiting)


def _swept(space: Space, workload: Workload | None, cell: SweepCell) -> SweptRun:
    point = cell.point
    values = {name: plain(value) for name, value in point.values.items()}
    if cell.result is not None:
        return SweptRun(values=values, config=cell.result.config, run=cell.result)
    config, reason = point.config, cell.skipped
    if workload is not None:
        config = config or wanted_config(space, point.values, workload)
    assert config is not None
    if reason is not None and workload is not None:  # no measured run may tell of what place it is
        reason = shared_text(reason, filter(os.path.isabs, [workload.source.origin]))
    return SweptRun(values=values, config=config, skipped=reason, why=cell.why)


def plain(value: Any) -> Any:
    """Return an axis value as JSON has it: a block as a list."""
    return list(value) if isinstance(value, tuple) else value


def wanted_config(space: Space, values: Mapping[str, Any], workload: Workload) -> RunConfig:
    """Return what a point that cannot run would have been, as far as it can be said."""
    request = space.request(values, workload)
    name = request.variant or workload.manifest.first_variant
    sizes = {symbol: spec.default for symbol, spec in workload.manifest.sizes.items()}
    first = next(iter(sizes))
    sizes |= {symbol or first: value for symbol, value in request.size.items()}
    block = request.block or default_block(workload.variant(name))
    x, y, z = (*block, 1, 1)[:3] if block else (1, 1, 1)
    offered = workload.precisions_of(name)
    return RunConfig(
        workload=workload.name,
        variant=name,
        size=sizes,
        precision=request.precision or ("fp32" if "fp32" in offered else offered[0]),
        device=request.device,
        block=(x, y, z) if block else None,
        tunables=request.tunables,
        cache=request.cache,
        fill=request.fill or OWN_FILL,
        seed=request.seed,
        threads=request.threads,
        switches=request.switches,
    )
