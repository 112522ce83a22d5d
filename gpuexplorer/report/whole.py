"""Results put together again from what the history and files keep: a document, its runs apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from gpuexplorer.core.compared import COMPARISON_SCHEMA, ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import SWEEP_SCHEMA, SweepDocument
from gpuexplorer.workloads.switches import SWITCHES

Rests = Sequence[Mapping[str, Any]]
"""Documents apart from their runs."""


def sweep_of(rests: Rests, runs: Sequence[RunResult]) -> SweepDocument | None:
    """Return the sweep that some runs are all of; None when they are of none."""
    by_id = {run.id: run for run in runs}
    for rest in rests:
        axes, entries = rest.get("axes"), rest.get("runs")
        if rest.get("schema") != SWEEP_SCHEMA or not isinstance(axes, dict):
            continue
        if not isinstance(entries, list):  # the history keeps the axes, and the runs apart
            entries = [{"values": axis_values(axes, r.config), "run": r.id} for r in runs]
        whole = []
        for entry in entries:
            run = by_id.get(str(entry.get("run")))
            if run is not None:
                document = msgspec.to_builtins(run)
                whole.append({**entry, "config": document["config"], "run": document})
            elif entry.get("config") is not None:
                whole.append(entry)
        name = runs[0].config.workload if runs else ""
        head = {"id": "", "time_utc": "", "workload": name, "title": name, "points": len(whole)}
        try:
            found = msgspec.convert({**head, **rest, "runs": whole}, SweepDocument)
        except msgspec.ValidationError:
            continue
        if len(found.measured) == len(runs) > 0:
            return found
    return None


def axis_values(axes: Iterable[str], config: RunConfig) -> dict[str, Any]:
    """Return where a configuration lies on axes that are named as a sweep names them."""
    values: dict[str, Any] = {}
    for axis in axes:
        kind, _, symbol = axis.partition(".")
        if kind == "block" and config.block is not None:
            values[axis] = config.block["xyz".index(symbol)] if symbol else list(config.block)
        elif kind in ("size", "tunable"):
            values[axis] = (config.size if kind == "size" else config.tunables).get(symbol)
        elif kind == "switch":
            default = SWITCHES[symbol].default if symbol in SWITCHES else None
            values[axis] = config.switches.get(symbol, default)
        else:
            values[axis] = getattr(config, kind, None)
    return values


def comparison_of(rests: Rests, runs: Sequence[RunResult]) -> ComparisonResult | None:
    """Return the comparison that some runs are all of; None when they are of none."""
    by_id = {run.id: run for run in runs}
    for rest in rests:
        contestants = rest.get("contestants")
        if rest.get("schema") != COMPARISON_SCHEMA or not isinstance(contestants, list):
            continue
        if any(c.get("run") not in by_id for c in contestants):
            continue
        named = [by_id[c["run"]] for c in contestants]
        heads = [msgspec.to_builtins(msgspec.structs.replace(r, samples_s=[])) for r in named]
        whole = [{**c, "run": head} for c, head in zip(contestants, heads, strict=True)]
        try:
            found = msgspec.convert({**rest, "contestants": whole}, ComparisonResult)
        except msgspec.ValidationError:
            continue
        if 0 <= found.reference < len(found.contestants) == len(runs):
            held = [
                msgspec.structs.replace(c, run=run)
                for c, run in zip(found.contestants, named, strict=True)
            ]
            return msgspec.structs.replace(found, contestants=held)
    return None
