"""The builders' frame: what can be built here, in which order, and of which version."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import builder.__main__ as program
import pytest
from builder import targets, tools, version
from builder.errors import BuildError, CannotBuildHere
from builder.targets import Context, Target, normal_arch, ordered, registry

import gpuexplorer

ROOT = Path(__file__).resolve().parents[2]


def target(
    name: str, *after: str, needs: tuple[str, ...] = (), built: list[str] | None = None
) -> Target:
    def build(context: Context) -> list[Path]:
        if built is not None:
            built.append(name)
        path = context.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * 1000)
        return [path]

    return Target(name=name, title=f"the {name}", needs=needs, after=after, build=build)


def named(*made: Target) -> dict[str, Target]:
    return {one.name: one for one in made}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(
        root=ROOT, work=tmp_path / "build", out=tmp_path / "dist", version="1.2", epoch=0, arch="x"
    )


def test_what_comes_first_is_built_first_and_once() -> None:
    known = named(target("deb", "frozen"), target("tarball", "frozen"), target("frozen"))
    assert [one.name for one in ordered(["deb", "tarball"], known)] == ["frozen", "deb", "tarball"]


def test_an_unknown_target_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BuildError, match="no target 'rpm'; known are deb"):
        ordered(["rpm"], named(target("deb")))


def test_targets_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(BuildError, match="a -> b -> a"):
        ordered(["a"], named(target("a", "b"), target("b", "a")))


def test_everything_that_can_be_built_is_and_the_rest_is_named(
    context: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    built: list[str] = []
    known = named(
        target("frozen", built=built),
        target("other", needs=("no-such-program",), built=built),
        target("after", "other", built=built),
        target("deb", "frozen", built=built),
    )
    assert program.build(context, [], known) == 0
    assert built == ["frozen", "deb"]
    said = capsys.readouterr().out
    assert f"{context.out / 'deb'}  0.0 MB" in said
    assert re.search("not built here: other: no-such-program is missing", said)
    assert re.search("not built here: after: no-such-program is missing", said)


def test_what_was_asked_for_and_cannot_be_built_is_an_error(context: Context) -> None:
    built: list[str] = []
    known = named(target("frozen", built=built), target("b", needs=("no-such-program",)))
    with pytest.raises(CannotBuildHere, match="cannot build b: no-such-program is missing") as said:
        program.build(context, ["frozen", "b"], known)
    assert said.value.exit_code == 3
    assert built == []


def test_a_target_of_another_system_says_where_it_is_built() -> None:
    elsewhere = next(name for name in tools.PLATFORMS if name != tools.this_platform())
    assert target("x", needs=(elsewhere,)).problems() == [
        f"it is built on {tools.PLATFORMS[elsewhere]}"
    ]
    assert target("x", needs=(tools.this_platform(),)).problems() == []


def test_every_real_target_can_be_ordered_and_listed() -> None:
    known = registry()
    assert {one.name for one in ordered(known, known)} == known.keys()
    lines = program.listing(known)
    assert [line.split()[0] for line in lines] == list(known)
    assert all(line.count(": ") >= 1 for line in lines)


def test_two_targets_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "MODULES", ("frozen", "frozen"))
    with pytest.raises(BuildError, match="two targets are called 'frozen'"):
        registry()


def test_the_version_comes_from_the_package_alone() -> None:
    assert version.read_version(ROOT) == gpuexplorer.__version__


def test_a_checkout_without_a_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="cannot be read"):
        version.read_version(tmp_path)
    (tmp_path / "gpuexplorer").mkdir()
    (tmp_path / version.SOURCE).write_text("")
    with pytest.raises(BuildError, match="has no line __version__"):
        version.read_version(tmp_path)


def test_the_date_is_the_named_one_or_the_last_commits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(version.EPOCH_VARIABLE, "86400")
    assert version.read_epoch(ROOT) == 86400
    monkeypatch.setenv(version.EPOCH_VARIABLE, "yesterday")
    with pytest.raises(BuildError, match="'yesterday'"):
        version.read_epoch(ROOT)
    monkeypatch.delenv(version.EPOCH_VARIABLE)
    source = tmp_path / version.SOURCE
    source.parent.mkdir()
    source.touch()
    assert version.read_epoch(tmp_path) == int(source.stat().st_mtime)


@pytest.mark.parametrize(
    ("machine", "arch"), [("AMD64", "x86_64"), ("x86_64", "x86_64"), ("arm64", "aarch64")]
)
def test_processors_have_one_name(machine: str, arch: str) -> None:
    assert normal_arch(machine) == arch


def test_a_program_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "build.log"
    assert tools.run([sys.executable, "-c", "print('fine')"], log=log) == "fine\n"
    with pytest.raises(BuildError, match=r"(?s)ended with status 3.*the reason"):
        tools.run([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"], log=log)
    assert "fine" in log.read_text() and "the reason" in log.read_text()
    with pytest.raises(BuildError, match="cannot be started"):
        tools.run([tmp_path / "nothing"])


def test_the_builder_needs_nothing_installed_to_say_what_can_be_built() -> None:
    answer = subprocess.run(
        [sys.executable, "-S", "-m", "builder", "--list"],
        env={"PYTHONPATH": str(ROOT / "packaging"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert "PyInstaller is missing" in answer.stdout


def test_a_context_is_not_changed_by_a_builder(context: Context) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.version = "2"  # type: ignore[misc]
    assert context.frozen == context.work / "frozen" / "gpuexplorer"
