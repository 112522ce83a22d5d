"""A CUDA file of one's own: how it is known, and where its manifest lies.

What its text tells is read in ``kernel_file``, which few processes need.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gpuexplorer.core.text import path_text
from gpuexplorer.workloads.trust import config_folder

SUFFIX = ".cu"
MANIFEST_SUFFIX = ".toml"
FOLDER = "manifests"
"""Of those that cannot lie beside their files."""


def is_kernel_file(word: str | Path) -> bool:
    """Return whether a word names a CUDA file rather than a workload."""
    return str(word).lower().endswith(SUFFIX)


def manifest_path(path: Path) -> Path:
    """Return where the manifest of a CUDA file lies, or is to: beside it, under its name.

    Among the user's settings where none lies there and the folder cannot be written.
    """
    beside = path.with_suffix(MANIFEST_SUFFIX)
    if beside.is_file() or os.access(path.parent, os.W_OK):
        return beside
    place = hashlib.sha256(path_text(path.absolute()).encode()).hexdigest()[:16]
    return config_folder() / FOLDER / place / beside.name
