"""Make the lock files of the environments for engines: ``resources/engines/KIND.lock``.

``PYTHONPATH=packaging python -m builder.locks [KIND...]``. What a kind consists of stands in
pyproject's extras, its versions in the constraints; uv adds what these bring along, and every
wheel's hash and size. To be run again after any of these has changed; tests say when that was
forgotten.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import bootstrap
from bootstrap import Accelerator
from msgspec.structs import replace
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from builder.cells import PYTHONS, SYSTEMS, Cell, cells_of, lines_of
from builder.errors import BuildError
from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.core.cuda_choice import CUPTI_BESIDE_TORCH
from gpuexplorer.environments.children import Done
from gpuexplorer.environments.kinds import RECIPES, Recipe
from gpuexplorer.environments.locked import SCHEMA, SUFFIX, Wheel
from gpuexplorer.environments.packages import file_name
from gpuexplorer.environments.pip_settings import PipSettings, read_settings
from gpuexplorer.environments.resolve import IndexFile, Locked, lock
from gpuexplorer.environments.uv import reason

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

    files: list[Wheel]
    """Its wheels for any of our systems and Pythons."""
    cells: set[Cell] = field(default_factory=set)
    """Where the kind needs it."""


def closure(recipe: Recipe, settings: PipSettings) -> dict[str, Found]:
    """Return everything that a kind brings along on any system, by plain names.

    Raises BuildError for a package whose version is not pinned, or that has no wheel where the
    requirements include it.
    """
    pins, others = constraints(recipe), with_own_build(recipe)
    lines, torch = list(requirements(recipe)), None
    if others:
        lines, torch = _with_torch_stated(lines, pins, settings)
    found: dict[str, Found] = {}
    for one in [*resolved(lines, pins, settings), *([torch] if torch is not None else [])]:
        name = canonicalize_name(one.name)
        if name not in pins:
            raise BuildError(f"{name} is not pinned; add the version to packaging/constraints*.txt")
        files = _series(one, pins[name], settings) if pins[name].endswith("*") else one.wheels
        here = found.setdefault(name, Found(wheels(files)))
        marker = Marker(one.marker) if one.marker else None
        here.cells |= {
            cell for cell in cells_of(recipe) if marker is None or marker.evaluate(cell.environment)
        }
    for package, known in found.items():
        elsewhere = others if package == "torch" else set()
        check_wheels(f"{package} {pins[package]}", known, elsewhere)
        known.files = [file for file in known.files if not _is_of(file, elsewhere)]
    return dict(sorted(found.items()))


def resolved(lines: Iterable[str], pins: Mapping[str, str], settings: PipSettings) -> list[Locked]:
    """Return what some requirements bring along on any system, with the markers that say where.

    Raises BuildError when there is no such set of wheels.
    """
    done, found = _lock(lines, [f"{name}=={version}" for name, version in pins.items()], settings)
    if found is None:
        raise BuildError(f"uv cannot resolve it: {reason(done)}")
    return found


def _lock(
    lines: Iterable[str], limits: list[str], settings: PipSettings
) -> tuple[Done, list[Locked] | None]:
    options = ("--universal", "--python-version", PYTHONS[0])
    return lock([*lines], limits, Path(sys.executable), settings, options)


def _with_torch_stated(
    lines: Sequence[str], pins: Mapping[str, str], settings: PipSettings
) -> tuple[list[str], Locked]:
    """Return requirements with what PyTorch requires in place of its own builds, and PyTorch.

    Their index is not read: they require what the general index's build does, except libraries of
    which they name versions of their own.
    """
    kept = {name: version for name, version in pins.items() if not TORCHS_OWN.match(name)}
    brought = resolved([f"torch=={pins['torch']}"], kept, settings)
    (torch,) = (one for one in brought if one.name == "torch")
    stated = []
    for line in lines:
        wanted = Requirement(line)
        if wanted.name != "torch" or "+" not in str(wanted.specifier):
            stated.append(line)
            continue
        for one in brought:
            if one.name != "torch" and not TORCHS_OWN.match(one.name):
                where = [f"({marker})" for marker in (one.marker, wanted.marker) if marker]
                stated.append(f"{one.name}=={one.version}; {' and '.join(where)}".rstrip("; "))
    return stated, torch


def _series(newest: Locked, series: str, settings: PipSettings) -> list[IndexFile]:
    """Return the wheels of every version of a series."""
    found: list[IndexFile] = []
    next_one: Locked | None = newest
    while next_one is not None:
        found += next_one.wheels
        line = f"{newest.name}=={series},<{next_one.version}"
        _, older = _lock([line], [], settings)
        next_one = older[0] if older else None
    return found


def check_wheels(package: str, found: Found, elsewhere: Collection[str] = ()) -> None:
    """Raise BuildError where a package is needed and none of its wheels can be installed.

    ``elsewhere``: the platforms that get it from another index.
    """
    names = [file.file for file in found.files]
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


def _is_of(file: Wheel, platforms: Collection[str]) -> bool:
    """Whether a wheel is for one of some platforms."""
    words = {"linux": "linux", "win32": "win_", "darwin": "macosx"}
    return any(words[platform] in file.file for platform in platforms)


def wheels(files: Iterable[IndexFile]) -> list[Wheel]:
    """Return the wheels that any of our systems and Pythons may install."""
    found = []
    for one in files:
        name = file_name(one.url)
        if any(
            (
                _TAG.fullmatch(tag.interpreter.partition(".")[0])
                and not tag.abi.endswith("t")
                and _PLATFORM.fullmatch(tag.platform)
            )
            or (tag.abi == "abi3" and _PLATFORM.fullmatch(tag.platform))
            for tag in parse_wheel_filename(name)[3]
        ):
            found.append(Wheel(file=name, sha256=one.hashes["sha256"], size_B=one.size))
    return sorted(found, key=lambda one: one.file)


# ---- the file


def lock_text(recipe: Recipe, settings: PipSettings) -> str:
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
    for name, found in closure(recipe, settings).items():
        lines += ["", "[[packages]]", f'name = "{name}"', f'version = "{pins[name]}"']
        only = ", ".join(map(_quoted, lines_of(found.cells, cells_of(recipe))))
        lines += [f"only = [{only}]"] if only else []
        lines += ["wheels = [", *map(_wheel, found.files), "]"]
    return "\n".join(lines) + "\n"


def _wheel(file: Wheel) -> str:
    size = f", size_B = {file.size_B}" if file.size_B is not None else ""
    return f'    {{ file = "{file.file}", sha256 = "{file.sha256}"{size} }},'


def _quoted(text: str) -> str:
    return f'"{text}"' if '"' not in text else f"'{text}'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the lock files that are asked for, or all; return the exit status."""
    parser = argparse.ArgumentParser(description="Make the lock files of the engines' kinds.")
    parser.add_argument("kinds", metavar="KIND", nargs="*")
    chosen = parser.parse_args(arguments).kinds
    settings = replace(read_settings(Path(sys.executable)), links=(), more_indexes=())
    folder = ROOT / "resources" / "engines"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for recipe in RECIPES:
            if not chosen or recipe.name in chosen:
                text = lock_text(recipe, settings)
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
