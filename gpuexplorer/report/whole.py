"""Results put together again from what the history and files keep: a document, its runs apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import msgspec

from gpuexplorer.core.compared import COMPARISON_SCHEMA, ComparisonResult
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.knobs import BLOCK_AXES, find_knob
from gpuexplorer.core.result import RunResult
from gpuexplorer.core.sweep import SWEEP_SCHEMA, SweepDocument, SweptRun, Why, values_at
from gpuexplorer.workloads.switches import SWITCHES

Rests = Sequence[Mapping[str, Any]]
"""Documents apart from their runs."""


def sweep_of(rests: Rests, runs: Sequence[RunResult]) -> SweepDocument | None:
    """Return the sweep that some runs are all of; None when they are of none."""
    by_id = {run.id: run for run in runs}
    for rest in rests:
        axes, entries = axes_of(rest), rest.get("runs")
        if rest.get("schema") != SWEEP_SCHEMA or not axes:
            continue
        name = runs[0].config.workload if runs else ""
        head = {"id": "", "time_utc": "", "workload": name, "title": name}
        try:
            if isinstance(entries, list):
                whole = _listed_runs(entries, by_id)
            else:  # the history keeps the axes, and the runs apart
                whole = grouped_runs(axes, rest, runs)
            points = {"points": prod(map(len, axes.values()))}
            document = {**head, **points, **rest, "axes": axes, "runs": []}
            found = msgspec.convert(document, SweepDocument)
        except msgspec.MsgspecError:
            continue
        found = msgspec.structs.replace(found, runs=whole)
        if len(found.measured) == len(runs) > 0:
            return found
    return None


def _listed_runs(
    entries: Iterable[Mapping[str, Any]], by_id: Mapping[str, RunResult]
) -> list[SweptRun]:
    """Return the entries of a sweep's file, which names its runs by their ids."""
    whole = []
    for entry in entries:
        run = by_id.get(str(entry.get("run")))
        config = msgspec.to_builtins(run.config) if run is not None else entry.get("config")
        if config is not None:
            one = msgspec.convert({**entry, "config": config, "run": None}, SweptRun)
            whole.append(msgspec.structs.replace(one, run=run))
    return whole


class _Said(msgspec.Struct):
    """What a sweep's group says of configurations without a figure, as ``search.keeping`` does."""

    cannot: dict[str, list[int]] = {}
    """The numbers of those that cannot run, by the reason."""
    skipped: dict[str, str] = {}
    """Why others have none, by their keys."""
    why: dict[str, Why] = {}


def axes_of(document: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """Return a sweep's axes in the order in which they were given; None where there are none."""
    axes, order = document.get("axes"), document.get("order")
    if not isinstance(axes, dict) or not all(isinstance(one, list) for one in axes.values()):
        return None
    named = [n for n in order if isinstance(n, str)] if isinstance(order, list) else []
    return {name: axes[name] for name in (named if sorted(named) == sorted(axes) else axes)}


def refused(document: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the axes' values of what a sweep's group says cannot run, with the reasons.

    Raises ValidationError where what it says of them is odd.
    """
    axes, cannot = axes_of(document) or {}, msgspec.convert(document, _Said).cannot
    points = prod(map(len, axes.values()))
    told = {number: why for why, numbers in cannot.items() for number in numbers}
    return [(values_at(axes, n), told[n]) for n in sorted(told) if 0 <= n < points]


def grouped_runs(
    axes: Mapping[str, Sequence[Any]], document: Mapping[str, Any], runs: Sequence[RunResult]
) -> list[SweptRun]:
    """Return an entry of each configuration of a group in the history that it has a word on.

    What was measured stands behind what was not. Raises MsgspecError for another document.
    """
    said = msgspec.convert(document, _Said)
    found = [
        SweptRun(values=values, config=config_at(runs[0].config, values), skipped=why, why="cannot")
        for values, why in (refused(document) if runs else ())
    ]
    for key, reason in said.skipped.items():
        config = msgspec.json.decode(key, type=RunConfig)
        values = _place(axes, config)
        found.append(SweptRun(values=values, config=config, skipped=reason, why=said.why.get(key)))
    return found + [SweptRun(values=_place(axes, r.config), config=r.config, run=r) for r in runs]


def _place(axes: Mapping[str, Sequence[Any]], config: RunConfig) -> dict[str, Any]:
    """Return where a configuration lies on a sweep's axes.

    One that does not depend on an axis, as a library's does not on a block, was measured at its
    first value (see ``search.space``).
    """
    values = axis_values(axes, config)
    return {
        axis: of_axis[0] if values.get(axis) is None and of_axis else values.get(axis)
        for axis, of_axis in axes.items()
    }


def config_at(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """Return a configuration moved to values by axis, without a grid."""
    changes: dict[str, Any] = {"grid": None}
    for axis, value in values.items():
        knob, symbol = find_knob(axis) or (None, "")
        if knob is None or knob.field not in config.__struct_fields__:
            continue
        if axis in BLOCK_AXES:
            block = list(changes.get("block") or config.block or (1, 1, 1))
            block[BLOCK_AXES.index(axis)] = value
            changes["block"] = tuple(block)
        elif isinstance(value, list | tuple):
            changes[knob.field] = (*value, 1, 1)[:3]
        elif knob.named:
            before = changes.get(knob.field, getattr(config, knob.field))
            changes[knob.field] = {**before, symbol: value}
        else:
            changes[knob.field] = value
    return msgspec.structs.replace(config, **changes)


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
