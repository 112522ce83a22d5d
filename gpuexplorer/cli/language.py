"""The language that a command speaks: its option's, the variable's, or the system's."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gpuexplorer.core import language
from gpuexplorer.core.language.available import chosen, languages

OPTION = "--language"


def speak(arguments: Sequence[str]) -> None:
    """Take the language for a command line, before a parser says anything of it.

    A system's language is taken where the output can hold its letters. Raises InputError for a
    language that there is not.
    """
    asked = asked_for(arguments)
    found = chosen(asked)
    if found != language.ENGLISH and not asked and not _can_be_written(languages().get(found, "")):
        found = language.ENGLISH
    language.use(found)


def asked_for(arguments: Sequence[str]) -> str | None:
    """Return what the option names; None where it is not given, or without a name."""
    found = None
    for word, after in zip(arguments, [*arguments[1:], None], strict=False):
        if word == OPTION:
            found = after
        elif word.startswith(f"{OPTION}="):
            found = word.partition("=")[2]
    return found


def _can_be_written(name: str) -> bool:
    """Whether the output has a language's letters, such as those of its name."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        name.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
