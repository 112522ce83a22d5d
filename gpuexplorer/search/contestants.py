"""What takes part in a comparison, in a word each: ``naive:16x16``, a stored run, ``baseline``.

A word is one of

- ``baseline``: the newest starred run of the workload;
- a stored run by its id, of which six digits are enough, or ``run=ID``, and ``,engine=NAME`` where
  another Python is to measure it now; ``naive@NAME`` is short for that;
- a block map, a tuning or a sweep by its id, which stands for the best run that it found;
- a configuration: ``VARIANT``, ``VARIANT:BLOCK`` or ``BLOCK``, then ``KEY=VALUE``, with commas in
  between. Keys are ``variant``, ``block``, ``size``, ``precision``, ``device``, ``cache``,
  ``fill``, ``seed``, ``transfers`` (on or off), ``workload``, ``kernels`` (a folder whose sources
  are used for this one), ``engine`` (the Python that measures it), and by their names the sizes,
  the tunables and the switches of the variant, such as ``N=512``, ``TILE=16`` and
  ``compile=default``. What it leaves open is as for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from gpuexplorer.charts.words import config_parts
from gpuexplorer.core import ranges
from gpuexplorer.core.config import Cache, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.knobs import (
    KNOBS,
    TRANSFERS,
    knob_of,
    request_like,
    value_text,
    values_of,
)
from gpuexplorer.core.result import Environment, RunResult
from gpuexplorer.core.text import visible
from gpuexplorer.core.units import listed
from gpuexplorer.engine.interpreters import BUILT_IN, engine_words, find_interpreter
from gpuexplorer.history.store import Query, Store
from gpuexplorer.search.compare import ContestantConfig
from gpuexplorer.workloads.change import free_tunables, with_values
from gpuexplorer.workloads.choose import complete
from gpuexplorer.workloads.frameworks import FRAMEWORKS
from gpuexplorer.workloads.loader import load, pick
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.switches import of_model, read_switch
from gpuexplorer.workloads.workload import Workload

BASELINE = "baseline"
_KNOBS = {knob.word: knob for knob in KNOBS if knob.word}
KEYS = (*_KNOBS, "workload", "kernels", "engine")
_RUN_ID = re.compile(r"[0-9a-f]{6,32}")
_BLOCK = re.compile(r"\d{1,9}([x×]\d{1,9}){0,2}", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)

Stored = Callable[[str, str | None], RunResult]
"""Finds a run by the start of its id, or the baseline (``BASELINE``) of a workload or of any."""
DevicesOf = Callable[[str | None], DeviceList]
"""Tells the devices of an engine by its word."""


class ContestantRequest(msgspec.Struct, frozen=True):
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
            return store.get(store.best_run(run) or run)
        rows = store.find(Query(starred=True, workload=workload), sort="time", limit=1)
        if not rows:
            raise InputError(
                f"no run of '{workload}' is starred, so there is no baseline"
                if workload
                else "no run is starred, so there is no baseline",
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
    said: Collection[str] = (),
    engine: str | None = None,
    hidden: Callable[[Workload, Workload], None] | None = None,
) -> list[ContestantRequest]:
    """Read everything that takes part: words, and runs at hand.

    ``shared`` holds what configurations leave open; where it names no workload (""), they are like
    the first stored run, but for what ``shared`` does say: what differs from the default, and the
    fields that ``said`` names. With ``as_stored`` stored runs are not
    to be measured again, and their workloads need not be here. ``engine`` is what the user says for
    all of them; without it a stored run is measured in the engine it was, if that is still there.
    ``hidden`` is that of ``load``. Raises InputError for a word that cannot be read, and what
    ``stored`` raises.
    """
    workloads = load(kernels, hidden)
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
        base = _over(request_like(first_run.config), shared, said)
    general = engine
    if general is None and first_run is not None and not shared.workload:
        general = engine_of(first_run.environment)
    made = []
    for asked, (word, own_engine), run in zip(words, parted, runs, strict=True):
        if run is not None:
            own = run.config.workload
            if run.origin is not None and not as_stored:  # what it calls matmul need not be ours
                raise InputError(
                    f"run {run.id[:8]} was measured by {visible(run.origin.program)}, and cannot "
                    "be measured here again",
                    remedy="compare it as it is stored: --stored, or the history's menu",
                )
            here = workloads.get(own) if as_stored else pick(workloads, own)
            name = asked if isinstance(asked, str) else run.id[:8]
            where = own_engine or engine or engine_of(run.environment)
            made.append(
                ContestantRequest(name, request_like(run.config), here, run, as_stored, where)
            )
        elif isinstance(word, str):
            only_engine = own_engine is not None and not word
            request, workload = read_configuration(word, base, workloads, as_for_all=only_engine)
            where = own_engine or general
            made.append(ContestantRequest(str(asked), request, workload, engine=where))
    return made


def split_engine(word: str) -> tuple[str, str | None]:
    """Return a word without its ``engine=NAME``, and that name; InputError for two of them.

    ``naive@gpu`` is ``naive,engine=gpu``.
    """
    first, _, others = word.partition(",")
    if "@" in first and "=" not in first:
        first, _, name = first.rpartition("@")
        word = ",".join(part for part in (first, f"engine={name}", others) if part)
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


def _over(base: RunRequest, said: RunRequest, names: Collection[str]) -> RunRequest:
    """Return ``base`` with whatever ``said`` has other than its defaults, or for certain ``names``.

    Another variant takes its own block and tunables.
    """
    if said.variant not in (None, base.variant):
        base = msgspec.structs.replace(base, block=None, tunables={})
    default = RunRequest(workload="")
    changes = {
        name: getattr(said, name)
        for name in said.__struct_fields__
        if name in names or getattr(said, name) != getattr(default, name)
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
        anew: dict[str, Any] = {"variant": None, "size": {}, "block": None, "tunables": {}}
        base = msgspec.structs.replace(base, workload=name, **anew)
    variant = workload.variant(said.get("variant", base.variant or workload.manifest.first_variant))
    symbols = {
        **{name: f"tunable.{name}" for name in free_tunables(variant)},
        **{name: f"size.{name}" for name in workload.manifest.sizes},
        **{name: f"switch.{name}" for name in _switches_of(variant)},
        "size": f"size.{next(iter(workload.manifest.sizes))}",
        **{key: knob.axis for key, knob in _KNOBS.items() if not knob.named},
    }
    values = {}
    for key, text in said.items():
        if key not in symbols:
            known = [*KEYS, *(name for name in symbols if name not in KEYS)]
            raise InputError(f"'{word}': no '{key}' to set", remedy=suggestion(key, known))
        values[symbols[key]] = _value(symbols[key], key, text, word)
    return with_values(base, values, workload), workload


def _switches_of(variant: VariantSpec) -> list[str]:
    return [one.name for one in of_model(variant.model)] if variant.model is not None else []


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


def _value(axis: str, key: str, text: str, word: str) -> object:
    """Return the value of a knob as it is written; InputError that names the word and the value."""
    knob, symbol = knob_of(axis)
    if knob.field == "block":
        if not _BLOCK.fullmatch(text):
            raise InputError(
                f"'{word}': '{text}' is not a block", remedy="write it like 16x16 or 256x1"
            )
        return ranges.block(text)
    if knob.field == "switches":
        try:
            return read_switch(symbol, text)
        except InputError as error:
            raise InputError(f"'{word}': {error.what}", remedy=error.remedy) from None
    if knob.within is not None:
        if not _WHOLE.fullmatch(text):
            raise InputError(
                f"'{word}': '{text}' is not a whole number", remedy=f"write it like {key}=16"
            )
        return int(text)
    if knob.field == TRANSFERS:
        if text not in ("on", "off"):
            raise InputError(f"'{word}': transfers are on or off, not '{text}'")
        return text == "on"
    if knob.field == "cache" and text not in get_args(Cache):
        raise InputError(
            f"'{word}': no cache state '{text}'", remedy=suggestion(text, get_args(Cache))
        )
    return text


def check_followed(
    wanted: Sequence[ContestantRequest],
    knobs: Sequence[str],
    measuring: Sequence[str],
    stored: str | None,
) -> None:
    """Raise InputError for what would change nothing where all are stored runs.

    ``knobs`` are those that the user said for all, and ``measuring`` what was said of how to
    measure, as they are written there; ``stored`` is what takes the runs as they are, None where
    they are measured again.
    """
    if not all(one.stored for one in wanted):
        return
    if knobs:
        given = listed(knobs)
        raise InputError(
            f"only stored runs are compared, which have their own {given}",
            remedy="leave that out, or name a configuration",
        )
    if stored is not None and measuring:
        given = listed(measuring)
        raise InputError(
            f"stored runs are taken as they are, and nothing is measured for {given}",
            remedy=f"leave that out, or leave {stored} out",
        )


def contestants_of(
    wanted: Sequence[ContestantRequest],
    devices: DeviceList | DevicesOf,
    engine: str | None = None,
) -> list[ContestantConfig]:
    """Return what is measured for each; raises what ``workloads.choose.complete`` does.

    ``devices`` are those of the one engine, or are asked of each; ``engine`` is the word for the
    engine of those that name none.
    """
    engines = [one.engine or engine for one in wanted]
    configs = [_config(one, devices, where) for one, where in zip(wanted, engines, strict=True)]
    here = [one.workload for one in wanted if one.workload is not None]
    names = labels(configs, here, engines)
    return [
        ContestantConfig(label, config, one.workload, one.stored, where)
        for label, config, one, where in zip(names, configs, wanted, engines, strict=True)
    ]


def _config(
    one: ContestantRequest, devices: DeviceList | DevicesOf, engine: str | None
) -> RunConfig:
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
    values = values_of(config)
    parts = [values.pop("variant")]
    if "block" in values:
        parts[0] += f":{value_text(values.pop('block'))}"
    if config.workload != workload:
        parts.append(f"workload={config.workload}")
    for name, value in values.items():
        knob, symbol = knob_of(name)
        if key := symbol or knob.word:  # the CPU threads are the same for all
            parts.append(f"{key}={value_text(value)}")
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
    wanted: Sequence[ContestantRequest], threads: int | None
) -> tuple[list[ContestantRequest], int | None]:
    """Return the CPU threads for all, and what is wanted without a number of its own.

    An engine has one number of threads. ``threads`` is what the user says, None: as stored.
    InputError when the stored runs differ in it and ``threads`` does not say which holds.
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
