"""What version 0.1 wrote can still be opened: documents, a table, a store and a session."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from gpuexplorer.core.operators import OperatorProfile
from gpuexplorer.core.tuning import Tuning
from tests.support.cli import run_cli

FOLDER = Path(__file__).parent / "written_by_0_1"
RUNS = {
    "run.json": 1, "model.json": 1, "sweep.json": 4, "comparison.json": 2, "precision.json": 2,
    "switches.json": 5, "speedup.json": 6,
}  # fmt: skip


def test_its_documents_are_imported_and_reported(tmp_path: Path) -> None:
    store = tmp_path / "new.sqlite"
    for name, runs in RUNS.items():
        done = run_cli("import", FOLDER / name, "--history", store, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert f"{runs} run{'s' if runs > 1 else ''} imported" in done.stdout
    done = run_cli("import", FOLDER / "run.parquet", "--history", store, cwd=tmp_path)
    assert "1 was in the history already" in done.stdout
    for name in ("comparison.json", "precision.json", "switches.json", "speedup.json"):
        page = tmp_path / f"{name}.html"
        done = run_cli("report", FOLDER / name, page, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "<svg" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "kind"), [("tuning.json", Tuning), ("operators.json", OperatorProfile)]
)
def test_its_other_documents_fit_their_types(name: str, kind: type[msgspec.Struct]) -> None:
    document = msgspec.json.decode((FOLDER / name).read_bytes(), type=kind)
    again = msgspec.json.encode(document)
    assert msgspec.json.decode(again, type=kind) == document


def test_its_store_is_listed_and_added_to(tmp_path: Path) -> None:
    store = tmp_path / "history.sqlite"
    shutil.copy(FOLDER / "history.sqlite", store)
    before = run_cli("history", "--json", "--limit", "500", "--history", store, cwd=tmp_path)
    assert before.returncode == 0, before.stderr
    runs = msgspec.json.decode(before.stdout)["runs"]
    assert {run["workload"] for run in runs} == {"matmul", "mlp_training"}
    done = run_cli("import", FOLDER / "run.json", "--history", store, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = run_cli("history", "show", runs[0]["id"], "--history", store, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
