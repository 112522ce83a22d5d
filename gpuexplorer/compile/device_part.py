"""The part of a whole CUDA program that NVRTC compiles: its kernels and what they need.

A textbook file has a ``main`` below its kernels, and NVRTC refuses host code. What is left out
becomes spaces, so that lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from gpuexplorer.compile.edits import Edits
from gpuexplorer.workloads.cuda_source import HOST_HEADERS, CudaSource, Function, blank

_Span = tuple[int, int]
_ON_DEVICE = re.compile(r"\b(?:__global__|__device__|__constant__|__shared__|__managed__)\b")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*', re.MULTILINE)
_DECLARES = re.compile(
    r"\b(?:__global__|__device__|__constant__|__shared__|__managed__|typedef|using|const|constexpr|"
    r"struct|class|enum|union|template|namespace|static_assert|extern)\b"
)
"""A statement outside of functions with one of these words is not only the host's."""
_HOST_CODE = re.compile(r"<<<|\bmain\s*\(|\bcuda[A-Z]\w*\s*\(")
"""What device code never has: launches, ``main``, and calls of CUDA's runtime."""
_OPENS_SCOPE = re.compile(r"\bnamespace\b|\bextern\s*$")


def device_part(text: str, is_known: Callable[[str], bool]) -> tuple[str, list[str]]:
    """Return a source without its host code, and the names of what was left out.

    ``is_known`` says whether an included header can be found.
    """
    source = CudaSource(text)
    cuts: list[tuple[int, int]] = []
    left_out: list[str] = []
    inserted: list[int] = []
    for match in _INCLUDE.finditer(text):
        name = match[1]
        there = source.plain[match.start() : match.end()].strip()  # not in a comment
        if there and name not in HOST_HEADERS and not is_known(name):
            cuts.append(match.span())
            left_out.append(f"<{name}>")
    for function in source.functions:
        head = source.code[function.start : function.open_paren]
        if _ON_DEVICE.search(head):
            continue
        folded = re.search(r"\bconstexpr\b", head)
        if folded:  # kernels may use it
            inserted.append(function.start + folded.start())
            continue
        cuts.append((function.start, function.body[1]))
        left_out.append(f"{function.name}()")
    cuts += _uncovered(_host_statements(source), cuts)
    return _without(text, cuts, inserted), left_out


def without_host_code(files: Mapping[str, str]) -> dict[str, str]:
    """Return sources without the host code of those that have any; the others stay as they are."""
    return {
        name: device_part(text, lambda _: True)[0] if _HOST_CODE.search(blank(text)) else text
        for name, text in files.items()
    }


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


def _without(text: str, cuts: Sequence[_Span], inserted: Sequence[int]) -> str:
    """Return a text with cuts blanked and words inserted at places outside of them."""
    edits, reach = Edits(), 0
    for start, end in sorted(cuts):  # they may overlap
        edits.blank(text, max(start, reach), max(end, reach))
        reach = max(end, reach)
    for at in inserted:
        edits.replace(at, at, "__device__ ")
    return edits.apply(text).text
