"""Folders of wheels for tests: made of what is installed, and small ones of nothing."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from gpuexplorer.environments.locked import plain

BUILD = "0test"
"""The build number of every wheel here, so that none has the name of a published file."""


def repack(folder: Path, names: Iterable[str]) -> list[Path]:
    """Make wheels of installed distributions, as their lists of files say; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_repacked(folder, metadata.distribution(name)) for name in names]


def _repacked(folder: Path, found: metadata.Distribution) -> Path:
    (tag,) = [
        line.partition(":")[2].strip()
        for line in (found.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag:")
    ][:1]
    name = plain(found.metadata["Name"]).replace("-", "_")
    path = folder / f"{name}-{found.version}-{BUILD}-{tag}.whl"
    parts = {}
    for file in found.files or ():
        if ".." in file.parts or "__pycache__" in file.parts or file.parts[0] == "bin":
            continue
        if "tests" in file.parts or file.name in ("RECORD", "INSTALLER", "REQUESTED"):
            continue
        parts[file.as_posix()] = Path(str(file.locate())).read_bytes()
    return write_wheel(path, parts)


def small_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    size_B: int = 0,
    requires: str | Iterable[str] = (),
    extra: str = "",
) -> Path:
    """Make a wheel with one module and ``size_B`` bytes that cannot be compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    lines = [requires] if isinstance(requires, str) else requires
    wanted = "".join(f"Requires-Dist: {line}\n" for line in lines)
    if extra:
        wanted += f"Provides-Extra: {extra}\n"
    parts = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n".encode(),
        f"{name}/ballast.bin": _noise(name, size_B),
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wanted}"
        ).encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return write_wheel(folder / f"{name}-{version}-{BUILD}-py3-none-any.whl", parts)


def write_wheel(path: Path, parts: Mapping[str, bytes]) -> Path:
    """Write a wheel of some files with the list of their hashes, stored as they are."""
    (info,) = {name.partition("/")[0] for name in parts if ".dist-info/" in name}
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in parts.items()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return path


def write_sums(folder: Path) -> None:
    """Write the list of hashes that stands beside wheels."""
    lines = [f"{sha256(path)}  {path.name}\n" for path in sorted(folder.glob("*.whl"))]
    (folder / "SHA256SUMS").write_text("".join(lines))


def tamper(wheel: Path) -> None:
    """Change a wheel so that it is still one, and not what its hash says."""
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("tampered.py", "print('tampered')\n")


def sha256(path: Path) -> str:
    """Return a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _noise(seed: str, size_B: int) -> bytes:
    blocks = (hashlib.sha256(f"{seed}{n}".encode()).digest() for n in range(-(-size_B // 32)))
    return b"".join(blocks)[:size_B]
