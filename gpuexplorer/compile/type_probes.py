"""Types of parameters that a source names by an alias: what they stand for.

The text tells as long as there is one definition. Where there are several, or it is a template's
own, a kernel that is compiled with the source tells: it stores, for each such parameter, what kind
of number it is and how many bytes it takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gpuexplorer.compile.arguments import unknown_types
from gpuexplorer.compile.parameters import Kind
from gpuexplorer.workloads.cuda_source import CudaSource, Parameter

KINDS: tuple[Kind, ...] = ("other", "signed", "unsigned", "float", "bool")
"""By the number that a probe stores."""
_ALIAS = (
    re.compile(r"\btypedef\s+([A-Za-z_][\w\s:]*?)\s+([A-Za-z_]\w*)\s*;"),
    re.compile(r"\busing\s+(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<kind>[A-Za-z_][\w\s:]*?)\s*;"),
)
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([A-Za-z_][\w \t]*?)[ \t]*$", re.MULTILINE
)
_LONGEST_CHAIN = 16
_NUMBER = """\
template <bool arithmetic, typename T> struct gpux_number { enum { kind = 0 }; };
template <typename T> struct gpux_number<true, T> {
    enum { kind = (T)2 == (T)1 ? 4 : (T)0.5f != (T)0 ? 3 : (T)-1 < (T)0 ? 1 : 2 };
};
"""


def type_aliases(source: CudaSource) -> dict[str, str]:
    """Return what each alias of a type stands for, where the text has but one definition of it."""
    typedef, using = _ALIAS
    found = [(m[2], m[1]) for m in typedef.finditer(source.code)]
    found += [(m["name"], m["kind"]) for m in using.finditer(source.code)]
    found += [(m[1], m[2]) for m in _MACRO.finditer(source.plain)]
    known: dict[str, set[str]] = {}
    for name, kind in found:
        words = re.findall(r"[A-Za-z_]\w*", kind)
        known.setdefault(name, set()).add(" ".join(w for w in words if w not in ("const", "std")))
    return {name: kinds.pop() for name, kinds in known.items() if len(kinds) == 1}


def resolved(kind: str, aliases: Mapping[str, str]) -> str:
    """Return what a type stands for in the end, as far as the text tells."""
    for _ in range(_LONGEST_CHAIN):
        if kind not in aliases:
            break
        kind = aliases[kind]
    return kind


def probe_name(kernel: str) -> str:
    """Return what the probe of a kernel's parameters is called."""
    return f"gpux_types_of_{kernel}"


def type_probes(source: CudaSource) -> dict[str, str]:
    """Return the probes of a source, in C++ for OpenCL, by the kernels that need one."""
    found: dict[str, str] = {}
    for name, kernel in source.kernels.items():
        unknown = unknown_types(source.signature(kernel), "fp32")
        if unknown:
            lines = [_stored(source, p, 2 * i) for i, p in enumerate(unknown)]
            before = "" if found else f'#line 1 "prelude"\n{_NUMBER}'
            body = "\n".join(lines)
            found[name] = (
                f"{before}__kernel void {probe_name(name)}(__global int *found) {{\n{body}\n}}\n"
            )
    return found


def _stored(source: CudaSource, parameter: Parameter, index: int) -> str:
    text = source.code[parameter.start : parameter.end].partition("=")[0].rstrip()
    kind = " ".join(text[: text.rfind(parameter.name)].split())
    kind = re.sub(r"\blong long\b", "long", kind)
    return (
        f"    found[{index}] = gpux_number<__is_arithmetic({kind}), {kind}>::kind;\n"
        f"    found[{index + 1}] = (int)sizeof({kind});"
    )


def kinds_stored(values: Sequence[int]) -> list[tuple[Kind, int]]:
    """Return the kind and bytes of each parameter from what a probe stored."""
    return [(KINDS[kind], size_B) for kind, size_B in zip(values[::2], values[1::2], strict=True)]
