"""What is refused, and in which words."""

from __future__ import annotations

from tests.corpus.case import Case

_STEP = (
    "without a barrier between them that is right only where a warp runs in step; "
    r"write __syncwarp\(\) between them"
)

CASES: list[Case] = [
    Case("sumInStep", 1, 1, {}, refused=":10: this reads what another thread wrote to 'sdata'"),
    Case("loopInStep", 1, 1, {}, refused=f":39: this reads .* 'v' in line 39, and {_STEP}"),
    Case("neighbourInStep", 1, 1, {}, refused=f":50: this reads .* 's' in line 48, and {_STEP}"),
    Case("barrierForSome", 1, 1, {}, refused=r":56: __syncthreads\(\) inside 'if' that depends on"),
    Case("wholeGridWaits", 1, 1, {}, refused=":68: blocks cannot wait for each other on a CPU"),
    Case("recursive", 1, 1, {}, refused=":74: 'fibonacci', which calls itself, .* as a loop"),
    Case("laneByAssembly", 1, 1, {}, refused=":85: inline assembly cannot run through OpenCL"),
    Case("textureFetch", 1, 1, {}, refused=":89: textures and surfaces are a GPU's; pass an array"),
    Case("jaggedRows", 1, 1, {}, refused=":95: 'rows', a pointer to pointers, .* one array"),
    Case("voteAfterReturn", 1, 1, {}, refused=r":103: a return before the last __syncthreads\(\)"),
]  # fmt: skip
