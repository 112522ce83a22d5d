"""What packages that need a GPU to run offer, as the packages themselves say.

Stand-ins are held against these files, one for each version; ``collect`` makes them where a package
is installed, which takes no GPU. ``test_signatures`` and, on a card, ``tests/gpu`` hold the files
against what is installed.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(__file__).parent

Entry = dict[str, Any]
"""``value`` of a constant; ``arguments`` of what can be called, in their order, those that may be
left out ending in ``=``, None where the package does not tell them; empty for an attribute."""


@dataclass(frozen=True)
class Signatures:
    """What one version of a package offers, by dotted name."""

    package: str
    version: str
    entries: Mapping[str, Entry]

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def check_call(self, name: str, count: int, keywords: tuple[str, ...] = ()) -> None:
        """Raise TypeError unless it can be called with so many arguments, and these by name."""
        taken = self.entries[name]["arguments"]
        if taken is None:
            return
        names = [argument.rstrip("=") for argument in taken]
        by_place, unknown = set(names[:count]), {*keywords} - {*names[count:]}
        needed = {n for n in taken if not n.endswith("=")} - by_place - {*keywords}
        if count > len(names) or unknown or needed:
            words = f"{count} arguments and {keywords}" if keywords else f"{count} arguments"
            raise TypeError(
                f"{self.package} {self.version}: {name}({', '.join(taken)}) with {words}"
            )

    def check_function(self, name: str, stand_in: Callable[..., Any]) -> None:
        """Raise TypeError unless the real one can be called in every way the stand-in can."""
        parameters = [
            p for p in inspect.signature(stand_in).parameters.values() if p.name != "self"
        ]
        placed = [p for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        needed = [p for p in placed if p.default is inspect.Parameter.empty]
        keywords = tuple(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
        for count in {len(needed), len(placed)}:
            self.check_call(name, count, keywords)

    def constants(self, prefix: str) -> SimpleNamespace:
        """Return the values of an enumeration, or of a module's constants."""
        found = {n.rpartition("."): e["value"] for n, e in self.entries.items() if "value" in e}
        return SimpleNamespace(**{name: v for (of, _, name), v in found.items() if of == prefix})

    def namespace(self, prefix: str, made: Mapping[str, Any]) -> SimpleNamespace:
        """Return those of ``made`` that this version has; functions check how they are called."""
        found = {}
        for name, value in made.items():
            dotted = f"{prefix}.{name}"
            if dotted not in self.entries:
                continue
            is_function = "arguments" in self.entries[dotted] and inspect.isfunction(value)
            found[name] = self._checked(dotted, value) if is_function else value
        return SimpleNamespace(**found)

    def _checked(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            self.check_call(name, len(arguments), tuple(keywords))
            return function(*arguments, **keywords)

        return call


def all_of(package: str) -> list[Signatures]:
    """Return every version of a package that there is a file of, oldest first."""
    files = sorted(FOLDER.glob(f"{package}-*.json"), key=lambda f: _numbers(f.stem))
    return [_read(file) for file in files]


def _read(file: Path) -> Signatures:
    package, _, version = file.stem.partition("-")
    return Signatures(package, version, json.loads(file.read_text()))


def _numbers(stem: str) -> list[int]:
    return [int(part) for part in stem.partition("-")[2].split(".")]
