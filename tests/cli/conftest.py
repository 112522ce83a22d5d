"""Shared by the tests that run the real command line."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.cli import run_cli


@pytest.fixture(scope="session")
def run_document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The JSON of one real run, as standard output had it."""
    done = run_cli(
        "run", "matmul", "--variant", "naive", "--size", "256", "--block", "16x16",
        "--seconds", "0.5", "--json", "-",
        cwd=tmp_path_factory.mktemp("run"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = msgspec.json.decode(done.stdout.encode())
    return document
