"""No files of the package import each other in a circle; a command line imports what it names."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "gpuexplorer"
Imports = dict[str, set[str]]

PUBLIC_FUNCTIONS = (PACKAGE, f"{PACKAGE}.api")
"""The package hands its public functions out, which load on first use."""


def imports_of(files: dict[str, str]) -> Imports:
    """Return which modules each module imports, of those in ``files``: module to its source.

    Imports inside functions and for type checkers alone count. A package's ``__init__`` has the
    package's name.
    """
    found: Imports = {}
    for module, source in files.items():
        named = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                named |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0 and node.module is not None, f"{module} imports relatively"
                inner = {f"{node.module}.{name.name}" for name in node.names}
                named |= (inner & files.keys()) or {node.module}
                if not inner <= files.keys():
                    named.add(node.module)
        found[module] = named & files.keys()
    return found


def circle_in(imports: Imports) -> list[str] | None:
    """Return the modules of a circle, the first one again as the last; None where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle[::-1]  # from who imports to who is imported
    return None


@pytest.fixture(scope="module")
def imports() -> Imports:
    files = {}
    for path in (ROOT / PACKAGE).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        files[name] = path.read_text(encoding="utf-8")
    return imports_of(files)


def test_no_files_import_each_other_in_a_circle(imports: Imports) -> None:
    others = {
        module: {other for other in named if (module, other) != PUBLIC_FUNCTIONS}
        for module, named in imports.items()
    }
    circle = circle_in(others)
    assert circle is None, " imports ".join(circle or ())


@pytest.mark.parametrize(
    "back",
    [
        "from pear.apple import pip",
        "from pear import apple",
        "import pear.apple",
        "def grow():\n    from pear.apple import pip",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pear.apple import Pip",
    ],
)
def test_a_circle_is_found_however_it_is_closed(back: str) -> None:
    files = {"pear": "", "pear.apple": "from pear.plum import stone", "pear.plum": back}
    circle = circle_in(imports_of(files))
    assert circle is not None
    assert circle[0] == circle[-1] and set(circle) == {"pear.apple", "pear.plum"}
    assert circle_in(imports_of({**files, "pear.plum": "from pear import VERSION"})) is None


def read(*arguments: str) -> set[str]:
    """Return what is imported once a command line is read: libraries, and parts of the package."""
    code = (
        "import sys\n"
        "from gpuexplorer.cli.parser import parse\n"
        "try: parse(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('\\n' + ' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    modules = done.stdout.splitlines()[-1].split()
    return {name.removeprefix(f"{PACKAGE}.").split(".")[0] for name in modules}


@pytest.mark.parametrize("arguments", ["--help", "run matmul", "history", "study --help"])
def test_reading_a_command_line_imports_the_studies_for_studies_alone(arguments: str) -> None:
    imported = read(*arguments.split())
    assert "cli" in imported
    for part in ("studies", "results", "charts", "engine", "search"):
        assert (part in imported) <= arguments.startswith("study"), part
    assert ("studies" in imported) == arguments.startswith("study")


@pytest.mark.parametrize("arguments", ["--help", "run matmul --block 16x16", "sweep matmul"])
def test_a_command_line_is_read_without_numpy(arguments: str) -> None:
    imported = read(*arguments.split())
    assert imported >= {"cli", "core"} and not imported & {"numpy", "exchange", "calibration"}
