"""What OpenCL on a CPU would refuse late or get wrong silently, found in the source beforehand.

There a work-group is a loop over its items, split at the barriers: an item that returns early, or
skips a barrier that others reach, gives wrong results or writes out of bounds, without a word. So
these checks err on the side of refusing, and each says how to write it instead.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gpuexplorer.compile.assignments import assignments, changed_names, right_side
from gpuexplorer.compile.edits import Edits
from gpuexplorer.compile.expressions import shared_declared
from gpuexplorer.compile.math_names import MATH
from gpuexplorer.compile.races import first_race, shared_names
from gpuexplorer.compile.statements import Statement, parse_body, walk
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource, Function
from gpuexplorer.workloads.instances import split_list

VOTES = frozenset("__syncthreads_count __syncthreads_and __syncthreads_or".split())
"""Barriers at which the threads of a block learn what all of them say."""
BARRIERS = VOTES | {"__syncthreads"}
SHUFFLES = frozenset(
    "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync __any_sync "
    "__all_sync __syncwarp __activemask __match_any_sync __match_all_sync __reduce_add_sync "
    "__reduce_min_sync __reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync "
    "tiled_partition thread_block_tile coalesced_threads coalesced_group".split()
)
_WAITS = re.compile(r"__sync\w+|\w+_sync|sync|__threadfence\w*|barrier\w*")
"""Names of what orders a thread's accesses before those of others that follow."""
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]|\\(?:\n|.))*)", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_INSIDE = r"[^<>;(){}]{0,200}"
_CALL = re.compile(rf"([A-Za-z_]\w*)\s*(?:<{_INSIDE}(?:<{_INSIDE}>{_INSIDE}){{0,4}}>\s*)?\(")
"""A call, with a template's arguments or without."""

_THREADS = frozenset(
    "threadIdx thread_rank thread_index meta_group_rank coalesced_threads __activemask "
    "__ballot_sync __any_sync __all_sync __match_any_sync clock clock64 __globaltimer".split()
)
"""What tells threads of a block apart, or its warps."""
_DEEPEST = 8
"""Helpers that call each other, as far as what they are handed is followed."""
_COUNTER = re.compile(r"\s*(?:[A-Za-z_]\w*\s+)*([A-Za-z_]\w*)\s*=(?!=)")


def refuse_unportable(
    source: CudaSource, *, cpp: bool, filled: Collection[str] = frozenset()
) -> None:
    """Raise WorkFailed, naming file and line, for the first construct that is not portable.

    ``cpp`` says whether the language is C++ for OpenCL, which has what ``VOTES`` are made of.
    ``filled`` are variables outside of functions that are given their values.
    """
    _refuse_assembly(source)
    _refuse_names(source)
    _refuse_recursion(source, cpp=cpp)
    if not cpp:
        _refuse_votes(source)
    _refuse_printing(source)
    _refuse_constants(source, filled if cpp else ())
    _refuse_kernels(source)
    _refuse_shared(source)
    barriers = (callers_of(source, BARRIERS) | BARRIERS) - source.kernels.keys()
    waits = frozenset(filter(_WAITS.fullmatch, _WORD.findall(source.plain)))
    waits = (callers_of(source, waits) | waits) - source.kernels.keys()
    numbering = callers_of(source, _THREADS) - source.kernels.keys()
    for function in source.functions:
        _refuse_barriers(source, function, barriers, cpp=cpp)
        _refuse_race(source, function, waits, numbering)


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


_ABSENT = (
    (r"curand\w*", "cuRAND is a library for GPUs",
     "compute random numbers from the thread's number, or pass them in an array"),
    (r"cudaTextureObject_t|tex[123]D\w*|cudaSurfaceObject_t|surf[123]D\w+",
     "textures and surfaces are a GPU's", "pass an array and index it"),
    (r"wmma|nvcuda", "tensor cores are a GPU's", "compute the product in a loop over its elements"),
    (r"cub\s*::|thrust\s*::|cuda\s*::", "libraries of the toolkit are for GPUs",
     "write out what you take from it"),
    (r"this_cluster|cluster_group|__cluster_dims__", "clusters of blocks are a GPU's",
     "let each block work by itself"),
    (r"this_multi_grid|multi_grid_group", "several GPUs at once cannot run through OpenCL",
     "let each block work by itself"),
    (r"(?:binary|labeled)_partition|memcpy_async|invoke_one", "this part of cooperative groups "
     "is not there on a CPU", "use tiled_partition, coalesced_threads and plain loops"),
)  # fmt: skip
"""Names of what no CPU has: a pattern, what it is, what to write instead."""
_GRID = re.compile(
    r"\b([A-Za-z_]\w*)\s*=\s*(?:\w+\s*::\s*)*this_grid\s*\(|\bgrid_group\s+([A-Za-z_]\w*)"
)


