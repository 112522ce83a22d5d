"""Where the store is: the user's own file, or what an option or the environment names."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import msgspec

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.core.errors import InputError

ENVIRONMENT_VARIABLE = "GPUEXPLORER_HISTORY_URL"
FILE_NAME = "history.sqlite"
MOUNTS = Path("/proc/self/mounts")

NETWORK_FILE_SYSTEMS = frozenset(
    "9p acfs afs afpfs beegfs ceph cifs coda davfs fuse gfs gfs2 glusterfs gpfs lustre ncpfs nfs "
    "nfs4 ocfs2 orangefs panfs prl_fs smb smb2 smb3 smbfs vboxsf virtiofs vmhgfs webdav".split()
)
"""Where programs may see each other's writes late, or cannot map one file together."""
LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuse.lxcfs", "fuse.ntfs-3g", "fuse.portal"})

_PASSWORD = re.compile(
    r"(\bpostgres(?:ql)?(?:\+\w+)?://[^\s/@:?]*:)[^\s?]*(?=@)"
    r"|((?<=[?&])(?:ssl)?password=)[^\s&'\"]*",
    re.I,
)
"""In a server's URL: between the user's name and the host, or among the options."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One store: a file, a server's URL, or neither for a store in memory."""

    path: Path | None = None
    url: str | None = None
    """With its password; ``words`` is what may be shown."""
    words: str


def find_place(named: str | Path | None = None) -> Place:
    """Return where the store is: as ``named``, else as the environment says, else the user's own.

    A name is a file's path, ``sqlite:///PATH``, ``sqlite://`` (in memory) or
    ``postgresql://USER@HOST/DATABASE``. Raises InputError for any other.
    """
    text = str(named) if named else os.environ.get(ENVIRONMENT_VARIABLE, "")
    if not text:
        return _file(data_folder() / FILE_NAME)
    if (path := file_of(text)) is not None:
        return _file(path)
    scheme, _, rest = text.partition("://")
    kind = scheme.partition("+")[0].lower()
    if kind == "sqlite":
        return Place(words="a store in memory")
    if kind in ("postgresql", "postgres"):
        return Place(url=f"postgresql+psycopg://{rest}", words=shown(f"postgresql://{rest}"))
    raise InputError(
        f"'{scheme}' is not a kind of store",
        remedy="name a file, or a server as postgresql://USER@HOST/DATABASE",
    )


def file_of(name: str) -> Path | None:
    """Return the file that a store's name means, relative if it is; None for all other stores."""
    scheme, separator, rest = name.partition("://")
    if not separator:
        return Path(os.path.expanduser(name))
    path = rest.partition("?")[0].removeprefix("/")
    if scheme.partition("+")[0].lower() != "sqlite" or path in ("", ":memory:"):
        return None
    return Path(os.path.expanduser(path))


def _file(path: Path) -> Place:
    absolute = Path(os.path.abspath(path))
    return Place(path=absolute, words=str(absolute))


def shown(text: str) -> str:
    """Return a store's name, or a text such as a command that has some, without their passwords."""
    return _PASSWORD.sub(lambda found: f"{found[1] or found[2]}***", text)


def on_network(path: Path) -> bool:
    """Whether a path lies on a file system that other machines may share."""
    if sys.platform == "win32":
        return _windows_network(path)
    kind = _file_system(path)
    if kind in LOCAL_FUSE:
        return False
    return kind.partition(".")[0] in NETWORK_FILE_SYSTEMS


def _file_system(path: Path) -> str:
    """Return the kind of file system that ``path`` lies on; empty when it cannot be told."""
    found, longest = "", -1
    real = os.path.realpath(path)
    for where, kind in _mounts():
        prefix = where if where.endswith("/") else f"{where}/"
        if (real == where or real.startswith(prefix)) and len(where) >= longest:
            found, longest = kind, len(where)  # of two on one place, the later hides the first
    return found


def _mounts() -> list[tuple[str, str]]:
    """Return each mounted place and its kind, in the order they were mounted."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        import psutil

        return [(p.mountpoint, p.fstype) for p in psutil.disk_partitions(all=True)]
    fields = [line.split(" ") for line in lines]
    return [(_unescaped(f[1]), f[2]) for f in fields if len(f) > 2]


def _unescaped(text: str) -> str:
    """Return a path of the list of mounts: a space stands there as ``\\040``."""
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def _windows_network(path: Path) -> bool:
    import ctypes

    drive = os.path.splitdrive(os.path.realpath(path))[0]
    remote = 4  # DRIVE_REMOTE
    kind: int = ctypes.windll.kernel32.GetDriveTypeW(f"{drive}\\")  # type: ignore[attr-defined]
    return drive.startswith("\\\\") or kind == remote
