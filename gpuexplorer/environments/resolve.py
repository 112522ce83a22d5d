"""Have uv choose the wheels for a Python; nothing is installed, nothing large is fetched."""

from __future__ import annotations

import html
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.environments.children import Done
from gpuexplorer.environments.disk import says_full
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.packages import Package, file_name
from gpuexplorer.environments.pip_settings import PipSettings
from gpuexplorer.environments.pythons import FoundPython
from gpuexplorer.environments.uv import no_network, reason, run_uv

OFFLINE = "check the network, or make it from a folder of wheels (--from FOLDER)"


class IndexFile(msgspec.Struct):
    """One wheel of an index."""

    url: str
    hashes: dict[str, str] = {}
    size: int | None = None


class Locked(msgspec.Struct):
    """One package as ``pylock.toml`` has it (packaging.python.org, "pylock.toml specification")."""

    name: str
    version: str
    wheels: list[IndexFile]
    """For one Python the one that fits; for all of them every wheel of the version."""
    marker: str | None = None


class _Lock(msgspec.Struct):
    packages: list[Locked] = []


def resolve(
    kind: Kind,
    constraints: list[str],
    python: FoundPython,
    settings: PipSettings,
    cancel: threading.Event | None = None,
) -> list[Package]:
    """Return the wheels that a kind consists of, from the package index, by its word on them.

    Raises WorkFailed when it has none that fit or cannot be reached, and Cancelled.
    """
    # As configured comes first: a mirror may have what the further index has.
    further = [] if kind.index is None else [("--index", kind.index)]
    refused: list[Done] = []
    for options in ((), *further):
        done, found = _ask(kind, constraints, python, settings, options, cancel)
        if found is not None:
            return found
        refused.append(done)
        if no_network(done):
            break
    done = refused[-1]
    if says_full(done.text):
        raise _full(done)
    if no_network(done):
        raise WorkFailed("the package index cannot be reached", remedy=OFFLINE, detail=done.text)
    raise WorkFailed(
        f"the package index has no wheels for '{kind.title}' here: {reason(refused[0])}",
        remedy="choose another Python (--python) or another kind",
        detail=done.text,
    )


def resolve_in(
    folder: Path,
    hashes: Mapping[str, str],
    kind: Kind,
    constraints: list[str],
    python: FoundPython,
    cancel: threading.Event | None = None,
) -> list[Package]:
    """Return the wheels of a folder that a kind consists of; no other place is asked.

    ``hashes``: those of its wheels that are known, by file name; the others are read and unpacked
    to be asked for theirs. Raises as ``resolve`` does.
    """
    done, found = _ask(kind, constraints, python, None, (), cancel, _page(folder, hashes))
    if found is not None:
        return found
    if says_full(done.text):
        raise _full(done)
    raise WorkFailed(
        f"the wheels in {folder} do not do for '{kind.title}': {reason(done)}",
        remedy="add what is missing: 'gpuexplorer engines fetch' fills such a folder",
        detail=done.text,
    )


def _ask(
    kind: Kind,
    constraints: list[str],
    python: FoundPython,
    settings: PipSettings | None,
    options: Sequence[str],
    cancel: threading.Event | None,
    page: str | None = None,
) -> tuple[Done, list[Package] | None]:
    path = Path(python.path)
    done, found = lock(kind.requirements, constraints, path, settings, options, cancel, page)
    return done, None if found is None else [_package(one, one.wheels[0]) for one in found]


def _package(one: Locked, wheel: IndexFile) -> Package:
    return Package(
        name=one.name,
        version=one.version,
        file=file_name(wheel.url),
        url=wheel.url,
        sha256=wheel.hashes.get("sha256", ""),
        size_B=wheel.size,
    )


def lock(
    requirements: Sequence[str],
    constraints: Sequence[str],
    python: Path,
    settings: PipSettings | None,
    options: Sequence[str] = (),
    cancel: threading.Event | None = None,
    page: str | None = None,
) -> tuple[Done, list[Locked] | None]:
    """Have uv resolve requirements with wheels alone; return what it said, and what it chose.

    ``page``: links to all the wheels that there are, as HTML. Raises Cancelled.
    """
    with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as name:
        scratch = Path(name)
        wanted, limits, links = (scratch / f for f in ("wanted.txt", "limits.txt", "wheels.html"))
        locked = scratch / "pylock.toml"
        wanted.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        limits.write_text("\n".join(constraints) + "\n", encoding="utf-8")
        if page is not None:
            links.write_text(page, encoding="utf-8")
            options = (*options, "--no-index", "--find-links", links.as_uri())
        command = (
            "pip", "compile", str(wanted), "--constraints", str(limits), "--quiet",
            "--python", str(python), "--only-binary", ":all:",
            "--format", "pylock.toml", "--output-file", str(locked), *options,
        )  # fmt: skip
        done = run_uv(python, command, scratch, settings, cancel)
        if done.returncode != 0 or not locked.exists():
            return done, None
        return done, msgspec.toml.decode(locked.read_bytes(), type=_Lock).packages


def _page(folder: Path, hashes: Mapping[str, str]) -> str:
    """Return a page of links to a folder's wheels: with their hashes, uv need not unpack them."""
    links = []
    for path in sorted(folder.glob("*.whl")):
        known = f"#sha256={hashes[path.name]}" if path.name in hashes else ""
        links.append(f'<a href="{path.absolute().as_uri()}{known}">{html.escape(path.name)}</a>')
    return f"<!DOCTYPE html><html><body>{'<br>'.join(links)}</body></html>"


def _full(done: Done) -> ExplorerError:
    return WorkFailed(
        "the disk with the folder for temporary files is full",
        remedy="free some space there and start again",
        detail=done.text,
    )
