"""What compilers say of lines, read from their logs."""

from __future__ import annotations

import re

import msgspec

_CLANG = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): (?P<kind>(?:fatal )?error|warning): "
    r"(?P<words>.*)$",
    re.MULTILINE,
)
_NVCC = re.compile(
    r"^(?P<file>\S[^(\n]*)\((?P<line>\d+)\): (?P<kind>(?:catastrophic )?error|warning)"
    r"(?: #[\w-]+)?:? (?P<words>.*)$",
    re.MULTILINE,
)


class LineMessage(msgspec.Struct, frozen=True):
    """A compiler's message on one line of a file, counted from 1."""

    file: str
    line: int
    words: str
    is_error: bool
    column: int | None = None


def line_messages(log: str) -> list[LineMessage]:
    """Return the errors and warnings of a log of Clang, or of NVRTC, in its order."""
    found = []
    for form in (_CLANG, _NVCC):
        for match in form.finditer(log):
            column = match.groupdict().get("column")
            found.append(
                LineMessage(
                    match["file"], int(match["line"]), match["words"],
                    is_error="error" in match["kind"], column=int(column) if column else None,
                )
            )  # fmt: skip
    return found
