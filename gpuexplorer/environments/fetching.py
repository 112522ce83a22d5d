"""Fetch all wheels of a plan, one after the other, largest first."""

from __future__ import annotations

import threading
from pathlib import Path

from gpuexplorer.core.errors import WorkFailed
from gpuexplorer.environments.cancelled import check
from gpuexplorer.environments.downloads import fetch, have_B
from gpuexplorer.environments.install import download_with_pip
from gpuexplorer.environments.plan import Package, Plan
from gpuexplorer.environments.progress import Teller
from gpuexplorer.environments.web import Refused, web_for


def fetch_all(
    plan: Plan,
    pip: Path,
    downloads: Path,
    tell: Teller,
    then_B: int,
    cancel: threading.Event | None,
) -> None:
    """Have every wheel in a folder, each what its hash says.

    ``then_B``: how many bytes are needed on the same disk afterwards. Raises as ``fetch`` does.
    """
    total, behind = plan.total_B, 0
    web = web_for(Path(plan.python.path), pip)
    for package in plan.packages:
        words = f"{package.name} {package.version}"

        def told(there: int, before: int = behind, words: str = words) -> None:
            tell("download", before + there, total, words)

        told(0)
        check(cancel)
        rest = max(0, total - behind) + then_B
        try:
            fetch(package, downloads, web, rest, told, cancel)
        except Refused as refused:
            _with_pip(plan, pip, package, downloads, refused, cancel)
        behind += package.size_B or have_B(downloads, package)


def _with_pip(
    plan: Plan,
    pip: Path,
    package: Package,
    downloads: Path,
    refused: Refused,
    cancel: threading.Event | None,
) -> None:
    """Fetch what the server gives to pip alone, which knows passwords and certificates."""
    said = download_with_pip(plan.python, pip, package, plan.kind.index, downloads, cancel)
    if said is not None:
        raise WorkFailed(
            f"{package.file} cannot be fetched: {refused}",
            remedy="give pip what the server asks for (see 'pip config'), or use a folder of "
            "wheels (--from FOLDER)",
            detail=said,
        )
