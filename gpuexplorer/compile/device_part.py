"""The part of a whole CUDA program that NVRTC compiles: its kernels and what they need.

A textbook file has a ``main`` below its kernels, and NVRTC refuses host code. What is left out
becomes spaces, so that lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gpuexplorer.compile.cuda_source import HOST_HEADERS, CudaSource, Function

_ON_DEVICE = re.compile(r"\b(?:__global__|__device__|__constant__|__shared__|__managed__)\b")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">][^\n]*', re.MULTILINE)
_DECLARES = re.compile(
    r"\b(?:__global__|__device__|__constant__|__shared__|__managed__|typedef|using|const|constexpr|"
    r"struct|class|enum|union|template|namespace|static_assert|extern)\b"
)
"""A statement outside of functions with one of these words is not only the host's."""
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
    cuts += [span for span in _host_statements(source) if not _covered(span, cuts)]
    return _without(text, cuts, inserted), left_out


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


def _covered(span: tuple[int, int], cuts: list[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in cuts)


def _without(text: str, cuts: list[tuple[int, int]], inserted: list[int]) -> str:
    for start, end in cuts:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    for at in sorted(inserted, reverse=True):
        text = f"{text[:at]}__device__ {text[at:]}"
    return text
