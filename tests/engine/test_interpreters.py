"""The names of engines: kept in a file, found again, removed and brought back."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuexplorer.core.errors import InputError, WorkFailed
from gpuexplorer.core.locks import FileLock
from gpuexplorer.engine.candidates import find_candidates
from gpuexplorer.engine.interpreters import (
    BUILT_IN,
    CONFIG_VARIABLE,
    EnginesFile,
    Interpreters,
    checked_name,
    engine_words,
    find_interpreter,
    interpreter_at,
    is_own,
    name_for,
)
from gpuexplorer.exchange import files
from tests.support.pythons import make_conda, make_python, pretend


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "settings"))
    return tmp_path / "settings"


def test_names_are_kept_in_their_order_and_the_default_with_them(tmp_path: Path) -> None:
    first, second = pretend(tmp_path / "a", ":"), pretend(tmp_path / "b", ":")
    known = Interpreters()
    assert (known.all(), known.default) == ([], None)
    known.add("zeta", str(first))
    known.add("alpha", str(second))
    known.choose("alpha")
    again = Interpreters()
    assert [(one.name, one.path) for one in again.all()] == [("zeta", first), ("alpha", second)]
    assert again.default == "alpha"
    again.choose(BUILT_IN)
    assert Interpreters().default is None


def test_names_that_are_given_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    """Two programs that read the list before either had written it lost a name of the two."""
    python, names = str(pretend(tmp_path / "a", ":")), [f"n{number}" for number in range(20)]
    both = threading.Barrier(2, timeout=60.0)

    def give(word: str) -> None:
        for name in names:
            both.wait()
            Interpreters().add(f"{name}-{word}", python)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(give, ("here", "there")))
    assert set(find_names(Interpreters())) == {f"{n}-{w}" for n in names for w in ("here", "there")}


def test_a_list_that_another_program_does_not_let_go_of_is_a_sentence(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "OTHERS_S", 0.0)
    with FileLock(settings / "engines.lock"), pytest.raises(WorkFailed, match="is changing"):
        Interpreters().choose(BUILT_IN)
    Interpreters().choose(BUILT_IN)


def test_what_was_removed_comes_back_and_later_changes_stay(tmp_path: Path) -> None:
    known = Interpreters()
    for name in ("a", "b", "c"):
        known.add(name, str(pretend(tmp_path / name, ":")))
    known.choose("b")
    before = known.remove("b")
    assert known.default is None
    assert find_names(known) == ["a", "c"]
    known.add("d", str(pretend(tmp_path / "d", ":")))
    known.bring_back("b", before)
    assert find_names(known) == ["a", "b", "c", "d"]
    assert known.default == "b"


def find_names(known: Interpreters) -> list[str | None]:
    return [one.name for one in known.all()]


def test_a_word_is_a_name_a_path_a_folder_or_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = pretend(tmp_path / "env" / "bin", ":")
    Interpreters().add("mine", str(tmp_path / "env"))
    assert find_interpreter(None) is None
    assert find_interpreter(BUILT_IN) is None
    for word in (
        "mine",
        str(python),
        str(tmp_path / "env"),
        str(tmp_path / "env" / "bin/../bin/python"),
    ):
        found = find_interpreter(word)
        assert found is not None
        assert found.path == python
        assert found.label == ("mine" if word == "mine" else str(python))
    monkeypatch.setenv("PATH", str(python.parent))
    by_command = find_interpreter("python")
    assert by_command is not None
    assert by_command.path == python
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    named = find_interpreter("mine")
    assert named is not None
    assert named.path == python, "a name wins over a folder of the same name"


def test_a_link_of_an_environment_is_kept(tmp_path: Path) -> None:
    python = make_python(tmp_path / "env", packages=False)
    found = find_interpreter(str(python))
    assert found is not None
    assert found.path == python
    assert not found.is_own


def test_this_python_is_known_by_any_name_in_its_folder() -> None:
    own = Path(os.path.abspath(sys.executable))
    assert is_own(own)
    found = find_interpreter(str(own))
    assert found is not None
    assert found.label is None
    for other in own.parent.glob("python3*"):
        if other.samefile(own):
            assert is_own(other)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nothing", "'nothing' is no engine, no command and no path"),
        ("no/such/python", "there is no "),
        ("http://gpubox/python", "'http://gpubox/python' is no address of a machine"),
        (".", "is no environment: there is no Python in it"),
    ],
)
def test_a_word_that_means_nothing_is_refused(
    word: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said) as caught:
        find_interpreter(word)
    assert caught.value.remedy


def test_an_environment_that_was_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    python = pretend(tmp_path / "bin", ":")
    Interpreters().add("gone", str(python))
    python.unlink()
    with pytest.raises(InputError, match="the engine 'gone' is gone"):
        find_interpreter("gone")


@pytest.mark.parametrize("name", ["", BUILT_IN, "a b", "a,b", "engine=x", "../x", "-x", "x" * 61])
def test_names_that_could_not_be_words_are_refused(name: str) -> None:
    with pytest.raises(InputError):
        checked_name(name)


def test_a_name_is_given_once(tmp_path: Path) -> None:
    python = pretend(tmp_path / "bin", ":")
    Interpreters().add("one", str(python))
    with pytest.raises(InputError, match="there is an engine 'one' already"):
        Interpreters().add("one", str(python))
    with pytest.raises(InputError, match="no engine is called 'two'"):
        Interpreters().remove("two")
    with pytest.raises(InputError, match="no engine is called 'two'"):
        Interpreters().choose("two")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"engines": 3}', '{"schema": "gpuexplorer/engines/9"}']
)
def test_a_broken_file_is_named(text: str, settings: Path) -> None:
    settings.mkdir()
    (settings / "engines.json").write_text(text)
    with pytest.raises(InputError, match=r"engines\.json") as caught:
        Interpreters().read()
    assert "delete" in caught.value.remedy


def test_a_file_that_cannot_be_written_leaves_the_one_before(settings: Path) -> None:
    known = Interpreters()
    known.write(EnginesFile(engines={"a": "/a"}))
    (settings / "engines.json").unlink()
    (settings / "engines.json").mkdir()
    with pytest.raises(InputError):
        known.write(EnginesFile())
    assert not list(settings.glob(".engines*"))


@given(
    st.text(max_size=80).filter(lambda t: "\0" not in t and "/" not in t and t not in (".", "..")),
    st.sets(st.sampled_from(["env", "python", "env-2", "tf"])),
)
def test_any_folder_gives_a_name_that_can_be_used(folder: str, taken: set[str]) -> None:
    name = name_for(Path("/home/me") / (folder or "x") / "bin" / "python", taken)
    assert checked_name(name) == name
    assert name not in taken


def test_names_after_folders() -> None:
    assert name_for(Path("/home/me/envs/tf/bin/python"), set()) == "tf"
    assert name_for(Path("/home/me/project/.venv/bin/python"), set()) == "project"
    assert name_for(Path("/usr/bin/python3.12"), set()) == "python3.12"
    assert name_for(Path("/home/me/envs/tf/bin/python"), {"tf"}) == "tf-2"
    assert engine_words(None) == BUILT_IN
    assert engine_words("tf") == "tf"
    assert engine_words("/home/me/envs/tf/bin/python") == "envs/tf"


# ---- Pythons on a machine


def test_environments_conda_and_pyenv_are_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    work = home / "work"
    work.mkdir(parents=True)
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setenv("PYENV_ROOT", str(home / "pyenv"))
    for name in ("WORKON_HOME", "CONDA_EXE", "UV_PYTHON_INSTALL_DIR"):
        monkeypatch.delenv(name, raising=False)
    environment = make_python(work / ".venv", packages=False)
    conda = make_conda(home / "miniconda3" / "envs" / "deep", Path(sys.executable))
    elsewhere = make_conda(home / "elsewhere" / "env", Path(sys.executable))
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(
        f"{elsewhere.parent.parent}\n{conda.parent.parent}\n/gone\n\n"
    )
    pyenv = pretend(home / "pyenv" / "versions" / "3.12.4" / "bin", ":")
    uv = pretend(home / ".local/share/uv/python/cpython-3.13.1-linux/bin", ":")
    found = find_candidates(work)
    mine = [one for one in found if one.path.startswith(str(tmp_path))]
    version = ".".join(map(str, sys.version_info[:3]))
    assert [(one.kind, one.path, one.python) for one in mine] == [
        ("environment", str(environment), version),
        ("conda", str(elsewhere), None),
        ("conda", str(conda), None),
        ("pyenv", str(pyenv), "3.12.4"),
        ("uv", str(uv), "3.13.1"),
    ]
    assert not any(is_own(Path(one.path)) for one in found)
    assert len({one.path for one in found}) == len(found)


@pytest.mark.parametrize("word", ["~nobody-is-called-this/bin/python", f"/tmp/{'a' * 300}"])
def test_a_path_that_cannot_be_is_told_in_a_sentence(word: str) -> None:
    with pytest.raises(InputError, match="there is no /"):
        interpreter_at(word)
