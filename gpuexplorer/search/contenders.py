"""What takes part in a comparison, in a word each: ``naive:16x16``, a stored run, ``baseline``.

A word is one of

- ``baseline``: the newest starred run of the workload;
- a stored run by its id, of which six digits are enough, or ``run=ID``, and ``,engine=NAME`` where
  another Python is to measure it now;
- a configuration: ``VARIANT``, ``VARIANT:BLOCK`` or ``BLOCK``, then ``KEY=VALUE``, with commas in
  between. Keys are ``variant``, ``block``, ``size``, ``precision``, ``device``, ``cache``,
  ``fill``, ``seed``, ``transfers`` (on or off), ``workload``, ``kernels`` (a folder whose sources
  are used for this one), ``engine`` (the Python that measures it), and by their names the sizes,
  the tunables and the switches of the variant, such as ``N=512``, ``TILE=16`` and
  ``compile=default``. What it leaves open is as for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import msgspec

from gpuexplorer.charts.words import config_parts
from gpuexplorer.core.change import switch_value
from gpuexplorer.core.config import OWN_FILL, Cache, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.result import Environment, RunResult
from gpuexplorer.engine.interpreters import BUILT_IN, engine_words, find_interpreter
from gpuexplorer.history.store import Query, Store
from gpuexplorer.reproduce import short_block, switches_of
from gpuexplorer.search.compare import Entrant
from gpuexplorer.workloads.change import free_tunables
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.frameworks import FRAMEWORKS
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.switches import TRANSFERS, kept, read_switch, without_defaults
from gpuexplorer.workloads.switches import of_model as of_model_switches
from gpuexplorer.workloads.workload import Workload

BASELINE = "baseline"
KEYS = (
    "variant", "block", "size", "precision", "device", "cache", "fill", "seed", "transfers",
    "workload", "kernels", "engine",
)  # fmt: skip
_RUN_ID = re.compile(r"[0-9a-f]{6,32}")
_BLOCK = re.compile(r"\d{1,9}([x×]\d{1,9}){0,2}", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)

Stored = Callable[[str, str | None], RunResult]
"""Finds a run by the start of its id, or the baseline (``BASELINE``) of a workload or of any."""
DevicesOf = Callable[[str | None], DeviceList]
"""Tells the devices of an engine by its word."""


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
    engine: str | None = None
    """The word for the engine that measures it; None: the one for all."""


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
    engine: str | None = None,
) -> list[Wanted]:
    """Read everything that takes part: words, and runs at hand.

    ``shared`` holds what configurations leave open; where it names no workload (""), they are like
    the first stored run, but for what ``shared`` does say. With ``as_stored`` stored runs are not
    to be measured again, and their workloads need not be here. ``engine`` is what the user says for
    everyone; without it a stored run is measured in the engine it was, if that is still there.
    Raises InputError for a word that cannot be read, and what ``stored`` raises.
    """
    workloads = load(kernels)
    named = shared.workload or None
    parted = [(w, None) if isinstance(w, RunResult) else split_engine(w) for w in words]
    runs = [_run_of(word, named, stored) for word, _ in parted]
    base = shared
    first_run = next((run for run in runs if run is not None), None)
    if not shared.workload:
        if first_run is None:
            raise InputError(
                "configurations need a workload", remedy="name it with --workload, or compare runs"
            )
        base = _over(request_of(first_run.config), shared)
    general = engine
    if general is None and first_run is not None and not shared.workload:
        general = engine_of(first_run.environment)
    made = []
    for said, (word, own_engine), run in zip(words, parted, runs, strict=True):
        if run is not None:
            own = run.config.workload
            here = workloads.get(own) if as_stored else pick(workloads, own)
            name = said if isinstance(said, str) else run.id[:8]
            where = own_engine or engine or engine_of(run.environment)
            made.append(Wanted(name, request_of(run.config), here, run, as_stored, where))
        elif isinstance(word, str):
            only_engine = own_engine is not None and not word
            request, workload = read_configuration(word, base, workloads, as_for_all=only_engine)
            where = own_engine or general
            made.append(Wanted(str(said), request, workload, engine=where))
    return made


def split_engine(word: str) -> tuple[str, str | None]:
    """Return a word without its ``engine=NAME``, and that name; InputError for two of them."""
    parts = word.split(",")
    named = [p.partition("=")[2].strip() for p in parts if p.partition("=")[0].strip() == "engine"]
    if not named:
        return word, None
    if len(named) > 1:
        raise InputError(f"'{word}' says 'engine' twice", remedy="leave one out")
    if not named[0]:
        raise InputError(
            f"'{word}': 'engine' has no value", remedy="see 'gpuexplorer engines' for the names"
        )
    find_interpreter(named[0])  # raises for a name that nothing has
    rest = [part for part in parts if part.partition("=")[0].strip() != "engine"]
    return ",".join(rest), named[0]


def engine_of(environment: Environment) -> str | None:
    """Return the word for the engine that measured a run, if it is still there; None: built-in."""
    label = environment.engine
    try:
        find_interpreter(label)
    except InputError:
        return None
    return label


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
    word: str, base: RunRequest, workloads: dict[str, Workload], *, as_for_all: bool = False
) -> tuple[RunRequest, Workload]:
    """Read a configuration; what it leaves open is as in ``base``, with ``as_for_all`` everything.

    Another variant keeps the block where it has as many axes, and takes its own tunables. Raises
    InputError that names the part of the word that is wrong.
    """
    said = {} if as_for_all else _pairs(word)
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
    switches = kept(base.switches, variant)
    of_model = [s.name for s in of_model_switches(variant.model)] if variant.model else []
    if (transfers := said.pop("transfers", None)) is not None:
        switches[TRANSFERS] = _transfers(transfers, word)
    for key, value in said.items():
        if key in KEYS:
            _plain(key, value, word, changes, size, workload)
        elif key in of_model:
            switches[key] = _switch(key, value, word)
        elif key in workload.manifest.sizes:
            size[key] = _number(key, value, word)
        elif key in own:
            tunables[key] = _number(key, value, word)
        else:
            known = [*KEYS, *workload.manifest.sizes, *own, *of_model]
            raise InputError(f"'{word}': no '{key}' to set", remedy=suggestion(key, known))
    changes |= {"size": size, "tunables": tunables, "switches": without_defaults(switches)}
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
    else:
        changes[key] = value


def _transfers(value: str, word: str) -> bool:
    if value not in ("on", "off"):
        raise InputError(f"'{word}': transfers are on or off, not '{value}'")
    return value == "on"


def _switch(name: str, value: str, word: str) -> bool | str:
    try:
        return read_switch(name, value)
    except InputError as error:
        raise InputError(f"'{word}': {error.what}", remedy=error.remedy) from None


def _number(key: str, value: str, word: str) -> int:
    if not _WHOLE.fullmatch(value):
        raise InputError(
            f"'{word}': '{value}' is not a whole number", remedy=f"write it like {key}=16"
        )
    return int(value)


def entrants_of(
    wanted: Sequence[Wanted],
    devices: DeviceList | DevicesOf,
    engine: str | None = None,
) -> list[Entrant]:
    """Return what is measured for each; raises what ``workloads.choose.complete`` does.

    ``devices`` are those of the one engine, or are asked of each; ``engine`` is the word for the
    engine of those that name none.
    """
    engines = [one.engine or engine for one in wanted]
    configs = [_config(one, devices, where) for one, where in zip(wanted, engines, strict=True)]
    here = [one.workload for one in wanted if one.workload is not None]
    names = labels(configs, here, engines)
    return [
        Entrant(label, config, one.workload, one.stored, where)
        for label, config, one, where in zip(names, configs, wanted, engines, strict=True)
    ]


def _config(one: Wanted, devices: DeviceList | DevicesOf, engine: str | None) -> RunConfig:
    if one.stored is not None and (one.as_stored or one.workload is None):
        return one.stored.config
    assert one.workload is not None
    found = devices if isinstance(devices, DeviceList) else devices(engine)
    return complete(one.request, one.workload, found)


def labels(
    configs: Sequence[RunConfig],
    workloads: Sequence[Workload] = (),
    engines: Sequence[str | None] = (),
) -> list[str]:
    """Return a few words for each configuration that tell it from the others.

    Engines are told apart by their words. Where nothing else does, the kernels' folder, or else its
    place in the list.
    """
    parts = [config_parts(config) for config in configs]
    for one, engine in zip(parts, engines, strict=False):
        one["engine"] = engine_words(engine)
    told = [field for field in parts[0] if len({one.get(field, "") for one in parts}) > 1]
    if "variant" in told and _frameworks_alone(configs):
        told = [field for field in told if field != "device"]
    if not told:
        told = ["variant", "block"]
    elif told == ["engine"]:
        told = ["variant", "engine"]
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


def _frameworks_alone(configs: Sequence[RunConfig]) -> bool:
    """Whether the devices are one and the same, each framework's own view of it."""
    backends, _, places = zip(*(config.device.partition(":") for config in configs), strict=True)
    return len(set(places)) == 1 and set(backends) <= set(FRAMEWORKS)


