"""A report for strangers says neither who uses the program nor where."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuexplorer.core import private


@pytest.fixture(autouse=True)
def anna(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let Anna use a machine of the name of mars."""
    home = tmp_path / "anna"
    home.mkdir()
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(private, "user_name", lambda: "anna")
    monkeypatch.setattr(private, "host_name", lambda: "mars.example.org")
    return home


def test_the_home_folder_is_a_tilde(anna: Path) -> None:
    assert private.without_private(f"in {anna}/lib, {anna}") == "in ~/lib, ~"
    assert private.without_private(f"{str(anna).upper()}/x") == "~/x"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/data/anna/venv, ANNA's", "/data/USER/venv, USER's"),
        ("on mars.example.org and mars:0", "on HOST and HOST:0"),
        ("/data/anna_x and anna-projects", "/data/USER_x and USER-projects"),
        ("postgresql://bob:secret@db.example.org:5432/runs, 3", "postgresql://HOST/runs, 3"),
        ("see https://example.org/a", "see https://example.org/a"),
        ("annals of marsupials", "annals of marsupials"),
    ],
)  # fmt: skip
def test_names_are_left_out_where_they_stand_by_themselves(text: str, told: str) -> None:
    assert private.without_private(text) == told


def test_a_home_that_is_the_root_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/"))
    monkeypatch.setattr(private, "user_name", lambda: "")
    assert private.without_private("/usr/bin") == "/usr/bin"
