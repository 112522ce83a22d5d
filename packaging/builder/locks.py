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
from collections.abc import Iterable, Sequence
from pathlib import Path

import bootstrap
from bootstrap import Accelerator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from builder.errors import BuildError
from builder.index import Index, IndexFile
from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.environments.kinds import RECIPES, Recipe
from gpuexplorer.environments.locked import SCHEMA, SUFFIX

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "gpuexplorer"
PLATFORMS = ("linux", "win32", "darwin")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_TAG = re.compile(r"cp3(11|12|13|14)|py3|py2")
_PLATFORM = re.compile(
    r"any|manylinux\w*_(x86_64|aarch64)|linux_(x86_64|aarch64)|win_amd64"
    r"|macosx_\w+_(arm64|x86_64|universal2)"
)
OF_TORCHS_OWN = re.compile(r"nvidia-(?!ml-py)|cuda-(toolkit|bindings)$")
"""Libraries of which PyTorch's build for CUDA 12 names its own versions, which are not pinned."""


def constraints(recipe: Recipe) -> dict[str, str]:
    """Return the pinned versions that hold for a kind, by the packages' plain names."""
    names = ["constraints.txt"]
    names += [f"constraints-cuda{recipe.cuda}.txt"] if recipe.cuda is not None else []
    names += ["constraints-frameworks.txt"] if "tensorflow" in recipe.extras else []
    if recipe.torch == Accelerator.CUDA13.value and "constraints-cuda13.txt" not in names:
        names.append("constraints-cuda13.txt")
    pins = {name: v for one in names for name, v in _pins(one).items()}
    if recipe.torch == Accelerator.CUDA12.value:
        pins = {name: v for name, v in pins.items() if not OF_TORCHS_OWN.match(name)}
        pins |= _pins("constraints-cuda12-torch.txt")
    return pins


def _pins(name: str) -> dict[str, str]:
    """Return the versions that a file of constraints pins."""
    text = (ROOT / "packaging" / name).read_text(encoding="utf-8")
    return {
        canonicalize_name(package): version
        for package, version in re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE)
    }


# ---- what pip is asked for


def requirements(recipe: Recipe, root: Path = ROOT) -> tuple[str, ...]:
    """Return what pip is asked for: what an engine needs, and the extras of our package."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [f"{name}>={oldest}" for name, oldest in REQUIRED.items()]
    wanted += _expanded(recipe.extras, project["optional-dependencies"])
    found: list[str] = []
    for line in dict.fromkeys(wanted):
        name = canonicalize_name(Requirement(line).name)
        found += _torch(recipe) if name == "torch" else _tensorflow(line, name)
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
    for platform in PLATFORMS:
        last = bootstrap.torch_requests(Accelerator(recipe.torch), platform)[-1]
        line, index = last.requirement, last.extra_index
        if index is not None and "+" not in line:
            line = f"{line}+{index.rpartition('/')[2]}"
        found[platform] = (line, index)
    return found


def with_own_build(recipe: Recipe) -> set[str]:
    """Return the platforms that get PyTorch from an index of its own.

    Its metadata are not read: that build requires what those for other systems do, and libraries
    whose versions it names itself.
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


def environments() -> list[dict[str, str]]:
    """Return the systems and Pythons for which there are wheels, as markers see them."""
    systems = (
        ("linux", "posix", "Linux", "x86_64"), ("linux", "posix", "Linux", "aarch64"),
        ("win32", "nt", "Windows", "AMD64"), ("darwin", "posix", "Darwin", "arm64"),
    )  # fmt: skip
    return [
        {
            "sys_platform": platform, "os_name": name, "platform_system": system,
            "platform_machine": machine, "python_version": python,
            "python_full_version": f"{python}.0", "implementation_name": "cpython",
            "platform_python_implementation": "CPython", "platform_release": "", "extra": "",
            "platform_version": "", "implementation_version": f"{python}.0",
        }
        for platform, name, system, machine in systems
        for python in PYTHONS
    ]  # fmt: skip


def closure(recipe: Recipe, index: Index) -> dict[str, list[IndexFile]]:
    """Return the wheels of everything that a kind brings along on any system, by plain names.

    Raises BuildError for a package whose version is not pinned.
    """
    places, pins, others = environments(), constraints(recipe), with_own_build(recipe)
    waiting = [Requirement(line) for line in requirements(recipe)]
    found: dict[str, list[IndexFile]] = {}
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker is not None and not any(map(wanted.marker.evaluate, places)):
            continue
        for extra in ("", *sorted(wanted.extras)):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            if name not in pins:
                if OF_TORCHS_OWN.match(name):
                    continue
                raise BuildError(
                    f"{name} is not pinned; add the version to packaging/constraints*.txt"
                )
            if name not in found:
                found[name] = _of_the_index(recipe, name, wheels(index.files(name), pins[name]))
                if not found[name]:
                    raise BuildError(f"the index has no wheel of {name} {pins[name]}")
            here = [one for one in places if name != "torch" or one["sys_platform"] not in others]
            waiting += _brought(found[name], extra, index, here)
    return dict(sorted(found.items()))


def _of_the_index(recipe: Recipe, name: str, files: list[IndexFile]) -> list[IndexFile]:
    """Return the wheels without PyTorch's for the systems that get another build of it."""
    if name != "torch":
        return files
    words = {"linux": "linux", "win32": "win_", "darwin": "macosx"}
    others = [words[platform] for platform in with_own_build(recipe)]
    return [one for one in files if not any(word in one.name for word in others)]


def _brought(
    files: list[IndexFile], extra: str, index: Index, places: list[dict[str, str]]
) -> list[Requirement]:
    """Return what a package requires, with one of its extras or without any."""
    lines = index.requires(_telling(files))
    found = []
    for line in sorted(lines):
        required = Requirement(line)
        marker = required.marker
        here = [{**place, "extra": extra} for place in places]
        if marker is None and extra:
            continue
        if marker is not None:
            if not any(map(marker.evaluate, here)):
                continue
            if extra and any(map(marker.evaluate, places)):
                continue  # it is required without the extra, too
            required.marker = None
        found.append(required)
    return found


def _telling(files: list[IndexFile]) -> list[IndexFile]:
    """Return one wheel for each system: what they require may differ."""
    systems: dict[str, IndexFile] = {}
    for one in files:
        tags = parse_wheel_filename(one.name)[3]
        platform = sorted(tag.platform for tag in tags)[0]
        systems.setdefault(re.split(r"_\d", platform)[0] + platform[-6:], one)
    return list(systems.values())


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
        if str(of) != version:
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
    for name, files in closure(recipe, index).items():
        lines += ["", "[[packages]]", f'name = "{name}"', f'version = "{pins[name]}"']
        lines += ["wheels = [", *map(_wheel, index.with_sizes(files)), "]"]
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