def _unique(words: Sequence[str]) -> list[str]:
    made: list[str] = []
    for index, one in enumerate(words):
        twins = [i for i, other in enumerate(words) if other == one]
        made.append(f"{one} ({twins.index(index) + 1})" if len(twins) > 1 else one)
    return made


def words_of(config: RunConfig, workload: str, engine: str | None = None) -> str:
    """Return the word of a configuration, whole; ``workload`` is the one for all.

    ``engine`` is named where there is one.
    """
    block = "x".join(map(str, short_block(config.block))) if config.block else ""
    parts = [f"{config.variant}:{block}" if block else config.variant]
    if config.workload != workload:
        parts.append(f"workload={config.workload}")
    parts += [f"{symbol}={value}" for symbol, value in config.size.items()]
    parts += [f"precision={config.precision}", f"device={config.device}"]
    parts += [f"{name}={value}" for name, value in config.tunables.items()]
    parts += [f"{name}={switch_value(v)}" for name, v in switches_of(config).items()]
    if config.cache != "hot":
        parts.append(f"cache={config.cache}")
    if config.fill != OWN_FILL:
        parts.append(f"fill={config.fill}")
    if config.seed != 1:
        parts.append(f"seed={config.seed}")
    if config.include_transfers:
        parts.append("transfers=on")
    if engine is not None:
        parts.append(f"engine={engine}")
    return ",".join(parts)


def command_words(configs: Iterable[RunConfig], engines: Sequence[str | None] = ()) -> list[str]:
    """Return the arguments of ``gpuexplorer compare`` that name these, the reference first.

    ``engines`` are the words for the engines of each; nothing is said of the built-in one alone.
    """
    listed = list(configs)
    workload = listed[0].workload
    named: list[str | None] = [None] * len(listed)
    if any(engines):
        named = [engine or BUILT_IN for engine in engines]
    words = [words_of(c, workload, engine) for c, engine in zip(listed, named, strict=True)]
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
