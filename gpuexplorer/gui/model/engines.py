"""The engines that the window offers: their names, what each was found to have, and undo."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.engine.checking import EngineReport
from gpuexplorer.engine.interpreters import (
    BUILT_IN,
    EnginesFile,
    Interpreters,
    interpreter_at,
    name_for,
)


@dataclass(frozen=True)
class EngineRow:
    """One engine as it is shown."""

    name: str
    path: str
    in_use: bool
    """Whether it is the one that measures in this window."""
    is_default: bool
    """Whether it is used at the next start, and by the command line."""
    report: EngineReport | None = None
    """What it said when it was asked; None before."""
    checking: bool = False

    @property
    def state(self) -> str:
        """What is known of it, in a few words."""
        if self.checking:
            return "asking…"
        if self.report is None:
            return "not asked yet"
        problem = (self.report.problem or "ready").replace(self.path, "", 1)  # it stands beside
        return re.sub(r"^\s*(\(Python [\d.]+\))?\s*", "", problem)

    @property
    def frameworks(self) -> str:
        """Its frameworks with their versions, in words; empty before it was asked."""
        if self.report is None or not self.report.ok:
            return ""
        found = [f"{name} {version}" for name, version in self.report.frameworks.items()]
        return ", ".join(found) or "none"


@dataclass
class EnginesModel:
    """Reads and writes the names; keeps what engines said for as long as the window is open."""

    known: Interpreters = field(default_factory=Interpreters)
    reports: dict[str, EngineReport] = field(default_factory=dict)
    checking: str | None = None
    """The name of the engine that is being asked."""
    _removed: list[tuple[str, EnginesFile]] = field(default_factory=list)

    def rows(self, in_use: str | None) -> list[EngineRow]:
        """Return every engine, the built-in one first; ``in_use`` is the word for the present one.

        A present one that has no name is listed by its path. Raises InputError when the file of
        names is broken.
        """
        file = self.known.read()
        paths = {BUILT_IN: "this program's own Python", **file.engines}
        present = in_use or BUILT_IN
        if present not in paths:
            paths[present] = present
        return [
            EngineRow(
                name=name,
                path=path,
                in_use=name == present,
                is_default=name == (file.default or BUILT_IN),
                report=self.reports.get(name),
                checking=name == self.checking,
            )
            for name, path in paths.items()
        ]

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
