"""Intel's CPU runtime in a folder whose name has a blank.

The runtime takes its own folder from ``/proc/self/maps`` and reads a path there only up to the
first blank, so that it finds none of its files. Its one library that does so is therefore copied,
once, to where no blank is: into the cache, beside links to the rest of its folder.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from gpuexplorer.compile.cache import cache_folder, key

_BLANK = re.compile(r"\s")


def without_blanks(library: Path) -> Path:
    """Return the runtime's library at a path without blanks; the same path if none can be had."""
    home = cache_folder() / "intel-opencl"
    if os.name == "nt" or not _BLANK.search(str(library)) or _BLANK.search(str(home)):
        return library
    try:
        status = library.stat()
        name = key(str(library), f"{status.st_size} {status.st_mtime_ns}")[:16]
        copy = home / name / library.name
        if not copy.is_file():
            _forget_the_gone(home)
            _fill(copy, library)
    except OSError:  # no room for it: the runtime will say that it finds nothing
        return library
    return copy


def _fill(copy: Path, library: Path) -> None:
    copy.parent.mkdir(parents=True, exist_ok=True)
    for file in library.parent.iterdir():
        link = copy.parent / file.name
        if file.name != library.name and file.is_file():
            with suppress(FileExistsError):  # another engine does the same
                link.symlink_to(file)
    temporary = copy.with_name(f".{copy.name}.{os.getpid()}")
    try:
        shutil.copyfile(library, temporary)
        os.replace(temporary, copy)
    finally:
        temporary.unlink(missing_ok=True)


def _forget_the_gone(home: Path) -> None:
    """Remove copies whose runtime is no longer where it was, such as an unmounted image."""
    if home.is_dir():
        for folder in home.iterdir():
            if any(not file.exists() for file in folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)
