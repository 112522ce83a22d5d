"""Every kind can be made on every system and Python that it is offered for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import pytest
from bootstrap import TORCH_VERSION
from builder import locks
from builder.cells import SYSTEMS, Cell, cells_in, cells_of, lines_of
from builder.errors import BuildError
from packaging.requirements import Requirement

from gpuexplorer.core.cuda_choice import without_cupti
from gpuexplorer.environments.kinds import RECIPES, Recipe, find_kind, lock_file
from gpuexplorer.environments.locked import Lock, plain, read_lock
from gpuexplorer.environments.pip_settings import PipSettings
from tests.support.crossed import crossed
from tests.support.package_index import PackageIndex
from tests.support.wheels import small_wheel

PYPI = "https://pypi.org/simple"
LINUX, ARM, WINDOWS, MAC = SYSTEMS
BY_NAME = {recipe.name: recipe for recipe in RECIPES}
each_kind = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


def in_order(cells: Iterable[Cell]) -> list[Cell]:
    return sorted(cells, key=lambda cell: (cell.system.name, int(cell.python[2:])))


def lacking(recipe: Recipe, lock: Lock) -> list[str]:
    """Return each pinned package, with the cell, that has no wheel in the lock where it is needed.

    PyTorch is left out where it comes from an index of its own, whose files the lock does not know.
    """
    return [
        f"{package.name} {package.version} for {cell.words}"
        for package in lock.packages
        for cell in in_order(cells_in(package.only, cells_of(recipe)))
        if not (package.name == "torch" and cell.system.sys_platform in lock.index)
        and cell.takes(wheel.file for wheel in package.wheels) is None
    ]


# ---- by the lock files alone


@each_kind
def test_every_pinned_package_has_a_wheel_wherever_its_kind_needs_it(recipe: Recipe) -> None:
    assert lacking(recipe, read_lock(lock_file(recipe.name))) == []


@each_kind
def test_the_lock_knows_where_each_requirement_holds(recipe: Recipe) -> None:
    lock = read_lock(lock_file(recipe.name))
    needed = {one.name: set(cells_in(one.only, cells_of(recipe))) for one in lock.packages}
    for line in lock.requirements:
        wanted = Requirement(line)
        where = {
            cell
            for cell in cells_of(recipe)
            if wanted.marker is None or wanted.marker.evaluate(cell.environment)
        }
        assert where <= needed.get(plain(wanted.name), set()), line


@pytest.mark.parametrize("name", ["cuda13", "cuda13-torch"])
def test_cupti_is_left_out_of_the_lock_where_users_are_told_so(name: str) -> None:
    recipe, kind = BY_NAME[name], find_kind(name)
    (pinned,) = (one for one in read_lock(lock_file(name)).packages if one.name == "cupti-python")
    needed = set(cells_in(pinned.only, cells_of(recipe)))
    for cell in cells_of(recipe):
        python = tuple(map(int, cell.python.split(".")))
        said = without_cupti(cell.system.sys_platform, python, kind.torch)
        assert bool(said) == (cell not in needed), cell.words


def test_kinds_for_a_gpu_are_offered_where_cudas_libraries_are() -> None:
    def systems(name: str) -> set[str]:
        return {cell.system.name for cell in cells_of(BY_NAME[name])}

    assert systems("cuda13") == {"linux-x86_64", "linux-aarch64", "win32-AMD64"}
    assert systems("cpu") == {"linux-x86_64", "linux-aarch64", "win32-AMD64", "darwin-arm64"}
    assert {cell.python for cell in cells_of(BY_NAME["cuda13-torch"])} == {
        "3.11", "3.12", "3.13", "3.14",
    }  # fmt: skip
    assert {cell.python for cell in cells_of(BY_NAME["cpu-frameworks"])} == {
        "3.11", "3.12", "3.13",
    }  # fmt: skip


# ---- wheels and cells


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ("py3-none-any", {LINUX, ARM, WINDOWS, MAC}),
        ("cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64", {LINUX}),
        ("cp312-cp312-manylinux_2_28_aarch64", {ARM}),
        ("cp312-cp312-manylinux_2_34_x86_64", set()),
        ("cp38-abi3-win_amd64", {WINDOWS}),
        ("cp312-cp312-macosx_14_0_arm64", {MAC}),
        ("cp312-cp312-macosx_11_0_universal2", {MAC}),
        ("cp313-cp313-win_amd64", set()),
        ("cp312-cp312t-win_amd64", set()),
        ("cp312-cp312-musllinux_1_2_x86_64", set()),
    ],
)
def test_a_wheel_fits_its_system_and_python(tags: str, fits: set[object]) -> None:
    file = f"apple-1.0-{tags}.whl"
    assert {system for system in SYSTEMS if Cell(system, "3.12").takes([file])} == fits


def test_cells_are_written_as_systems_with_their_pythons() -> None:
    every = {Cell(system, f"3.{minor}") for system in SYSTEMS[:3] for minor in range(11, 15)}
    some = {cell for cell in every if cell.system == LINUX} | {Cell(ARM, "3.11"), Cell(ARM, "3.13")}
    assert lines_of(every, every) == []
    assert set(cells_in([], every)) == every
    assert lines_of(some, every) == ["linux-x86_64", "linux-aarch64 3.11 3.13"]
    assert set(cells_in(lines_of(some, every), every)) == some


# ---- making a lock


KIND = Recipe("tiny", "Tiny", "Nothing.", (), cuda=13)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels; ``found`` asks for them by an index that serves it."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


def found(
    wheels: Path, monkeypatch: pytest.MonkeyPatch, *asked: str, pins: dict[str, str]
) -> dict[str, locks.Found]:
    monkeypatch.setattr(locks, "requirements", lambda recipe: asked)
    monkeypatch.setattr(locks, "constraints", lambda recipe: pins)
    with PackageIndex(wheels) as index:
        return locks.closure(KIND, PipSettings(index=index.address))


def test_a_pin_without_a_wheel_for_a_system_or_python_that_is_offered_stops_the_lock(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for python in ("cp311", "cp312", "cp313"):
        for machine in ("x86_64", "aarch64"):
            made = small_wheel(served, "cupti_python", "13.0.1")
            made.rename(
                served / f"cupti_python-13.0.1-{python}-{python}-manylinux2014_{machine}.whl"
            )
    pins = {"cupti-python": "13.0.1"}
    with pytest.raises(BuildError) as error:
        found(served, monkeypatch, "cupti-python>=13", pins=pins)
    assert "cupti-python 13.0.1 has no wheel for linux-aarch64 with Python 3.14, " in str(
        error.value
    )
    assert "win32-AMD64 with Python 3.11" in str(error.value)
    marked = "cupti-python>=13; sys_platform == 'linux' and python_version <= '3.13'"
    one = found(served, monkeypatch, marked, pins=pins)["cupti-python"]
    assert lines_of(one.cells, cells_of(KIND)) == [
        "linux-x86_64 3.11 3.12 3.13", "linux-aarch64 3.11 3.12 3.13",
    ]  # fmt: skip


def test_what_is_brought_along_is_needed_where_its_marker_says(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = ("pear; sys_platform == 'win32'", "plum; extra == 'more'", "fig==1.*")
    small_wheel(served, "apple", "1.0", requires=brought, extra="more")
    small_wheel(served, "plum", "1.0", requires=("pear; platform_machine == 'aarch64'",))
    for name, version in (("pear", "1.0"), ("fig", "1.1"), ("fig", "1.2"), ("fig", "2.0")):
        small_wheel(served, name, version)
    pins = {"apple": "1.0", "pear": "1.0", "plum": "1.0", "fig": "1.*"}
    all_of_it = found(served, monkeypatch, "apple[more]", pins=pins)
    assert lines_of(all_of_it["pear"].cells, cells_of(KIND)) == ["linux-aarch64", "win32-AMD64"]
    assert lines_of(all_of_it["plum"].cells, cells_of(KIND)) == []
    assert [wheel.file.split("-")[1] for wheel in all_of_it["fig"].files] == ["1.1", "1.2"]
    del pins["plum"]
    with pytest.raises(BuildError, match="plum is not pinned"):
        found(served, monkeypatch, "apple[more]", pins=pins)
    with pytest.raises(BuildError, match=r"uv cannot resolve it: .*cherry"):
        found(served, monkeypatch, "cherry", pins=pins)


def test_in_place_of_a_build_of_its_own_what_pytorch_requires_but_its_libraries_is_brought(
    served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = ("pear; sys_platform == 'linux'", "nvidia-fig==2.0", "plum")
    small_wheel(served, "torch", "1.0", requires=brought)
    small_wheel(served, "nvidia_fig", "1.0")
    small_wheel(served, "nvidia_fig", "2.0")
    for name in ("pear", "plum"):
        small_wheel(served, name, "1.0")
    monkeypatch.setattr(locks, "with_own_build", lambda recipe: {"linux"})
    pins = {"torch": "1.0", "nvidia-fig": "1.0", "pear": "1.0", "plum": "1.0"}
    asked = ("nvidia-fig", "torch==1.0+cu1; sys_platform == 'linux'")
    known = found(served, monkeypatch, *asked, pins=pins)
    assert [wheel.file.split("-")[1] for wheel in known["nvidia-fig"].files] == ["1.0"]
    on_linux = ["linux-x86_64", "linux-aarch64"]
    assert lines_of(known["pear"].cells, cells_of(KIND)) == on_linux
    assert lines_of(known["plum"].cells, cells_of(KIND)) == on_linux
    assert lines_of(known["torch"].cells, cells_of(KIND)) == []


# ---- by a resolver that evaluates the markers of the target

PLATFORMS = {
    LINUX: "x86_64-manylinux_2_28",
    ARM: "aarch64-manylinux_2_28",
    WINDOWS: "x86_64-pc-windows-msvc",
    MAC: "aarch64-apple-darwin",
}
TORCH_EVERYWHERE = (
    "filelock", "fsspec>=0.8.5", "jinja2", "networkx>=2.5.1", "setuptools>=77.0.3",
    "sympy>=1.13.3", "typing-extensions>=4.10.0",
)  # fmt: skip
TORCH_FOR_CUDA_12 = (
    "cuda-bindings>=12.9.4,<13; sys_platform == 'linux'",
    "cuda-toolkit[cublas,cudart,cufft,cufile,cupti,curand,cusolver,cusparse,nvjitlink,nvrtc,nvtx]"
    "==12.6.3; sys_platform == 'linux'",
    "nvidia-cudnn-cu12==9.10.2.21; sys_platform == 'linux'",
    "nvidia-cusparselt-cu12==0.7.1; sys_platform == 'linux'",
    "nvidia-nccl-cu12==2.29.3; sys_platform == 'linux'",
    "nvidia-nvshmem-cu12==3.4.5; sys_platform == 'linux'",
    "triton==3.7.1; sys_platform == 'linux'",
)
"""What PyTorch's builds in its own index require, stated here: that index is not asked. For the
CPU, and for CUDA 13 on Windows, it is what the general index's builds require on every system; for
CUDA 12 on Linux the libraries of CUDA 12.6.3 come on top."""
UNREACHABLE = "the index cannot be reached"
NO_NETWORK = re.compile(rf"{UNREACHABLE}|Failed to fetch|error sending request|dns error")


def without_torch(recipe: Recipe, lock: Lock, cell: Cell) -> list[str]:
    """Return a lock's requirements, with those of PyTorch for one that has an index of its own."""
    if cell.system.sys_platform not in lock.index:
        return list(lock.requirements)
    assert any(line.startswith(f"torch=={TORCH_VERSION}+") for line in lock.requirements)
    stated = [*TORCH_EVERYWHERE, *(TORCH_FOR_CUDA_12 if recipe.torch == "cuda12" else ())]
    return [line for line in lock.requirements if Requirement(line).name != "torch"] + stated


