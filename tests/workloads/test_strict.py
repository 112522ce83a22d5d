"""Tables are taken at once where all is right, and key by key to say what is not: both agree."""

from __future__ import annotations

import copy
import datetime
import tomllib
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from gpuexplorer.core.errors import InputError
from gpuexplorer.lessons import loader as lessons
from gpuexplorer.lessons.manifest import LessonManifest
from gpuexplorer.workloads import loader, strict
from gpuexplorer.workloads.manifest import Manifest

STENCIL = loader.shipped_folder() / "stencil2d" / "workload.toml"
LESSON = lessons.lesson_folders(lessons.shipped_folder())[0] / lessons.LESSON_FILE
OTHERS: list[Any] = [
    *(
        True,
        7,
        2**63 - 1,
        2**63,
        -(2**63) - 1,
        1.5,
        float("nan"),
        "word",
        datetime.date(2026, 1, 1),
    ),
    *([], [7], ["word"], [2**70], {}, {"word": 7}, {"value": 2**70}),
]


def tables_in(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Every Struct that a type may hold."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from tables_in(field.type)
    for part in typing.get_args(kind):
        yield from tables_in(part)


def places(raw: Any) -> Iterator[tuple[Any, Any]]:
    """Every table and list with each of its keys."""
    for key, value in raw.items() if isinstance(raw, dict) else enumerate(raw):
        yield raw, key
        if isinstance(value, dict | list):
            yield from places(value)


def said(raw: Any, kind: Any, *, at_once: bool) -> Any:
    """What comes of tables, or the sentence that refuses them."""
    try:
        return strict.convert(raw, kind, "f") if at_once else strict._table(raw, kind, "f", "")
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("kind", [Manifest, LessonManifest])
def test_no_table_takes_a_key_that_it_does_not_have(kind: Any) -> None:
    found = set(tables_in(kind))
    assert len(found) > 3
    assert [one for one in found if not one.__struct_config__.forbid_unknown_fields] == []


@pytest.mark.parametrize(("path", "kind"), [(STENCIL, Manifest), (LESSON, LessonManifest)])
def test_both_ways_take_and_refuse_the_same_in_the_same_words(path: Any, kind: Any) -> None:
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    right = said(raw, kind, at_once=True)
    assert isinstance(right, kind)
    assert right == said(raw, kind, at_once=False)
    refused = 0
    for table, key in list(places(raw)):
        kept = table[key]
        for other in OTHERS:
            table[key] = copy.deepcopy(other)
            found = said(raw, kind, at_once=True)
            assert repr(found) == repr(said(raw, kind, at_once=False))
            refused += isinstance(found, str)
        table[key] = kept
        if isinstance(table, dict):
            table["more"] = 7
            found = said(raw, kind, at_once=True)
            assert repr(found) == repr(said(raw, kind, at_once=False))
            del table["more"]
    assert refused > 100
    assert said(raw, kind, at_once=True) == right
