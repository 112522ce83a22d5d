"""A folder of wheels that makes a small engine, and the kind of environment that it is for."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from gpuexplorer.core.bootstrap import REQUIRED
from gpuexplorer.environments.disk import size_of
from gpuexplorer.environments.downloads import downloads_folder
from gpuexplorer.environments.journal import engines_folder
from gpuexplorer.environments.kinds import Kind
from tests.support.wheels import BUILD, small_wheel, write_sums, write_wheel

SMALL = Kind(
    name="small",
    title="A small engine",
    teaches="Runs NumPy on the processor.",
    requirements=("beside", "ballast"),
)


def make_engine_wheels(folder: Path) -> Path:
    """Fill a folder with wheels whose engine finds what an engine needs where it is installed.

    So nothing large is packed and unpacked, but for the megabytes of ``ballast``.
    """
    small_wheel(folder, "ballast", "1.0", size_B=4_000_000)
    info = "beside-1.0.dist-info"
    write_wheel(
        folder / f"beside-1.0-{BUILD}-py3-none-any.whl",
        {
            "beside.pth": f"{_linked(folder / 'linked')}\n".encode(),
            f"{info}/METADATA": b"Metadata-Version: 2.1\nName: beside\nVersion: 1.0\n",
            f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        },
    )
    write_sums(folder)
    return folder


def downloads_B() -> int:
    """Return how many bytes of wheels are kept for environments that are not finished."""
    return size_of(downloads_folder(engines_folder()))


def _linked(folder: Path) -> Path:
    """Return a folder with links to what an engine needs, and to nothing else."""
    folder.mkdir()
    for name in REQUIRED:
        for file in metadata.distribution(name).files or ():
            link = folder / file.parts[0]
            if file.parts[0] not in ("..", "__pycache__") and not link.is_symlink():
                root = Path(str(file.locate())).parents[len(file.parts) - 1]
                link.symlink_to(root / file.parts[0])
    return folder
