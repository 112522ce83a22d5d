"""``printf`` in kernels: what they print is written to memory, and put into words by the host.

Intel's runtime for the CPU cannot load a kernel with OpenCL's own. So a call becomes one that
writes its arguments, with the number of its format, into a buffer of the program, as far as there
is room; a kernel of ours hands it out.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence

import msgspec

from gpuexplorer.compile.edits import Edits
from gpuexplorer.workloads.cuda_source import CudaSource

TAKE = "gpux_take_printed"
"""The kernel that copies the buffer out, and empties it."""
MOST_WORDS = 8192
"""Words of 64 bits that are kept of what a launch prints: a call takes one and one an argument."""
MOST_LETTERS = 1 << 20
"""Letters that are kept of it: a literal in the source and a width can make many of one word."""
MORE = "\n(more was printed than is kept)\n"
PRINTING = f"""\
__global ulong gpux_printed[{MOST_WORDS}];
__global uint gpux_printed_words;
inline ulong gpux_word(int v) {{ return (ulong)(long)v; }}
inline ulong gpux_word(uint v) {{ return (ulong)v; }}
inline ulong gpux_word(long v) {{ return (ulong)v; }}
inline ulong gpux_word(ulong v) {{ return v; }}
inline ulong gpux_word(float v) {{ return as_ulong((double)v); }}
inline ulong gpux_word(double v) {{ return as_ulong(v); }}
template <typename T> inline ulong gpux_word(T *v) {{ return (ulong)v; }}
template <typename... A> inline int gpux_print(uint format, A... values) {{
    const uint count = 1 + sizeof...(values);
    ulong words[] = {{(ulong)format, gpux_word(values)...}};
    uint at = atomic_fetch_add_explicit((volatile atomic_uint *)&gpux_printed_words, count,
        (memory_order)memory_order_relaxed, (memory_scope)memory_scope_device);
    if (at <= {MOST_WORDS}u - count)
        for (uint i = 0; i < count; i++) gpux_printed[at + i] = words[i];
    return (int)count - 1; }}
__kernel void {TAKE}(__global ulong *out) {{
    out[0] = gpux_printed_words;
    for (uint i = 0; i < {MOST_WORDS}u && i < gpux_printed_words; i++)
        out[i + 1] = gpux_printed[i];
    gpux_printed_words = 0; }}
"""
_CALL = re.compile(r"\b(?:std\s*::\s*)?printf\s*\(")
_LITERAL = re.compile(r'\s*"((?:[^"\\\n]|\\.)*)"')
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.ASCII)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CONVERSION = re.compile(
    r"%([-+ #0]*)(\d{0,3})((?:\.\d{1,3})?)(hh|h|ll|l|z|j|t|L)?([diouxXeEfFgGaAcp%])"
)


class Printed(msgspec.Struct, frozen=True):
    """The formats of a source's calls, by their numbers."""

    formats: tuple[str, ...]

    def text(self, words: Sequence[int]) -> str:
        """Return what was printed; its last line says where there was more than is kept.

        ``words`` are those of the buffer, their number first. Zero bytes, which no terminal shows,
        are left out.
        """
        wanted, at, letters = int(words[0]), 1, 0
        end = 1 + min(wanted, MOST_WORDS)
        out: list[str] = []
        while at < end:
            number = int(words[at])
            if number >= len(self.formats):
                break
            form = self.formats[number]
            count = sum(m[5] != "%" for m in _CONVERSION.finditer(form))
            if at + 1 + count > end:
                break
            one = _formatted(form, iter(words[at + 1 : at + 1 + count])).replace("\0", "")
            letters += len(one)
            if letters > MOST_LETTERS:
                break
            out.append(one)
            at += 1 + count
        if at <= wanted:
            out.append(MORE)
        return "".join(out)


def edits(source: CudaSource) -> tuple[Edits, Printed | None]:
    """Return what makes calls of ``printf`` write to the buffer; others stay, to be refused."""
    made, formats = Edits(), list[str]()
    for match in _CALL.finditer(source.code):
        opening = match.end() - 1
        closing = source.closing(opening)
        literals = list(_literals(source.text, opening + 1))
        if closing is None or not literals:
            continue
        form = "".join(text for text, _ in literals)
        behind = literals[-1][1]
        rest = _CONVERSION.sub("", form)
        arguments = source.code[behind:closing].strip()
        if "%" in rest or not (arguments == "" or arguments.startswith(",")):
            continue
        lines = "\n" * source.text.count("\n", opening, behind)
        made.replace(match.start(), behind, f"gpux_print({len(formats)}u{lines}")
        formats.append(form)
    return made, Printed(tuple(formats)) if formats else None


def _literals(text: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield the string literals that stand one behind the other, and where each ends."""
    while match := _LITERAL.match(text, at):
        yield _ESCAPE.sub(_unescaped, match[1]), match.end()
        at = match.end()


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ESCAPED.get(code, code)


def _formatted(form: str, words: Iterator[int]) -> str:
    def one(match: re.Match[str]) -> str:
        flags, width, digits, length, kind = match.groups()
        if kind == "%":
            return "%"
        word = int(next(words))
        if kind in "eEfFgGaA":
            (value,) = struct.unpack("<d", struct.pack("<Q", word))
            if kind in "aA":
                return float(value).hex()
            return str(f"%{flags}{width}{digits}{kind}" % value)
        if kind == "p":
            return f"%{flags}{width}s" % hex(word)
        if kind == "c":
            return f"%{flags}{width}s" % chr(word & 0xFF)
        bits = {"hh": 8, "h": 16, None: 32}.get(length, 64)
        whole = word & ((1 << bits) - 1)
        if kind in "di" and whole >> (bits - 1):
            whole -= 1 << bits
        return f"%{flags}{width}{digits}{'d' if kind in 'diu' else kind}" % whole

    return _CONVERSION.sub(one, form)
