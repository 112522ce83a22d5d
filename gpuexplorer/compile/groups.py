"""Barriers of cooperative groups: by their plain names on the CPU, and those of a whole grid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuexplorer.compile.edits import Edits
from gpuexplorer.workloads.cuda_source import CudaSource

_BLOCK = re.compile(
    r"\b(?:thread_block|auto)\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)\s*=\s*"
    r"(?:[A-Za-z_]\w*\s*::\s*)*this_thread_block\s*\("
)
_PARAMETER = re.compile(r"\bthread_block\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)\s*[,)]")
_GRID = re.compile(
    r"\b(?:grid_group|auto)\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)\s*=\s*"
    r"(?:[A-Za-z_]\w*\s*::\s*)*this_grid\s*\("
)
_GRID_PARAMETER = re.compile(r"\bgrid_group\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)\s*[,)]")
_TILE = re.compile(
    r"\b(?:(?:thread_block_tile\s*<[^;{}()]*>|coalesced_group)\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)|"
    r"auto\s+([A-Za-z_]\w*)\s*=\s*(?:[A-Za-z_]\w*\s*::\s*)*"
    r"(?:tiled_partition\s*<|coalesced_threads\s*\())"
)


def edits(source: CudaSource) -> Edits:
    """Return what writes ``block.sync()`` and ``tile.sync()`` as CUDA's plain barriers."""
    made = Edits()
    if "cooperative_groups" not in source.plain:
        return made
    code = source.code
    blocks = {*_BLOCK.findall(code), *_PARAMETER.findall(code)}
    tiles = {first or second for first, second in _TILE.findall(code)} - blocks
    for names, barrier in ((blocks, "__syncthreads()"), (tiles, "__syncwarp()")):
        listed = "|".join(sorted(names))
        if barrier == "__syncthreads()":
            listed = "|".join([*sorted(names), r"(?:\w+\s*::\s*)*this_thread_block\s*\(\s*\)"])
        if not listed:
            continue
        for match in _barriers(code, listed):
            lines = "\n" * match[0].count("\n")
            made.replace(*match.span(), barrier + lines)
    return made


def grid_barrier(source: CudaSource, entry: str) -> int | None:
    """Return where a kernel, or a function that is none, waits for the whole grid; else None."""
    code = source.code
    if "this_grid" not in code and "grid_group" not in code:
        return None
    names = {*_GRID.findall(code), *_GRID_PARAMETER.findall(code)}
    listed = "|".join([*sorted(names), r"(?:\w+\s*::\s*)*this_grid\s*\(\s*\)"])
    others = [kernel.body for name, kernel in source.kernels.items() if name != entry]
    found = [match.start() for match in _barriers(code, listed)]
    return next((at for at in found if not any(a <= at < b for a, b in others)), None)


def _barriers(code: str, listed: str) -> Iterator[re.Match[str]]:
    """Find the barriers of groups, of which ``listed`` is a pattern of their names."""
    forms = (
        rf"(?<![\w.])(?:{listed})\s*\.\s*sync\s*\(\s*\)",
        rf"(?<![\w.])(?:\w+\s*::\s*)?(?:sync|wait)\s*\(\s*(?:{listed})\s*\)",
    )
    for form in forms:
        yield from re.finditer(form, code)