def _refuse_names(source: CudaSource) -> None:
    for pattern, why, remedy in _ABSENT:
        match = re.search(rf"\b(?:{pattern})", source.code)
        if match:
            raise _refuse(source, match.start(), why, remedy)
    names = {a or b for a, b in _GRID.findall(source.code)}
    listed = "|".join([*sorted(names), r"this_grid\s*\(\s*\)"])
    match = re.search(
        rf"(?<![\w.])(?:{listed})\s*\.\s*sync\s*\(|\bsync\s*\(\s*(?:{listed})\s*\)",
        source.code,
    )
    if match:
        raise _refuse(
            source,
            match.start(),
            "blocks cannot wait for each other on a CPU, where they run one after the other",
            "split the kernel into two launches there",
        )


def _refuse_recursion(source: CudaSource, *, cpp: bool) -> None:
    """OpenCL has no functions that call themselves.

    In C++ others may have their names: the compiler tells them apart (``refuse_recursion``).
    """
    named = Counter(f.name for f in source.functions)
    for function in source.functions:
        if cpp and (named[function.name] > 1 or function.name in MATH or function.is_template):
            continue
        call = re.compile(rf"(?<![.\w])(?<!->)(?<!::){function.name}\s*\(")
        inside = call.search(source.code, *function.body)
        if inside:
            raise _calls_itself(source, function, inside.start())


def refuse_recursion(source: CudaSource, names: Collection[str]) -> None:
    """Raise WorkFailed for a function that calls itself, at once or through others.

    ``names`` are those, and what calls them, as a compiler found.
    """
    for function in source.functions:
        if function.name in names:
            callers = callers_of(source, frozenset({function.name}))
            body = source.code[slice(*function.body)]
            if function.name in callers and not callers.isdisjoint(_WORD.findall(body)):
                raise _calls_itself(source, function, function.open_paren)


def _calls_itself(source: CudaSource, function: Function, offset: int) -> WorkFailed:
    return _refuse(
        source,
        offset,
        f"'{function.name}', which calls itself, cannot run through OpenCL",
        "write it as a loop with a stack of its own",
    )


