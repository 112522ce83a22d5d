"""Set-up decides rightly: which libraries for which driver, which packages, whether to ask."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import bootstrap
import pytest
import setup_apt
import setup_driver
from bootstrap import GOALS, Accelerator, Stamp
from setup_apt import Packages

ROOT = Path(__file__).resolve().parents[2]

NVIDIA_SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
"""


@pytest.mark.parametrize(
    ("cuda_version", "accelerator"),
    [
        (None, Accelerator.CPU),
        ((11, 8), Accelerator.CPU),
        ((12, 0), Accelerator.CUDA12),
        ((12, 9), Accelerator.CUDA12),
        ((13, 0), Accelerator.CUDA13),
        ((14, 1), Accelerator.CUDA13),  # a newer driver runs older libraries
    ],
)
def test_the_driver_decides_the_libraries(
    cuda_version: tuple[int, int] | None, accelerator: Accelerator
) -> None:
    assert bootstrap.accelerator_for(cuda_version) is accelerator


@pytest.mark.parametrize(("number", "version"), [(12040, (12, 4)), (13000, (13, 0))])
def test_the_driver_librarys_number_is_read(number: int, version: tuple[int, int]) -> None:
    assert setup_driver.version_from_driver_number(number) == version


def test_nvidia_smi_names_the_cuda_version() -> None:
    assert setup_driver.version_from_nvidia_smi(NVIDIA_SMI) == (12, 4)
    assert setup_driver.version_from_nvidia_smi("CUDA Version: N/A") is None
    assert setup_driver.version_from_nvidia_smi("") is None


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS.keys())
def test_without_a_gpu_nothing_for_a_gpu_is_installed(goal: bootstrap.Goal) -> None:
    extras = bootstrap.extras_for(goal, Accelerator.CPU)
    assert "cpu" in extras
    assert ("nvrtc" in extras) != (goal.name == "package")  # a package is kept small
    assert not extras & {"cuda12", "cuda13", "torch"}
    requests = bootstrap.torch_requests(Accelerator.CPU, "linux")
    assert {request.requirement for request in requests} == {"torch==2.13.0+cpu"}


def test_without_a_gpu_torch_is_asked_for_here_first_and_then_at_pytorchs_index() -> None:
    here, there = bootstrap.torch_requests(Accelerator.CPU, "linux")
    assert here.extra_index is None
    assert there.extra_index == "https://download.pytorch.org/whl/cpu"


def test_with_a_gpu_the_matching_libraries_are_installed() -> None:
    assert bootstrap.extras_for(GOALS["run"], Accelerator.CUDA13) == {"gui", "parquet", "cuda13"}
    assert bootstrap.extras_for(GOALS["run"], Accelerator.CUDA12) == {"gui", "parquet", "cuda12"}
    assert "constraints-cuda12.txt" in bootstrap.constraints_for({"gui", "cuda12"})
    assert "constraints-cuda12.txt" not in bootstrap.constraints_for({"gui", "cuda13"})


@pytest.mark.parametrize("accelerator", Accelerator)
def test_the_environment_without_qt_never_gets_qt(accelerator: Accelerator) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = bootstrap.extras_for(GOALS["noqt"], accelerator)
    listed = [
        *project["dependencies"],
        *(name for extra in extras for name in project["optional-dependencies"][extra]),
    ]
    assert not [name for name in listed if re.search("qt|pyside", name, re.IGNORECASE)]


@pytest.mark.parametrize("accelerator", Accelerator)
def test_packages_are_the_same_whatever_gpu_the_machine_has(accelerator: Accelerator) -> None:
    assert bootstrap.extras_for(GOALS["package"], accelerator) == {"gui", "cpu", "package"}


def test_every_extra_and_constraint_file_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for goal in GOALS.values():
        for accelerator in Accelerator:
            extras = bootstrap.extras_for(goal, accelerator)
            assert extras <= project["optional-dependencies"].keys()
            for name in bootstrap.constraints_for(extras):
                assert (ROOT / "packaging" / name).is_file()


@pytest.mark.parametrize("path", sorted((ROOT / "packaging").glob("constraints*.txt")))
def test_constraints_are_exact_and_name_no_place(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line)] == []


def test_the_apt_list_has_what_each_goal_needs() -> None:
    sections = setup_apt.parse_apt_list(bootstrap.APT_LIST.read_text(encoding="utf-8"))
    assert {section for goal in GOALS.values() for section in goal.apt_sections} <= sections.keys()
    assert ("libegl1",) in sections["qt"]
    assert ("xvfb",) in sections["test"]


def test_the_apt_list_is_read_with_comments_and_alternatives() -> None:
    text = "# all\n[one]\na\nb | c  # either\n\n[two]\nd\n"
    assert setup_apt.parse_apt_list(text) == {"one": [("a",), ("b", "c")], "two": [("d",)]}
    with pytest.raises(ValueError, match="before the first"):
        setup_apt.parse_apt_list("a\n[one]\n")


