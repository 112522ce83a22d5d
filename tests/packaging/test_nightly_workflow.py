"""The nightly recipe: what takes long is run by names that exist, and a night can be repeated."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
TEXT = (FOLDER / "nightly.yml").read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def recipe(goal: str) -> str:
    """Return the commands of a goal."""
    found = re.search(rf"(?m)^{goal}:.*\n((?:\t.*\n)+)", MAKEFILE)
    assert found is not None
    return found[1]


def test_every_night_calls_what_takes_long_and_may_write_nothing() -> None:
    assert WORKFLOW[True]["schedule"]  # YAML reads the bare word "on" as true
    assert WORKFLOW["permissions"] == {"contents": "read"}
    (job,) = WORKFLOW["jobs"].values()
    assert job["timeout-minutes"] <= 360, "the limit of the machines it runs on"
    assert job["steps"][-1] == {"run": "make test-long"}
    release = (FOLDER / "release.yml").read_text(encoding="utf-8")
    for used in re.findall(r"uses: (.+)", TEXT):
        assert used in release, "actions are pinned in one version"


def test_everything_by_chance_follows_the_seed() -> None:
    commands = [line for line in recipe("test-long").splitlines() if "$(PY)" in line]
    assert len(commands) == 4
    assert all(re.search(r"--(order-)?seed \$\(SEED\)", line) for line in commands)
    assert "test-long" not in recipe("test")


def test_a_seed_gives_one_other_order_of_the_same_tests() -> None:
    def order(*options: str) -> list[str]:
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, "tests/core/test_units.py", "tests/core/test_text.py", *options],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [line for line in done.stdout.splitlines() if "::" in line]

    plain, mixed = order(), order("--order-seed", "7")
    assert mixed != plain and sorted(mixed) == sorted(plain)
    assert order("--order-seed", "7") == mixed
