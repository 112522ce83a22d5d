"""The Python package: all that is read is in it, and whoever builds it gets the same bytes."""

from __future__ import annotations

import configparser
import re
import shutil
import tomllib
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pytest
from builder.errors import BuildError
from builder.targets import Context
from builder.version import read_version
from builder.wheel import build, check_names, check_wheel, dead_links, expected_files, hatch, unpack
from hatch_metadata import index_page

ROOT = Path(__file__).resolve().parents[2]
PARTS = (
    ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "gpuexplorer", "kernels", "packaging",
    "pyproject.toml", "resources",
)  # fmt: skip
"""What a checkout must have to be built; the rest would only take time here."""
NOBODYS = ("kernels/matmul/naive.cu.pyc", "resources/help/__pycache__/left.md", "build/old.txt")
"""What programs leave in a checkout, and no package may bring."""


def checkout(folder: Path) -> Path:
    """Return a copy of the checkout, with the litter of a day's work in it."""
    for name in PARTS:
        if (ROOT / name).is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for name in NOBODYS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("not ours", encoding="utf-8")
    return folder


def context(root: Path, out: Path) -> Context:
    return Context(
        root=root, work=root / "build", out=out, version=read_version(root), epoch=1_700_000_000,
        arch="x86_64",
    )  # fmt: skip


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two copies of one checkout, in folders of other names and with files of other dates."""
    first = checkout(tmp_path_factory.mktemp("first") / "a checkout")
    second = tmp_path_factory.mktemp("second") / "gpu-explorer"
    shutil.copytree(first, second, copy_function=shutil.copy)
    (second / "gpuexplorer" / "api.py").chmod(0o600)
    return first, second


@pytest.fixture(scope="module")
def built(trees: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive of the first."""
    wheel, archive = build(context(trees[0], tmp_path_factory.mktemp("dist")))
    return wheel, archive


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as file:
        (name,) = [n for n in file.namelist() if n.endswith(".dist-info/METADATA")]
        return BytesParser().parsebytes(file.read(name))


def test_the_wheel_holds_all_that_is_read(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as file:
        names = set(file.namelist())
    for path in (*(ROOT / "kernels").rglob("*.toml"), *(ROOT / "kernels").rglob("*.cu")):
        assert f"gpuexplorer/_data/{path.relative_to(ROOT).as_posix()}" in names
    for name in (
        "help/manifest.md", "themes/dark.toml", "icons/gpuexplorer.svg", "examples/model.py",
    ):  # fmt: skip
        assert f"gpuexplorer/_data/resources/{name}" in names
    assert "gpuexplorer/py.typed" in names
    info = f"gpuexplorer-{read_version(ROOT)}.dist-info"
    surely = {f"{info}/{n}" for n in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    surely.add(f"{info}/licenses/LICENSE")
    assert names - {n for n in names if n.startswith("gpuexplorer/")} == surely


def test_the_wheel_brings_the_command_and_the_window(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as file:
        (name,) = [n for n in file.namelist() if n.endswith(".dist-info/entry_points.txt")]
        found = configparser.ConfigParser()
        found.read_string(file.read(name).decode())
    assert {section: dict(found[section]) for section in found.sections()} == {
        "console_scripts": {"gpuexplorer": "gpuexplorer.cli:main"},
        "gui_scripts": {"gpuexplorer-window": "gpuexplorer.cli.windowed:main"},
    }


def test_the_package_brings_nothing_that_git_does_not_keep(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(built[0]) as file:
        names = file.namelist()
    tree = unpack(built[1], tmp_path / "tree")
    names += [path.relative_to(tree).as_posix() for path in tree.rglob("*")]
    assert not [name for name in names if name.endswith(NOBODYS) or "__pycache__" in name]
    assert not [name for name in names if name.startswith((".git/", ".venv", "tests/__"))]


def test_two_builds_are_the_same_bytes(
    built: tuple[Path, Path], trees: tuple[Path, Path], tmp_path: Path
) -> None:
    again = build(context(trees[1], tmp_path))
    for first, second in zip(built, again, strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes(), first.name


def test_the_source_archive_and_the_checkout_give_the_same_wheel(
    built: tuple[Path, Path], trees: tuple[Path, Path], tmp_path: Path
) -> None:
    tree = unpack(built[1], tmp_path / "tree")  # what the wheel was built from
    assert {path.name for path in tree.iterdir()} >= {*PARTS, "PKG-INFO"}
    wheel = hatch(context(trees[0], tmp_path), trees[0], tmp_path / "wheel")
    assert wheel.read_bytes() == built[0].read_bytes()


def test_a_wheel_without_a_kernel_is_refused(built: tuple[Path, Path], tmp_path: Path) -> None:
    tree = unpack(built[1], tmp_path / "tree")
    check_wheel(built[0], tree)
    (tree / "kernels" / "matmul" / "new.cu").write_text("", encoding="utf-8")
    with pytest.raises(BuildError, match=r"lacks gpuexplorer/_data/kernels/matmul/new\.cu"):
        check_wheel(built[0], tree)
    assert not [name for name in expected_files(tree) if "screenshots" in name]


def test_files_of_another_version_are_refused() -> None:
    names = ("gpuexplorer-1.2.0-py3-none-any.whl", "gpuexplorer-1.2.0.tar.gz")
    check_names(map(Path, names), "1.2.0")
    with pytest.raises(BuildError, match=r"gpuexplorer-1\.2\.0\.tar\.gz"):
        check_names(map(Path, names), "1.3.0")


def test_the_page_on_an_index_stands_alone(built: tuple[Path, Path]) -> None:
    metadata = metadata_of(built[0])
    page = metadata.get_payload()
    assert isinstance(page, str)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert dead_links(metadata) == []
    assert 'pip install "gpuexplorer[gui,cpu]"' in page and "make run" not in page
    assert page.count("\n## Start\n") == 1


def test_targets_of_the_checkout_become_addresses_of_this_version() -> None:
    readme = (
        "# Name\n\n[other](LANG.md) [web](https://example.org) "
        "[below](#more)\n\n![picture](a/b.png)\n\n"
        "## Start\n\nmake run\n\n## More\n"
    )
    page = index_page(readme, "pip install it\n", "https://host/us/it", "1.2.0")
    assert page == (
        "# Name\n\n[other](https://host/us/it/blob/v1.2.0/LANG.md) [web](https://example.org) "
        "[below](#more)\n\n![picture](https://host/us/it/raw/v1.2.0/a/b.png)\n\n"
        "## Start\n\npip install it\n\n## More\n"
    )


def test_every_extra_that_the_page_names_is_offered(built: tuple[Path, Path]) -> None:
    metadata = metadata_of(built[0])
    offered = set(metadata.get_all("Provides-Extra", []))
    start = (ROOT / "packaging" / "index-start.md").read_text(encoding="utf-8")
    listed = re.search(r"The extras are(.*?)\. ", start, re.DOTALL)
    assert listed is not None
    named = set(re.findall(r"`([a-z0-9]+)`", listed[1]))
    assert named == offered - {"dev", "package", "test"}


def test_the_same_address_everywhere() -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert all(url.startswith(urls["Source"]) for url in urls.values())
    (metainfo,) = (ROOT / "packaging" / "linux").glob("*.metainfo.xml")
    homepage = re.search(r'<url type="homepage">([^<]+)<', metainfo.read_text(encoding="utf-8"))
    assert homepage is not None and homepage[1] == urls["Source"]
