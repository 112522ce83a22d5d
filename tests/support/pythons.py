"""Other Pythons for tests: small virtual environments, and programs that only pretend."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path


def make_python(folder: Path, *, packages: bool = True) -> Path:
    """Make a virtual environment of this Python and return its interpreter; it has no pip.

    With ``packages`` it finds what is installed beside this Python, though not GPU Explorer.
    """
    subprocess.run(
        [sys._base_executable, "-m", "venv", "--without-pip", str(folder)],  # type: ignore[attr-defined]
        check=True,
    )
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if packages:
        site_of(folder).joinpath("beside.pth").write_text(
            f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
        )
    return python


def site_of(folder: Path) -> Path:
    """Return where an environment's packages stand."""
    if os.name == "nt":
        return folder / "Lib" / "site-packages"
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return folder / "lib" / version / "site-packages"


def put_package(folder: Path, name: str, version: str, code: str = "") -> None:
    """Put a package of one file into an environment, where it hides the real one."""
    site = site_of(folder)
    package, info = site / name, site / f"{name}-{version}.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n{code}\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def pretend(folder: Path, script: str, *, shell: str = "/bin/sh", executable: bool = True) -> Path:
    """Return the path of a script that stands where a Python is expected."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "python"
    path.write_text(f"#!{shell}\n{script}\n")
    path.chmod(0o755 if executable else 0o644)
    return path


def older(folder: Path, python: Path, version: tuple[int, int, int]) -> Path:
    """Return a Python that says it is of another version."""
    code = (
        f"import runpy, sys; sys.version_info = {(*version, 'final', 0)!r}; "
        "sys.argv[:] = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return pretend(folder, f'exec "{python}" -c "{code}" "$@"')


def make_conda(folder: Path, python: Path, variables: Mapping[str, str] | None = None) -> Path:
    """Return the Python of a folder that looks like a conda environment, and runs ``python``."""
    import json

    (folder / "conda-meta").mkdir(parents=True)
    (folder / "lib").mkdir()
    if variables is not None:
        state = json.dumps({"env_vars": dict(variables)})
        (folder / "conda-meta" / "state").write_text(state)
    return pretend(folder / "bin", f'exec "{python}" "$@"')
