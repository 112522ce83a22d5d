"""Read CUDA source text: comments and strings blanked, functions and kernels found.

Nothing here changes what the text means; ``rewriter`` does that. Every offset can be named as the
user's own file and line, because files that were put in place are framed by ``#line`` directives.
"""

from __future__ import annotations

import bisect
import re
from functools import cached_property

import msgspec

_NOT_A_FUNCTION = frozenset(
    "if for while switch return sizeof alignof decltype catch do else new delete defined "
    "__launch_bounds__ __attribute__ __align__ __declspec alignas static_assert asm __asm__ "
    "__maxnreg__ __cluster_dims__ __block_size__ noexcept".split()
)
_LINE = re.compile(r'[ \t]*#[ \t]*line[ \t]+(\d+)(?:[ \t]+"([^"\n]*)")?')
_OPENS_SKIPPED = re.compile(r"""/[/*]|R"|["']""")
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n\\]*+(?:\\(?:\n|.)[^\n\\]*+)*+", re.MULTILINE)


def spaces(text: str) -> str:
    """Return as many spaces, with line breaks where ``text`` has them."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def blank(text: str) -> str:
    """Return ``text`` with comments, strings and character literals replaced by spaces.

    Length and line breaks stay as they are, so that offsets agree with the original.
    """
    out: list[str] = []
    kept = at = 0
    while opened := _OPENS_SKIPPED.search(text, at):
        start = opened.start()
        end = _skip(text, start)
        if end > start:
            out += [text[kept:start], spaces(text[start:end])]
            kept = end
        at = max(end, start + 1)
    return "".join([*out, text[kept:]])


def _skip(text: str, i: int) -> int:
    """Return the end of the comment or literal that starts at ``i``; ``i`` when none does."""
    c = text[i]
    if c == "/":
        if text.startswith("//", i):
            return _end_of_line(text, i)
        if text.startswith("/*", i):
            end = text.find("*/", i + 2)
            return len(text) if end < 0 else end + 2
    elif c == "R" and text.startswith('R"', i) and not _is_word(text, i - 1):
        opening = text.find("(", i)
        delimiter = text[i + 2 : opening]
        if opening > 0 and len(delimiter) <= 16 and not re.search(r'[\s\\)"]', delimiter):
            closing = f'){delimiter}"'
            end = text.find(closing, opening)
            return len(text) if end < 0 else end + len(closing)
    elif c == '"' or (c == "'" and not _is_in_number(text, i)):
        return _end_of_literal(text, i, c)
    return i


def _is_in_number(text: str, i: int) -> bool:
    """Return whether an apostrophe parts the digits of a number, as in ``1'000``."""
    first = i
    while first > 0 and (_is_word(text, first - 1) or text[first - 1] in ".'"):
        first -= 1
    number = text[first:i].lstrip(".'")[:1]
    return number.isdigit() and text[i + 1 : i + 2].isalnum()


def _is_word(text: str, i: int) -> bool:
    return i >= 0 and (text[i].isalnum() or text[i] == "_")


def _end_of_line(text: str, i: int) -> int:
    while True:
        end = text.find("\n", i)
        if end < 0:
            return len(text)
        last = end - 1
        while text[last] == "\r":
            last -= 1
        if text[last] != "\\":
            return end
        i = end + 1  # a backslash carries the comment on


_IN_LITERAL = {q: re.compile(rf"[^{q}\\\n]*+(?:\\.[^{q}\\\n]*+)*+", re.DOTALL) for q in "\"'"}
"""Up to the end of a literal, of its line, or of the text; a backslash takes what follows it."""


def _end_of_literal(text: str, i: int, quote: str) -> int:
    found = _IN_LITERAL[quote].match(text, i + 1)
    end = found.end() if found is not None else i + 1
    if text.startswith(quote, end):
        return end + 1
    # At the end of a line it is not closed: an apostrophe in an #error line, say.
    return end if text.startswith("\n", end) else len(text)


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of a kernel: its C type without ``const`` and pointer, and its name."""

    name: str
    type: str
    pointers: int
    start: int
    end: int
    sides: tuple[str, ...] = ()
    """Those of what it points to, where that is an array: a row, that is, or a plane."""

    @property
    def is_pointer(self) -> bool:
        """Whether it takes an array."""
        return self.pointers > 0


class Signature(msgspec.Struct, frozen=True):
    """A kernel's name, the user's file and line of it, and its parameters in order."""

    name: str
    where: str
    parameters: tuple[Parameter, ...]


class Function(msgspec.Struct, frozen=True):
    """One function definition; ``body`` spans the braces, both included."""

    name: str
    is_kernel: bool
    start: int
    open_paren: int
    close_paren: int
    body: tuple[int, int]
    is_template: bool = False


class CudaSource:
    """One flat CUDA source with what can be found in it without a compiler.

    ``file`` is what it is called where no ``#line`` says so.
    """

    def __init__(self, text: str, file: str = "source") -> None:
        self.text = text
        self.file = file
        self.plain = blank(text)
        """Comments and literals blanked."""
        self.code = _DIRECTIVE.sub(lambda m: spaces(m[0]), self.plain)
        """Preprocessor directives blanked too."""

    @cached_property
    def _lines(self) -> tuple[list[int], list[tuple[str, int]]]:
        starts, names = [0], []
        file, number = self.file, 1
        for line, plain in zip(self.text.split("\n"), self.plain.split("\n"), strict=True):
            names.append((file, number))
            starts.append(starts[-1] + len(line) + 1)
            match = _LINE.match(line) if plain.lstrip().startswith("#") else None
            if match:
                file, number = match[2] or file, int(match[1])
            else:
                number += 1
        return starts, names

    @property
    def line_names(self) -> list[tuple[str, int]]:
        """The user's file and line of each line of the text."""
        return self._lines[1]

    def where(self, offset: int) -> str:
        """Return ``file:line`` of an offset, in the user's own files."""
        starts, names = self._lines
        file, line = names[min(bisect.bisect_right(starts, offset) - 1, len(names) - 1)]
        return f"{file}:{line}"

    def closing(self, opening: int) -> int | None:
        """Return the offset of the bracket that closes the one at ``opening``."""
        return self._closings.get(opening)

    @cached_property
    def _closings(self) -> dict[int, int]:
        """Where each bracket is closed, by a bracket of its own kind; found in one pass."""
        found: dict[int, int] = {}
        open_ones: dict[str, list[int]] = {")": [], "}": [], "]": []}
        pairs = {"(": ")", "{": "}", "[": "]"}
        for match in re.finditer(r"[(){}\[\]]", self.code):
            waiting = open_ones.get(match[0])
            if waiting is None:
                open_ones[pairs[match[0]]].append(match.start())
            elif waiting:
                found[waiting.pop()] = match.start()
        return found

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function definition, in order; prototypes are left out."""
        found: list[Function] = []
        end_of_last = 0
        for match in re.finditer(r"\b([A-Za-z_]\w*)\s*\(", self.code):
            if match.start() < end_of_last or match[1] in _NOT_A_FUNCTION:
                continue
            opening = match.end() - 1
            closing = self.closing(opening)
            if closing is None:
                continue
            brace = re.compile(r"\s*(?:const\b\s*|noexcept\b\s*|->\s*[\w:<>*&\s]+?)*\{").match(
                self.code, closing + 1
            )
            if not brace:
                continue
            end = self.closing(brace.end() - 1)
            if end is None:
                continue
            start = self._declaration_start(match.start())
            head = self.code[start : match.start()]
            found.append(
                Function(
                    name=match[1],
                    is_kernel=re.search(r"\b__global__\b", head) is not None,
                    start=start,
                    open_paren=opening,
                    close_paren=closing,
                    body=(brace.end() - 1, end + 1),
                    is_template=re.search(r"\btemplate\b", head) is not None,
                )
            )
            end_of_last = end
        return tuple(found)

    @cached_property
    def kernels(self) -> dict[str, Function]:
        """The ``__global__`` functions by name."""
        return {f.name: f for f in self.functions if f.is_kernel}

    def _declaration_start(self, offset: int) -> int:
        start = 0
        for c in "};{":  # each is looked for only behind the one before
            start = max(start, self.code.rfind(c, start, offset) + 1)
        return start + len(self.code[start:offset]) - len(self.code[start:offset].lstrip())

    def parameters(self, function: Function) -> list[Parameter]:
        """Return a function's parameters, in order."""
        found: list[Parameter] = []
        inside = function.open_paren + 1, function.close_paren
        for start, end in split_spans(self.code, *inside, pointed=True):
            text = self.code[start:end].partition("=")[0]
            names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^\]]*\]", " ", text))
            if not names or names == ["void"]:
                continue
            rows = _sides_of_rows(text)
            pointers = 1 if rows else text.count("*") + text.count("[")
            before_name = text[: text.rfind(names[-1])]
            words = re.findall(r"[A-Za-z_]\w*", before_name)
            qualifiers = {"const", "volatile", "restrict", "__restrict__", "__restrict", "struct"}
            kind = " ".join(w for w in words if w not in qualifiers)
            lead = len(text) - len(text.lstrip())
            found.append(Parameter(names[-1], kind, pointers, start + lead, end, rows))
        return found

    def signature(self, function: Function) -> Signature:
        """Return how a function is called."""
        where = self.where(function.open_paren)
        return Signature(function.name, where, tuple(self.parameters(function)))


def _sides_of_rows(declared: str) -> tuple[str, ...]:
    """Return ``(N)`` of ``float A[][N]`` and ``float (*A)[N]``; nothing of other parameters."""
    sides = tuple(side.strip() for side in re.findall(r"\[([^\[\]]*)\]", declared))
    if "*" not in declared:
        return sides[1:]
    return sides if re.fullmatch(r"[^*]*\(\s*\*[\w\s]*\)[^*]*", declared) else ()


def split_spans(
    text: str, start: int = 0, end: int | None = None, *, pointed: bool = False
) -> list[tuple[int, int]]:
    """Return where the parts lie that commas outside of every bracket part in some text.

    With ``pointed`` commas within ``<`` ``>`` part nothing, too; within round brackets ``<`` and
    ``>`` compare or shift.
    """
    end = len(text) if end is None else end
    parts, round_ones, pointed_ones, begin = [], 0, 0, start
    for i in range(start, end):
        c = text[i]
        round_ones += (c in "([{") - (c in ")]}")
        if pointed and not round_ones:
            pointed_ones += (c == "<") - (c == ">")
        if c == "," and not round_ones and not pointed_ones:
            parts.append((begin, i))
            begin = i + 1
    return [*parts, (begin, end)]
