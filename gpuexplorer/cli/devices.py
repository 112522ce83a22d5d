"""``gpuexplorer devices``: what can run work here, and what would make the rest run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import msgspec

from gpuexplorer.analysis.disturbance import shared_words
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sessions import open_session, python_of
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.telemetry import SourceState
from gpuexplorer.core.units import listed, quantity
from gpuexplorer.engine.known_devices import Elsewhere, elsewhere, remember_devices
from gpuexplorer.workloads.frameworks import FRAMEWORKS, family_of, framework_of
from gpuexplorer.workloads.models import MODELS

SCHEMA = "gpuexplorer/devices/1"


def command(options: argparse.Namespace) -> int:
    """List the devices."""
    check_targets(json_path(options.json))
    with open_session(options) as session:
        states = session.telemetry()
        found = session.devices()
    word = python_of(options)
    remember_devices(word, found)
    others = elsewhere(word)
    shared = {
        device.id: words
        for device in found
        if (words := _shared(device, states.get(device.hardware_id, ())))
    }
    if options.json is not None:
        document = {
            "schema": SCHEMA,
            **msgspec.to_builtins(found),
            "shared": shared,
            "elsewhere": msgspec.to_builtins(others),
        }
        write_document(options.json, pretty_json(document))
    if options.json != "-":
        _print(found, shared, others)
    return 0


def _shared(device: DeviceInfo, states: Sequence[SourceState]) -> str:
    """Say who else uses a device; empty for nobody."""
    return next((words for state in states if (words := shared_words(state, device))), "")


def _print(found: DeviceList, shared: dict[str, str], others: Sequence[Elsewhere]) -> None:
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
        names = {device.id: device.name for device in found}
        for key, words in shared.items():
            console.print(Text(f"{names[key]} ({key}) is shared: {words}", style="yellow"))
    else:
        console.print("No device here can run work.", markup=False)
    for place in others:
        console.print(Text(_elsewhere_words(place)))
    for missing in found.unavailable:
        line = Text(f"{missing.backend} is not available: {missing.reason}")
        line.stylize("bold yellow", 0, len(missing.backend))
        if missing.remedy:
            line.append(f"\n  → {missing.remedy}", style="dim")
        console.print(line)


def _elsewhere_words(place: Elsewhere) -> str:
    """Say what another machine has, and how to measure there."""
    names = listed(f"{one.name} ({one.id})" for one in place.devices)
    if not place.host:
        return f"On this machine: {names}; measure on it with --engine {place.engine}"
    if not place.devices:
        return (
            f"On {place.host}: nothing is known yet; ask it with "
            f"'gpuexplorer devices --engine {place.engine}'"
        )
    return f"On {place.host}: {names}; measure there with --engine {place.engine}"


def _runs(device: DeviceInfo) -> str:
    parts = ["kernels"] if device.runs_kernels else []
    names = device.libraries
    models = [n for n in names if framework_of(n) in FRAMEWORKS and family_of(n) in MODELS]
    calls = ", ".join([*parts, *(n for n in names if n not in models)])
    named = f"models: {', '.join(map(family_of, models))}" if models else ""
    return "; ".join(part for part in (calls, named) if part)
