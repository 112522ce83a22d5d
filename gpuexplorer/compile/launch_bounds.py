"""The largest block that a kernel's ``__launch_bounds__`` allow, as far as its text tells.

CUDA refuses to launch a larger one; OpenCL on a CPU would run it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

import msgspec

from gpuexplorer.workloads.c_expressions import definitions, number_of, with_sizes
from gpuexplorer.workloads.cuda_source import CudaSource, Function
from gpuexplorer.workloads.instances import split_list

_BOUNDS = re.compile(r"\b__launch_bounds__\s*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n\\]+)$", re.MULTILINE)


class LaunchBounds(msgspec.Struct, frozen=True):
    """The first of what stands in the brackets."""

    text: str
    where: str
    """The user's file and line of it."""
    values: Mapping[str, str]
    """The texts of the numbers that the source defines once."""

    def most_threads(self, defines: Mapping[str, int]) -> int | None:
        """Return the threads that a block may have with some tunables; None where not told."""
        values = {**self.values, **{name: str(value) for name, value in defines.items()}}
        number = number_of(self.text, values, 0)
        return number if isinstance(number, int) else None


def launch_bounds(source: CudaSource, kernel: Function) -> LaunchBounds | None:
    """Return the bounds that a kernel's head says, if it does."""
    found = _BOUNDS.search(source.code, kernel.start, kernel.open_paren)
    closing = source.closing(found.end() - 1) if found else None
    if found is None or closing is None:
        return None
    texts: defaultdict[str, set[str]] = defaultdict(set)
    for name, text in [*_MACRO.findall(source.plain), *definitions(source.code)]:
        texts[name].add(with_sizes(text.strip()))
    values = {name: one.pop() for name, one in texts.items() if len(one) == 1}
    first = split_list(source.code[found.end() : closing])[0]
    return LaunchBounds(with_sizes(first), source.where(found.start()), values)
