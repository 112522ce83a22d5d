"""The workflow that releases: every command, target, file and secret in it is one that exists."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from builder.targets import registry

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / ".github" / "workflows" / "release.yml"
TEXT = FILE.read_text(encoding="utf-8")
WORKFLOW: dict[Any, Any] = yaml.safe_load(TEXT)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in JOBS.items():
        for step in job["steps"]:
            yield name, step


def commands(job: str | None = None) -> str:
    return "\n".join(step["run"] for name, step in steps() if "run" in step and job in {None, name})


def test_a_tag_or_a_hand_starts_it() -> None:
    # YAML reads the bare word "on" as true.
    assert WORKFLOW[True]["push"] == {"tags": ["v*"]}
    assert "workflow_dispatch" in WORKFLOW[True]


def test_every_job_waits_for_jobs_that_exist_and_has_a_limit() -> None:
    for name, job in JOBS.items():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= JOBS.keys() - {name}
        assert 0 < job["timeout-minutes"] <= 120


def test_what_others_made_is_pinned_by_its_hash() -> None:
    for _, step in steps():
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
    assert len(re.findall(r"uses: \S+ # v\d+\.\d+\.\d+$", TEXT, re.MULTILINE)) == TEXT.count(
        "uses:"
    )
    # The same action is never there in two versions.
    used = {step["uses"] for _, step in steps() if "uses" in step}
    assert len({name.partition("@")[0] for name in used}) == len(used)


def test_only_the_draft_may_write() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert [name for name, job in JOBS.items() if "permissions" in job] == ["draft"]
    assert JOBS["draft"]["if"] == "github.ref_type == 'tag'"


def test_targets_and_files_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    goals = set(re.findall(r"(?m)^\s*(?:- run: )?make ([\w-]+)", TEXT))
    assert goals == {"package"}
    for goal in goals:
        assert re.search(rf"(?m)^{goal}:", makefile)
    for said in re.findall(r"-m builder((?: [a-z-]+)*)", TEXT):
        assert set(said.split()) <= registry().keys()
    for path in re.findall(r"packaging/[\w./-]+\.\w+", TEXT):
        assert (ROOT / path).is_file(), path


def test_every_system_builds_and_the_packaged_program_tests_itself() -> None:
    for job in ("linux", "windows", "macos"):
        said = commands(job)
        assert "make package" in said or "-m builder" in said
        assert "selftest --quick" in said
        assert any("upload-artifact" in step.get("uses", "") for _, step in steps())
        assert job in JOBS["draft"]["needs"]
    assert "sha256sum --check SHA256SUMS" in commands("draft")


def test_variables_of_ours_are_read_by_the_builder() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "packaging" / "builder").glob("*.py")
    )
    for name in set(re.findall(r"GPUEXPLORER_[A-Z_]+", TEXT)):
        assert f'"{name}"' in sources, name


def test_every_secret_is_explained() -> None:
    readme = (ROOT / "packaging" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:secrets|vars)\.([A-Z0-9_]+)", TEXT))
    assert named
    assert {name for name in named if f"`{name}`" not in readme} == set()


def test_no_secret_stands_in_a_command() -> None:
    # A command is printed, and an expression in it is text of whoever named a branch.
    assert "${{" not in commands()


@pytest.mark.parametrize("job", JOBS)
def test_the_shell_can_read_every_command(job: str) -> None:
    for name, step in steps():
        if name == job and "run" in step and step.get("shell") != "pwsh":
            done = subprocess.run(
                ["bash", "-n"], input=step["run"], text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr
