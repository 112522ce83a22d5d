"""Where a kernel's source touches memory: the text that records each access while it runs.

Every expression that names an element (``A[i]``, ``*p``, ``p->x``, ``tile[y][x].z``) is handed to a
function that notes its address and returns it unchanged, so that pointers, helpers, casts, vector
types and structures need no change at all. Whether the element lies in an array, and in which, its
address tells while the kernel runs; so what stays in registers is noted nowhere.

What the threads of a warp do in one step is told apart by a stamp: the iterations of the loops and
the calls around an access. Every line stays where it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpuexplorer.compile.edits import Edits
from gpuexplorer.compile.expressions import Tokens, declared_names, is_word, shared_declared
from gpuexplorer.compile.shared_arrays import NAME
from gpuexplorer.compile.statements import parse_body, walk
from gpuexplorer.core.accesses import MOST_ARRAYS, AccessArray, AccessKind, AccessSite
from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.workloads.cuda_source import CudaSource, Function
from gpuexplorer.workloads.declared_symbols import symbols_touched

MOST_SITES = 1 << 20
_LOADS = frozenset("__ldg __ldca __ldcg __ldcs __ldcv __ldlu".split())
_STORES = frozenset("__stwb __stcg __stcs __stwt".split())
_COPY = "__pipeline_memcpy_async"
_CHANGES = frozenset("+= -= *= /= %= &= |= ^= <<= >>=".split())
_UNROLL = re.compile(
    r"^[ \t]*#[ \t]*(?:pragma|unroll)[ \t]+(?:unroll|nounroll)[^\n]*", re.MULTILINE
)
_SHARED = re.compile(r"\b__shared__\b([^;]*);")
_ALIAS = re.compile(
    rf"&\s*(?P<name>[A-Za-z_]\w*)\)?\s*(?:\[[^;=]*\])?\s*=[^;=]*?\b(?P<ours>{NAME}\d+)\s*;"
)
"""The user's name for shared memory that was moved to the top of its kernel."""
_BINDS = re.compile(r"&&?\s*[A-Za-z_]\w*\s*=\s*$")


@dataclass
class Sites:
    """What is noted in one source: places by their number, and each kernel's arrays in order."""

    places: list[AccessSite] = field(default_factory=list)
    arrays: dict[str, list[AccessArray]] = field(default_factory=dict)


def record_accesses(source: CudaSource, edits: Edits) -> Sites:
    """Insert what notes every access, and return what the numbers in the notes stand for.

    Raises WorkFailed, naming file and line, for what cannot be followed.
    """
    return _Recorder(source, edits).run()


