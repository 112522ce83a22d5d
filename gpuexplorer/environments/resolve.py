"""Have pip choose the wheels: its own resolver, its own configuration, nothing installed."""

from __future__ import annotations

import json
import re
import tempfile
import threading
from pathlib import Path
from typing import Any, NamedTuple

from gpuexplorer.core.errors import ExplorerError, WorkFailed
from gpuexplorer.environments.children import Done, module_in, run, surroundings
from gpuexplorer.environments.disk import says_full
from gpuexplorer.environments.kinds import Kind
from gpuexplorer.environments.locked import Lock
from gpuexplorer.environments.pips import fast
from gpuexplorer.environments.pythons import FoundPython

_NETWORK = re.compile(
    r"NameResolution|name resolution|getaddrinfo|Connection (refused|reset|aborted)|timed out"
    r"|Network is unreachable|NewConnectionError|ProxyError|SSLError|CERTIFICATE_VERIFY",
    re.IGNORECASE,
)
OFFLINE = "check the network, or make it from a folder of wheels (--from FOLDER)"


class Chosen(NamedTuple):
    """One wheel that pip chose."""

    name: str
    version: str
    url: str
    sha256: str | None


def resolve(
    kind: Kind,
    lock: Lock | None,
    python: FoundPython,
    pip: Path,
    folder: Path | None,
    cancel: threading.Event | None = None,
) -> list[Chosen]:
    """Return the wheels that pip would install; ``folder``: of this folder alone.

    Raises WorkFailed when it finds none that fit, and Cancelled.
    """
    refused: Done | None = None
    for index in _indexes(kind, folder):
        with tempfile.TemporaryDirectory(prefix="gpuexplorer-") as scratch:
            done, found = _ask(kind, lock, python, pip, folder, index, Path(scratch), cancel)
        if found is not None:
            return found
        refused = refused or done
        if not _finds_nothing(done):
            refused = done
    assert refused is not None
    raise _failure(refused, kind, folder)


def _indexes(kind: Kind, folder: Path | None) -> list[str | None]:
    """Return the further indexes to try, one after the other: as configured comes first."""
    if folder is not None or kind.index is None:
        return [None]
    return [None, kind.index]


def _ask(
    kind: Kind,
    lock: Lock | None,
    python: FoundPython,
    pip: Path,
    folder: Path | None,
    index: str | None,
    scratch: Path,
    cancel: threading.Event | None,
) -> tuple[Done, list[Chosen] | None]:
    wanted, limits = scratch / "wanted.txt", scratch / "limits.txt"
    report = scratch / "report.json"
    wanted.write_text("\n".join(kind.requirements) + "\n", encoding="utf-8")
    limits.write_text("\n".join(lock.constraints if lock else ()) + "\n", encoding="utf-8")
    options = [
        "--dry-run", "--ignore-installed", "--quiet", "--only-binary", ":all:",
        "--progress-bar", "off", "--retries", "2", "--report", str(report),
        "--constraint", str(limits), "--requirement", str(wanted), *from_source(folder),
    ]  # fmt: skip
    if folder is None and fast(pip):
        options += ["--use-feature", "fast-deps"]
    if index is not None:
        options += ["--extra-index-url", index]
    path = Path(python.path)
    done = run(
        module_in(path, "pip", "install", *options, pip=pip),
        pip_surroundings(path, folder, scratch),
        cancel,
    )
    if done.returncode != 0 or not report.exists():
        return done, None
    entries = json.loads(report.read_text(encoding="utf-8"))["install"]
    return done, [_chosen(entry) for entry in entries]


def from_source(folder: Path | None) -> list[str]:
    """Return pip's options for where wheels come from; nothing but a folder, where one is named."""
    return [] if folder is None else ["--no-index", "--find-links", str(folder)]


def pip_surroundings(python: Path, folder: Path | None, scratch: Path) -> dict[str, str]:
    """Return pip's environment: with a folder, no configuration may add another source."""
    more = {name: str(scratch) for name in ("TMPDIR", "TEMP", "TMP")}
    environment = surroundings(python, more)
    if folder is not None:
        for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            environment.pop(name, None)
        environment["PIP_CONFIG_FILE"] = _NO_FILE
    return environment


_NO_FILE = "/dev/null" if Path("/dev/null").exists() else "nul"


def _chosen(entry: dict[str, Any]) -> Chosen:
    archive = entry["download_info"].get("archive_info", {})
    old = archive.get("hash", "").removeprefix("sha256=") or None
    return Chosen(
        entry["metadata"]["name"],
        entry["metadata"]["version"],
        entry["download_info"]["url"],
        archive.get("hashes", {}).get("sha256", old),
    )


def _finds_nothing(done: Done) -> bool:
    return "No matching distribution" in done.text or "Could not find a version" in done.text


def _failure(done: Done, kind: Kind, folder: Path | None) -> ExplorerError:
    """Return what is said when pip found no way, with its own words below."""
    errors = [line.removeprefix("ERROR:").strip() for line in done.lines if "ERROR:" in line]
    said = re.sub(r"\s*\(from versions:.*", "", errors[-1] if errors else "pip gave no reason")
    detail = "\n".join(line for line in done.lines if line.strip())
    if says_full(done.text):
        return WorkFailed(
            "the disk with the folder for temporary files is full",
            remedy="free some space there and start again",
            detail=detail,
        )
    if folder is not None:
        return WorkFailed(
            f"the wheels in {folder} do not do for '{kind.title}': {said}",
            remedy="add what is missing: 'gpuexplorer engines fetch' fills such a folder",
            detail=detail,
        )
    if _NETWORK.search(done.text):
        return WorkFailed("the package index cannot be reached", remedy=OFFLINE, detail=detail)
    return WorkFailed(
        f"the package index has no wheels for '{kind.title}' here: {said}",
        remedy="choose another Python (--python) or another kind",
        detail=detail,
    )
