"""Portable CUDA to OpenCL source: what macros cannot say is changed in the text itself.

The preludes map CUDA's built-ins with macros. Left for here: address spaces of kernel parameters,
dynamic shared memory, scalar types that OpenCL does not pass, 64-bit integers (``long long`` is 128
bits wide in OpenCL), names that are OpenCL's keywords, and includes. What would go wrong silently
is refused (see ``refusals``). Every line stays where it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from gpuexplorer.compile import (
    assertions,
    early_returns,
    groups,
    macros,
    printing,
    shared_arrays,
    thread_numbers,
)
from gpuexplorer.compile.access_sites import Sites, record_accesses
from gpuexplorer.compile.arguments import cannot_fill
from gpuexplorer.compile.assertions import Assertion
from gpuexplorer.compile.device_part import without_host_code, without_unused
from gpuexplorer.compile.edits import Edited, Edits
from gpuexplorer.compile.expressions import shared_declared
from gpuexplorer.compile.launch_bounds import LaunchBounds, launch_bounds
from gpuexplorer.compile.math_names import without_std
from gpuexplorer.compile.origin import Origin
from gpuexplorer.compile.prelude import Language
from gpuexplorer.compile.prelude_vectors import is_vector
from gpuexplorer.compile.printing import Printed
from gpuexplorer.compile.refusals import SHUFFLES, callers_of, refuse_unportable
from gpuexplorer.compile.subscripts import Subscripts
from gpuexplorer.compile.type_probes import probe_name, resolved, type_aliases, type_probes
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter, Signature, blank
from gpuexplorer.workloads.declared_symbols import writable
from gpuexplorer.workloads.includes import includes_of, inline_includes
from gpuexplorer.workloads.instances import instance_text, split_entry

_RETYPED = {
    "size_t": "ulong",
    "bool": "uchar",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "ulong",
}
"""What OpenCL does not pass by value, aliases of it included, and what it passes instead."""
_DYNAMIC = re.compile(
    r"\bextern\s+__shared__\s+(?:(?:__align__|alignas)\s*\(\s*\w+\s*\)\s*)?"
    r"([A-Za-z_][\w\s]*?)\s*\b([A-Za-z_]\w*)\s*\[\s*\]\s*;"
)
_BRANCH = re.compile(r"^[ \t]*#[ \t]*(if|endif)", re.MULTILINE)
"""What begins and ends lines that a preprocessor may leave out."""
_LONG_LITERAL = re.compile(
    r"\b((?:0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*))([uU]?)(?:ll|LL)([uU]?)\b"
)

_DECLARED = re.compile(
    r"\b(?:template\s*(?:<[^;{}()]*>)?\s*)?(?:extern\s+)?(?:__global__\s+void|void\s+__global__)\s+"
    r"[\w\s:<>,]+\([^;{}]*\)\s*;"
)
"""A kernel that is declared before its definition, or a template's instance that is asked for."""
_CHANGES = (without_unused, groups.edits, shared_arrays.edits, early_returns.edits)
"""What is changed before the rest, one after the other; all but the first in C++ alone."""
_KEPT = re.compile(
    r"\b(?:__device__|__managed__)\b(?![^;{}()=]*\()(?![^;{}()=]*\bconst)[^;{}()]*[;={]"
)
"""A variable outside of functions: what a part of the grid leaves in it, the whole would find."""
ROOM = 'static_assert(sizeof({name}) >= {size}, "{words}");'
"""Has a compiler see that a variable is as large as what it is filled with."""
_COPIES = (
    "\n__kernel void {filling}(__global const uchar *from) {{ ((__global uchar *)&{name})"
    "[get_global_id(0)] = from[get_global_id(0)]; }}"
    "\n__kernel void {reading}(__global uchar *to) {{ to[get_global_id(0)] = "
    "((__global const uchar *)&{name})[get_global_id(0)]; }}\n"
)
_CHOSEN_ENDS = re.compile(r"\s*[:;,)]")
_OTHER_BEHIND = re.compile(r"\s*:\s*([A-Za-z_]\w*)\s*[;,)]")
_OTHER_BEFORE = re.compile(r"\?\s*([A-Za-z_]\w*)\s*:\s*$")
"""The other one that is chosen from, where it is a variable."""
_KEYWORDS = "local global kernel constant generic pipe read_only write_only read_write".split()
"""Words that are names in CUDA and keywords in OpenCL; ``half`` is a type in both, see below."""
_HALF_AS_NAME = re.compile(
    r"\b(?:int|unsigned|long|short|size_t|auto|float|double|real|accum|const)\s*[*&]?\s*"
    r"(?:[A-Za-z_]\w*\s*(?:=[^;]*?)?,\s*)?half\s*[=;,)\[]"
)


