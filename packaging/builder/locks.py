"""Make the lock files of the environments for engines: ``resources/engines/KIND.lock``.

``PYTHONPATH=packaging python -m builder.locks [KIND...]``. What a kind consists of stands in
pyproject's extras, its versions in the constraints; the package index adds every wheel's hash and
size. To be run again after any of these has changed; tests say when that was forgotten.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import bootstrap
from bootstrap import Accelerator
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from builder.cells import PYTHONS, SYSTEMS, Cell, System, cells_of, lines_of
from builder.errors import BuildError
from builder.index import Index, IndexFile
from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.core.cuda_choice import CUPTI_BESIDE_TORCH
from gpuexplorer.environments.kinds import RECIPES, Recipe
from gpuexplorer.environments.locked import SCHEMA, SUFFIX

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "gpuexplorer"
_TAG = re.compile(r"cp3(11|12|13|14)|py3|py2")
_PLATFORM = re.compile(
    r"any|manylinux\w*_(x86_64|aarch64)|linux_(x86_64|aarch64)|win_amd64"
    r"|macosx_\w+_(arm64|x86_64|universal2)"
)
TORCHS_OWN = re.compile(r"nvidia-|cuda-|triton$")
"""Libraries of which each build of PyTorch names its own versions."""


def constraints(recipe: Recipe) -> dict[str, str]:
    """Return the pinned versions that hold for a kind, by the packages' plain names.

    One that ends in ``.*`` is a series, of which PyTorch chooses.
    """
    names = ["constraints.txt"]
    if recipe.cuda is not None:
        names = [*bootstrap.constraints_for(recipe.extras, torch=recipe.torch is not None)]
    if "tensorflow" in recipe.extras:
        names.append("constraints-frameworks.txt")
    pins: dict[str, str] = {}
    for name in names:
        text = (ROOT / "packaging" / name).read_text(encoding="utf-8")
        for package, version in re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE):
            pins[canonicalize_name(package)] = version
    return pins


# ---- what pip is asked for


def requirements(recipe: Recipe, root: Path = ROOT) -> tuple[str, ...]:
    """Return what pip is asked for: what an engine needs, and the extras of our package."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [f"{name}>={oldest}" for name, oldest in REQUIRED.items()]
    wanted += _expanded(recipe.extras, project["optional-dependencies"])
    found: list[str] = []
    for line in dict.fromkeys(wanted):
        name = canonicalize_name(Requirement(line).name)
        if name == "torch":
            found += _torch(recipe)
        elif name == "cupti-python" and recipe.torch is not None:
            newest = ".".join(map(str, CUPTI_BESIDE_TORCH))
            found.append(f"{line} and python_version <= '{newest}'")
        else:
            found += _tensorflow(line, name)
    return tuple(found)


def _expanded(extras: Iterable[str], known: dict[str, list[str]]) -> list[str]:
    """Return the lines of some extras; one that names our package stands for its extras' lines."""
    lines: list[str] = []
    for extra in extras:
        for line in known[extra]:
            asked = Requirement(line)
            if canonicalize_name(asked.name) == PACKAGE:
                lines += _expanded(sorted(asked.extras), known)
            else:
                lines.append(line)
    return lines


def torch_lines(recipe: Recipe) -> dict[str, tuple[str, str | None]]:
    """Return by platform which build of PyTorch is asked for, and the index that has it.

    The build is named where it comes from an index of its own: the general one's is another.
    """
    if recipe.torch is None:
        return {}
    found = {}
    for platform in dict.fromkeys(system.sys_platform for system in SYSTEMS):
        if platform not in {cell.system.sys_platform for cell in cells_of(recipe)}:
            continue
        last = bootstrap.torch_requests(Accelerator(recipe.torch), platform)[-1]
        line, index = last.requirement, last.extra_index
        if index is not None and "+" not in line:
            line = f"{line}+{index.rpartition('/')[2]}"
        found[platform] = (line, index)
    return found


def with_own_build(recipe: Recipe) -> set[str]:
    """Return the platforms that get PyTorch from an index of its own.

    That one is not read: its build requires what the general index's does, except libraries of
    which it names versions of its own.
    """
    return {one for one, (_, index) in torch_lines(recipe).items() if index is not None}


