"""Address spaces of pointer variables, for plain OpenCL C, where each pointer must say its own.

C++ for OpenCL has one generic address space and needs none of this. Only what stands in the
declaration is used: ``real *tile = shared + 16;`` points to where ``shared`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuexplorer.compile.cuda_source import CudaSource, Function

_POINTER = re.compile(
    r"(?<=[;{}(])\s*((?:(?:const|volatile|unsigned|signed|long|short)\s+)*[A-Za-z_]\w*\s*"
    r"(?:const\s*)?\*\s*(?:const\s+|__restrict__\s+)*)([A-Za-z_]\w*)\s*=(?!=)([^;]*)"
)
_CAST = re.compile(
    r"\(\s*(?=(?:(?:const|volatile|unsigned)\s+)*[A-Za-z_]\w*\s*(?:const\s*)?\*+\s*\))"
)
_SHARED = re.compile(r"\b__shared__\s+[^;=]*?([A-Za-z_]\w*)\s*(?:\[[^;]*)?[;=]")


def pointer_spaces(source: CudaSource, kernel: Function) -> Iterator[tuple[int, str]]:
    """Yield where an address space must be inserted in a kernel's body, and which."""
    start, end = kernel.body
    spaces = {p.name: "__global" for p in source.parameters(kernel) if p.is_pointer}
    spaces |= {m[1]: "__local" for m in _SHARED.finditer(source.code, start, end)}
    for match in _POINTER.finditer(source.code, start, end):
        outside_indices = re.sub(r"\[[^\]]*\]", " ", match[3])
        names = re.findall(r"[A-Za-z_]\w*", outside_indices)
        space = next((spaces[name] for name in names if name in spaces), None)
        if space is None:
            continue
        spaces[match[2]] = space
        yield match.start(1), f"{space} "
        for cast in _CAST.finditer(source.code, match.start(3), match.end(3)):
            yield cast.end(), f"{space} "