def pips_index() -> str:
    """Return the address of the index that pip is configured for on this machine."""
    asked = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return os.environ.get("PIP_INDEX_URL") or said or PYPI


@pytest.fixture(scope="module")
def index() -> str:
    """The package index; empty where it cannot be reached."""
    address = pips_index()
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/pip/", timeout=20):
            return address
    except (OSError, ValueError, urllib.error.URLError):
        return ""


def resolve(recipe: Recipe, lock: Lock, cell: Cell, index: str, folder: Path) -> str:
    """Return why uv does not resolve a kind for a system and Python; empty where it does."""
    wanted, pins = folder / f"{cell.words}.in", folder / f"{cell.words}.txt"
    wanted.write_text("\n".join(without_torch(recipe, lock, cell)), encoding="utf-8")
    pins.write_text("\n".join(lock.constraints), encoding="utf-8")
    done = subprocess.run(
        [
            sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--no-config",
            "--python", sys.executable, "--no-python-downloads", "--only-binary", ":all:",
            "--default-index", index, "--python-platform", PLATFORMS[cell.system],
            "--python-version", cell.python, "--constraint", str(pins), str(wanted),
        ],
        capture_output=True, text=True, check=False,
        env={**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"} | _certificates(),
    )  # fmt: skip
    return done.stderr if done.returncode else ""


def _certificates() -> dict[str, str]:
    """Return what has uv trust whom pip trusts."""
    file = os.environ.get("PIP_CERT")
    return {"SSL_CERT_FILE": file} if file else {}


@pytest.mark.parametrize(
    ("recipe", "turn"), crossed(RECIPES, range(4), name=lambda recipe: recipe.name)
)
def test_every_kind_resolves_for_every_system_and_python(
    recipe: Recipe, turn: int, index: str, tmp_path: Path
) -> None:
    """What uv resolves is the lock's pins with wheels alone, as the target's markers have it.

    Checked: that a solution exists in the index. Not checked: PyTorch's own builds for the CPU, for
    CUDA 12 and on Windows, of which the index has none; what they require is stated above. Where
    the index cannot be reached, the lock's own list of wheels is what is held against each cell.
    """
    lock = read_lock(lock_file(recipe.name))
    for cell in in_order(cells_of(recipe))[turn::4]:
        said = resolve(recipe, lock, cell, index, tmp_path) if index else UNREACHABLE
        if said and NO_NETWORK.search(said):
            assert lacking(recipe, lock) == []
            return
        assert not said, cell.words
