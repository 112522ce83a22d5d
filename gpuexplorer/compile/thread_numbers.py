"""A thread's number in the grid, ``blockIdx.x * blockDim.x + threadIdx.x``, without a wrap.

The number is unsigned in CUDA and could wrap as far as a compiler knows, which costs a tiled
product a twentieth. No grid here has 2³⁰ threads along an axis (``MOST_THREADS``), so that it is
the same number when it is computed with signs, where nothing may wrap, and converted at the end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gpuexplorer.workloads.cuda_source import CudaSource

MOST_THREADS = 1 << 30
"""Along an axis of the grid; a source for more is left as it is."""
_BLOCK = (
    r"(?:blockIdx\s*\.\s*(?P<a>[xyz])\s*\*\s*blockDim\s*\.\s*(?P=a)"
    r"|blockDim\s*\.\s*(?P<b>[xyz])\s*\*\s*blockIdx\s*\.\s*(?P=b))\b"
)
_THREAD = r"(?P<thread>\bthreadIdx\s*\.\s*[xyz]\b|\b[A-Za-z_]\w*\b)"
_NUMBER = (
    re.compile(rf"\b{_BLOCK}\s*\+\s*{_THREAD}"),
    re.compile(rf"{_THREAD}\s*\+\s*{_BLOCK}"),
)
_BUILT_IN = re.compile(r"\b(?:blockIdx|blockDim|threadIdx)\b")
_OPENS = frozenset("=(,[?:<>&|;{}")
_CLOSES = frozenset(";),]?:<>=!&|}+-")
_CHANGED = re.compile(
    r"\b(?=([A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--))"
    r"|(?=(?:\+\+|--|&)\s*([A-Za-z_]\w*))"
)
_DECLARED = re.compile(
    r"\b(?!return\b|else\b|case\b)(?=[A-Za-z_]\w*(?:\s+[*&]*|[*&]+\s+)([A-Za-z_]\w*))"
)
_COPY = re.compile(
    r"(?:\b(?:int|unsigned|uint|auto)\s+|,\s*)([A-Za-z_]\w*)\s*=\s*threadIdx\s*\.\s*[xyz]\s*[;,]"
)


def edits(source: CudaSource) -> Iterator[tuple[int, str]]:
    """Yield where something is to be inserted, and what, in the order of the text."""
    code = source.code
    copies = _copies(code)
    for pattern in _NUMBER:
        for match in pattern.finditer(code):
            thread = match["thread"]
            if "." not in thread and thread not in copies:
                continue
            if not _stands_alone(code, match.start(), match.end()):
                continue
            yield match.start(), "(unsigned int)("
            for index in _BUILT_IN.finditer(code, match.start(), match.end()):
                yield index.start(), "(int)"
            if "." not in thread:
                yield match.start("thread"), "(int)"
            yield match.end(), ")"


def _copies(code: str) -> frozenset[str]:
    """Return variables that hold a thread's index in its block and never anything else."""
    copied = Counter(_COPY.findall(code))
    if not copied:
        return frozenset()
    changed = Counter(before or behind for before, behind in _CHANGED.findall(code))
    declared = Counter(_DECLARED.findall(code))
    return frozenset(
        name for name, count in copied.items() if count == changed[name] and count >= declared[name]
    )


def _stands_alone(code: str, start: int, end: int) -> bool:
    """Return whether what lies between is an operand as a whole, or the first part of a sum."""
    before, behind = code[max(0, start - 64) : start].rstrip(), code[end : end + 64].lstrip()
    opens = before[-1:] in _OPENS or re.search(r"\breturn$", before) is not None
    return opens and behind[:1] in _CLOSES
