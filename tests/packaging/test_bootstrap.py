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
from bootstrap import GOALS, Accelerator, Libraries, Stamp
from setup_apt import Packages
from setup_driver import Choice, Driver, Here, choose

from gpuexplorer.core import cuda_driver
from gpuexplorer.core.cuda_driver import Gpu

ROOT = Path(__file__).resolve().parents[2]

CPU, CUDA12, CUDA13 = Accelerator.CPU, Accelerator.CUDA12, Accelerator.CUDA13
BLACKWELL = Gpu("NVIDIA GeForce RTX 5090", (12, 0))


@pytest.mark.parametrize(
    ("choice", "libraries"),
    [
        (Choice(None, False, "no driver"), Libraries(CPU, CPU)),
        (Choice(12, True, ""), Libraries(CUDA12, CUDA12)),
        (Choice(12, False, "no kernels"), Libraries(CUDA12, CPU)),
        (Choice(13, True, ""), Libraries(CUDA13, CUDA13)),
    ],
)
def test_the_choice_decides_the_libraries(choice: Choice, libraries: Libraries) -> None:
    assert bootstrap.libraries_for(choice) == libraries


@pytest.mark.parametrize(
    ("driver", "said"),
    [
        (None, "no NVIDIA GPU found: the CPU is the device"),
        (
            Driver((11, 8), (Gpu("Tesla K80", (3, 7)),), "520.61"),
            "CUDA 12 needs an NVIDIA driver 525 or newer, and this one runs CUDA 11.8: the CPU is "
            "the device",
        ),
        (
            Driver((12, 4), (BLACKWELL,), "550.54"),
            "NVIDIA GeForce RTX 5090 (compute capability 12.0) needs an NVIDIA driver 570 or "
            "newer: the CPU is the device",
        ),
        (
            Driver((12, 8), (BLACKWELL,), "570.86"),
            "NVIDIA GeForce RTX 5090, driver 570.86, CUDA 12.8: using cuda12 (PyTorch's build for "
            "CUDA 12 has no kernels for NVIDIA GeForce RTX 5090 (compute capability 12.0); an "
            "NVIDIA driver 580 or newer brings one that has)",
        ),
        (
            Driver((13, 0), (Gpu("Tesla V100", (7, 0)),), "580.1"),
            "Tesla V100, driver 580.1, CUDA 13.0: using cuda12",
        ),
    ],
)
def test_what_was_found_and_what_follows_is_one_line(driver: Driver | None, said: str) -> None:
    here = Here("linux", "x86_64", driver, (3, 12))
    assert bootstrap.describe(driver, choose(here)) == said


def test_set_up_and_engines_ask_the_driver_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(command[1:])
        listed = "Tesla V100, 580.95, 7.0\n" if command[1:] else "CUDA Version: 13.0"
        return subprocess.CompletedProcess(command, 0, listed, "")

    monkeypatch.setattr(cuda_driver, "tool", lambda: "nvidia-smi")
    monkeypatch.setattr(subprocess, "run", run)
    assert setup_driver.find_driver() == Driver((13, 0), (Gpu("Tesla V100", (7, 0)),), "580.95")
    assert asked == [["--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"], []]


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS.keys())
def test_without_a_gpu_nothing_for_a_gpu_is_installed(goal: bootstrap.Goal) -> None:
    extras = bootstrap.extras_for(goal, Accelerator.CPU)
    assert "cpu" in extras
    assert bool({"nvrtc", "nvrtc12"} & extras) != (goal.name == "package")  # it is kept small
    assert not extras & {"cuda12", "cuda13", "torch"}
    requests = bootstrap.torch_requests(Accelerator.CPU, "linux")
    assert {request.requirement for request in requests} == {"torch==2.13.0+cpu"}


def test_without_a_gpu_torch_is_asked_for_here_first_and_then_at_pytorchs_index() -> None:
    here, there = bootstrap.torch_requests(Accelerator.CPU, "linux")
    assert here.extra_index is None
    assert there.extra_index == "https://download.pytorch.org/whl/cpu"


def test_the_download_of_torch_says_that_it_takes_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "pip_install", lambda *_, **__: True)
    log = tmp_path / "setup.log"
    assert bootstrap.install_torch(tmp_path / "python", Accelerator.CPU, log, verbose=False)
    assert "(a few minutes the first time)" in capsys.readouterr().out


def test_with_a_gpu_the_matching_libraries_are_installed() -> None:
    assert bootstrap.extras_for(GOALS["run"], Accelerator.CUDA13) == {"gui", "parquet", "cuda13"}
    assert bootstrap.extras_for(GOALS["run"], Accelerator.CUDA12) == {"gui", "parquet", "cuda12"}
    assert "constraints-cuda12.txt" in bootstrap.constraints_for({"gui", "cuda12"})
    assert "constraints-cuda12.txt" not in bootstrap.constraints_for({"gui", "cuda13"})


def test_cuda_libraries_are_those_of_the_torch_beside_them() -> None:
    for accelerator in (CUDA12, CUDA13):
        extras = {accelerator.value, "cupti"}
        request = bootstrap.torch_requests(accelerator, "linux")[0]
        assert bootstrap.constraints_for(extras, torch=True) == request.constraints
        assert bootstrap.constraints_for(extras) != request.constraints
    assert bootstrap.constraints_for({"cpu", "nvrtc"}) == (
        "constraints.txt", "constraints-cuda13.txt",
    )  # fmt: skip


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS.keys())
def test_where_cuda_has_no_wheels_nothing_of_it_is_asked_for(
    goal: bootstrap.Goal, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Libraries(CPU, CPU)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not bootstrap.wanted_stamp(goal, nothing).extras & bootstrap.NVRTC
    monkeypatch.setattr(sys, "platform", "win32")
    compiles = bool(bootstrap.wanted_stamp(goal, nothing).extras & bootstrap.NVRTC)
    assert compiles == (goal.name != "package")


def test_cupti_comes_along_with_cuda_13_where_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    def extras(libraries: Libraries) -> frozenset[str]:
        return bootstrap.wanted_stamp(GOALS["run"], libraries).extras

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "version_info", (3, 14, 1))
    assert "cupti" not in extras(Libraries(CUDA13, CUDA13))
    assert "cupti" in extras(Libraries(CUDA13, None))
    assert "cupti" not in extras(Libraries(CUDA12, None))
    assert bootstrap.no_cupti(Libraries(CUDA13, CUDA13)).endswith("no wheel for Python 3.14")
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))
    assert "cupti" in extras(Libraries(CUDA13, CUDA13))
    monkeypatch.setattr(sys, "platform", "win32")
    assert "cupti" not in extras(Libraries(CUDA13, None))


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
    loose = [line for line in pins if not re.fullmatch(r"[a-z0-9.-]+==[0-9][0-9a-z.]*", line)]
    # PyTorch's build for CUDA 12 names its NVRTC itself, in metadata that are not here.
    assert loose == (["nvidia-cuda-nvrtc-cu12==12.6.*"] if "cuda12-torch" in path.name else [])


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


def test_the_key_depends_on_what_kernels_and_torch_compute_on() -> None:
    torches = (*Accelerator, None)
    keys = {bootstrap.stamp_key(Libraries(a, torch)) for a in Accelerator for torch in torches}
    assert len(keys) == 12


def test_a_failed_command_shows_the_end_of_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "setup.log"
    failing = [sys.executable, "-c", "print('the reason'); raise SystemExit(3)"]
    assert bootstrap.run_logged(failing, log, verbose=False) is False
    with pytest.raises(bootstrap.SetupError, match=re.escape(str(log))):
        bootstrap.fail(log, "It did not work.", verbose=False)
    assert "the reason" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["lib/python3.12/site-packages", "Lib/site-packages"])
def test_an_environment_made_for_another_cuda_is_emptied(tmp_path: Path, folder: str) -> None:
    """Its NVRTC would be loaded in place of the one that is wanted."""
    old = tmp_path / folder / "nvidia_cuda_nvrtc-13.0.88.dist-info"
    old.mkdir(parents=True)
    bootstrap.clear_of_another_cuda(tmp_path, {"gui", "cuda13"})
    bootstrap.clear_of_another_cuda(tmp_path, {"gui", "cpu", "nvrtc"})
    assert old.is_dir()
    bootstrap.clear_of_another_cuda(tmp_path, {"test", "nvrtc12"})
    assert tmp_path.is_dir() and not list(tmp_path.iterdir())
    (tmp_path / folder / "nvidia_cuda_nvrtc_cu12-12.9.86.dist-info").mkdir(parents=True)
    bootstrap.clear_of_another_cuda(tmp_path, {"gui", "cuda12"})
    assert list(tmp_path.iterdir())
    bootstrap.clear_of_another_cuda(tmp_path, {"gui", "cuda13"})
    assert not list(tmp_path.iterdir())


def test_kernels_are_compiled_with_the_nvrtc_of_every_kind_of_engine() -> None:
    """CUDA 13 beside the window, CUDA 12 without Qt, and there that of PyTorch for CUDA 12, too."""
    assert "nvrtc" in bootstrap.extras_for(GOALS["test"], Accelerator.CPU)
    assert all("nvrtc12" in bootstrap.extras_for(GOALS["noqt"], a) for a in Accelerator)
    own, of_torch = (
        "".join((ROOT / "packaging" / name).read_text(encoding="utf-8") for name in names)
        for names in (bootstrap.constraints_for({"nvrtc12"}, torch=t) for t in (False, True))
    )
    for package in ("runtime", "nvcc", "cccl"):
        assert f"nvidia-cuda-{package}-cu12==12.9." in own
        assert f"nvidia-cuda-{package}-cu12==12.6." in of_torch
    assert "nvidia-cuda-nvrtc-cu12==12.9." in own
    assert "nvidia-cuda-nvrtc-cu12==12.6.85" in bootstrap.NVRTC_OF_TORCH_PACKAGES
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"NVRTC_OF_TORCH = .venv-noqt/{bootstrap.NVRTC_OF_TORCH}\n" in makefile


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
    monkeypatch.setattr(bootstrap, "stamp_key", lambda _: "key")
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
