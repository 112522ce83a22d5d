"""What OpenCL on a CPU would refuse late or get wrong silently, found in the source beforehand.

There a work-group is a loop over its items, split at the barriers: an item that returns early, or
skips a barrier that others reach, gives wrong results or writes out of bounds, without a word. So
these checks err on the side of refusing, and each says how to write it instead.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gpuexplorer.compile.edits import Edits
from gpuexplorer.compile.statements import Statement, parse_body, walk
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource, Function

VOTES = frozenset("__syncthreads_count __syncthreads_and __syncthreads_or".split())
"""Barriers at which the threads of a block learn what all of them say."""
BARRIERS = VOTES | {"__syncthreads"}
SHUFFLES = frozenset(
    "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync "
    "__all_sync __syncwarp".split()
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\(?:\n|.))*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_ASSIGNED = re.compile(
    r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?:\.\s*\w+\s*)?(?:[-+*/%&|^]|<<|>>)?=(?!=)"
)

_COUNTER = re.compile(r"\(\s*(?:[A-Za-z_]\w*\s+)+([A-Za-z_]\w*)\s*=")


def refuse_unportable(source: CudaSource, *, votes: bool) -> None:
    """Raise WorkFailed, naming file and line, for the first construct that is not portable.

    ``votes`` says whether the language has what ``VOTES`` are made of.
    """
    _refuse_assembly(source)
    if not votes:
        _refuse_votes(source)
    _refuse_printing(source)
    _refuse_constants(source)
    _refuse_kernels(source)
    _refuse_shared(source)
    barriers = (callers_of(source, BARRIERS) | BARRIERS) - source.kernels.keys()
    for function in source.functions:
        _refuse_barriers(source, function, barriers)


def callers_of(source: CudaSource, names: frozenset[str]) -> frozenset[str]:
    """Return the functions and macros that call one of ``names``, directly or through others."""
    helpers = {f.name for f in source.functions if not f.is_kernel}
    bodies = {f.name: source.plain[slice(*f.body)] for f in source.functions}
    macros = {m[1]: m[2] for m in _DEFINE.finditer(source.plain)}
    bodies.update(macros)
    # Macros count wherever they are named, functions where they are called.
    named = names | macros.keys()
    called = helpers - named
    by: defaultdict[str, list[str]] = defaultdict(list)
    for name, body in bodies.items():
        for word in {w for w in _WORD.findall(body) if w in named}:
            by[word].append(name)
        for word in {w for w in _CALL.findall(body) if w in called}:
            by[word].append(name)
    return reached(names, by)


def reached(first: Iterable[str], leads_to: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return everything that ``first`` leads to, through however many steps."""
    found: set[str] = set()
    waiting = list(first)
    while waiting:
        for name in leads_to.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return frozenset(found)


def _refuse(source: CudaSource, offset: int, why: str, remedy: str) -> WorkFailed:
    return WorkFailed(
        f"{source.where(offset)}: {why}",
        remedy=f'{remedy}, or say requires = ["cuda"] in the manifest',
    )


def _refuse_assembly(source: CudaSource) -> None:
    match = re.search(r"\b(?:asm|__asm__|__asm)\b", source.plain)
    if match:
        raise _refuse(
            source,
            match.start(),
            "inline assembly cannot run through OpenCL",
            "write it in CUDA C++",
        )


def _refuse_votes(source: CudaSource) -> None:
    """Plain OpenCL C cannot add up what the threads of a block say."""
    for match in _WORD.finditer(source.code):
        if match[0] in VOTES:
            raise _refuse(
                source,
                match.start(),
                f"{match[0]}(), which this driver's language lacks, cannot run through OpenCL",
                "count in shared memory between two __syncthreads()",
            )


def _refuse_printing(source: CudaSource) -> None:
    """On the CPU the program would build, and its kernel could not be loaded."""
    for kernel in source.kernels.values():
        match = re.search(r"\bprintf(?=\s*\()", source.plain[slice(*kernel.body)])
        if match:
            raise _refuse(
                source,
                kernel.body[0] + match.start(),
                "printf() cannot run through OpenCL",
                "remove it",
            )


def _refuse_constants(source: CudaSource) -> None:
    """Constant memory that a host program would fill; a manifest passes arrays alone."""
    for match in re.finditer(r"\b__constant__\b[^;={]*(?=;)", source.code):
        declared = " ".join(match[0].split())
        raise WorkFailed(
            f"{source.where(match.start())}: '{declared}' has no values, and only a host program "
            "could give it some",
            remedy="write its values there, or pass it as an argument",
        )


def _refuse_kernels(source: CudaSource) -> None:
    for kernel in source.kernels.values():
        at = kernel.open_paren
        if kernel.is_template:
            raise _refuse(
                source,
                at,
                f"the template kernel '{kernel.name}' cannot run through OpenCL",
                "use the types real and accum and macros instead of template parameters",
            )
        for parameter in source.signature(kernel).parameters:
            if parameter.pointers > 1:
                raise _refuse(
                    source,
                    parameter.start,
                    f"'{parameter.name}', a pointer to pointers, cannot run through OpenCL",
                    "pass one array and index it",
                )