class _Recorder:
    """Goes through the functions of one source."""

    def __init__(self, source: CudaSource, edits: Edits) -> None:
        self.source, self.edits = source, edits
        self.sites = Sites()
        self.stamps = 0
        helpers = [f for f in source.functions if not f.is_kernel and not self._is_constant(f)]
        inside = list(_structures(source))
        self.helpers = {f.name: f for f in helpers if not any(a <= f.start < b for a, b in inside)}

    def run(self) -> Sites:
        for match in _UNROLL.finditer(self.source.plain):
            self.edits.blank(self.source.text, match.start(), match.end())
        for function in self.source.functions:
            if not self._is_constant(function):
                self._loops(function)
                if function.is_kernel:
                    self._arrays(function)
                elif function.name in self.helpers:
                    self._insert(function.body[0] + 1, " gpux_frame gpux_frame_;")
                self._accesses(function)
        return self.sites

    def _insert(self, at: int, text: str) -> None:
        self.edits.replace(at, at, text)

    def _is_constant(self, function: Function) -> bool:
        head = self.source.code[function.start : function.open_paren]
        return re.search(r"\bconst(?:expr|eval)\b", head) is not None

    def _refuse(self, offset: int, what: str, remedy: str) -> WorkFailed:
        return WorkFailed(f"{self.source.where(offset)}: {what}", remedy=remedy)

    # ---- stamps

    def _loops(self, function: Function) -> None:
        code = self.source.code
        body = parse_body(code, *function.body)
        if body is None:
            raise self._refuse(
                function.open_paren,
                f"the statements of '{function.name}' cannot be followed, so its accesses cannot "
                "be counted",
                "write its loops and conditions without macros around them",
            )
        for loop in walk(body):
            if not loop.is_loop:
                continue
            part, end = loop.parts[0], loop.end
            if loop.kind == "do":
                end = code.index(";", loop.end - 1) + 1
            self.stamps += 1
            name = f"gpux_loop_{self.stamps}"
            self._insert(loop.start, f"{{ gpux_loop {name}({self.stamps}u); ")
            self._insert(part.start, f" {{ {name}.next(); ")
            self._insert(part.end, " }")
            self._insert(end, " }")

    # ---- arrays

    def _arrays(self, kernel: Function) -> None:
        found: list[AccessArray] = []
        bases: list[str] = []
        names = {m["ours"]: m["name"] for m in _ALIAS.finditer(self.source.code)}
        for parameter in self.source.parameters(kernel):
            if parameter.is_pointer:
                bases.append(f" gpux_array({len(found)}u, (ulong){parameter.name}, 0);")
                found.append(AccessArray(parameter.name, "global"))
        for symbol in symbols_touched(self.source, kernel):
            name = symbol.name
            bases.append(f" gpux_array({len(found)}u, (ulong)&{name}, sizeof({name}));")
            found.append(AccessArray(name, "global"))
        for match in _SHARED.finditer(self.source.code, *kernel.body):
            for name in declared_names(match[1]):
                number = len(found)
                if "extern" in self.source.code[max(match.start() - 8, 0) : match.start()]:
                    if not any(one.dynamic for one in found):  # others are at the same place
                        bases.append(f" gpux_array({number}u, (ulong){name}, 0);")
                        found.append(AccessArray(name, "shared", dynamic=True))
                    continue
                note = f" gpux_array({number}u, (ulong)&{name}, sizeof({name}));"
                self._insert(match.end(), note)
                found.append(AccessArray(names.get(name, name), "shared"))
        if len(found) > MOST_ARRAYS:
            raise self._refuse(
                kernel.open_paren,
                f"'{kernel.name}' has {len(found)} arrays, and the accesses of {MOST_ARRAYS} can "
                "be counted",
                "join some of them",
            )
        self._insert(kernel.body[0] + 1, "".join(bases))
        self.sites.arrays[kernel.name] = found

    # ---- accesses

    def _accesses(self, function: Function) -> None:
        shared = self._shared_variables(function)
        tokens = Tokens(self.source.code, *function.body)
        for at in tokens.pointers_to_arrays:
            raise self._refuse(
                at,
                "accesses through a pointer or reference to an array cannot be counted",
                "point to its elements",
            )
        returns_reference = re.search(
            r"&\s*[A-Za-z_]\w*\s*$", self.source.code[function.start : function.open_paren]
        )
        self._walk(tokens, 0, len(tokens), shared, returns_reference is not None)

    def _shared_variables(self, function: Function) -> set[str]:
        """Return the names of single variables in shared memory, by which a function calls them."""
        code = self.source.code
        single = {
            name
            for match in _SHARED.finditer(code)
            if "[" not in match[1]
            for name in declared_names(match[1])
        }
        other = {m["ours"]: m["name"] for m in _ALIAS.finditer(code, *function.body)}
        declared = shared_declared(code[slice(*function.body)])
        own = {name for name in single & declared if not name.startswith(NAME)}
        return own | {other[name] for name in single & set(other)}

    def _walk(
        self, tokens: Tokens, start: int, end: int, shared: set[str], by_reference: bool
    ) -> None:
        i = start
        while i < end:
            token = tokens[i]
            if i in tokens.skipped:  # a declared name with its bounds
                i = tokens.skipped[i]
                continue
            if token.text == "*" and tokens.is_dereference(i):
                stop = tokens.unary_end(i + 1, end)
                self._note(tokens, i, stop, by_reference)
                i += 1
                continue
            if token.text == "[" or not (is_word(token.text) or token.text == "("):
                i = tokens.close(i) + 1 if token.text == "[" else i + 1
                continue
            chain = tokens.chain(i, end)
            is_shared = token.text in shared and chain.end == i + 1 + 2 * chain.members
            if chain.touches or is_shared:
                self._note(tokens, i, chain.end, by_reference)
            if chain.call is not None:
                self._call(tokens, i, chain.call)
            for opening in chain.groups:
                self._walk(tokens, opening + 1, tokens.close(opening), shared, False)
            if token.text == "(" and chain.end == i + 1:  # a bracket with nothing behind it
                i += 1
                continue
            i = max(chain.end, i + 1)

    def _note(self, tokens: Tokens, start: int, end: int, by_reference: bool) -> None:
        """Hand the expression of these tokens to what notes its address."""
        before, behind = tokens.around(start, end)
        if before == "&":
            return
        code = self.source.code
        first, last = tokens[start].start, tokens[end - 1].end
        if behind == "=":
            kind: AccessKind = "write"
        elif behind in _CHANGES or behind in ("++", "--") or before in ("++", "--"):
            kind = "read and write"
        else:
            kind = "read"
        bound = _BINDS.search(code[max(first - 200, 0) : first]) is not None
        bound |= by_reference and before == "return"
        bound |= self._is_referred_to(tokens.argument_of(start, end))
        site = self._site(first, last, kind)
        self._insert(first, f"gpux_{'bound' if bound else 'to'}({site}u, ")
        self._insert(last, ")")

    def _site(self, first: int, last: int, kind: AccessKind) -> int:
        places = self.sites.places
        if len(places) >= MOST_SITES:
            raise self._refuse(first, "the source has too many accesses to count", "split it")
        file, _, line = self.source.where(first).rpartition(":")
        text = " ".join(self.source.code[first:last].split())
        places.append(AccessSite(file, int(line), text, kind))
        return len(places) - 1

    def _is_referred_to(self, argument: tuple[str, int] | None) -> bool:
        """Return whether an argument, of a function by name and number, is taken by reference."""
        helper = self.helpers.get(argument[0]) if argument is not None else None
        if helper is None or argument is None:
            return False
        parameters = self.source.parameters(helper)
        if argument[1] >= len(parameters):
            return False
        taken = parameters[argument[1]]
        text = self.source.code[taken.start : taken.end]
        return "&" in text and not re.search(r"\bconst\b", text)

    def _call(self, tokens: Tokens, name: int, opening: int) -> None:
        called, closing = tokens[name].text, tokens.close(opening)
        kind: AccessKind | None = None
        if called.startswith("atomic"):
            kind = "atomic"
        elif called in _LOADS:
            kind = "read"
        elif called in _STORES:
            kind = "write"
        if kind is not None and closing > opening + 1:
            stop = tokens.argument_end(opening + 1, closing)
            self._note_at(tokens, opening + 1, stop, kind)
        elif called == _COPY:
            self._copy(tokens, opening, closing)
        elif called in self.helpers:
            self.stamps += 1
            first = tokens.qualified_start(name)
            self._insert(tokens[first].start, f"(gpux_calls({self.stamps}u), ")
            self._insert(tokens[closing].end, ")")

    def _note_at(
        self, tokens: Tokens, start: int, stop: int, kind: AccessKind, size: str = ""
    ) -> None:
        """Have what the pointer of these tokens points to noted, or ``size`` bytes from there."""
        first, last = tokens[start].start, tokens[stop - 1].end
        site = self._site(first, last, kind)
        self._insert(first, f"gpux_part({site}u, {size}, " if size else f"gpux_at({site}u, ")
        self._insert(last, ")")

    def _copy(self, tokens: Tokens, opening: int, closing: int) -> None:
        """Note both sides of a copy past the registers: to, from, bytes, zeros among them."""
        parts, at = [], opening
        while at < closing:
            stop = tokens.argument_end(at + 1, closing)
            parts.append((at + 1, stop))
            at = stop
        sizes = [
            " ".join(self.source.code[tokens[a].start : tokens[b - 1].end].split())
            for a, b in parts[2:]
        ]
        if sizes:  # the compiler says what is wrong otherwise
            self._note_at(tokens, *parts[0], "write", sizes[0])
            self._note_at(tokens, *parts[1], "read", " - ".join(f"({size})" for size in sizes))


def _structures(source: CudaSource) -> Iterator[tuple[int, int]]:
    """Yield where the bodies of structures and classes begin and end."""
    for match in re.finditer(r"\b(?:struct|class|union)\b[^;{}()=]*\{", source.code):
        end = source.closing(match.end() - 1)
        if end is not None:
            yield match.start(), end
