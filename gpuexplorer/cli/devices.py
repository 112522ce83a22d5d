"""``gpuexplorer devices``: what can run work here, and what would make the rest run."""

from __future__ import annotations

import argparse

import msgspec

from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.frameworks import FRAMEWORKS, family_of, framework_of
from gpuexplorer.workloads.models import MODELS

SCHEMA = "gpuexplorer/devices/1"


def command(options: argparse.Namespace) -> int:
    """List the devices."""
    check_targets(json_path(options.json))
    with open_session(options) as session:
        found = session.devices()
    if options.json is not None:
        document = {"schema": SCHEMA, **msgspec.to_builtins(found)}
        write_document(options.json, pretty_json(document))
    if options.json != "-":
        _print(found)
    return 0


def _print(found: DeviceList) -> None:
    from rich.text import Text

    console = output_console()
    if found.devices:
        table = plain_table("id", "device", "units", "memory", "peak", "precisions", "runs")
        for device in found.devices:
            table.add_row(
                Text(device.id, style="bold"),
                Text(f"{device.name}\n{device.driver}"),
                str(device.compute_units),
                quantity(device.limits.memory_B, "B"),
                quantity(device.peak_bandwidth_B_per_s, "B/s"),
                " ".join(device.precisions),
                Text(_runs(device)),
            )
        console.print(table)
    else:
        console.print("No device here can run work.", markup=False)
    for missing in found.unavailable:
        line = Text(f"{missing.backend} is not available: {missing.reason}")
        line.stylize("bold yellow", 0, len(missing.backend))
        if missing.remedy:
            line.append(f"\n  → {missing.remedy}", style="dim")
        console.print(line)


def _runs(device: DeviceInfo) -> str:
    parts = ["kernels"] if device.runs_kernels else []
    names = device.libraries
    models = [n for n in names if framework_of(n) in FRAMEWORKS and family_of(n) in MODELS]
    calls = ", ".join([*parts, *(n for n in names if n not in models)])
    named = f"models: {', '.join(map(family_of, models))}" if models else ""
    return "; ".join(part for part in (calls, named) if part)