class PortableKernel(msgspec.Struct, frozen=True):
    """One kernel of the rewritten source.

    Its arguments are the signature's, then a ``__local`` pointer when ``dynamic_shared``, then the
    grid's x, y and z as three ints when ``takes_grid``.
    """

    signature: Signature
    retyped: dict[str, str]
    """Scalar parameters whose OpenCL type differs from the user's, by name."""
    dynamic_shared: bool
    needs_shared: bool
    """Whether it uses an array in shared memory that has no bytes but those a launch gives."""
    takes_grid: bool
    splittable: bool
    """Whether a part of the grid does what it would do in the whole (see ``gridDim`` below)."""
    uses_warps: bool
    """Whether it shuffles, and so needs sub-groups of 32 and a block width to match."""
    bounds: LaunchBounds | None = None
    """What its ``__launch_bounds__`` say."""
    probe: str | None = None
    """The kernel that tells which numbers the parameters are whose types the text does not tell.

    It stores their kind (see ``type_probes``) and bytes, two ints each, in their order.
    """
    stands_for: dict[str, str] = msgspec.field(default_factory=dict)
    """What a parameter's type is an alias of, by the parameter's name."""


class Rewritten(msgspec.Struct, frozen=True):
    """OpenCL source (to follow a prelude) and its kernels by name."""

    source: str
    kernels: dict[str, PortableKernel]
    origin: Origin
    """Where in the user's own files everything comes from."""
    probes: str = ""
    """Kernels of our own, to follow the source (see ``PortableKernel.probe``)."""
    sites: Sites | None = None
    """What its notes of accesses stand for, where it was to take some."""
    printed: Printed | None = None
    """What its kernels print, where they do."""
    asserted: tuple[Assertion, ...] = ()
    """What its kernels assert, by number from 1 on; in C++ for OpenCL alone."""
    without: tuple[str, ...] = ()
    """Files that it includes and that are not there."""


