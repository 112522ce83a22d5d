"""``gpuexplorer workloads``: what can be run, in short or in detail."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from gpuexplorer.charts.words import block_words
from gpuexplorer.cli.messages import output_console
from gpuexplorer.cli.output import check_targets, json_path, pretty_json, write_document
from gpuexplorer.workloads.choose import default_block
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.manifest import FILLS, VariantSpec
from gpuexplorer.workloads.workload import Workload

SCHEMA = "gpuexplorer/workloads/1"


def command(options: argparse.Namespace) -> int:
    """List the workloads, or show one."""
    check_targets(json_path(options.json))
    workloads = load(options.kernels)
    shown = [pick(workloads, options.name)] if options.name else list(workloads.values())
    if options.json is not None:
        document = {"schema": SCHEMA, "workloads": [_document(w) for w in shown]}
        write_document(options.json, pretty_json(document))
    if options.json == "-":
        return 0
    if options.name:
        _print_one(shown[0])
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
                "block": default_block(variant),
                "precisions": workload.precisions_of(name),
                "requires": variant.requires,
                "tunables": msgspec.to_builtins(variant.tunables),
            }
            for name, variant in manifest.variants.items()
        },
    }


def _print_all(workloads: list[Workload]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("name", "workload", "size", "precisions", "variants"):
        table.add_column(title, overflow="fold")
    for workload in workloads:
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


def _print_one(workload: Workload) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console, manifest = output_console(), workload.manifest
    console.print(Text.assemble((manifest.title, "bold"), f"  ({manifest.name})"))
    console.print(Text(manifest.summary))
    console.print(Text(workload.source.origin, style="dim"))
    for symbol, size in manifest.sizes.items():
        title = f"{size.title}: " if size.title else ""
        console.print(f"\n{title}{symbol} from {size.min} to {size.max}, default {size.default}")
    tolerances = [f"{name} (±{p.tolerance:g})" for name, p in manifest.precisions.items()]
    console.print(f"Precisions and tolerances: {', '.join(tolerances)}")
    inputs = [f"{n} {a.fill}" for n, a in manifest.arrays.items() if a.role in ("in", "inout")]
    console.print(f"Inputs: {', '.join(inputs)}; --fill {'|'.join(FILLS)} fills all of them")
    for name, variant in manifest.variants.items():
        mark = "  default" if name == manifest.first_variant else ""
        console.print(Text.assemble("\n", (name, "bold"), f"  {variant.title}", (mark, "dim")))
        console.print(Padding(Text(variant.teaches), (0, 0, 0, 2)))
        for line in _facts(workload, name, variant):
            console.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))


def _facts(workload: Workload, name: str, variant: VariantSpec) -> list[str]:
    facts = []
    block = default_block(variant)
    if variant.library:
        facts.append(f"library call: {variant.library}")
    elif block:
        facts.append(f"block: {variant.dimensions} dimensions, default {block_words(block)}")
    if variant.precisions:
        facts.append(f"precisions: {', '.join(workload.precisions_of(name))}")
    if variant.requires:
        facts.append(f"requires: {', '.join(variant.requires)}")
    for tunable, spec in variant.tunables.items():
        rule = spec.formula or ", ".join(map(str, spec.values))
        facts.append(f"--set {tunable}=...: {rule}" if spec.values else f"{tunable} = {rule}")
    for constraint in variant.constraints:
        facts.append(f"only with {constraint.rule}: {constraint.because}")
    return facts
