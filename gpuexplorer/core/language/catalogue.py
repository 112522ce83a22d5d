"""A language's sentences: a file in gettext's format (``.po``), read as it is.

An entry has the English text, with named fields as ``str.format`` takes them, and what is said in
its place; one with a number has a phrase for each of the language's plural forms. The head names
the language: ``Language``, ``Language-Name`` (what it calls itself), ``X-Locales`` (the systems'
languages that it is for) and ``Plural-Forms``. Any editor of such files keeps them; nothing is
compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from gettext import c2py
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError

_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_LINE = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?)? ?"(.*)"')
_QUICK = re.compile(r'(?:#[.:].*\n)*msgid "(.+)"\nmsgstr "(.*)"\n*')
_FORMS = re.compile(r"nplurals=(\d+); *plural=([^;]+);?")


@dataclass(slots=True)
class Entry:
    """A sentence, and what stands in its place."""

    english: str
    many: str = ""
    """The phrase for other numbers than one; empty for a sentence without a number."""
    told: list[str] = field(default_factory=list)
    """What is said: one text, or one for each plural form; empty where it is not translated."""
    comments: list[str] = field(default_factory=list)
    """Lines as they stand above it, with their mark: ``#.`` from the sources, ``#`` a person's."""

    @property
    def is_told(self) -> bool:
        """Whether it is translated."""
        return bool(self.told) and all(self.told) and not self.is_unsure

    @property
    def is_unsure(self) -> bool:
        """Whether its translation is marked as one to look at again."""
        return any(line.startswith("#,") and "fuzzy" in line for line in self.comments)


class Catalogue(msgspec.Struct, frozen=True):
    """A language's sentences."""

    language: str
    name: str
    """What the language calls itself."""
    locales: tuple[str, ...]
    """The systems' languages that it is for, such as ``zh_SG``."""
    forms: int
    """How many plural forms it has."""
    form_of: Callable[[int], int]
    """Returns the number of the form that goes with a number."""
    head: Mapping[str, str]
    entries: tuple[Entry, ...]


def entries_of(text: str) -> Iterator[Entry]:
    """Yield the entries of a file's text, its head first; ValueError with the line that is none."""
    comments: list[str] = []
    parts: dict[str, list[str]] = {}
    place = ""
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.startswith(('"', "msg")):
            found = _LINE.fullmatch(line)
            if found is None or (found[1] is None and not place):
                raise ValueError(number)
            place = found[1] or place
            value = found[2]
            if "\\" in value:
                value = _ESCAPE.sub(lambda one: _ESCAPED.get(one[1], one[1]), value)
            parts.setdefault(place, []).append(value)
            continue
        if parts:
            if "msgid" not in parts:
                raise ValueError(number)
            yield _entry(parts, comments)
            comments, parts, place = [], {}, ""
        if line.startswith("#"):
            if not line.startswith("#~"):
                comments.append(line)
        elif line.strip():
            raise ValueError(number)


def quick_entries_of(text: str) -> Iterator[Entry]:
    """Yield what ``entries_of`` does, in a fraction of the time, without most comments.

    An entry that takes more than two lines is read the long way.
    """
    for block in text.rstrip("\n").split("\n\n"):
        found = _QUICK.fullmatch(block)
        if found is None or "\\" in found[1] or "\\" in found[2]:
            yield from entries_of(block)
        else:
            yield Entry(found[1], "", [found[2]])


def _entry(parts: dict[str, list[str]], comments: list[str]) -> Entry:
    joined = {name: "".join(texts) for name, texts in parts.items()}
    told = [joined[name] for name in sorted(joined) if name.startswith("msgstr")]
    return Entry(joined["msgid"], joined.get("msgid_plural", ""), told, comments)


def head_of(entry: Entry) -> dict[str, str]:
    """Return the lines of a file's head by their names."""
    lines = (line.partition(":") for line in entry.told[0].split("\n") if ":" in line)
    return {name.strip(): value.strip() for name, _, value in lines}


def read_head(path: Path) -> dict[str, str]:
    """Return a file's head alone, which costs nothing; empty for what has none."""
    with path.open(encoding="utf-8") as stream:
        lines: list[str] = []
        for line in stream:
            if not line.strip() and any(one.startswith("msgid") for one in lines):
                break
            lines.append(line.rstrip("\n"))
    try:
        first = next(entries_of("\n".join(lines)), None)
    except ValueError:
        return {}
    return head_of(first) if first is not None and not first.english and first.told else {}


def read_catalogue(path: Path) -> Catalogue:
    """Read a language's file; InputError for one that is not there or does not hold together."""
    try:
        text = path.read_text(encoding="utf-8")
        try:
            head_entry, *entries = quick_entries_of(text)
        except ValueError:  # of a block alone: the long way tells the line
            head_entry, *entries = entries_of(text)
        head = head_of(head_entry)
        forms = _FORMS.fullmatch(head.get("Plural-Forms", ""))
        if head_entry.english or forms is None or not head.get("Language"):
            raise ValueError(1)
        return Catalogue(
            language=head["Language"],
            name=head.get("Language-Name", head["Language"]),
            locales=tuple(head.get("X-Locales", "").split()),
            forms=int(forms[1]),
            form_of=c2py(forms[2]),
            head=head,
            entries=tuple(entries),
        )
    except OSError as error:
        raise InputError(
            f"the language file {path} cannot be read: {error.strerror}",
            remedy="name another language",
        ) from None
    except (ValueError, IndexError) as error:
        line = error.args[0] if error.args and isinstance(error.args[0], int) else 1
        raise InputError(
            f"the language file {path} does not hold together at line {line}",
            remedy="write it as gettext's tools do, with a head that names language and plurals",
        ) from None


def written(entry: Entry) -> str:
    """Return an entry as it stands in a file."""
    lines = [*entry.comments, f"msgid {quoted(entry.english)}"]
    if entry.many:
        lines.append(f"msgid_plural {quoted(entry.many)}")
        lines += [f"msgstr[{form}] {quoted(text)}" for form, text in enumerate(entry.told)]
    else:
        lines.append(f"msgstr {quoted(entry.told[0] if entry.told else '')}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """Return a text as it stands in a file: a line of it on each line."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    lines = escaped.replace("\n", "\\n\n").split("\n")
    lines = [line for line in lines if line] or [""]
    if len(lines) == 1:
        return f'"{lines[0]}"'
    return "\n".join(f'"{line}"' for line in ["", *lines])
