"""Everything the program says, out of its sources: Python, and the manifests of the workloads."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpuexplorer.core.language.reader import BEFORE, JOINTS, parts_of
from tests.words.sentences import CODE, ROOT, WORDS, braced, literals, sentences
from tests.words.single import NAMES, SHOWN, SMALL, words

MANIFESTS = (ROOT.parent / "kernels", ROOT / "calibration" / "kernels")
TOLD = ("title", "summary", "teaches", "because", "measured")
"""Keys of a manifest whose texts are shown."""
OURS = "gpuexplorer: "
"""What tells our lines on a terminal from others'; it stays as it is."""
_WORD = re.compile(r"&?[A-Z][a-z&][A-Za-z\-&]*[…:?.]?( [▾●])?")


@dataclass
class Said:
    """What is said, and where."""

    english: str
    many: str = ""
    places: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Module:
    """What a module has."""

    sentences: list[tuple[int, str, str]]
    literals: frozenset[str]


@cache
def modules() -> dict[str, Module]:
    """Return the modules that say something, by their paths below ``gpuexplorer/``."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith((*CODE, "core/language/")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            said = sorted(set(sentences(tree, name)))
            found[name] = Module(said, frozenset(literals(tree)))
    return found


@cache
def everything() -> dict[tuple[str, str], Said]:
    """Return all that is said, by its phrases, in the order of the places.

    Once for all texts that are read alike: the names of the fields, a large first letter and the
    sign at the end make no other sentence.
    """
    found: dict[tuple[object, object], Said] = {}
    alone = words(SHOWN) | words(SMALL)

    def add(place: str, english: str, many: str = "") -> None:
        english, many = plain(english), plain(many)
        if english in alone or any(map(WORDS.search, parts_of(english)[0])):
            said = found.setdefault((alike(english), alike(many)), Said(english, many))
            if place not in said.places:
                said.places.append(place)

    for joint in JOINTS:
        found[joint, ""] = Said(joint, places=["how texts are joined"])
    for name, module in modules().items():
        for _, english, many in module.sentences:
            add(f"gpuexplorer/{name}", english, many)
        for word in sorted(module.literals & alone):
            add(f"gpuexplorer/{name}", word)
    for path in sorted(p for folder in MANIFESTS for p in folder.rglob("workload.toml")):
        place = path.relative_to(ROOT.parent).as_posix()
        for text in _told(tomllib.loads(path.read_text(encoding="utf-8"))):
            add(place, braced(text))
    return {(said.english, said.many): said for said in found.values()}


def plain(text: str) -> str:
    """Return a template without what a reader puts back: our mark, space around, a last sign.

    Of fields without a word between them one is left.
    """
    text = re.sub(r"(?:(?<!\{)\{\w+\})+(?=\{\w+\}(?!\}))", "", text.strip().removeprefix(OURS))
    text = BEFORE.sub("", text, count=1)
    return text[:-1] if re.search(r"[^.…: ][.…:]$", text) else text


def alike(text: str) -> tuple[str, ...]:
    """Return what two templates have in common that no reader can tell apart.

    A word alone may be a name where it begins with a small letter.
    """
    texts, _ = parts_of(text)
    if text.isalpha():
        return texts
    return (texts[0][:1].lower() + texts[0][1:], *texts[1:])


def undecided() -> dict[str, str]:
    """Return the words with a large letter that neither list of ``single`` has, with a place."""
    known = words(SHOWN) | words(NAMES)
    found: dict[str, str] = {}
    for name, module in modules().items():
        for word in module.literals - known:
            if _WORD.fullmatch(word):
                found.setdefault(word, name)
    return found


def _told(table: Any, key: str = "") -> Iterator[str]:
    if isinstance(table, dict):
        for name, value in table.items():
            yield from _told(value, name)
    elif isinstance(table, list):
        for value in table:
            yield from _told(value, key)
    elif isinstance(table, str) and key in TOLD and re.search("[A-Za-z]{2}", table):
        yield table
