"""Pointers into arrays, such as a row's ``const float *row = A + r * n``, read as the arrays."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from gpuexplorer.workloads.instances import split_list

_DEFINED = re.compile(
    r"(?<![\w*])(?:const\s+)?[A-Za-z_]\w*\s*(?:const\s*)?(\*[^;{}*]*=(?!=)[^;{}]*);"
)
_POINTER = re.compile(
    r"\s*\*\s*(?:(?:const|volatile|restrict|__restrict__|__restrict)\s+)*([A-Za-z_]\w*)\s*=(.*)",
    re.DOTALL,
)
_OWN = r"(?<![\w.])(?<!\. )(?<!->){name}\b"
"""A name that is no member's."""
_SET_AGAIN = r"(?<=[;{{}}])\s*{name}\s*=(?!=)([^;{{}}]*);"
_MOVES = (
    r"(?:\+\+|--)\s*{name}\b|(?<![\w.]){name}\s*(?:\+\+|--)"
    r"|(?<![\w*.])(?<!\* ){name}\s*[-+]?=(?!=)"
)
_FORMS = (
    r"{name}\s*\+(?P<after>.*)",
    r"&\s*{name}\s*\[(?P<at>[^\[\]]*)\]",
    r"(?P<before>[^&]*)\+\s*{name}",
    r"{name}",
)
_MOST = 16


def with_arrays(body: str, arrays: Collection[str]) -> str:
    """Return a kernel's body with arrays in place of the pointers that begin within them.

    Pointers that move through an array stay as they are.
    """
    for _ in range(_MOST):
        found = next(_pointers(body, arrays), None)
        if found is None:
            break
        (start, end), rows = found
        body = body[:start] + " " * (end - start) + body[end:]
        for name, array, offset in rows:
            body = _replaced(body, name, array, offset, arrays)
    return body


def _replaced(body: str, name: str, array: str, offset: str, arrays: Collection[str]) -> str:
    """Return the body with an array in place of a pointer, from where it is set again another."""
    done = ""
    while True:
        again = re.search(_SET_AGAIN.format(name=name), body)
        own = _OWN.format(name=name)
        pointed_at = rf"(?<=[=(,;{{}}+\-/%|<>!?:])\s*\*\s*{own}"
        part = body[: again.start()] if again else body
        for form, text in (
            (rf"{own}\s*\[", f"{array}[({offset}) + "),
            (pointed_at, f" {array}[{offset}]"),
            (own, f"{array} + ({offset})"),
        ):
            part = text.join(re.split(form, part))
        done += part
        if again is None:
            return done
        array, offset = _beginning(again[1].strip(), arrays) or (array, offset)
        body = body[again.end() :]


def _pointers(
    body: str, arrays: Collection[str]
) -> Iterator[tuple[tuple[int, int], list[tuple[str, str, str]]]]:
    """Yield where pointers into arrays are defined, with their names, the arrays and how far in."""
    for match in _DEFINED.finditer(body):
        rows, rest = [], body[: match.start()] + ";" + body[match.end() :]
        for part in split_list(match[1]):
            made = _POINTER.fullmatch(part)
            found = _beginning(made[2].strip(), arrays) if made else None
            if made is None or found is None or made[1] in arrays or _moves(made[1], rest, arrays):
                break
            rows.append((made[1], *found))
        else:
            yield match.span(), rows


def _beginning(text: str, arrays: Collection[str]) -> tuple[str, str] | None:
    """Return the array in which a pointer begins, and how far in."""
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1].strip()
    for name in arrays:
        for form in _FORMS:
            if match := re.fullmatch(form.format(name=name), text, re.DOTALL):
                offset = next((t for t in match.groups() if t), "0").strip()
                if re.search(r"[?,=]", offset) or offset.count("(") != offset.count(")"):
                    return None
                return name, offset
    return None


def _moves(name: str, body: str, arrays: Collection[str]) -> bool:
    """Return whether a pointer goes elsewhere than to arrays; what it points to may change."""
    again = re.compile(_SET_AGAIN.format(name=name))
    if any(_beginning(match[1].strip(), arrays) is None for match in again.finditer(body)):
        return True
    return re.search(_MOVES.format(name=name), again.sub(";", body)) is not None
