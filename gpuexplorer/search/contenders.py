"""What takes part in a comparison, in a word each: ``naive:16x16``, a stored run, ``baseline``.

A word is one of

- ``baseline``: the newest starred run of the workload;
- a stored run by its id, of which six digits are enough, or ``run=ID``;
- a configuration: ``VARIANT``, ``VARIANT:BLOCK`` or ``BLOCK``, then ``KEY=VALUE``, with commas in
  between. Keys are ``variant``, ``block``, ``size``, ``precision``, ``device``, ``cache``,
  ``fill``, ``seed``, ``transfers`` (on or off), ``workload``, ``kernels`` (a folder whose sources
  are used for this one), and by their names the sizes and the tunables of the variant, such as
  ``N=512`` and ``TILE=16``. What it leaves open is as for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import msgspec

from gpuexplorer.charts.words import config_parts
from gpuexplorer.core.config import OWN_FILL, Cache, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import RunResult
from gpuexplorer.history.store import Query, Store
from gpuexplorer.reproduce import short_block
from gpuexplorer.search.compare import Entrant
from gpuexplorer.workloads.change import free_tunables
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.workload import Workload

BASELINE = "baseline"
KEYS = (
    "variant", "block", "size", "precision", "device", "cache", "fill", "seed", "transfers",
    "workload", "kernels",
)  # fmt: skip
_RUN_ID = re.compile(r"[0-9a-f]{6,32}")
_BLOCK = re.compile(r"\d{1,9}([x×]\d{1,9}){0,2}", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)

Stored = Callable[[str, str | None], RunResult]
"""Finds a run by the start of its id, or the baseline (``BASELINE``) of a workload or of any."""


@dataclass(frozen=True)
class Wanted:
    """One word, read: what is asked for, of which workload, and the stored run it names."""

    word: str
    request: RunRequest
    workload: Workload | None
    """None: it is not here, and the stored run is taken as it is."""
    stored: RunResult | None = None
    as_stored: bool = False
    """Whether the stored run is taken as it is, and not measured again."""


def names_run(word: str) -> str | None:
    """Return the id, or ``BASELINE``, when a word means a stored run; None for a configuration."""
    if word == BASELINE or _RUN_ID.fullmatch(word):
        return word
    return word.removeprefix("run=") if word.startswith("run=") else None


def stored_runs(run: str, workload: str | None) -> RunResult:
    """Find a stored run in the user's history; InputError for none, or for no baseline."""
    with Store.open_to_read() as store:
        if run != BASELINE:
            return store.get(run)
        rows = store.find(Query(starred=True, workload=workload), sort="time", limit=1)
        if not rows:
            of = f" of '{workload}'" if workload else ""
            raise InputError(
                f"no run{of} is starred, so there is no baseline",
                remedy="star one with 'gpuexplorer history star ID', or in the window's history",
            )
        return store.get(rows[0].id)


def read_words(
    words: Sequence[str | RunResult],
    shared: RunRequest,
    kernels: Sequence[Path],
    stored: Stored = stored_runs,
    *,
    as_stored: bool = False,
) -> list[Wanted]:
    """Read everything that takes part: words, and runs at hand.

    ``shared`` holds what configurations leave open; where it names no workload (""), they are like
    the first stored run, but for what ``shared`` does say. With ``as_stored`` stored runs are not
    to be measured again, and their workloads need not be here. Raises InputError for a word that
    cannot be read, and what ``stored`` raises.
    """
    workloads = load(kernels)
    named = shared.workload or None
    runs = [_run_of(word, named, stored) for word in words]
    base = shared
    if not shared.workload:
        first = next((run for run in runs if run is not None), None)
        if first is None:
            raise InputError(
                "configurations need a workload", remedy="name it with --workload, or compare runs"
            )
        base = _over(request_of(first.config), shared)
    made = []
    for word, run in zip(words, runs, strict=True):
        if run is not None:
            own = run.config.workload
            here = workloads.get(own) if as_stored else pick(workloads, own)
            name = word if isinstance(word, str) else run.id[:8]
            made.append(Wanted(name, request_of(run.config), here, run, as_stored))
        elif isinstance(word, str):
            request, workload = read_configuration(word, base, workloads)
            made.append(Wanted(word, request, workload))
    return made


def _run_of(word: str | RunResult, workload: str | None, stored: Stored) -> RunResult | None:
    if isinstance(word, RunResult):
        return word
    run = names_run(word)
    return stored(run, workload) if run is not None else None


