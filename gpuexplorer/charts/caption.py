"""What a result was measured with: the caption that every view and every exported chart carries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Protocol

from gpuexplorer.charts.words import HOT, PARTS, config_pieces, config_words, dated, joined_pieces
from gpuexplorer.core.config import OWN_FILL, RunConfig, RunRequest
from gpuexplorer.core.result import Environment, RunResult
from gpuexplorer.core.text import visible

NAMING = ("workload", "variant")
"""Pieces that stand before what differs, so that it is plain what that belongs to."""


class Measured(Protocol):
    """What was measured of a configuration, and in which environment: a run, a profile."""

    @property
    def config(self) -> RunConfig: ...
    @property
    def environment(self) -> Environment: ...


class Caption:
    """What the runs of a result have in common, in words.

    What differs between them, or is a field that the result chose itself (``varies``, such as the
    block of a block map), belongs to the result and is not in its caption.
    """

    def __init__(
        self,
        configs: Iterable[RunConfig],
        varies: Collection[str] = (),
        sources: Iterable[str | None] = (),
    ) -> None:
        """``configs`` are those of one run or more; ``varies`` names fields or their pieces.

        ``sources`` are the SHA-256 of the workloads that were measured; None: one is not known.
        """
        self.configs = tuple(configs)
        self._varies = varies
        self._sources = frozenset(sources)

    @classmethod
    def of(cls, measured: Iterable[Measured], varies: Collection[str] = ()) -> Caption:
        """Return the caption of what was measured, which knows its sources."""
        found = tuple(measured)
        sources = {one.environment.source_sha256 for one in found}
        return cls([one.config for one in found], varies, sources)

    @cached_property
    def _shared(self) -> tuple[Mapping[str, str], Collection[str]]:
        """Pieces that all runs have, and names of those that differ."""
        first, differ = config_pieces(self.configs[0]), set[str]()
        for config in self.configs[1:]:
            pieces = config_pieces(config)
            differ |= {name for name in {*first, *pieces} if pieces.get(name) != first.get(name)}
        shared = {n: w for n, w in first.items() if n not in differ and not self._chosen(n)}
        return shared, differ

    def _chosen(self, name: str) -> bool:
        """Whether the result chose a piece itself."""
        return name in self._varies or name.partition(".")[0] in self._varies

    @property
    def words(self) -> str:
        """The caption, such as ``matmul · naive · N = 512 · block 16×16 · fp32 · opencl:0``."""
        return " · ".join(joined_pieces(self._shared[0]).values())

    def moved(self, now: RunConfig | None) -> str:
        """Say what the knobs say instead; empty where they stand as they did.

        ``now`` is the knobs' configuration; None where they make no run.
        """
        shared, differ = self._shared
        if now is None:
            return f"Measured with {self._told(shared)}; the knobs now make no run"
        pieces = config_pieces(now)
        mine = {n: w for n, w in shared.items() if pieces.get(n) != w}
        theirs = {
            n: w for n, w in pieces.items()
            if shared.get(n) != w and n not in differ and not self._chosen(n)
        }  # fmt: skip
        if not mine and not theirs:
            return ""
        if "workload" in mine or "variant" in mine:  # what else differs goes with that
            mine = {n: w for n, w in mine.items() if n.partition(".")[0] in (*NAMING, "size")}
            theirs = {n: w for n, w in theirs.items() if n.partition(".")[0] in (*NAMING, "size")}
        named = {n: w for n, w in shared.items() if n in NAMING}
        knobs = self._told(theirs) or f"no {listed_fields(mine)}"
        return f"Measured with {self._told(named | mine)}; the knobs now say {knobs}"

    def outdated(self, now: RunConfig | None, source_sha256: str) -> str:
        """Say that the workload of the knobs had another source; empty where not, or not known.

        ``source_sha256`` is that of the present source; empty where it is not known.
        """
        known = source_sha256 and self._sources and None not in self._sources
        if now is None or not known or source_sha256 in self._sources:
            return ""
        if all(one.workload != now.workload for one in self.configs):
            return ""
        workload = config_pieces(now)["workload"]
        return f"Measured with another source of {workload} than the present one"

    @staticmethod
    def _told(pieces: Mapping[str, str]) -> str:
        return ", ".join(joined_pieces(pieces).values())

    def nearest(self, now: RunConfig | None) -> RunConfig:
        """Return the configuration of a run that the knobs are put back to: the one nearest."""
        pieces = set(config_pieces(now).items()) if now is not None else set()
        return max(self.configs, key=lambda one: len(pieces & set(config_pieces(one).items())))


def shared_words(runs: Sequence[RunResult], varies: Collection[str] = ()) -> str:
    """Return what all of some runs share, and their device on a line of its own where it is one."""
    caption = Caption.of(runs, varies).words
    named = {f"{r.device.name}, {r.device.driver}" for r in runs}
    return f"{caption}\n{named.pop()}" if len(named) == 1 else caption


def words_apart(runs: Sequence[RunResult]) -> list[str]:
    """Return for each run what it does not share with the others; where that says nothing, when."""
    pieces = [{"cache": HOT} | config_pieces(run.config) for run in runs]
    devices = {(run.config.device, run.device.name) for run in runs}
    if len(devices) > len({device for device, _ in devices}):  # of several machines
        for one, run in zip(pieces, runs, strict=True):
            one["device"] = visible(run.device.name)
    names = {name for one in pieces for name in one}
    differ = {name for name in names if len({one.get(name) for one in pieces}) > 1}
    if not all(differ & one.keys() for one in pieces):
        differ.add("variant")  # what is as usual has no words
    made = []
    for one, run in zip(pieces, runs, strict=True):
        parts = joined_pieces({name: words for name, words in one.items() if name in differ})
        told = " · ".join(parts[part] for part in PARTS if part in parts)
        made.append(told.removeprefix("block ") or config_words(run.config))
    return made if len(set(made)) == len(made) else dated(made, runs)


def asked_for(request: RunRequest, device: str, threads: int | None = None) -> RunConfig:
    """Return a request as a configuration, as far as it says it; for a caption alone."""
    x, y, z = (*(request.block or ()), 1, 1, 1)[:3]
    return RunConfig(
        workload=request.workload, variant=request.variant or "", size=request.size,
        precision=request.precision or "", device=device, tunables=request.tunables,
        block=None if request.block is None else (x, y, z),
        cache=request.cache, fill=request.fill or OWN_FILL, switches=request.switches,
        threads=threads if request.threads is None else request.threads,
    )  # fmt: skip


def varied_by(axes: Iterable[str]) -> set[str]:
    """Return the pieces that the axes of a sweep set, such as ``block`` for ``block.x``."""
    fields = {"tunable": "tunables", "switch": "switches", "transfers": "switches"}
    found = set()
    for axis in axes:
        field, _, name = axis.partition(".")
        field = fields.get(field, field)
        found.add(f"{field}.{name}" if name and field != "block" else field)
    return found


def listed_fields(pieces: Mapping[str, str]) -> str:
    """Return the names of some pieces' fields, such as ``cache``."""
    return ", ".join(name.partition(".")[2] or name for name in pieces).replace("_", " ")
