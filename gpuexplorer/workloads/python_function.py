"""A Python function that says what is right: ``check.py:product`` in a manifest.

The file lies beside the manifest. It is read here and looked over; the engine calls it, once the
user has agreed (``workloads.trust``).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.programs import bound, imports_all, parsed, statements
from gpuexplorer.workloads.strict import suggestion

_NAMED = re.compile(r"([^:\0]+\.py):([A-Za-z_]\w*)")


class PythonFunction(NamedTuple):
    """A file by its name, and a function in it."""

    file: str
    function: str


def python_function(text: str) -> PythonFunction | None:
    """Return what ``check.py:product`` names; None for another text."""
    found = _NAMED.fullmatch(text.strip())
    return None if found is None else PythonFunction(found[1], found[2])


def files_named(manifest: str) -> list[str]:
    """Return the Python files that a manifest's text names; none for one that cannot be read."""
    if "python" not in manifest and "\\" not in manifest:
        return []  # hardly any does, and to read all tables takes half of the time of loading
    try:
        tables = tomllib.loads(manifest)
    except (ValueError, RecursionError):
        return []  # which its check says
    variants = tables.get("variants")
    owners = [tables, *(variants.values() if isinstance(variants, dict) else ())]
    return list(dict.fromkeys(_in_references(owners)))


def _in_references(owners: list[object]) -> Iterator[str]:
    for owner in owners:
        reference = owner.get("reference") if isinstance(owner, dict) else None
        text = reference.get("python") if isinstance(reference, dict) else None
        found = python_function(text) if isinstance(text, str) else None
        if found is not None and _is_plain(found.file):
            yield found.file


def _is_plain(name: str) -> bool:
    return not re.search(r"[/\\]", name)


def check_function(text: str, files: dict[str, str], known: Collection[str]) -> None:
    """Raise InputError for a function that is not there, or that takes what nobody hands it.

    ``known`` are the names of inputs, sizes and numbers.
    """
    found = python_function(text)
    if found is None or not _is_plain(found.file):
        raise InputError(
            f"'{text}' names no function of a Python file beside the manifest",
            remedy="say it like check.py:product",
        )
    if found.file not in files:
        raise InputError(
            f"'{found.file}' is not there", remedy="put it beside the manifest, or correct its name"
        )
    there = list(statements(parsed(files[found.file], found.file).body))
    function = bound(found.function, there)
    if function is None and not imports_all(there):
        names = [s.name for s in there if isinstance(s, ast.FunctionDef)]
        raise InputError(
            f"{found.file} has no function {found.function}()",
            remedy=suggestion(found.function, names) if names else "define it",
        )
    if isinstance(function, ast.FunctionDef):
        check_arguments(found, _needed(function.args), known, function.lineno)


def check_arguments(
    found: PythonFunction, needed: Collection[str], known: Collection[str], line: int | None = None
) -> None:
    """Raise InputError for an argument without a default that is not among the known names."""
    for name in needed:
        if name not in known:
            where = found.file if line is None else f"{found.file}:{line}"
            raise InputError(
                f"{where}: {found.function}() takes '{name}', and nothing says what it is",
                remedy=f"use some of {listed(sorted(known))}, or give it a default",
            )


def _needed(arguments: ast.arguments) -> list[str]:
    plain = [*arguments.posonlyargs, *arguments.args]
    needed = plain[: len(plain) - len(arguments.defaults)]
    needed += [
        a for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is None
    ]
    return [argument.arg for argument in needed]