def request_of(config: RunConfig) -> RunRequest:
    """Return the request that a configuration answers."""
    return RunRequest(
        workload=config.workload,
        variant=config.variant,
        size=config.size,
        block=config.block,
        precision=config.precision,
        device=config.device,
        tunables=config.tunables,
        cache=config.cache,
        fill=config.fill,
        seed=config.seed,
        threads=config.threads,
        switches=config.switches,
    )


def _over(base: RunRequest, said: RunRequest) -> RunRequest:
    """Return ``base`` with whatever ``said`` has other than its defaults.

    Another variant takes its own block and tunables.
    """
    if said.variant not in (None, base.variant):
        base = msgspec.structs.replace(base, block=None, tunables={})
    default = RunRequest(workload="")
    changes = {
        name: getattr(said, name)
        for name in said.__struct_fields__
        if getattr(said, name) != getattr(default, name)
    }
    return msgspec.structs.replace(base, **changes)


def read_configuration(
    word: str, base: RunRequest, workloads: dict[str, Workload]
) -> tuple[RunRequest, Workload]:
    """Read a configuration; what it leaves open is as in ``base``.

    Another variant keeps the block where it has as many axes, and takes its own tunables. Raises
    InputError that names the part of the word that is wrong.
    """
    said = _pairs(word)
    if "kernels" in said:
        workloads = load([Path(said.pop("kernels"))])
    name = said.pop("workload", base.workload)
    workload = pick(workloads, name)
    if name != base.workload:
        base = RunRequest(
            workload=name, precision=base.precision, device=base.device, cache=base.cache,
            fill=base.fill, seed=base.seed, threads=base.threads, switches=base.switches,
        )  # fmt: skip
    before = base.variant or workload.manifest.first_variant
    chosen = said.pop("variant", before)
    variant = workload.variant(chosen)
    changes: dict[str, object] = {"variant": chosen}
    if chosen != before:
        changes["tunables"] = {}
        same_axes = variant.dimensions == workload.variant(before).dimensions
        if variant.call is not None or not same_axes:
            changes["block"] = None
    size = dict(base.size)
    if "" in size:  # the first symbol, which a word may name
        size[next(iter(workload.manifest.sizes))] = size.pop("")
    tunables = dict(base.tunables) if chosen == before else {}
    own = free_tunables(variant)
    for key, value in said.items():
        if key in KEYS:
            _plain(key, value, word, changes, size, workload)
        elif key in workload.manifest.sizes:
            size[key] = _number(key, value, word)
        elif key in own:
            tunables[key] = _number(key, value, word)
        else:
            known = [*KEYS, *workload.manifest.sizes, *own]
            raise InputError(f"'{word}': no '{key}' to set", remedy=suggestion(key, known))
    changes |= {"size": size, "tunables": tunables}
    return msgspec.structs.replace(base, **changes), workload


def _pairs(word: str) -> dict[str, str]:
    """Return a word's parts by key."""
    said: dict[str, str] = {}

    def say(key: str, value: str) -> None:
        if not value:
            raise InputError(f"'{word}': '{key}' has no value", remedy="see 'compare --help'")
        if key in said:
            raise InputError(f"'{word}' says '{key}' twice", remedy="leave one out")
        said[key] = value

    for place, part in enumerate(word.split(",")):
        key, equals, value = (text.strip() for text in part.partition("="))
        if equals and key:
            say(key, value)
        elif place > 0 or equals or not key:
            raise InputError(
                f"'{word}': '{part.strip()}' is not of the form KEY=VALUE",
                remedy="write it like naive:16x16 or tiled,block=16x16,TILE=16",
            )
        elif _BLOCK.fullmatch(key):
            say("block", key)
        else:
            name, colon, block = key.partition(":")
            if name:
                say("variant", name)
            if colon:
                say("block", block)
    return said


def _plain(
    key: str,
    value: str,
    word: str,
    changes: dict[str, object],
    size: dict[str, int],
    workload: Workload,
) -> None:
    """Take in one of ``KEYS``."""
    if key == "block":
        if not _BLOCK.fullmatch(value):
            raise InputError(
                f"'{word}': '{value}' is not a block", remedy="write it like 16x16 or 256x1"
            )
        changes[key] = tuple(map(int, re.split("[x×]", value)))
    elif key == "size":
        size[next(iter(workload.manifest.sizes))] = _number(key, value, word)
    elif key == "seed":
        changes[key] = _number(key, value, word)
    elif key == "cache":
        if value not in get_args(Cache):
            raise InputError(
                f"'{word}': no cache state '{value}'", remedy=suggestion(value, get_args(Cache))
            )
        changes[key] = value
    elif key == "transfers":
        if value not in ("on", "off"):
            raise InputError(f"'{word}': transfers are on or off, not '{value}'")
        changes["switches"] = {"include_transfers": True} if value == "on" else {}
    else:
        changes[key] = value