def _refuse_race(
    source: CudaSource, function: Function, waits: frozenset[str], numbering: frozenset[str]
) -> None:
    """``numbering`` are the helpers and macros that tell threads apart."""
    arrays = shared_names(source, function)
    if not arrays:
        return
    apart = _apart(source.code[slice(*function.body)], function, source)
    found = first_race(source, function, arrays, waits, apart | numbering)
    if found is not None:
        array, line = found.array, source.where(found.written_at).rpartition(":")[2]
        if not found.in_step:
            raise WorkFailed(
                f"{source.where(found.offset)}: this reads what another thread wrote to '{array}' "
                f"in line {line}, with no barrier between them",
                remedy="write __syncthreads() between them",
            )
        raise _refuse(
            source,
            found.offset,
            f"this reads what another thread wrote to '{array}' in line {line}, and without a "
            "barrier between them that is right only where a warp runs in step",
            "write __syncwarp() between them (or __syncthreads() for more than a warp)",
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
    users = callers_of(source, frozenset({"printf"}))
    if users.isdisjoint(source.kernels):
        return
    bodies = [f.body for f in source.functions if f.name in users]
    bodies += [m.span() for m in _DEFINE.finditer(source.plain) if m[1] in users]
    found = (re.compile(r"\bprintf(?=\s*\()").search(source.plain, *body) for body in bodies)
    for match in filter(None, found):
        raise _refuse(
            source,
            match.start(),
            "this printf() cannot run through OpenCL",
            "write its format in the call itself, without %s, %n and *, and no macro around it",
        )


def _refuse_constants(source: CudaSource, filled: Collection[str]) -> None:
    """Constant memory that a host program would fill, and nothing here does."""
    for match in re.finditer(r"\b__constant__\b[^;={]*?(\w+)\s*(?:\[[^;={]*)?(?=;)", source.code):
        if match[1] in filled:
            continue
        declared = " ".join(match[0].split())
        raise WorkFailed(
            f"{source.where(match.start())}: '{declared}' has no values",
            remedy="write its values there, pass it as an argument, or name it under 'symbols' of "
            "the launch in the manifest, with an array or number of that name",
        )


def _refuse_kernels(source: CudaSource) -> None:
    for kernel in source.kernels.values():
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


def _refuse_barriers(
    source: CudaSource, function: Function, barriers: frozenset[str], *, cpp: bool
) -> None:
    start, end = function.body
    body = source.code[start:end]
    calls = [m.start() for m in _WORD.finditer(body) if m[0] in barriers]
    if not calls:
        return
    statement = parse_body(source.code, start, end)
    if statement is None:
        return  # not a shape this reader knows; the compiler has the word
    tainted = thread_dependent(body, function, source)
    all_leave = cpp and function.is_kernel  # which OpenCL allows, and PoCL does not understand
    returns = leaving(statement, tainted, some=not all_leave)
    _refuse_return(source, returns, last_place(statement, start + calls[-1]))
    _refuse_divergence(source, statement, [start + call for call in calls], tainted)


def last_place(body: Statement, last_barrier: int) -> int:
    """Return the end of what may still lead to a barrier, from where the last one stands."""
    loops = (s for s in walk(body) if s.is_loop and s.start <= last_barrier < s.end)
    return next((loop.end for loop in loops), last_barrier)  # the barrier is reached again


def leaving(
    statement: Statement, tainted: frozenset[str], *, some: bool = False
) -> Iterator[Statement]:
    """Yield the returns by which some threads of a block may leave while others stay.

    ``some`` says whether only some threads may come to the statement.
    """
    if statement.kind == "return" and some:
        yield statement
    some |= not tainted.isdisjoint(_WORD.findall(statement.condition))
    for part in statement.parts:
        yield from leaving(part, tainted, some=some)


def _refuse_return(source: CudaSource, returns: Iterable[Statement], last_barrier: int) -> None:
    for statement in returns:
        if statement.start < last_barrier:
            raise _refuse(
                source,
                statement.start,
                "a return before the last __syncthreads() cannot run through OpenCL",
                "let every thread reach it and guard the work with if instead",
            )


def thread_dependent(
    body: str, function: Function, source: CudaSource, above: tuple[str, ...] = ()
) -> frozenset[str]:
    """Return the names whose value may differ between the threads of a block.

    Everything assigned from ``threadIdx``, an atomic's result or such a name, or where only some
    threads come; shared variables are one for all. ``above`` are the helpers that led here.
    """
    shared = shared_declared(body)
    shared |= set(re.findall(r"\bauto &(\w+) = gpux_shared_", body))
    tainted = _apart(body, function, source, above)
    made_of = assignments(_without_votes(body))
    into: defaultdict[str, list[str]] = defaultdict(list)
    for name, used in made_of:
        for other in used if name not in shared else ():
            into[other].append(name)
    found = frozenset(tainted) | reached(tainted, into)
    statement = parse_body(source.code, *function.body)
    while statement is not None:
        more = set(_changed_by_some(source.code, statement, found)) - shared - found
        if not more:
            break
        found |= more | reached(more, into)
    return found


def _apart(
    body: str, function: Function, source: CudaSource, above: tuple[str, ...] = ()
) -> set[str]:
    """Return what tells the threads of a block apart before anything is assigned from it."""
    found = {*_THREADS, *(w for w in _WORD.findall(body) if w.startswith("atomic"))}
    if not function.is_kernel:
        found |= _told_apart(function, source, (*above, function.name))
    return found


def _changed_by_some(code: str, statement: Statement, tainted: frozenset[str]) -> Iterator[str]:
    """Yield the names that are changed where only some threads come, or not as often as others."""
    said = _without_votes(statement.condition)
    some = not tainted.isdisjoint(_WORD.findall(said)) or (
        statement.is_loop and any(_jumps_of_some(part, tainted, False) for part in statement.parts)
    )
    if some:
        yield from changed_names(code[statement.start : statement.end])
        return
    for part in statement.parts:
        yield from _changed_by_some(code, part, tainted)


def _jumps_of_some(
    statement: Statement, tainted: frozenset[str], some: bool, *, switched: bool = False
) -> bool:
    """Return whether only some threads leave the loop, or a round of it, in a statement.

    ``switched`` says that the statement stands in a ``switch``, which its ``break`` leaves.
    """
    if statement.kind in ("break", "continue"):
        return some and not (switched and statement.kind == "break")
    switched |= statement.kind == "switch"
    some |= not tainted.isdisjoint(_WORD.findall(_without_votes(statement.condition)))
    return any(_jumps_of_some(part, tainted, some, switched=switched) for part in statement.parts)


def _told_apart(function: Function, source: CudaSource, above: tuple[str, ...]) -> set[str]:
    """Return a helper's parameters that may differ between the threads that call it."""
    named = [p.name for p in source.parameters(function)]
    values = {p.name for p in source.parameters(function) if not p.is_pointer}
    call = re.compile(rf"\b{re.escape(function.name)}\s*(?:<[^;(){{}}]*>\s*)?\(")
    if any(call.search(m[2]) for m in _DEFINE.finditer(source.plain)):
        return values
    found: set[str] = set()
    for caller in source.functions:
        calls = list(call.finditer(source.code, *caller.body))
        if not calls:
            continue
        if caller.name in above or len(above) > _DEEPEST:
            return values
        differs = thread_dependent(source.code[slice(*caller.body)], caller, source, above)
        for match in calls:
            at = match.end()
            for name in named:
                text = right_side(source.code, at)
                if not differs.isdisjoint(_WORD.findall(text)):
                    found.add(name)
                at += len(text) + 1
    return found & values


def _without_votes(text: str) -> str:
    """Return a text without what threads say in a vote: its outcome is one for all of them."""
    votes = Edits()
    for match in _CALL.finditer(text):
        if match[1] in VOTES:
            votes.blank(text, match.end(), match.end() + len(right_side(text, match.end())))
    return votes.apply(text).text


def _refuse_divergence(
    source: CudaSource, body: Statement, barriers: Sequence[int], tainted: frozenset[str]
) -> None:
    """``barriers`` says where those of the body stand, in order."""

    def has_barrier(statement: Statement) -> bool:
        following = bisect_left(barriers, statement.start)
        return following < len(barriers) and barriers[following] < statement.end

    def divergent(statement: Statement, tainted: frozenset[str]) -> bool:
        return not tainted.isdisjoint(_WORD.findall(_without_votes(statement.condition)))

    remedy = "move it out, so that every thread of the block reaches it"
    waiting = [(body, tainted)]
    while waiting:
        statement, tainted = waiting.pop()
        if not has_barrier(statement):
            continue
        tainted -= _counters_of_all(source.code, statement, tainted)
        waiting += [(part, tainted) for part in reversed(statement.parts)]
        if divergent(statement, tainted):
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
            if inner.kind == "if" and divergent(inner, tainted):
                for jump in walk(inner):
                    if jump.kind in ("break", "continue"):
                        raise _refuse(
                            source,
                            jump.start,
                            f"'{jump.kind}' by some threads out of a loop with __syncthreads() "
                            "cannot run through OpenCL",
                            "let every thread take part until the loop ends",
                        )


def _counters_of_all(code: str, loop: Statement, tainted: frozenset[str]) -> frozenset[str]:
    """Return what a ``for`` begins with and changes the same for all threads.

    Elsewhere variables of these names, or these themselves, may depend on the thread.
    """
    if loop.kind != "for":
        return frozenset()
    first = loop.condition[1:].partition(";")[0]
    begun = {m[1] for part in split_list(first) if (m := _COUNTER.match(part))} & tainted
    others = tainted - begun
    text = code[loop.start : loop.end]
    differ = {name for name, used in assignments(text) if not used.isdisjoint(others)}
    for part in loop.parts:
        differ.update(_changed_by_some(code, part, others))
    return frozenset(begun - differ)
