"""``assert`` in kernels: the number of one that failed is kept, and put into words by the host.

To keep it costs a short kernel several times its duration on a CPU, where a GPU does so for little.
So a launch of its own looks at them, and what is timed has none.
"""

from __future__ import annotations

import re

import msgspec

from gpuexplorer.compile.edits import Edits
from gpuexplorer.workloads.cuda_source import CudaSource, blank

NAME = "gpux_assert"
TAKE = "gpux_take_failed"
"""The kernel that tells which one failed first, and forgets it."""
ASSERTIONS = f"""\
__global uint gpux_failed;
inline void gpux_fail(uint number) {{
    uint none = 0;
    atomic_compare_exchange_strong_explicit((volatile atomic_uint *)&gpux_failed, &none, number,
        (memory_order)memory_order_relaxed, (memory_order)memory_order_relaxed,
        (memory_scope)memory_scope_device); }}
#define {NAME}(number, ...) ((__VA_ARGS__) ? (void)0 : gpux_fail(number))
__kernel void {TAKE}(__global uint *out) {{ out[0] = gpux_failed; gpux_failed = 0; }}
"""
_CALL = re.compile(r"(?<![.\w])(?<!->)assert\s*\(")
_OFF = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(?:NDEBUG|assert)\b", re.MULTILINE)
"""Where a source wants none of them, or has its own."""


class Assertion(msgspec.Struct, frozen=True):
    """One of a source: the user's file and line, and what is to hold."""

    where: str
    text: str


def edits(source: CudaSource) -> tuple[Edits, tuple[Assertion, ...]]:
    """Return what gives each assertion its number, from 1 on, and the assertions."""
    made, found = Edits(), list[Assertion]()
    if _OFF.search(source.plain):
        return made, ()
    for match in _CALL.finditer(source.plain):
        depth, at = 1, match.end()
        while at < len(source.plain) and depth:
            depth += (source.plain[at] == "(") - (source.plain[at] == ")")
            at += 1
        text = " ".join(source.text[match.end() : at - 1].replace("\\\n", " ").split())
        found.append(Assertion(source.where(match.start()), text))
        made.replace(match.start(), match.end(), f"{NAME}({len(found)}u, ")
    return made, tuple(found)


def has_some(text: str) -> bool:
    """Return whether a source has assertions, with numbers or without."""
    plain = blank(text)
    return _CALL.search(plain) is not None or NAME in plain
