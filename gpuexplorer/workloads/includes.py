"""What a CUDA source includes: put in place from the files beside it, set aside, or refused.

A source may come from anywhere, and compilers read whatever file an include names. So an include
must say its file plainly, and no place of this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.cuda_source import blank

MAX_DEPTH = 16
HOST_HEADERS = frozenset(
    "assert.h cassert cfloat climits cmath cstddef cstdint cstdio cstdlib cstring cuda.h "
    "cuda_runtime.h cuda_runtime_api.h device_launch_parameters.h float.h iostream limits.h math.h "
    "stddef.h stdint.h stdio.h stdlib.h string.h".split()
)
"""Headers that programs include around their kernels, which need nothing of them."""
LIBRARY_HEADERS = frozenset(
    "algorithm array chrono cctype cerrno complex ctime ctype.h deque errno.h exception fstream "
    "functional getopt.h initializer_list iomanip ios iterator limits list locale map memory mutex "
    "numeric omp.h ostream queue random regex set sstream stack stdexcept string string_view "
    "sys/time.h thread time.h tuple typeinfo unistd.h unordered_map unordered_set utility valarray "
    "vector cublas_v2.h cuda_profiler_api.h cufft.h curand.h cusparse.h".split()
)
"""Headers of libraries that host code uses, and that NVRTC does not have."""
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)
_NAMED = re.compile(r'[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[^\n]*')
_ANY = re.compile(r"\s*(?:#|%:|\?\?=)\s*(?:include|include_next|import|embed)\b")
"""Whatever has a compiler read a file, in all its spellings."""
_CARRIES_ON = re.compile(r"(?:\\|\?\?/)\s*$")
_ELSEWHERE = re.compile(r"[/\\]|[A-Za-z]:|~")
"""How the name of a file begins that lies at a place of this machine."""


class Include(msgspec.Struct, frozen=True):
    """One include of a text: the name between its quotes or brackets, and the span of its line."""

    name: str
    quoted: bool
    start: int
    end: int

    @property
    def is_own(self) -> bool:
        """Whether it is somebody's own file, and no header of a library or of CUDA."""
        return self.quoted and not self.name.startswith("cuda") and self.name not in HOST_HEADERS


def includes_of(text: str, plain: str | None = None) -> Iterator[Include]:
    """Yield the includes of a text that name their file; ``plain`` is it without comments."""
    for match in _DIRECTIVE.finditer(blank(text) if plain is None else plain):
        named = _NAMED.match(text, match.start())
        if named is not None:
            yield Include(named[1] or named[2], named[1] is not None, *named.span())


def inline_includes(name: str, files: Mapping[str, str]) -> str:
    """Return file ``name`` with its includes from ``files`` put in place, framed by ``#line``.

    Other includes stay as they are. Raises WorkFailed for files that include each other, and for an
    include of a file that lies elsewhere, or that does not say which one it means.
    """
    return "\n".join(_inlined(name, files, [], set()))


def _inlined(name: str, files: Mapping[str, str], above: list[str], once: set[str]) -> list[str]:
    if name in above or len(above) >= MAX_DEPTH:
        chain = " → ".join([*above, name])
        raise WorkFailed(
            f"{above[-1]}: the includes {chain} never end", remedy="remove one of them"
        )
    text = unix_lines(files[name]).replace("\f", " ").replace("\v", " ")
    plain = blank(text)
    if re.search(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", plain, re.MULTILINE):
        once.add(name)
    _refuse_hidden(name, text, plain)
    out = [f'#line 1 "{name}"']
    lines = text.split("\n")
    at = 0
    for number, line in enumerate(lines, start=1):
        one = next(includes_of(line, plain[at : at + len(line)]), None)
        at += len(line) + 1
        if one is None or one.name not in files:
            if one is not None and _ELSEWHERE.match(one.name):
                raise WorkFailed(
                    f"{name}:{number}: '{one.name}' does not lie beside the source",
                    remedy="put the file there, or remove the line",
                )
            out.append(line)
            continue
        if one.name not in once:
            out += _inlined(one.name, files, [*above, name], once)
        out.append(f'#line {number + 1} "{name}"')
    return out


def to_correct(without: Sequence[str]) -> str:
    """Return what to do about a source that did not compile without some files it includes."""
    if not without:
        return "correct the source"
    return f"put {listed(without)} beside the source, or correct it"


def unix_lines(text: str) -> str:
    """Return a text whose lines end as on Unix, which is where compilers see them end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _refuse_hidden(name: str, text: str, plain: str) -> None:
    """Refuse an include whose file only a preprocessor can tell."""
    lines, plain_lines = text.split("\n"), plain.split("\n")
    number = 0
    while number < len(lines):
        first, joined = number, plain_lines[number]
        while _CARRIES_ON.search(joined) and number + 1 < len(lines):
            number += 1
            joined = _CARRIES_ON.sub("", joined) + plain_lines[number]
        if _ANY.match(joined) and _NAMED.match(lines[first]) is None:
            raise WorkFailed(
                f"{name}:{first + 1}: which file is included here cannot be told",
                remedy='write #include "NAME" in a line of its own',
            )
        number += 1
