"""The engines that the window offers: their names, what each was found to have, and undo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.candidates import FoundInterpreter
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import (
    BUILT_IN,
    EnginesFile,
    Interpreters,
    engine_words,
    interpreter_at,
    name_for,
)
from gpuexplorer.engine.machine import Machine, is_address
from gpuexplorer.gui.notice import capital

if TYPE_CHECKING:
    from gpuexplorer.environments.managed import Managed

Origin = Literal["built-in", "added", "managed", "unfinished", "found", "far"]
"""Where a row comes from: ``found`` ones have no name yet."""
ORIGIN_WORDS: dict[Origin, str] = {
    "built-in": "this program's own",
    "added": "added",
    "managed": "set up here",
    "unfinished": "not finished",
    "found": "found here",
    "far": "on another machine",
}


class EngineRow(msgspec.Struct, frozen=True):
    """One engine as it is shown."""

    name: str
    """The word for it: its name, or the path of one that has none."""
    path: str
    in_use: bool
    """Whether it is the one that measures in this window."""
    is_default: bool
    """Whether it is used at the next start, and by the command line."""
    report: EngineReport | None = None
    """What it said when it was asked; None before."""
    checking: bool = False
    origin: Origin = "added"
    candidate: FoundInterpreter | None = None
    """What was found, of one that has no name yet."""
    managed: Managed | None = None
    """What is known of an environment that was made here."""
    size_B: int | None = None
    """What it takes on the disk, in bytes; None where that was not looked up."""
    being_made: bool = False
    """Whether it is being set up now."""

    @property
    def title(self) -> str:
        """What it is called among the others."""
        return self.name if self.candidate is None else engine_words(self.path)

    @property
    def origin_words(self) -> str:
        """Where it comes from, in a few words."""
        if self.candidate is not None:
            return f"found: {self.candidate.kind}"
        if self.machine is not None:
            return f"the machine {self.machine.host}"
        return ORIGIN_WORDS[self.origin]

    @property
    def machine(self) -> Machine | None:
        """The other machine that it is on; None on this one."""
        return Machine.read(self.path) if is_address(self.path) else None

    @property
    def python(self) -> str:
        """The version of its Python, where it is known."""
        if self.report is not None and self.report.python is not None:
            return self.report.python
        if self.managed is not None:
            return self.managed.python
        return (self.candidate.python if self.candidate is not None else None) or ""

    @property
    def known(self) -> bool:
        """Whether it was asked and can measure."""
        return self.report is not None and self.report.ok

    @property
    def problem(self) -> str:
        """Why it cannot measure, or was not finished; empty where nothing is known against it."""
        if self.being_made:
            return ""
        if self.origin == "unfinished":
            cut_off = "it was cut off; Continue sets up the rest"
            return (self.managed.problem if self.managed is not None else "") or cut_off
        if self.report is None or self.report.ok:
            return ""
        return self.report.problem or ""

    @property
    def state(self) -> str:
        """What is known of it, in a few words."""
        if self.being_made:
            return "being set up…"
        if self.checking:
            return "asking…"
        if self.origin == "unfinished":
            return capital(self.problem)
        if self.report is None:
            return self.managed.title if self.managed is not None else "not asked yet"
        problem = (self.report.problem or "ready").replace(self.path, "", 1)  # it stands beside
        return re.sub(r"^\s*(\(Python [\d.]+\))?\s*", "", problem)

    @property
    def frameworks(self) -> str:
        """Its frameworks with their versions, in words; empty before it was asked."""
        if self.report is None or not self.report.ok:
            return ""
        found = [f"{name} {version}" for name, version in self.report.frameworks.items()]
        return ", ".join(found) or "no framework"

    @property
    def devices(self) -> str:
        """The devices it can measure, in words; empty before it was asked."""
        if self.report is None or not self.report.ok or self.report.devices is None:
            return ""
        names: dict[str, list[str]] = {}
        for device in self.report.devices:
            names.setdefault(device.name, []).append(device.backend)
        return "; ".join(f"{name} ({', '.join(ways)})" for name, ways in names.items())


class EnginesModel(msgspec.Struct):
    """Reads and writes the names; keeps what engines said for as long as the window is open."""

    known: Interpreters = msgspec.field(default_factory=Interpreters)
    reports: dict[str, EngineReport] = msgspec.field(default_factory=dict)
    checking: str | None = None
    """The word for the engine that is being asked."""
    managed: list[Managed] = msgspec.field(default_factory=list)
    """The environments that were made here, as they were when last looked up."""
    sizes_B: dict[str, int] = msgspec.field(default_factory=dict)
    """What they take on the disk, by name."""
    making: str | None = None
    """The name of the environment that is being set up; others leave it alone."""
    found: list[FoundInterpreter] = msgspec.field(default_factory=list)
    """Pythons that were looked for and have no name."""
    _removed: list[tuple[str, EnginesFile]] = msgspec.field(default_factory=list)

    def rows(self, in_use: str | None) -> list[EngineRow]:
        """Return every engine, the built-in one first; ``in_use`` is the word for the present one.

        A present one that has no name is listed by its path; unfinished ones, ones whose name was
        forgotten, and those that were only found come last. Raises InputError when the file of
        names is broken.
        """
        file = self.known.read()
        paths = {BUILT_IN: "this program's own Python", **file.engines}
        present = in_use or BUILT_IN
        if present not in paths:
            paths[present] = present
        made = {one.name: one for one in self.managed}
        rows = [
            EngineRow(
                name=name,
                path=path,
                in_use=name == present,
                is_default=name == (file.default or BUILT_IN),
                report=self.reports.get(name),
                checking=name == self.checking,
                origin=self._origin(name, path, made),
                managed=made.get(name),
                size_B=self.sizes_B.get(name) if name in made else None,
            )
            for name, path in paths.items()
        ]
        rows += [
            EngineRow(
                one.name, one.path, in_use=False, is_default=False,
                origin="managed" if one.ready else "unfinished",
                managed=one, size_B=self.sizes_B.get(one.name),
                being_made=one.name == self.making,
            )
            for one in self.managed
            if one.name not in paths
        ]  # fmt: skip
        taken = {row.path for row in rows}
        rows += [
            EngineRow(
                one.path, one.path, in_use=False, is_default=False, origin="found", candidate=one,
                report=self.reports.get(one.path), checking=one.path == self.checking,
            )
            for one in self.found
            if one.path not in taken
        ]  # fmt: skip
        return rows

    @staticmethod
    def _origin(name: str, path: str, made: Mapping[str, Managed]) -> Origin:
        """Return where an engine comes from; a name of ours that leads elsewhere was added."""
        if name == BUILT_IN:
            return "built-in"
        if is_address(path):
            return "far"
        ours = made.get(name)
        inside = ours is not None and Path(ours.path) in Path(path).parents
        return "managed" if inside else "added"

    @property
    def names(self) -> list[str]:
        """The words for all engines, the built-in one first; only that when the file is broken."""
        try:
            return [BUILT_IN, *self.known.read().engines]
        except ExplorerError:
            return [BUILT_IN]

    def add(self, path: Path | str, name: str = "") -> str:
        """Give an interpreter or an environment's folder a name, and return the name.

        Without a name it is called after its folder. Raises InputError for what cannot be one.
        """
        python = interpreter_at(str(path))
        chosen = name or name_for(python, set(self.names))
        self.known.add(chosen, str(python))
        return chosen

    def remove(self, name: str) -> None:
        """Forget an engine; ``undo`` brings it back."""
        self._removed.append((name, self.known.remove(name)))

    @property
    def can_undo(self) -> str | None:
        """The name of the engine that ``undo`` would bring back; None when there is none."""
        return self._removed[-1][0] if self._removed else None

    def undo(self) -> str | None:
        """Bring back the engine that was removed last; return its name."""
        if not self._removed:
            return None
        name, before = self._removed.pop()
        self.known.bring_back(name, before)
        return name

    def choose(self, name: str) -> None:
        """Use an engine at the next start too, and on the command line."""
        self.known.choose(name)

    def take(self, name: str, report: EngineReport) -> None:
        """Note what an engine said."""
        self.reports[name] = report
