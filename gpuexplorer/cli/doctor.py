"""``gpuexplorer doctor``: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from gpuexplorer.analysis.disturbance import shared_words
from gpuexplorer.cli import checks
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.sessions import open_session
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError
from gpuexplorer.core.language import about, tr
from gpuexplorer.core.telemetry import FIELD_TITLES, SourceState

if TYPE_CHECKING:
    from rich.text import Text

SCHEMA = "gpuexplorer/doctor/1"
_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def command(options: argparse.Namespace) -> int:
    """Check everything; 0 when at least one device can run kernels, else 3."""
    check_targets(json_path(options.json))
    found = [
        *checks.program(),
        *checks.packages(),
        checks.nvidia_driver(),
        *checks.window(),
        checks.cache_folder(),
        checks.history(),
        *_engine(options),
    ]
    usable = any(c.area == "devices" and c.status == "ok" for c in found)
    if options.json is not None:
        document = {"schema": SCHEMA, "can_run_kernels": usable, "checks": found}
        write_document(options.json, pretty_json(msgspec.to_builtins(document)))
    if options.json != "-":
        console = output_console()
        area = ""
        for check in found:
            if check.area != area:
                area = check.area
                console.print(f"\n{area}", style="bold")
            console.print(_line(check))
        verdict = (
            ("Kernels can run here.", "green")
            if usable
            else ("Nothing here can run kernels: see the remedies above.", "red")
        )
        console.print(f"\n{verdict[0]}", style=verdict[1])
    return 0 if usable else CannotRunHere.exit_code


def _line(check: checks.Check) -> Text:
    from gpuexplorer.cli.told import AsIs

    mark, style = _MARKS[check.status]
    line = AsIs("  ").append(mark, style).append(" ").append(about(check.name, check.found))
    if check.remedy:
        line.append(f"\n      → {tr(check.remedy)}", style="dim")
    return line


def _engine(options: argparse.Namespace) -> list[checks.Check]:
    """Start an engine and ask it for its devices."""
    try:
        with open_session(options) as session:
            devices = session.devices()
            return [*_devices(devices), *_telemetry(devices, session.telemetry())]
    except ExplorerError as error:
        return [
            checks.Check(
                area="devices", name="engine", status="fail", found=error.what, remedy=error.remedy
            )
        ]


def _devices(devices: DeviceList) -> list[checks.Check]:
    made = [
        checks.Check(
            area="devices" if device.runs_kernels else "library devices",
            name=device.id,
            status="ok",
            found=f"{device.name}, {device.driver}",
        )
        for device in sorted(devices.devices, key=lambda d: not d.runs_kernels)
    ]
    if not any(d.runs_kernels for d in devices.devices):
        made.insert(
            0,
            checks.Check(
                area="devices",
                name="kernels",
                status="fail",
                found="no device can run them",
                remedy="install intel-opencl-rt for the CPU, or an NVIDIA driver and cupy",
            ),
        )
    made += [
        checks.Check(
            area="backends without a device",
            name=missing.backend,
            status="warn",
            found=missing.reason,
            remedy=missing.remedy,
        )
        for missing in devices.unavailable
    ]
    return made


def _telemetry(
    devices: DeviceList, found: dict[str, tuple[SourceState, ...]]
) -> list[checks.Check]:
    """Show the sources that read each piece of hardware, best first."""
    made = []
    for hardware_id, states in found.items():
        device = next(d for d in devices if d.hardware_id == hardware_id)
        area = f"telemetry of {device.name}"
        for state in states:
            gives = ", ".join(FIELD_TITLES[field] for field in state.gives)
            lacks = "; ".join(f"{FIELD_TITLES[f]}: {why}" for f, why in state.missing.items())
            has = gives or state.reason
            if words := shared_words(state, device, named=False):
                shared = checks.Check(
                    area=area,
                    name="others",
                    status="warn",
                    found=words,
                    remedy="figures suffer from it; '--when-shared wait' waits until it is free",
                )
                made.append(shared)
            made.append(
                checks.Check(
                    area=area,
                    name=state.title,
                    status="ok" if gives else "warn",
                    found=f"{has} (not {lacks})" if lacks else has,
                    remedy=state.remedy,
                )
            )
        if not states:
            made.append(
                checks.Check(
                    area=area,
                    name="sources",
                    status="warn",
                    found="nothing reads the state of this device",
                )
            )
    return made
