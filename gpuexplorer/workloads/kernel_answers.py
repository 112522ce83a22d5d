"""What a user says of a CUDA file's kernel: what is right, and what its text does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from gpuexplorer.core.errors import InputError

if TYPE_CHECKING:
    from gpuexplorer.workloads.kernel_text import Use

NOTHING = "none"
"""The answer that no right result is known: what is measured is not verified."""


class Answers(msgspec.Struct, frozen=True):
    """What a user says of a file's kernel; the rest is taken from its text."""

    reference: Mapping[str, str] = msgspec.field(default_factory=dict)
    """For each output an expression over the inputs, or the name of a function of the host or of
    another kernel in the file, or of a Python file beside it as ``check.py:product``; ``none``
    where nobody can say. Under an empty name for the only output, or for all where one function
    returns them."""
    unchecked: bool = False
    """Whether nobody can say what a right result is."""
    kernel: str | None = None
    uses: Mapping[str, Use] = msgspec.field(default_factory=dict)
    """What is done to arrays; one that the text reads and writes stays so as an output."""
    shapes: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    sizes: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Defaults of the sizes."""
    block: tuple[int, ...] | None = None
    scalars: Mapping[str, float] = msgspec.field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether it says what a right result is, without which the others are no manifest."""
        return bool(self.reference) or self.unchecked

    @property
    def said(self) -> dict[str, str]:
        """What is right, of the outputs of which somebody says so."""
        stripped = {name: text.strip() for name, text in self.reference.items()}
        known = {name: text for name, text in stripped.items() if text != NOTHING}
        return {} if self.unchecked else known


def split_reference(text: str) -> tuple[str, str]:
    """Return the output that ``C=A @ B`` names, or nothing, and the expression."""
    name, sign, expression = text.partition("=")
    if sign and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name) and not expression.startswith("="):
        return name.strip(), expression.strip()
    return "", text.strip()


def pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """Return ``NAME=TEXT`` words by name; InputError naming ``what`` for one that is none."""
    found = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not re.fullmatch(r"[A-Za-z_]\w*", name.strip()) or not text.strip():
            raise InputError(f"{what} '{word}' is not NAME=VALUE", remedy=f"say {what} NAME=VALUE")
        found[name.strip()] = text.strip()
    return found