def rewrite(
    name: str,
    files: Mapping[str, str],
    language: Language = "clc++",
    *,
    entry: str | None = None,
    signed: bool = True,
    recorded: bool = False,
    asserting: bool = False,
    filled: Collection[str] = (),
) -> Rewritten:
    """Rewrite file ``name`` of a workload for C++ for OpenCL, or for plain OpenCL C.

    Of its kernels only ``entry`` is kept, which may be an instance of a template; by default all of
    them are. With ``signed`` unsigned indices are computed with signs where that makes no
    difference, as long as no array has 2 GiB and no grid 2³⁰ threads along an axis (``subscripts``,
    ``thread_numbers``). With ``recorded`` its kernels note their accesses, in C++ for OpenCL alone
    (``access_sites``), and with ``asserting`` they look at what they assert (``assertions``).
    ``filled`` are variables outside of functions that kernels of ours fill
    (``filling``). Raises WorkFailed, naming file and line, for what OpenCL would refuse or
    silently get wrong, and InputError for an entry that there is not.
    """
    flat = inline_includes(name, without_host_code(files, () if entry is None else (entry,)))
    chosen = _with_one_kernel(name, CudaSource(flat), entry)
    cpp = language == "clc++"
    numbered, asserted = assertions.edits(CudaSource(chosen.text))
    stages = [chosen, *([numbered.apply(chosen.text)] if asserting else [])]
    stages.append(_without_keywords(stages[-1].text))
    source = CudaSource(stages[-1].text)
    changes = _CHANGES if cpp else _CHANGES[:1]
    for change in (macros.edits, *changes) if recorded else changes:
        source = _changed(source, change(source), stages)
    printed = None
    if cpp and "printf" in source.plain:
        calls, printed = printing.edits(source)
        source = _changed(source, calls, stages)
    refuse_unportable(source, cpp=cpp, filled=filled)
    edits = Edits()
    for span in writable(source, filled):
        edits.blank(source.text, *span)
    warp_functions = callers_of(source, SHUFFLES)
    aliases, grid_uses = type_aliases(source), _grid_uses(source)
    kernels = {
        name: _rewrite_kernel(source, f, aliases, edits, grid_uses[name], name in warp_functions)
        for name, f in source.kernels.items()
    }
    if language == "c":
        for kernel in source.kernels.values():
            for at, space in pointer_spaces(source, kernel):
                edits.replace(at, at, space)
    sites = record_accesses(source, edits) if recorded else None
    if signed:
        for at, text in (*Subscripts(source).edits(cpp=cpp), *thread_numbers.edits(source)):
            edits.replace(at, at, text)
    _rewrite_text(source, edits)
    edited = edits.apply(source.text)
    probes = type_probes(source) if cpp else {}
    keeps = _KEPT.search(source.code) is not None
    kernels = {
        n: replace(
            k,
            probe=probe_name(n) if n in probes else None,
            splittable=k.splittable and not keeps,
        )
        for n, k in kernels.items()
    }
    origin = Origin(flat, (edited, *reversed(stages)))
    ours = [*probes.values(), *map(_copies, filled)]
    return Rewritten(
        edited.text, kernels, origin, "".join(ours), sites=sites, printed=printed,
        asserted=asserted if cpp and asserted and assertions.has_some(edited.text) else (),
        without=tuple(_not_there(CudaSource(flat))),
    )  # fmt: skip


def _copies(name: str) -> str:
    """Return the kernels of ours that copy to and from a variable outside of functions."""
    return _COPIES.format(filling=filling(name), reading=reading(name), name=name)


def _not_there(source: CudaSource) -> Iterator[str]:
    """Yield the files of somebody's own that a source includes and that do not lie beside it."""
    for one in includes_of(source.text, source.plain):
        if one.is_own:
            yield one.name


def filling(name: str) -> str:
    """Return the kernel of ours, a thread a byte, that fills a variable outside of functions."""
    return f"gpux_fill_{name}"


def reading(name: str) -> str:
    """Return the kernel of ours, a thread a byte, that copies such a variable to an array."""
    return f"gpux_read_{name}"


def _changed(source: CudaSource, edits: Edits, stages: list[Edited]) -> CudaSource:
    if not edits:
        return source
    stages.append(edits.apply(source.text))
    return CudaSource(stages[-1].text)


def _with_one_kernel(name: str, source: CudaSource, entry: str | None) -> Edited:
    """Return the text without the kernels that do not run, a template turned into its instance."""
    edits = Edits()
    wanted, arguments = split_entry(entry) if entry is not None else (None, ())
    if wanted is not None and wanted not in source.kernels:
        there = ", ".join(source.kernels) or "no kernel"
        raise InputError(f"{name} has no kernel '{entry}'", remedy=f"it has {there}")
    for kernel in source.kernels.values():
        if wanted is not None and kernel.name != wanted:
            edits.blank(source.text, kernel.start, kernel.body[1])
        elif kernel.is_template and wanted is not None:
            for start, end, text in instance_text(source, kernel, arguments):
                edits.replace(start, end, text)
    if wanted is not None:
        for declared in _DECLARED.finditer(source.code):
            edits.blank(source.text, *declared.span())
    return edits.apply(source.text)


def _without_keywords(text: str) -> Edited:
    """Return the text with an underscore behind each name that OpenCL keeps for itself."""
    plain = blank(text)
    taken = [*_KEYWORDS, *(["half"] if _HALF_AS_NAME.search(plain) else [])]
    edits = Edits()
    for match in re.finditer(rf"\b(?:{'|'.join(taken)})\b", plain):
        edits.replace(match.end(), match.end(), "_")
    return edits.apply(text)


