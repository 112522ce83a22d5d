"""Barriers of cooperative groups by their plain names, so that they are seen as what they are."""

from __future__ import annotations

import re

from gpuexplorer.compile.edits import Edits
from gpuexplorer.workloads.cuda_source import CudaSource

_BLOCK = re.compile(
    r"\b(?:thread_block|auto)\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)\s*=\s*"
    r"(?:[A-Za-z_]\w*\s*::\s*)*this_thread_block\s*\("
)
_PARAMETER = re.compile(r"\bthread_block\s+(?:const\s*)?&?\s*([A-Za-z_]\w*)\s*[,)]")
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
        forms = (
            rf"(?<![\w.])(?:{listed})\s*\.\s*sync\s*\(\s*\)",
            rf"(?<![\w.])(?:\w+\s*::\s*)?(?:sync|wait)\s*\(\s*(?:{listed})\s*\)",
        )
        for form in forms:
            for match in re.finditer(form, code):
                lines = "\n" * match[0].count("\n")
                made.replace(*match.span(), barrier + lines)
    return made
