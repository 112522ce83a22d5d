"""``gpuexplorer workloads``: what can be run, in short or in detail."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import msgspec

from gpuexplorer.cli.messages import output_console, say
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.cli.own_files import teller
from gpuexplorer.cli.sheets import plain_table
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.core.knobs import short_block, switch_value
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.choose import default_block
from gpuexplorer.workloads.frameworks import FRAMEWORKS, framework_of
from gpuexplorer.workloads.loader import grouped, is_own_file, load, load_one, own_workload
from gpuexplorer.workloads.manifest import FILLS, TunedSpec, VariantSpec
from gpuexplorer.workloads.switches import Switch, of_model
from gpuexplorer.workloads.workload import Workload

SCHEMA = "gpuexplorer/workloads/1"


def command(options: argparse.Namespace) -> int:
    """List the workloads, or show one."""
    check_targets(json_path(options.json))
    if options.name and is_own_file(options.name):  # which is read and not run
        own = own_workload(Path(options.name))
        options.kernels, options.name = [*options.kernels, Path(options.name)], own.name
    if options.name:
        shown = [load_one(options.name, options.kernels, teller(options.name))]
    else:
        shown = list(load(options.kernels, teller()).values())
    if options.json is not None:
        document = {"schema": SCHEMA, "workloads": [_document(w) for w in shown]}
        write_document(options.json, pretty_json(document))
    if options.json == "-":
        return 0
    if options.name:
        print_workload(shown[0], _devices(shown[0], options))
    else:
        _print_all(shown)
    return 0


def _document(workload: Workload) -> dict[str, Any]:
    manifest = workload.manifest
    return {
        "name": manifest.name,
        "title": manifest.title,
        "summary": manifest.summary,
        "origin": workload.source.origin,
        "source_sha256": workload.sha256,
        "sizes": msgspec.to_builtins(manifest.sizes),
        "precisions": msgspec.to_builtins(manifest.precisions),
        "inputs": {n: a.fill for n, a in manifest.arrays.items() if a.role in ("in", "inout")},
        "default_variant": manifest.first_variant,
        "variants": {
            name: {
                "title": variant.title,
                "teaches": variant.teaches,
                "library": variant.library,
                "model": variant.model,
                "switches": {s.name: _switch_document(s) for s in _switches(variant)},
                "block": default_block(variant),
                "precisions": workload.precisions_of(name),
                "requires": variant.requires,
                "tunables": msgspec.to_builtins(variant.tunables),
                "tuned": msgspec.to_builtins(variant.tuned),
            }
            for name, variant in manifest.variants.items()
        },
    }


def _switches(variant: VariantSpec) -> tuple[Switch, ...]:
    return of_model(variant.model) if variant.model is not None else ()


def _switch_document(switch: Switch) -> dict[str, Any]:
    return {
        "title": switch.title,
        "teaches": switch.teaches,
        "values": list(switch.values),
        "default": switch.default,
        "kinds": list(switch.kinds),
        "gpu_values": list(switch.gpu_values),
        "with_transfers": switch.with_transfers,
    }


def _print_all(workloads: list[Workload]) -> None:
    from rich.text import Text

    table = plain_table("name", "workload", "size", "precisions", "variants")
    for group, found in grouped(workloads).items():
        table.add_row(Text(group, style="dim"))
        for workload in found:
            manifest = workload.manifest
            table.add_row(
                Text(manifest.name, style="bold"),
                Text(manifest.title),
                ", ".join(f"{symbol} = {size.default}" for symbol, size in manifest.sizes.items()),
                " ".join(manifest.precisions),
                Text(", ".join(manifest.variants)),
            )
    console = output_console()
    console.print(table)
    console.print("\nDetails: gpuexplorer workloads NAME", style="dim")


def print_workload(workload: Workload, devices: DeviceList | None = None) -> None:
    """Print a workload in detail; ``devices`` tell which frameworks are here."""
    from rich.padding import Padding
    from rich.text import Text

    console, manifest = output_console(), workload.manifest
    console.print(Text.assemble((manifest.title, "bold"), f"  ({manifest.name})"))
    console.print(Text(manifest.summary))
    console.print(Text(workload.source.origin, style="dim"))
    console.print()
    for symbol, size in manifest.sizes.items():
        words = f"{symbol} from {size.min} to {size.max}, default {size.default}"
        console.print(f"{size.title}: {words}" if size.title else words)
    for constraint in manifest.constraints:
        console.print(Text(f"only with {constraint.rule}: {constraint.because}"))
    tolerances = [f"{name} (±{p.tolerance:g})" for name, p in manifest.precisions.items()]
    console.print(f"Precisions and tolerances: {', '.join(tolerances)}")
    inputs = [
        f"{name} = {array.values}"
        if array.values is not None
        else f"{name} 0 to below {array.below}"
        if array.below is not None
        else f"{name} {array.fill}"
        for name, array in manifest.arrays.items()
        if array.role in ("in", "inout")
    ]
    if inputs:
        console.print(f"Inputs: {', '.join(inputs)}; --fill {'|'.join(FILLS)} fills all of them")
    for name, variant in manifest.variants.items():
        mark = "  default" if name == manifest.first_variant else ""
        console.print(Text.assemble("\n", (name, "bold"), f"  {variant.title}", (mark, "dim")))
        console.print(Padding(Text(variant.teaches), (0, 0, 0, 2)))
        for line in _facts(workload, name, variant, devices):
            console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
    switches = {s.name: s for v in manifest.variants.values() for s in _switches(v)}
    if switches:
        console.print(Text("\nSwitches, each value's default first", style="bold"))
    for switch in switches.values():
        console.print(Text.assemble(("  " + _switch_words(switch), "bold"), f"  {switch.title}"))
        console.print(Padding(Text(switch.teaches), (0, 0, 0, 4)))


def _switch_words(switch: Switch) -> str:
    """Return how a switch is set, its default first: ``--switch compile=off|default|...``."""
    others = [v for v in switch.values if v != switch.default]
    values = "|".join(map(switch_value, (switch.default, *others)))
    return f"--switch {switch.name}={values}"


def _devices(workload: Workload, options: argparse.Namespace) -> DeviceList | None:
    """Return what the engine has, where that tells which frameworks are here; None without one."""
    if not any(variant.model for variant in workload.manifest.variants.values()):
        return None
    from gpuexplorer.cli.sessions import open_session

    try:
        with open_session(options) as session:
            return session.devices()
    except CannotRunHere as error:  # the workload itself can be shown without
        say(f"gpuexplorer: {error}")
        return None


def _framework(model: str, devices: DeviceList | None) -> str:
    """Say where a model runs, or what would make it run."""
    framework = framework_of(model)
    title = FRAMEWORKS[framework]
    if devices is None:
        return f"needs {title} in the engine's Python"
    able = [d for d in devices if model in d.libraries]
    if able:
        return f"{able[0].driver}, on {', '.join(d.id for d in able)}"
    for missing in devices.unavailable:
        if missing.backend == framework:
            return f"not here: {missing.reason}; {missing.remedy}"
    return f"not here: no device offers {model}"


def _tuned_words(tuned: TunedSpec) -> str:
    """Return for which devices a variant begins with other knobs than usual, and with which."""
    values = [f"{name} = {value}" for name, value in tuned.tunables.items()]
    block = [f"block {'×'.join(map(str, short_block(tuned.block)))}"] if tuned.block else []
    knobs, devices = ", ".join([*block, *values]), listed([*tuned.on, *tuned.precisions])
    if tuned.where is not None:
        return f"on {devices}, where {tuned.where}: {knobs} (measured: {tuned.measured})"
    return f"on {devices}: {knobs} (measured: {tuned.measured})"


def _facts(
    workload: Workload, name: str, variant: VariantSpec, devices: DeviceList | None
) -> list[str]:
    facts = []
    block = default_block(variant)
    if variant.library:
        facts.append(f"library call: {variant.library}")
    elif variant.model:
        framework = _framework(variant.model, devices)
        facts.append(f"model {variant.model}: {framework}")
        facts.append(f"switches: {', '.join(s.name for s in _switches(variant))}")
    elif block:
        from gpuexplorer.charts.words import block_words

        facts.append(f"block: {variant.dimensions} dimensions, default {block_words(block)}")
    if variant.precisions:
        facts.append(f"precisions: {', '.join(workload.precisions_of(name))}")
    if variant.requires:
        facts.append(f"requires: {', '.join(variant.requires)}")
    for tunable, spec in variant.tunables.items():
        rule = spec.formula or ", ".join(map(str, spec.values))
        facts.append(f"--set {tunable}=...: {rule}" if spec.values else f"{tunable} = {rule}")
    for tuned in variant.tuned:
        facts.append(_tuned_words(tuned))
    for constraint in variant.constraints:
        facts.append(f"only with {constraint.rule}: {constraint.because}")
    return facts