def _rewrite_kernel(
    source: CudaSource,
    kernel: Function,
    aliases: Mapping[str, str],
    edits: Edits,
    grid_uses_in_all: int,
    uses_warps: bool,
) -> PortableKernel:
    signature = source.signature(kernel)
    parameters = signature.parameters
    for parameter in parameters:
        if not parameter.is_pointer and is_vector(resolved(parameter.type, aliases)):
            raise cannot_fill(parameter, source.where(kernel.open_paren))
        _rewrite_parameter(source, parameter, aliases, edits)
        if parameter.is_pointer and is_vector(resolved(parameter.type, aliases)):
            _take_values(source, kernel, parameter, edits)
    extra: list[str] = []
    body_start, body_end = kernel.body
    dynamic = list(_DYNAMIC.finditer(source.code, body_start, body_end))
    for index, match in enumerate(dynamic):
        if index == 0:
            extra.append(f"__local {_portable(match[1])} *{match[2]}")
            edits.blank(source.text, match.start(), match.end())
        else:  # CUDA lets all of them start at the same address
            kind, lines = _portable(match[1]), "\n" * match[0].count("\n")
            alias = f"__local {kind} *{match[2]} = (__local {kind} *){dynamic[0][2]};{lines}"
            edits.replace(match.start(), match.end(), alias)
    grid_uses = list(re.compile(r"\bgridDim\b").finditer(source.code, body_start, body_end))
    if grid_uses:
        # The whole grid's size, also when only a part of it is launched to predict the duration.
        extra += ["uint gpux_grid_x", "uint gpux_grid_y", "uint gpux_grid_z"]
        dims = " const gpux_uint3 gpux_grid = {gpux_grid_x, gpux_grid_y, gpux_grid_z};"
        edits.replace(body_start + 1, body_start + 1, dims)
        for use in grid_uses:
            edits.replace(use.start(), use.end(), "gpux_grid")
    if extra:
        void = re.compile(r"\s*void\s*").fullmatch(
            source.code, kernel.open_paren + 1, kernel.close_paren
        )
        if void:
            edits.blank(source.text, kernel.open_paren + 1, kernel.close_paren)
        separator = ", " if parameters else ""
        edits.replace(kernel.close_paren, kernel.close_paren, separator + ", ".join(extra))
    if uses_warps:
        keyword = re.compile(r"\b__global__\b").search(source.code, kernel.start)
        assert keyword is not None
        edits.replace(keyword.end(), keyword.end(), " GPUX_WARPS")
    return PortableKernel(
        signature=signature,
        retyped={p.name: kind for p in parameters if (kind := _opencl_type(p, aliases)) != p.type},
        stands_for={
            p.name: kind for p in parameters if (kind := resolved(p.type, aliases)) != p.type
        },
        dynamic_shared=bool(dynamic),
        needs_shared=any(_uses(source, kernel, m) for m in dynamic),
        takes_grid=bool(grid_uses),
        splittable=len(grid_uses) == grid_uses_in_all,
        uses_warps=uses_warps,
        bounds=launch_bounds(source, kernel),
    )


def _uses(source: CudaSource, kernel: Function, declared: re.Match[str]) -> bool:
    """Return whether a kernel uses an array that it declares, whatever a preprocessor leaves."""

    def stays(at: int) -> bool:
        branches = _BRANCH.findall(source.plain, kernel.start, at)
        return branches.count("if") == branches.count("endif")

    uses = re.compile(rf"\b{declared[2]}\b").finditer(source.code, declared.end(), kernel.body[1])
    return stays(declared.start()) and any(stays(use.start()) for use in uses)


def _take_values(source: CudaSource, kernel: Function, parameter: Parameter, edits: Edits) -> None:
    """Make values of vectors that ``?:`` chooses from: C++ takes no two address spaces."""
    chosen = re.compile(rf"[?:]\s*({re.escape(parameter.name)}\s*\[)")
    for match in chosen.finditer(source.code, *kernel.body):
        end = source.closing(match.end() - 1)
        if end is None or not _CHOSEN_ENDS.match(source.code, end + 1):
            continue
        spans = [(match.start(1), end + 1)]
        if other := _OTHER_BEHIND.match(source.code, end + 1):
            spans.append(other.span(1))
        before = source.code[kernel.body[0] : match.start(1)]
        if other := _OTHER_BEFORE.search(before):
            spans.insert(0, (kernel.body[0] + other.start(1), kernel.body[0] + other.end(1)))
        for first, last in spans:
            edits.replace(first, first, f"{parameter.type}(")
            edits.replace(last, last, ")")


