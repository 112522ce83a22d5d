"""Pointers that stand at the begin of an array all the time, so that both are one to index.

Only what is plain is followed: ``float *p = s;`` or ``auto p = &s[0];``, of which nothing but
elements is used afterwards. Whatever may let it point elsewhere leaves a pointer out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

TYPED = (
    r"\b(?:unsigned|signed|int|float|double|auto(?!\s*&)|bool|char|short|long|half|real|accum|uint|\w+_t|"
    r"(?:float|int|uint|double|char|short|long)[1-4])[\s*&]+"
)
"""What a local declaration has before its name."""
_QUALIFIERS = r"(?:(?:const|volatile|restrict|__restrict__|__restrict)\s+)*"
_OF = r"=\s*(?:([A-Za-z_]\w*)|&\s*([A-Za-z_]\w*)\s*\[\s*0\s*\])\s*"
_DECLARATION = re.compile(
    rf"(?:^|(?<=[;{{}}():]))\s*(?:static\s+)?{_QUALIFIERS}"
    rf"(?:unsigned\s+|signed\s+)?([A-Za-z_]\w*)\s*{_QUALIFIERS}(?=\*)([^;(){{}}]*);"
)
_DECLARATOR = re.compile(rf"\s*\*\s*{_QUALIFIERS}([A-Za-z_]\w*)\s*{_OF}")
_AUTO = re.compile(rf"\bauto\s*\*?\s*{_QUALIFIERS}([A-Za-z_]\w*)\s*{_OF};")
_NO_TYPES = frozenset("return else do case goto throw delete new sizeof co_return".split())
_SHARED = re.compile(r"\b__shared__\b[^;]*;")


def pointer_aliases(body: str, arrays: Collection[str]) -> dict[str, str]:
    """Return the pointers of a function's body that stand at the begin of one of ``arrays``."""
    found: list[tuple[str, str]] = []
    rest = list(body)

    def note(match: re.Match[str], start: int) -> None:
        found.append((match[1], match[2] or match[3]))
        span = slice(start + match.start(), start + match.end())
        rest[span] = " " * (span.stop - span.start)

    for declaration in _DECLARATION.finditer(body):
        at = declaration.start(2)
        for part in declaration[2].split(",") if declaration[1] not in _NO_TYPES else ():
            if (match := _DECLARATOR.fullmatch(part)) is not None:
                note(match, at)
            at += len(part) + 1
    for match in _AUTO.finditer("".join(rest)):
        note(match, 0)
    used = _SHARED.sub("", "".join(rest))
    named = [name for name, _ in found]
    sure = {name: of for name, of in found if named.count(name) == 1 and _stays(name, used)}
    aliases: dict[str, str] = {}
    for name in sure:
        of, seen = sure[name], {name}
        while of in sure and of not in seen:
            seen.add(of)
            of = sure[of]
        if of in arrays and of not in sure and _is_array(of, used):
            aliases[name] = of
    return aliases


def _stays(name: str, text: str) -> bool:
    """Return whether nothing but elements of a pointer is used in a text, and it is no other's."""
    for match in re.finditer(rf"(?:\b(\w+)\s+|(\.|->)\s*)?\b{name}\b(\s*\[)?", text):
        word, member, element = match.groups()
        if member or not element or (word and word not in _NO_TYPES):
            return False
    return not re.search(rf"{TYPED}{name}\b|[;{{}}:][\w\s]+\*\s*{name}\s*\[", text)


def _is_array(name: str, text: str) -> bool:
    """Return whether a name in shared memory is no pointer that is set, nor another's as well."""
    changed = rf"(?:\+\+|--)\s*{name}\b|\b{name}\s*(?:[-+]?=(?!=)|\+\+|--)|{TYPED}{name}\b"
    return not re.search(changed, text)
