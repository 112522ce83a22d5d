"""The part of a whole CUDA program that NVRTC compiles: its kernels and what they need.

A textbook file has a ``main`` below its kernels, and NVRTC refuses host code. What is left out
becomes spaces, so that lines keep their numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from gpuexplorer.compile.edits import Edits
from gpuexplorer.workloads.cuda_source import CudaSource, Function, blank
from gpuexplorer.workloads.includes import HOST_HEADERS, includes_of

_Span = tuple[int, int]
_ON_DEVICE = re.compile(r"\b(?:__global__|__device__|__constant__|__shared__|__managed__)\b")
_CONSTANT = re.compile(r"\b__constant__\s+[\w\s:]*?\b([A-Za-z_]\w*)\s*(?:\[[^;={}]*\]\s*)*;")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DECLARES = re.compile(
    r"\b(?:__global__|__device__|__constant__|__shared__|__managed__|typedef|using|const|constexpr|"
    r"struct|class|enum|union|template|namespace|static_assert|extern)\b"
)
"""A statement outside of functions with one of these words is not only the host's."""
_HOST_CODE = re.compile(r"<<<|\bmain\s*\(|\bcuda[A-Z]\w*\s*\(")
"""What device code never has: launches, ``main``, and calls of CUDA's runtime."""
_OPENS_SCOPE = re.compile(r"\bnamespace\b|\bextern\s*$")


def device_part(
    text: str, is_known: Callable[[str], bool], entries: Collection[str] = ()
) -> tuple[str, list[str]]:
    """Return a source without its host code, and the names of what was left out.

    ``is_known`` says whether an included header can be found. Functions of the host
    that are ``entries`` become kernels, and those that they call stay for them.
    """
    source = CudaSource(text)
    kept = _called_from(source, entries)
    cuts: list[tuple[int, int]] = []
    left_out: list[str] = []
    inserted: dict[int, str] = {}
    for one in includes_of(text, source.plain):
        if one.name not in HOST_HEADERS and not is_known(one.name):
            cuts.append((one.start, one.end))
            left_out.append(f"<{one.name}>")
    for function in source.functions:
        if _is_on_device(source, function):
            continue
        head = source.code[function.start : function.open_paren]
        if function.name in kept:
            cuts += _words(source, function)
            inserted[function.start] = "__global__ " if function.name in entries else "__device__ "
            continue
        folded = re.search(r"\bconstexpr\b", head)
        if folded:  # kernels may use it
            inserted[function.start + folded.start()] = "__device__ "
            continue
        cuts.append((function.start, function.body[1]))
        left_out.append(f"{function.name}()")
    kept_bodies = [(f.start, f.body[1]) for f in source.functions if f.name in kept]
    cuts += _uncovered(_host_statements(source), [*cuts, *kept_bodies])
    return _without(text, cuts, inserted), left_out


def without_host_code(files: Mapping[str, str], entries: Collection[str] = ()) -> dict[str, str]:
    """Return sources without the host code of those that have any; the others stay as they are.

    Functions of the host stay where they are ``entries`` (see ``device_part``).
    """
    found = dict(files)
    for name, text in files.items():
        if _has_host_code(text, entries):
            found[name], _ = device_part(text, lambda _: True, entries)
    return found


def _has_host_code(text: str, entries: Collection[str]) -> bool:
    return bool(_HOST_CODE.search(blank(text))) or bool(_called_from(CudaSource(text), entries))


def _called_from(source: CudaSource, entries: Collection[str]) -> set[str]:
    """Return which of some entries are functions of the host, with those that they call."""
    host = {f.name: f for f in source.functions if not _is_on_device(source, f)}
    found: set[str] = set()
    waiting = [name for name in entries if name in host]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        called = re.findall(r"\b([A-Za-z_]\w*)\s*\(", source.code[slice(*host[name].body)])
        waiting += [other for other in called if other in host]
    return found


def _is_on_device(source: CudaSource, function: Function) -> bool:
    return _ON_DEVICE.search(source.code[function.start : function.open_paren]) is not None


def _words(source: CudaSource, function: Function) -> Iterator[tuple[int, int]]:
    """Yield the words of a function's head that no kernel may have."""
    head = re.compile(r"\b(?:static|inline|__host__|__forceinline__|extern)\b")
    for match in head.finditer(source.code, function.start, function.open_paren):
        yield match.span()


def without_unused(source: CudaSource) -> Edits:
    """Return what takes away the helpers, and constants without values, that no kernel needs."""
    edits, rest = Edits(), Edits()
    if not source.kernels:
        return edits
    helpers = [f for f in source.functions if not f.is_kernel and _is_helper(source, f)]
    for helper in helpers:
        rest.blank(source.plain, helper.start, helper.body[1])
    needed = set(_NAME.findall(rest.apply(source.plain).text))
    waiting = helpers
    while found := [f for f in waiting if f.name in needed]:
        waiting = [f for f in waiting if f.name not in needed]
        for helper in found:
            needed.update(_NAME.findall(source.plain[helper.start : helper.body[1]]))
    for helper in waiting:
        edits.blank(source.text, helper.start, helper.body[1])
    constants = list(_CONSTANT.finditer(source.code))
    said = Counter(_NAME.findall(edits.apply(source.plain).text)) if constants else Counter[str]()
    for constant in constants:
        if said[constant[1]] == 1:  # there alone
            edits.blank(source.text, *constant.span())
    return edits


def _is_helper(source: CudaSource, function: Function) -> bool:
    head = source.code[function.start : function.open_paren]
    return "__device__" in head and "(" not in head  # which a constructor's list has


def _host_statements(source: CudaSource) -> Iterator[tuple[int, int]]:
    """Yield the prototypes and variables outside of functions that only the host has."""
    code = source.code
    bodies: dict[int, Function] = {f.body[0]: f for f in source.functions}
    begin = at = 0
    while at < len(code):
        c = code[at]
        if c == ";":
            if code[begin:at].strip() and not _DECLARES.search(code[begin:at]):
                lead = len(code[begin:at]) - len(code[begin:at].lstrip())
                yield begin + lead, at + 1
            begin = at + 1
        elif c == "{":
            end = source.closing(at)
            if end is None:
                return
            if at in bodies:
                begin, at = end + 1, end
            elif _OPENS_SCOPE.search(code[begin:at]):
                begin = at + 1
            else:  # a type's or an initializer's: the statement goes on behind it
                at = end
        elif c == "}":
            begin = at + 1
        at += 1


def _uncovered(spans: Iterable[_Span], cuts: Sequence[_Span]) -> list[_Span]:
    """Return those of some spans, which are in order, that lie in none of the cuts."""
    found: list[_Span] = []
    waiting = sorted(cuts, reverse=True)
    reach = 0
    for start, end in spans:
        while waiting and waiting[-1][0] <= start:
            reach = max(reach, waiting.pop()[1])
        if end > reach:
            found.append((start, end))
    return found


def _without(text: str, cuts: Sequence[_Span], inserted: Mapping[int, str]) -> str:
    """Return a text with cuts blanked and words inserted at places outside of them."""
    edits, reach = Edits(), 0
    for start, end in sorted(cuts):  # they may overlap
        edits.blank(text, max(start, reach), max(end, reach))
        reach = max(end, reach)
    for at, word in inserted.items():
        edits.replace(at, at, word)
    return edits.apply(text).text