def _grid_uses(source: CudaSource) -> dict[str, int]:
    """Count by kernel the uses of gridDim in it and outside every kernel (helpers, macros)."""
    uses = [m.start() for m in re.finditer(r"\b(?:gridDim|this_grid|grid_group)\b", source.plain)]
    own = {
        name: bisect_left(uses, kernel.body[1]) - bisect_left(uses, kernel.body[0])
        for name, kernel in source.kernels.items()
    }
    outside = len(uses) - sum(own.values())
    return {name: count + outside for name, count in own.items()}


def _portable(kind: str) -> str:
    return re.sub(r"\blong\s+long\b", "long", " ".join(kind.split()))


def _opencl_type(parameter: Parameter, aliases: Mapping[str, str]) -> str:
    kind = _portable(parameter.type)
    stands_for = resolved(kind.removeprefix("std "), aliases)
    return kind if parameter.is_pointer else _RETYPED.get(stands_for, kind)


def _rewrite_parameter(
    source: CudaSource, parameter: Parameter, aliases: Mapping[str, str], edits: Edits
) -> None:
    if parameter.is_pointer:
        edits.replace(parameter.start, parameter.start, "__global ")
        return
    kind = parameter.type.removeprefix("std ")
    new = _RETYPED.get(resolved(kind, aliases))
    if new is not None:
        for match in re.compile(rf"\b(?:std\s*::\s*)?{re.escape(kind)}\b").finditer(
            source.code, parameter.start, parameter.end
        ):
            edits.replace(match.start(), match.end(), new)


def _rewrite_text(source: CudaSource, edits: Edits) -> None:
    plain = source.plain
    for match in re.finditer(r"\blong(\s+)long\b", plain):
        edits.replace(match.end(1), match.end(), "    ")
    for match in _LONG_LITERAL.finditer(plain):
        unsigned = "U" if match[2] or match[3] else ""
        edits.replace(match.end(1), match.end(), f"{unsigned}L")
    without_std(source.text, plain, edits)
    for one in includes_of(source.text, plain):
        edits.blank(source.text, one.start, one.end)
    for match in re.finditer(r"\bextern(\s*)(?=__global__|__device__|\{|void)", plain):
        literal = source.text[match.start(1) : match.end(1)].strip()
        if literal != '"C"':
            continue
        end = match.end()
        edits.blank(source.text, match.start(), end)
        if source.code[end] == "{":
            closing = source.closing(end)
            edits.replace(end, end + 1, " ")
            if closing is not None:
                edits.replace(closing, closing + 1, " ")


# ---- address spaces
# Address spaces of pointer variables, for plain OpenCL C, where each pointer must say its own.
#
# C++ for OpenCL has one generic address space and needs none of this. Only what stands in the
# declaration is used: ``real *tile = shared + 16;`` points to where ``shared`` does.


_POINTER = re.compile(
    r"(?<=[;{}(])\s*((?:(?:const|volatile|unsigned|signed|long|short)\s+)*[A-Za-z_]\w*\s*"
    r"(?:const\s*)?\*\s*(?:const\s+|__restrict__\s+)*)([A-Za-z_]\w*)\s*=(?!=)([^;]*)"
)
_CAST = re.compile(
    r"\(\s*(?=(?:(?:const|volatile|unsigned)\s+)*[A-Za-z_]\w*\s*(?:const\s*)?\*+\s*\))"
)


def pointer_spaces(source: CudaSource, kernel: Function) -> Iterator[tuple[int, str]]:
    """Yield where an address space must be inserted in a kernel's body, and which."""
    start, end = kernel.body
    spaces = {p.name: "__global" for p in source.parameters(kernel) if p.is_pointer}
    spaces |= dict.fromkeys(shared_declared(source.code[start:end]), "__local")
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