def test_only_whole_packages_count_as_installed() -> None:
    listing = (
        "libgl1\tinstall ok installed\nxvfb\tdeinstall ok config-files\n"
        "xauth\tunknown ok not-installed\nbroken\n"
    )
    assert setup_apt.parse_installed(listing) == {"libgl1"}


def test_a_package_is_missing_when_none_of_its_names_is_installed() -> None:
    wanted = [("libglib2.0-0", "libglib2.0-0t64"), ("libgl1",), ("xvfb",)]
    assert setup_apt.missing_packages(wanted, {"libglib2.0-0t64", "libgl1"}) == ["xvfb"]
    assert setup_apt.missing_packages(wanted, {"libgl1", "xvfb"}) == ["libglib2.0-0"]


def test_the_printed_command_is_the_one_that_would_run() -> None:
    commands = setup_apt.apt_commands(["xvfb", "xauth"])
    assert setup_apt.command_line(commands, sudo=True) == (
        "sudo apt-get update && sudo apt-get install -y --no-install-recommends xvfb xauth"
    )


@pytest.mark.parametrize(
    ("is_root", "terminal", "ci", "action"),
    [
        (True, False, False, Packages.INSTALL),
        (True, False, True, Packages.INSTALL),
        (True, True, True, Packages.INSTALL),
        (True, True, False, Packages.ASK),
        (False, False, False, Packages.PRINT),
        (False, True, False, Packages.PRINT),
        (False, True, True, Packages.PRINT),
    ],
)
def test_root_installs_and_is_asked_only_on_a_terminal(
    is_root: bool, terminal: bool, ci: bool, action: Packages
) -> None:
    assert setup_apt.decide(["xvfb"], is_root=is_root, terminal=terminal, ci=ci) is action
    nothing = setup_apt.decide([], is_root=is_root, terminal=terminal, ci=ci)
    assert nothing is Packages.NOTHING


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), ("", False), ("0", False), ("False", False)],
)
def test_ci_is_known_by_its_variable(value: str, expected: bool) -> None:
    assert setup_apt.under_ci({"CI": value}) is expected
    assert setup_apt.under_ci({}) is False


def test_an_environment_serves_whatever_asks_no_more_of_it() -> None:
    full = Stamp("k", frozenset({"gui", "dev", "cpu"}))
    assert full.covers(Stamp("k", frozenset({"gui", "cpu"})))
    assert not full.covers(Stamp("k", frozenset({"gui", "cuda13"})))
    assert not full.covers(Stamp("another", frozenset({"gui"})))


def test_a_stamp_is_stored_and_a_torn_one_is_no_stamp() -> None:
    stamp = Stamp("k", frozenset({"gui", "cpu"}))
    assert Stamp.from_json(stamp.to_json()) == stamp
    assert Stamp.from_json(stamp.to_json()[:9]) is None
    assert Stamp.from_json("[]") is None


def test_the_key_depends_on_the_accelerator_and_torch() -> None:
    keys = {bootstrap.stamp_key(a, torch=torch) for a in Accelerator for torch in (True, False)}
    assert len(keys) == 6


def test_a_failed_command_shows_the_end_of_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "setup.log"
    failing = [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]
    assert bootstrap.run_logged(failing, log, verbose=False) is False
    with pytest.raises(bootstrap.SetupError, match=re.escape(str(log))):
        bootstrap.fail(log, "It did not work.", verbose=False)
    assert "the reason" in capsys.readouterr().err


def test_whatever_fails_is_said_once_everything_has_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[str] = []

    def make(goal: bootstrap.Goal, *_: object, **__: object) -> None:
        made.append(goal.name)
        if goal.name == "test":
            raise bootstrap.SetupError("pip found no network.")

    def packages(goals: list[bootstrap.Goal], **_: object) -> None:
        raise bootstrap.SetupError("apt could not lock.")

    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "stamp_key", lambda *_, **__: "key")
    monkeypatch.setattr(bootstrap, "make_environment", make)
    monkeypatch.setattr(bootstrap, "ensure_packages", packages)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(
        bootstrap.SetupError, match=r"^apt could not lock\. pip found no network\.$"
    ):
        bootstrap.set_up([GOALS["test"], GOALS["noqt"]], torch=True, verbose=False)
    assert sorted(made) == ["noqt", "test"]


def test_bootstrap_needs_nothing_installed() -> None:
    script = str(ROOT / "packaging" / "bootstrap.py")
    answer = subprocess.run(
        [sys.executable, "-S", "-E", script, "--help"], capture_output=True, text=True, check=True
    )
    assert "run" in answer.stdout
