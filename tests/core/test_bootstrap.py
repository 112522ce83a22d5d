"""What runs first in any Python: it parses on old ones, shadows nothing, and lends one package."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import gpuexplorer
from gpuexplorer.core import bootstrap
from gpuexplorer.core.frozen import module_command
from gpuexplorer.engine import protocol
from gpuexplorer.engine.checking import check_engine
from tests.support.pythons import make_python, pretend, put_package, site_of

SOURCE = Path(bootstrap.FILE)
ROOT = Path(__file__).resolve().parents[2]


def test_it_parses_on_python_3_8_and_imports_what_that_has() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
    of_3_8 = {"__future__", "importlib", "importlib.util", "os", "re", "runpy", "shlex", "struct"}
    assert imported <= of_3_8 | {"sys", "sysconfig"}
    for node in ast.walk(tree):  # methods that 3.9 brought
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("removeprefix", "removesuffix", "is_relative_to")


def test_no_annotation_is_looked_at_while_it_runs() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    first = tree.body[1]
    assert isinstance(first, ast.ImportFrom)
    assert (first.module, first.names[0].name) == ("__future__", "annotations")


def test_it_asks_for_what_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = dict(d.split(">=") for d in project["dependencies"])
    assert {name: asked[name] for name in bootstrap.REQUIRED} == bootstrap.REQUIRED
    oldest = ".".join(map(str, bootstrap.OLDEST_PYTHON))
    assert project["requires-python"] == f">={oldest}"


def test_an_environment_with_these_packages_alone_is_enough(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env", packages=False)
    here = Path(sysconfig.get_path("purelib"))
    for name in bootstrap.REQUIRED:
        for part in (name, f"{name}.py", f"{name}.libs", *_names(here, f"{name}-*.dist-info")):
            if (here / part).exists():
                (site_of(tmp_path / "env") / part).symlink_to(here / part)
    report = check_engine(str(python))
    assert report.problem is None
    assert report.devices is not None
    assert [device.id for device in report.devices if device.backend == "numpy"] == ["numpy:cpu"]


def _names(folder: Path, pattern: str) -> list[str]:
    return [path.name for path in folder.glob(pattern)]


LOOK = """
import json, sys
import gpuexplorer
import statistics, config  # names of files beside the bootstrap
print(json.dumps({
    "gpuexplorer": gpuexplorer.__file__, "version": gpuexplorer.__version__,
    "statistics": statistics.__file__, "config": config.__file__, "path": sys.path,
    "argv": sys.argv[1:],
}))
"""


def test_only_our_package_is_lent_and_nothing_of_theirs_is_hidden(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env", packages=False)
    put_package(tmp_path / "env", "config", "1.0")
    put_package(tmp_path / "env", "gpuexplorer", "0.0.1")  # another version is installed there
    looks = tmp_path / "copy" / "gpuexplorer"
    (looks / "core").mkdir(parents=True)
    (looks / "__init__.py").write_text((ROOT / "gpuexplorer" / "__init__.py").read_text())
    for name in ("__init__.py", "bootstrap.py", "statistics.py", "config.py"):
        (looks / "core" / name).write_text((ROOT / "gpuexplorer" / "core" / name).read_text())
    (looks / "look.py").write_text(LOOK)
    (tmp_path / "copy" / "beside.py").write_text("")
    environment = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        [python, looks / "core" / "bootstrap.py", "gpuexplorer.look", "a", "--b"],
        env=environment, cwd=looks / "core", capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen = json.loads(done.stdout)
    assert Path(seen["gpuexplorer"]).is_relative_to(looks)
    assert seen["version"] == gpuexplorer.__version__
    assert "core" not in Path(seen["statistics"]).parts
    assert Path(seen["config"]).is_relative_to(tmp_path / "env")
    assert not any(Path(path).is_relative_to(tmp_path / "copy") for path in seen["path"] if path)
    assert seen["argv"] == ["a", "--b"]


@pytest.mark.parametrize("frozen", [True, False])
def test_what_a_frozen_program_lends_keeps_its_folder_as_it_was_installed(
    frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    command = module_command("gpuexplorer.engine", python="/usr/bin/python3")
    assert command[:2] == ["/usr/bin/python3", "-B" if frozen else bootstrap.FILE]
    # The engine's own children, in an interpreter that is not frozen.
    monkeypatch.setattr(sys, "frozen", False, raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", frozen)
    assert ("-B" in module_command("gpuexplorer.engine")) is frozen
    # Where the environment says it, it need not be said again.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert "-B" not in module_command("gpuexplorer.engine")


def refused(done: subprocess.CompletedProcess[bytes]) -> tuple[str | None, protocol.Refused]:
    """Return the version and the refusal that stand in an output."""
    before, frame = done.stdout.split(protocol.PREAMBLE)
    version, rest = protocol.split_mark(before)
    assert rest == b""
    message = protocol.engine_decoder().decode(frame[4:])
    assert isinstance(message, protocol.Refused)
    assert int.from_bytes(frame[:4], "little") == len(frame) - 4
    return version, message


def ask(python: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = module_command("gpuexplorer.engine", python=str(python), framed=True)
    return subprocess.run(
        command, env={"PATH": os.environ["PATH"], **environment}, input=b"", capture_output=True,
        check=False,
    )  # fmt: skip


def test_a_python_that_lacks_packages_names_the_command(tmp_path: Path) -> None:
    python = make_python(tmp_path / "an env", packages=False)
    done = ask(python)
    version, message = refused(done)
    assert version == ".".join(map(str, sys.version_info[:3]))
    assert done.returncode == bootstrap.EXIT_UNSUITABLE
    assert message.what.endswith("lacks msgspec, numpy, platformdirs, psutil and simpleeval")
    assert str(python) in message.what
    assert f"'{python}' -m ensurepip" in message.remedy or "uv pip install" in message.remedy
    assert "'msgspec>=0.19' 'numpy>=2.0'" in message.remedy
    assert message.what.encode() in done.stderr


def test_a_package_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env")
    put_package(tmp_path / "env", "numpy", "1.26.4", "raise ImportError('must not be imported')")
    put_package(tmp_path / "env", "pip", "24.0")
    _, message = refused(ask(python))
    assert message.what.endswith("has numpy 1.26.4, which is too old")
    assert message.remedy.endswith(f"{python} -m pip install 'numpy>=2.0'")


def test_a_package_that_is_broken_is_told_with_its_cause(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env")
    put_package(
        tmp_path / "env", "numpy", "2.1.0",
        "try:\n    raise ImportError('libopenblas.so.0: cannot open')\n"
        "except ImportError as cause:\n    raise ImportError('A page of advice') from cause\n",
    )  # fmt: skip
    version, message = refused(ask(python))
    assert version is not None
    assert "cannot load what an engine needs: libopenblas.so.0: cannot open" in message.what
    assert "--force-reinstall" in message.remedy
    assert "A page of advice" in message.detail


@pytest.mark.parametrize(
    "raised", ["MemoryError()", "ImportError('x.so: failed to map segment from shared object')"]
)
def test_want_of_memory_is_no_reason_to_install_anything(raised: str, tmp_path: Path) -> None:
    python = make_python(tmp_path / "env")
    put_package(tmp_path / "env", "numpy", "2.1.0", f"raise {raised}\n")
    _, message = refused(ask(python))
    assert message.what == "there is not enough memory to start the engine"
    assert message.remedy == "end other programs"
    assert not message.detail


@pytest.mark.parametrize(
    ("version", "numbers"), [("2.0rc1", (2, 0)), ("1.26.4", (1, 26, 4)), ("odd", ())]
)
def test_versions_are_compared_by_their_numbers(version: str, numbers: tuple[int, ...]) -> None:
    assert bootstrap._numbers(version) == numbers


def test_a_system_python_gets_an_environment_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_of_the_system", lambda: True)
    command = bootstrap.install_command(["numpy"])
    assert "-m venv --system-site-packages" in command
    assert "gpuexplorer-engine/bin/python -m pip install 'numpy>=2.0'" in command


def test_an_older_python_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 19, "final", 0))
    what, remedy = bootstrap.unsuitable() or ("", "")
    assert "is Python 3.8.19, and an engine needs 3.11 or newer" in what
    assert remedy


def test_what_a_script_prints_first_stays_apart(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env", packages=False)
    greeting = pretend(tmp_path / "greeting", f"echo 'Welcome'\nexec {python} \"$@\"")
    done = ask(greeting)
    version, rest = protocol.split_mark(done.stdout.partition(protocol.PREAMBLE)[0])
    assert (version is not None, rest) == (True, b"Welcome\n")