def _torch(recipe: Recipe) -> list[str]:
    by_line: dict[str, list[str]] = {}
    for platform, (line, _) in torch_lines(recipe).items():
        by_line.setdefault(line, []).append(platform)
    if len(by_line) == 1:
        return list(by_line)
    return [
        f"{line}; " + " or ".join(f"sys_platform == '{one}'" for one in platforms)
        for line, platforms in by_line.items()
    ]


def _tensorflow(line: str, name: str) -> list[str]:
    """Return a line; where TensorFlow has a build for the CPU alone, that one is meant."""
    if name != "tensorflow":
        return [line]
    cpu = bootstrap.framework_requirements("linux", "x86_64")
    (build,) = [one for one in cpu if one.startswith("tensorflow")]
    where = "sys_platform == 'linux' and platform_machine == 'x86_64'"
    version = str(Requirement(line).specifier)
    return [
        f"{build}{version}; {where}",
        f"tensorflow{version}; sys_platform != 'linux' or platform_machine != 'x86_64'",
    ]


# ---- what that brings along


@dataclass
class Found:
    """A pinned package of a kind."""

    files: list[IndexFile]
    """Its wheels for any of our systems and Pythons."""
    cells: set[Cell] = field(default_factory=set)
    """Where the kind needs it."""


def closure(recipe: Recipe, index: Index) -> dict[str, Found]:
    """Return everything that a kind brings along on any system, by plain names.

    Raises BuildError for a package whose version is not pinned, or that has no wheel where the
    requirements include it.
    """
    pins, every, others = constraints(recipe), cells_of(recipe), with_own_build(recipe)
    waiting = [(Requirement(line), every) for line in requirements(recipe)]
    found: dict[str, Found] = {}
    seen: dict[tuple[str, str], set[Cell]] = defaultdict(set)
    while waiting:
        wanted, cells = waiting.pop()
        name, marker = canonicalize_name(wanted.name), wanted.marker
        if marker is not None:
            cells = frozenset(cell for cell in cells if marker.evaluate(cell.environment))
        for extra in ("", *sorted(wanted.extras)):
            fresh = cells - seen[name, extra]
            if not fresh:
                continue
            seen[name, extra] |= fresh
            if name not in pins:
                raise BuildError(
                    f"{name} is not pinned; add the version to packaging/constraints*.txt"
                )
            if name not in found:
                found[name] = Found(wheels(index.files(name), pins[name]))
            found[name].cells |= fresh
            waiting += _brought(name, found[name].files, extra, fresh, index, others)
    for package, one in found.items():
        elsewhere = others if package == "torch" else set()
        check_wheels(f"{package} {pins[package]}", one, elsewhere)
        one.files = [file for file in one.files if not _is_of(file, elsewhere)]
    return dict(sorted(found.items()))


def check_wheels(package: str, found: Found, elsewhere: Collection[str] = ()) -> None:
    """Raise BuildError where a package is needed and none of its wheels can be installed.

    ``elsewhere``: the platforms that get it from another index.
    """
    names = [file.name for file in found.files]
    lacking = [
        cell.words
        for cell in sorted(
            found.cells, key=lambda cell: (cell.system.name, PYTHONS.index(cell.python))
        )
        if cell.system.sys_platform not in elsewhere and cell.takes(names) is None
    ]
    if lacking:
        raise BuildError(
            f"{package} has no wheel for {', '.join(lacking)}; pin another version, or have the "
            "requirement's marker leave it out there"
        )


def _is_of(file: IndexFile, platforms: Collection[str]) -> bool:
    """Whether a wheel is for one of some platforms."""
    words = {"linux": "linux", "win32": "win_", "darwin": "macosx"}
    return any(words[platform] in file.name for platform in platforms)