def _refuse_shared(source: CudaSource) -> None:
    kernels = sorted(source.kernels.values(), key=lambda kernel: kernel.body)
    starts = [kernel.body[0] for kernel in kernels]
    depth, counted = 0, 0
    for match in re.finditer(r"\b__shared__\b", source.code):
        at = match.start()
        index = bisect_left(starts, at) - 1
        if index < 0 or at >= kernels[index].body[1]:
            raise _refuse(
                source,
                at,
                "__shared__ outside a kernel's own body cannot run through OpenCL",
                "declare it in the kernel and hand a pointer to the helper",
            )
        if starts[index] >= counted:
            depth, counted = 0, starts[index]
        depth += source.code.count("{", counted, at) - source.code.count("}", counted, at)
        counted = at
        if depth > 1:
            raise _refuse(
                source,
                at,
                "__shared__ in a nested block cannot run through OpenCL",
                "declare it at the top of the kernel",
            )


def _refuse_barriers(source: CudaSource, function: Function, barriers: frozenset[str]) -> None:
    start, end = function.body
    body = source.code[start:end]
    calls = [m.start() for m in _WORD.finditer(body) if m[0] in barriers]
    if not calls:
        return
    statement = parse_body(source.code, start, end)
    if statement is None:
        return  # not a shape this reader knows; the compiler has the word
    _refuse_return(source, statement, start + calls[-1])
    tainted = _thread_dependent(body, function, source)
    _refuse_divergence(source, statement, [start + call for call in calls], tainted)


def _refuse_return(source: CudaSource, body: Statement, last_barrier: int) -> None:
    for loop in walk(body):
        if loop.is_loop and loop.start <= last_barrier < loop.end:
            last_barrier = loop.end  # the barrier is reached again
            break
    for statement in walk(body):
        if statement.kind == "return" and statement.start < last_barrier:
            raise _refuse(
                source,
                statement.start,
                "a return before the last __syncthreads() cannot run through OpenCL",
                "let every thread reach it and guard the work with if instead",
            )


def _thread_dependent(body: str, function: Function, source: CudaSource) -> frozenset[str]:
    """Return the names whose value may differ between the threads of a block.

    Everything assigned from ``threadIdx``, an atomic's result or such a name; shared variables are
    one for all.
    """
    shared = set(re.findall(r"\b__shared__\b[^;=]*?([A-Za-z_]\w*)\s*(?:\[[^;]*)?[;=]", body))
    tainted = {"threadIdx", *(w for w in _WORD.findall(body) if w.startswith("atomic"))}
    if not function.is_kernel:
        tainted |= {p.name for p in source.parameters(function) if not p.is_pointer}
    assignments = _assignments(_without_votes(body))
    into: defaultdict[str, list[str]] = defaultdict(list)
    for name, used in assignments:
        for other in used if name not in shared else ():
            into[other].append(name)
    return frozenset(tainted) | reached(tainted, into)


def _without_votes(text: str) -> str:
    """Return a text without what threads say in a vote: its outcome is one for all of them."""
    votes = Edits()
    for match in _CALL.finditer(text):
        if match[1] in VOTES:
            votes.blank(text, match.end(), match.end() + len(_right_side(text, match.end())))
    return votes.apply(text).text


def _assignments(text: str) -> list[tuple[str, set[str]]]:
    """Return each assignment of a text: the name, and the names its value is made of."""
    return [
        (m[1], set(_WORD.findall(_right_side(text, m.end())))) for m in _ASSIGNED.finditer(text)
    ]


def _right_side(body: str, start: int) -> str:
    """Return what is assigned: up to the semicolon, comma or closing bracket that ends it."""
    depth = 0
    for i in range(start, len(body)):
        c = body[i]
        depth += (c in "([{") - (c in ")]}")
        if depth < 0 or (depth == 0 and c in ";,"):
            return body[start:i]
    return body[start:]


def _refuse_divergence(
    source: CudaSource, body: Statement, barriers: Sequence[int], tainted: frozenset[str]
) -> None:
    """``barriers`` says where those of the body stand, in order."""

    def has_barrier(statement: Statement) -> bool:
        following = bisect_left(barriers, statement.start)
        return following < len(barriers) and barriers[following] < statement.end

    def divergent(statement: Statement) -> bool:
        used = tainted.intersection(_WORD.findall(_without_votes(statement.condition)))
        own = _COUNTER.match(statement.condition) if statement.kind == "for" else None
        if own and own[1] in used:  # its own counter; another one of that name may depend
            text = source.code[statement.start : statement.end]
            values = [names for name, names in _assignments(text) if name == own[1]]
            if not any(names & (tainted - {own[1]}) for names in values):
                used -= {own[1]}
        return bool(used)

    remedy = "move it out, so that every thread of the block reaches it"
    for statement in walk(body):
        if not statement.condition or not has_barrier(statement):
            continue
        if divergent(statement):
            raise _refuse(
                source,
                statement.start,
                f"__syncthreads() inside '{statement.kind}' that depends on the thread "
                "cannot run through OpenCL",
                remedy,
            )
        if not statement.is_loop:
            continue
        for inner in walk(statement):
            if inner.kind == "if" and divergent(inner):
                for jump in walk(inner):
                    if jump.kind in ("break", "continue"):
                        raise _refuse(
                            source,
                            jump.start,
                            f"'{jump.kind}' by some threads out of a loop with __syncthreads() "
                            "cannot run through OpenCL",
                            "let every thread take part until the loop ends",
                        )
