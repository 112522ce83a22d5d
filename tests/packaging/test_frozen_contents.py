"""What the frozen program takes in: all of ours, of Qt what is used, and no driver's libraries."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from builder import contents
from builder.errors import BuildError

from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.environments.locked import engines_data
from gpuexplorer.environments.uv import uv_program

ROOT = Path(__file__).resolve().parents[2]
QT = "PySide6/Qt"


def test_modules_that_are_imported_by_name_are_found() -> None:
    names = contents.modules(ROOT)
    assert {"gpuexplorer", "gpuexplorer.engine.__main__", "gpuexplorer.cli.doctor"} <= set(names)
    assert len(names) == len(set(names))


def test_kernels_and_resources_stand_where_the_program_looks_for_them() -> None:
    found = contents.data(ROOT)
    assert {"gpuexplorer/_data/kernels", "gpuexplorer/_data/resources"} <= {p for _, p in found}


def test_uv_goes_along_where_a_frozen_program_looks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = engines_data().relative_to(engines_data().parents[1])
    place = tmp_path / "gpuexplorer" / "_data" / folder
    place.mkdir(parents=True)
    shutil.copy(contents.uv_program(), tmp_path / contents.UV_PLACE)
    monkeypatch.setattr("gpuexplorer.environments.uv.is_frozen", lambda: True)
    monkeypatch.setattr("gpuexplorer.environments.uv.engines_data", lambda: place)
    said = subprocess.run([uv_program(), "--version"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("uv ")
    (tmp_path / contents.UV_PLACE).unlink()
    with pytest.raises(CannotRunHere, match="uv, which makes environments, is missing"):
        uv_program()


def test_data_within_our_package_goes_along_at_its_place() -> None:
    kernel = "gpuexplorer/calibration/kernels/ceiling_fma"
    assert (str(ROOT / kernel / "workload.toml"), kernel) in contents.data(ROOT)
    assert not [file for file, _ in contents.data(ROOT) if file.endswith((".py", ".pyc"))]


@pytest.mark.parametrize(
    "place",
    [
        f"{QT}/lib/libQt6Core.so.6",
        "libQt6Gui.so.6",
        "PySide6/QtWidgets.abi3.so",
        "PySide6/QtWidgets.pyd",
        "PySide6/Qt6Gui.dll",
        f"{QT}/plugins/platforms/libqxcb.so",
        f"{QT}/plugins/platforms/libqoffscreen.so",
        "PySide6/plugins/platforms/qwindows.dll",
        f"{QT}/plugins/imageformats/libqsvg.so",
        f"{QT}/lib/libicudata.so.73",
        "libxcb-cursor.so.0",
        "pyopencl/cl/pyopencl-complex.h",
        "matplotlib/mpl-data/fonts/ttf/DejaVuSans.ttf",
        "gpuexplorer/_data/kernels/matmul/naive.cu",
        "_hashlib.cpython-311-x86_64-linux-gnu.so",
    ],
)
def test_what_is_used_stays(place: str) -> None:
    assert contents.is_wanted(place)


@pytest.mark.parametrize(
    "place",
    [
        f"{QT}/lib/libQt6Quick.so.6",
        "libQt6Qml.so.6",
        "PySide6/Qt6Quick.dll",
        "PySide6/QtNetwork.abi3.so",
        f"{QT}/plugins/platformthemes/libqgtk3.so",
        f"{QT}/plugins/imageformats/libqtiff.so",
        f"{QT}/plugins/tls/libqopensslbackend.so",
        f"{QT}/translations/qtbase_de.qm",
        "libstdc++.so.6",
        "libX11-xcb.so.1",
        "libwayland-client.so.0",
        "libfontconfig.so.1",
        "matplotlib/mpl-data/sample_data/grace_hopper.jpg",
        "numpy/_core/include/numpy/arrayobject.h",
        "pyopencl/.libs/pocl.icd",
        "pyopencl/compyte/.gitignore",
    ],
)
def test_what_is_not_used_or_the_systems_goes(place: str) -> None:
    assert not contents.is_wanted(place)


def test_libraries_of_a_plugin_that_went_go_with_it() -> None:
    entries = [
        ("a.so", "/a.so", "EXTENSION"),
        ("libused.so.1", "/libused.so.1", "BINARY"),
        ("wheel.libs/libdeep-1.so", "/libdeep-1.so", "BINARY"),
        ("libdeep-1.so", "wheel.libs/libdeep-1.so", "SYMLINK"),
        ("libgtk.so.3", "/libgtk.so.3", "BINARY"),
        ("libcairo.so.2", "/libcairo.so.2", "BINARY"),
        ("libcairo.so", "libcairo.so.2", "SYMLINK"),
        ("PySide6/Qt/plugins/platforms/libqxcb.so", "/libqxcb.so", "BINARY"),
        ("libpython3.11.so.1.0", "/libpython3.11.so.1.0", "BINARY"),
    ]
    loads = {
        "/a.so": {"libused.so.1", "libc.so.6"},
        "/libused.so.1": {"libdeep-1.so"},
        "/libdeep-1.so": {"libused.so.1"},
        "/libgtk.so.3": {"libcairo.so.2"},
    }
    kept = contents.still_needed(entries, lambda file: loads.get(file, set()))
    assert [place for place, _, _ in kept] == [
        "a.so",
        "libused.so.1",
        "wheel.libs/libdeep-1.so",
        "libdeep-1.so",
        "PySide6/Qt/plugins/platforms/libqxcb.so",
        "libpython3.11.so.1.0",
    ]


def test_versions_that_are_told_are_of_what_the_program_is_installed_with() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *extras["gui"], *extras["cpu"], *extras["package"]]
    names = {line.split(";")[0].strip() for line in listed}
    for told in contents.VERSIONS_TOLD:
        assert any(name.lower().startswith(told) for name in names), told
    assert contents.distributions(["PySide6_Essentials", "torch", "numpy"]) == [
        "PySide6_Essentials",
        "numpy",
    ]


# ---- Intel's runtime


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment as Intel's wheels for Linux leave it."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv(contents.RUNTIME_VARIABLE, raising=False)
    files = [f"lib/{pattern.replace('*', '1')}" for pattern in contents.INTEL_LIBRARIES]
    files += [f for f in contents.INTEL_TERMS.values() if "*" not in f]
    files += ["lib/python3.11/site-packages/tbb-1.dist-info/LICENSE.txt", "lib/icx-lto.so"]
    files += ["share/doc/tbb/licensing/third-party-programs.txt"]
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


def test_intels_runtime_goes_in_with_its_terms_and_nothing_it_does_not_load(
    environment: Path,
) -> None:
    places = {place for _, place in contents.cpu_runtime(environment, ROOT)}
    assert {"lib/libintelocl.so", "lib/libcommon_clang.so.1", "lib/clbltfn1.rtl"} <= places
    assert {f"lib/licensing/{name}" for name in contents.INTEL_TERMS} <= places
    assert "lib/licensing/README.txt" in places
    assert "lib/icx-lto.so" not in places
    files = [Path(file) for file, _ in contents.cpu_runtime(environment, ROOT)]
    assert all(file.is_file() for file in files)


def test_a_part_of_intels_runtime_that_is_missing_is_told(environment: Path) -> None:
    (environment / "lib" / "libsvml.so").unlink()
    with pytest.raises(BuildError, match=r"libsvml\.so"):
        contents.cpu_runtime(environment, ROOT)


def test_without_its_terms_it_is_not_given_away(environment: Path) -> None:
    (environment / contents.INTEL_TERMS["EULA.txt"]).unlink()
    with pytest.raises(BuildError, match=r"EULA\.txt"):
        contents.cpu_runtime(environment, ROOT)


def test_it_can_be_left_out_and_where_intel_offers_none_it_is(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(contents.RUNTIME_VARIABLE, "none")
    assert contents.cpu_runtime(environment, ROOT) == []
    monkeypatch.delenv(contents.RUNTIME_VARIABLE)
    (environment / "lib" / "libintelocl.so").unlink()
    assert contents.cpu_runtime(environment, ROOT) == []