def _brought(
    name: str,
    files: list[IndexFile],
    extra: str,
    cells: Iterable[Cell],
    index: Index,
    others: Collection[str],
) -> list[tuple[Requirement, frozenset[Cell]]]:
    """Return what a package requires in some cells, with one of its extras or without any."""
    by_system: dict[System, set[Cell]] = defaultdict(set)
    for cell in cells:
        by_system[cell.system].add(cell)
    named = {file.name: file for file in files}
    found = []
    for system, here in by_system.items():
        own_build = name == "torch" and system.sys_platform in others
        telling = next(filter(None, (cell.takes(named) for cell in here)), None)
        for line in sorted(index.requires([named[telling]])) if telling is not None else ():
            required = Requirement(line)
            if own_build and TORCHS_OWN.match(canonicalize_name(required.name)):
                continue
            marker, required.marker = required.marker, None
            where = frozenset(cell for cell in here if _asks(marker, extra, cell))
            if where:
                found.append((required, where))
    return found


def _asks(marker: Marker | None, extra: str, cell: Cell) -> bool:
    """Whether a line is meant in a cell: with an extra, or where that is empty without any."""
    if marker is None:
        return not extra
    meant = marker.evaluate({**cell.environment, "extra": extra})
    return meant and not (extra and marker.evaluate(cell.environment))


def wheels(files: Iterable[IndexFile], version: str) -> list[IndexFile]:
    """Return the wheels of a version that any of our systems and Pythons may install."""
    found = []
    for one in files:
        if not one.name.endswith(".whl"):
            continue
        try:
            _, of, _, tags = parse_wheel_filename(one.name)
        except ValueError:
            continue
        if not _is_version(of, version):
            continue
        if any(
            (
                _TAG.fullmatch(tag.interpreter.partition(".")[0])
                and not tag.abi.endswith("t")
                and _PLATFORM.fullmatch(tag.platform)
            )
            or (tag.abi == "abi3" and _PLATFORM.fullmatch(tag.platform))
            for tag in tags
        ):
            found.append(one)
    return sorted(found, key=lambda one: one.name)


def _is_version(found: Version, pinned: str) -> bool:
    """Whether a version is the pinned one, or one of the pinned series."""
    if pinned.endswith(".*"):
        return SpecifierSet(f"=={pinned}").contains(found, prereleases=False)
    return str(found) == pinned


# ---- the file


def lock_text(recipe: Recipe, index: Index) -> str:
    """Return the contents of a kind's lock file. Raises BuildError."""
    pins = constraints(recipe)
    lines = [
        "# Made by packaging/builder/locks.py: what an engine's environment of this kind consists",
        "# of, with the hash of every wheel. For what comes from PyTorch's own index, it vouches.",
        f'schema = "{SCHEMA}"',
        f'kind = "{recipe.name}"',
        "requirements = [",
        *(f"    {_quoted(line)}," for line in requirements(recipe)),
        "]",
        "",
        "[index]",
        *(f'{p} = "{url}"' for p, (_, url) in torch_lines(recipe).items() if url is not None),
    ]
    for name, found in closure(recipe, index).items():
        lines += ["", "[[packages]]", f'name = "{name}"', f'version = "{pins[name]}"']
        only = ", ".join(map(_quoted, lines_of(found.cells, cells_of(recipe))))
        lines += [f"only = [{only}]"] if only else []
        lines += ["wheels = [", *map(_wheel, index.with_sizes(found.files)), "]"]
    return "\n".join(lines) + "\n"


def _wheel(file: IndexFile) -> str:
    size = f", size_B = {file.size_B}" if file.size_B is not None else ""
    return f'    {{ file = "{file.name}", sha256 = "{file.sha256}"{size} }},'


def _quoted(text: str) -> str:
    return f'"{text}"' if '"' not in text else f"'{text}'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the lock files that are asked for, or all; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the lock files of the engines' kinds.")
    parser.add_argument("kinds", metavar="KIND", nargs="*")
    chosen = parser.parse_args(arguments).kinds
    index = Index()
    folder = ROOT / "resources" / "engines"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for recipe in RECIPES:
            if not chosen or recipe.name in chosen:
                text = lock_text(recipe, index)
                path = folder / f"{recipe.name}{SUFFIX}"
                fresh = path.with_suffix(".new")
                fresh.write_text(text, encoding="utf-8")
                fresh.replace(path)
                print(f"{path.relative_to(ROOT)}: {text.count('[[packages]]')} packages")
    except BuildError as error:
        print(f"locks: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
