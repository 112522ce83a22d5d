"""CUDA C++ in colour: C++'s words, CUDA's own, numbers, text, remarks and directives."""

from __future__ import annotations

import re

from PySide6.QtGui import QSyntaxHighlighter, QTextCharFormat, QTextDocument

from gpuexplorer.gui.theme import theme

_WORDS = (
    "alignas alignof asm auto bool break case catch char class const const_cast constexpr continue "
    "decltype default delete do double dynamic_cast else enum explicit extern false float for "
    "friend goto if inline int long mutable namespace new noexcept nullptr operator private "
    "protected public register reinterpret_cast restrict return short signed sizeof static "
    "static_assert static_cast struct switch template this throw true try typedef typename union "
    "unsigned using virtual void volatile wchar_t while int8_t int16_t int32_t int64_t uint8_t "
    "uint16_t uint32_t uint64_t size_t half real accum"
)
_CUDA = (
    "threadIdx blockIdx blockDim gridDim warpSize dim3 __restrict__ __launch_bounds__ "
    r"__(?:global|device|host|shared|constant|managed|forceinline|noinline)__ "
    r"__syncthreads\w* __syncwarp __shfl\w* __ballot\w* __any\w* __all\w* __activemask __ldg "
    r"atomic\w+ cooperative_groups cuda[A-Z]\w+ (?:float|double|int|uint|half|char|short)[1-4]"
)
_TOKENS = re.compile(
    r"(?P<remark>//.*|/\*.*?(?:\*/|$))"
    r"|(?P<text>\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])'|(?<=include)\s*<[^>]*>)"
    r"|(?P<cuda><<<|>>>|^\s*#\s*\w+|\b(?:" + "|".join(_CUDA.split()) + r")\b)"
    r"|(?P<word>\b(?:" + "|".join(_WORDS.split()) + r")\b)"
    r"|(?P<number>\b(?:0[xX][\da-fA-F']+|(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fFuUlL]*\b)"
)
_IN_REMARK = 1
"""The state of a line that ends inside of ``/* ... */``."""


class CudaColours(QSyntaxHighlighter):
    """Colours a document as CUDA C++, in the theme's colours."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self._formats: dict[str, QTextCharFormat] = {}
        self._take_colours()
        theme().changed.connect(self._theme_changed)

    def _theme_changed(self) -> None:
        self._take_colours()
        self.rehighlight()

    def _take_colours(self) -> None:
        for name in ("remark", "text", "cuda", "word", "number"):
            look = self._formats[name] = QTextCharFormat()
            look.setForeground(theme().q(f"code_{name}"))

    def highlightBlock(self, text: str) -> None:
        """Colour one line; a remark may have begun on one above."""
        self.setCurrentBlockState(0)
        at = 0
        if self.previousBlockState() == _IN_REMARK:
            end = text.find("*/")
            at = len(text) if end < 0 else end + 2
            self.setFormat(0, at, self._formats["remark"])
            if end < 0:
                self.setCurrentBlockState(_IN_REMARK)
                return
        for match in _TOKENS.finditer(text, at):
            kind = match.lastgroup or "text"
            self.setFormat(match.start(), match.end() - match.start(), self._formats[kind])
            if kind == "remark" and match[0].startswith("/*") and not _is_closed(match[0]):
                self.setCurrentBlockState(_IN_REMARK)


def _is_closed(remark: str) -> bool:
    return len(remark) >= 4 and remark.endswith("*/")