def _number(key: str, value: str, word: str) -> int:
    if not _WHOLE.fullmatch(value):
        raise InputError(
            f"'{word}': '{value}' is not a whole number", remedy=f"write it like {key}=16"
        )
    return int(value)


def entrants_of(wanted: Sequence[Wanted], devices: DeviceList) -> list[Entrant]:
    """Return what is measured for each; raises what ``workloads.choose.complete`` does."""
    configs = [_config(one, devices) for one in wanted]
    names = labels(configs, [one.workload for one in wanted if one.workload is not None])
    return [
        Entrant(label, config, one.workload, one.stored)
        for label, config, one in zip(names, configs, wanted, strict=True)
    ]


def _config(one: Wanted, devices: DeviceList) -> RunConfig:
    if one.stored is not None and (one.as_stored or one.workload is None):
        return one.stored.config
    assert one.workload is not None
    return complete(one.request, one.workload, devices)


def labels(configs: Sequence[RunConfig], workloads: Sequence[Workload] = ()) -> list[str]:
    """Return a few words for each configuration that tell it from the others.

    Where nothing does, the kernels' folder, or else its place in the list.
    """
    parts = [config_parts(config) for config in configs]
    told = [field for field in parts[0] if len({one.get(field, "") for one in parts}) > 1]
    if not told:
        told = ["variant", "block"]
    elif "block" in told or not all(any(one[field] for field in told) for one in parts):
        told.append("variant")  # a block by itself is little, and no words are too little
    made = [
        " · ".join(one[field] for field in parts[0] if field in told and one[field])
        for one in parts
    ]
    versions = {w.sha256 for w in workloads if w.name == workloads[0].name}
    if len(versions) > 1 and len(workloads) == len(made):
        folders = [Path(w.source.origin).parent for w in workloads]
        made = [
            f"{words} · {f.parent.name}/{f.name}" for words, f in zip(made, folders, strict=True)
        ]
    return _unique(made)


def _unique(words: Sequence[str]) -> list[str]:
    made: list[str] = []
    for index, one in enumerate(words):
        twins = [i for i, other in enumerate(words) if other == one]
        made.append(f"{one} ({twins.index(index) + 1})" if len(twins) > 1 else one)
    return made


def words_of(config: RunConfig, workload: str) -> str:
    """Return the word of a configuration, whole; ``workload`` is the one for all."""
    block = "x".join(map(str, short_block(config.block))) if config.block else ""
    parts = [f"{config.variant}:{block}" if block else config.variant]
    if config.workload != workload:
        parts.append(f"workload={config.workload}")
    parts += [f"{symbol}={value}" for symbol, value in config.size.items()]
    parts += [f"precision={config.precision}", f"device={config.device}"]
    parts += [f"{name}={value}" for name, value in config.tunables.items()]
    if config.cache != "hot":
        parts.append(f"cache={config.cache}")
    if config.fill != OWN_FILL:
        parts.append(f"fill={config.fill}")
    if config.seed != 1:
        parts.append(f"seed={config.seed}")
    if config.include_transfers:
        parts.append("transfers=on")
    return ",".join(parts)


def command_words(configs: Iterable[RunConfig]) -> list[str]:
    """Return the arguments of ``gpuexplorer compare`` that name these, the reference first."""
    listed = list(configs)
    workload = listed[0].workload
    words = [words_of(config, workload) for config in listed]
    threads = next((c.threads for c in listed if c.threads is not None), None)
    return [*words, "--workload", workload, *(["--threads", str(threads)] if threads else [])]


def one_number_of_threads(
    wanted: Sequence[Wanted], threads: int | None
) -> tuple[list[Wanted], int | None]:
    """Return the CPU threads for all, and what is wanted without a number of its own.

    An engine has one number of threads. ``threads`` is what the user says, None: as stored.
    InputError when the stored runs differ in it and nobody says which holds.
    """
    stored = {one.word: one.request.threads for one in wanted if one.request.threads is not None}
    if threads is None and stored:
        if len(set(stored.values())) > 1:
            listed = ", ".join(f"{word} {number}" for word, number in stored.items())
            raise InputError(
                f"these used different numbers of CPU threads: {listed}",
                remedy="say with --threads how many all of them get now",
            )
        threads = next(iter(stored.values()))
    return [
        replace(one, request=msgspec.structs.replace(one.request, threads=None)) for one in wanted
    ], threads
