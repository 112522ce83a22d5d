"""What leaves this machine names folders and interpreters, and does not say where they lie.

Where a user's own kernels and the engine's Python lie is kept in the local history alone: a run is
repeated from there. Documents, pages, sessions and files for other programs are given to others,
and a path in them tells a user's name and more. Machine and person stay in the history altogether.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from gpuexplorer.core.result import Environment

_INSIDE = re.compile(r"(?i)usr|local|bin|scripts|python[\d.]*(\.exe)?")
"""What an interpreter is called, and folders of it that tell nothing: the one around says more."""

_WHOSE = (r',\s*"machine":\s*', r',\s*"person":\s*')
"""Before the name of a machine and of a person in JSON."""


def last_name(place: str) -> str:
    """Return what a path names: its last part, and of an environment's interpreter its folder."""
    parts = [part for part in re.split(r"[\\/]+", place) if part]
    named = [part for part in parts if not _INSIDE.fullmatch(part)]
    return (named or parts or [place])[-1]


def places_of(environments: Iterable[Environment], words: Iterable[str | None] = ()) -> set[str]:
    """Return the paths that environments tell, and those among the ``words``."""
    told = {place for one in environments for place in (one.kernels, one.engine)}.union(words)
    return {place for place in told if place is not None and re.search(r"[\\/]", place)}


def shared(
    document: bytes, environments: Iterable[Environment], words: Iterable[str | None] = ()
) -> bytes:
    """Return JSON with names in the place of the paths that ``places_of`` finds."""
    environments = list(environments)
    places = _longest_first(places_of(environments, words))
    whose = {_whose_in_json(one) for one in environments} - {""}
    if not places and not whose:
        return document
    text = document.decode()
    for said in whose:
        text = re.sub(said, "", text)
    for place in places:
        text = _named(text, _in_json(place), _in_json(last_name(place)))
    return text.encode()


def shared_text(text: str, places: Iterable[str]) -> str:
    """Return text with names in the place of paths."""
    for place in _longest_first(places):
        text = _named(text, place, last_name(place))
    return text


def shared_environment(environment: Environment) -> Environment:
    """Return an environment with names in the place of its paths."""
    told = places_of([environment])
    kernels, engine = (
        last_name(place) if place in told and place is not None else place
        for place in (environment.kernels, environment.engine)
    )
    return msgspec.structs.replace(
        environment,
        kernels=kernels,
        engine=engine,
        machine=msgspec.UNSET,
        person=msgspec.UNSET,
    )


def _whose_in_json(environment: Environment) -> str:
    """Return a pattern of the last fields of an environment in JSON, its machine and person."""
    told = zip(_WHOSE, (environment.machine, environment.person), strict=True)
    return "".join(
        before + re.escape(msgspec.json.encode(value).decode())
        for before, value in told
        if isinstance(value, str)
    )


def _longest_first(places: Iterable[str]) -> list[str]:
    return sorted(set(places), key=len, reverse=True)


def _in_json(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]


def _named(text: str, place: str, name: str) -> str:
    """Replace a path where it stands by itself or begins a longer one."""
    if place not in text:
        return text
    whole = rf"(?<![\w.\\/-]){re.escape(place)}(?![\w-])"
    return re.sub(whole, lambda found: name, text)
