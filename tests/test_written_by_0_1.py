"""What version 0.1 wrote can still be opened: documents, a table, a store and a session."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gpuexplorer import cli
from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.tuning import Tuning

FOLDER = Path(__file__).parent / "written_by_0_1"
RUNS = {
    "run.json": 1, "model.json": 1, "sweep.json": 4, "comparison.json": 2, "precision.json": 2,
    "switches.json": 5, "speedup.json": 6,
}  # fmt: skip


Command = Callable[..., str]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return what runs a command that should end well, and gives what it wrote."""

    def run(*words: str | Path) -> str:
        assert cli.main([str(word) for word in words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


def test_its_documents_are_imported_and_reported(tmp_path: Path, command: Command) -> None:
    store = tmp_path / "new.sqlite"
    for name, runs in RUNS.items():
        said = command("import", FOLDER / name, "--history", store)
        assert f"{runs} run{'s' if runs > 1 else ''} imported" in said
    said = command("import", FOLDER / "run.parquet", "--history", store)
    assert "1 was in the history already" in said
    for name in ("comparison.json", "precision.json", "switches.json", "speedup.json"):
        page = tmp_path / f"{name}.html"
        command("report", FOLDER / name, page)
        assert "<svg" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "kind"), [("tuning.json", Tuning), ("operators.json", OperatorProfile)]
)
def test_its_other_documents_fit_their_types(name: str, kind: type[msgspec.Struct]) -> None:
    document = msgspec.json.decode((FOLDER / name).read_bytes(), type=kind)
    again = msgspec.json.encode(document)
    assert msgspec.json.decode(again, type=kind) == document


def test_its_store_is_listed_and_added_to(tmp_path: Path, command: Command) -> None:
    store = tmp_path / "history.sqlite"
    shutil.copy(FOLDER / "history.sqlite", store)
    before = command("history", "--json", "--limit", "500", "--history", store)
    runs = msgspec.json.decode(before)["runs"]
    assert {run["workload"] for run in runs} == {"matmul", "mlp_training"}
    command("import", FOLDER / "run.json", "--history", store)
    command("history", "show", runs[0]["id"], "--history", store)
