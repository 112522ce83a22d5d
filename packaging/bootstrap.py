"""Set GPU Explorer up on this machine: system packages, a virtual environment, the right extras.

Standard library only, because it runs before anything is installed::

    python3 packaging/bootstrap.py run     # what the window and the command line need
    python3 packaging/bootstrap.py test    # and what the tests and checks need
    python3 packaging/bootstrap.py noqt    # a second environment in which Qt is not installed
    python3 packaging/bootstrap.py package  # one that packages are built of and with
    python3 packaging/bootstrap.py frameworks  # one with TensorFlow, Keras, JAX and PyTorch

Several goals may be named. A second call finds its stamp in the environment and returns at once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform as host
import re
import shlex
import shutil
import subprocess
import sys
import venv
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import NoReturn

from setup_apt import (
    Packages,
    apt_commands,
    command_line,
    decide,
    installed_packages,
    missing_packages,
    parse_apt_list,
    under_ci,
)
from setup_driver import (
    ROOT,
    Choice,
    Driver,
    choose,
    find_driver,
    this_machine,
    trouble_of_system,
    without_cupti,
)

PACKAGING = ROOT / "packaging"
APT_LIST = PACKAGING / "linux" / "apt-packages.txt"
OLDEST_PYTHON = (3, 11)
TORCH_VERSION = "2.13.0"
TORCH_INDEX = "https://download.pytorch.org/whl"
LOG_TAIL_LINES = 15
FIRST_TIME = "a few minutes the first time"
"""How long what is downloaded takes."""
STAMP = "setup.stamp"
"""The file in an environment that says what it was made for."""
WHEELS = "wheels.json"
"""The file in an environment with the SHA-256 of each wheel that pip installed."""


class SetupError(Exception):
    """Set-up cannot go on; the message is one sentence that names the remedy."""


class Accelerator(Enum):
    """What this machine computes on, which decides the libraries it gets."""

    CPU = "cpu"
    CUDA12 = "cuda12"
    CUDA13 = "cuda13"


@dataclass(frozen=True)
class Libraries:
    """What an environment's own kernels and PyTorch compute on, which decides their libraries."""

    kernels: Accelerator
    torch: Accelerator | None
    """None: no PyTorch."""


@dataclass(frozen=True)
class Goal:
    """One use of the checkout: which Debian packages, environment and extras it needs."""

    name: str
    environment: str
    apt_sections: tuple[str, ...]
    extras: frozenset[str]
    torch: bool


NVRTC = frozenset({"nvrtc", "nvrtc12"})
"""The compiler of CUDA, which has wheels only for systems that have a driver."""
OF_CUDA_12 = frozenset({"cuda12", "nvrtc12"})
NVRTC_OF_TORCH = "nvrtc-of-torch"
"""The folder, in the environment without Qt, with the NVRTC that comes with PyTorch for CUDA 12 and
the headers of its toolkit: tests compile with it, too."""
NVRTC_OF_TORCH_PACKAGES = (
    "nvidia-cuda-nvrtc-cu12==12.6.85", "nvidia-cuda-runtime-cu12", "nvidia-cuda-nvcc-cu12",
    "nvidia-cuda-cccl-cu12",
)  # fmt: skip
PACKAGED = frozenset({"gui", "cpu", "package"})
"""The extras of the packages."""
GOALS = {
    goal.name: goal
    for goal in (
        Goal("run", ".venv", ("qt", "x11", "pocl"), frozenset({"gui", "parquet"}), torch=True),
        Goal(
            "test",
            ".venv",
            ("qt", "x11", "pocl", "test"),
            frozenset({"gui", "dev", "parquet"}),
            torch=True,
        ),
        Goal("noqt", ".venv-noqt", ("pocl",), frozenset({"test", "parquet"}), torch=False),
        # The same on every machine, whatever GPU it has: what is given to users is built of it.
        Goal("package", ".venv-package", ("qt", "package"), PACKAGED, torch=False),
    )
}


@dataclass(frozen=True)
class TorchRequest:
    """One way to ask pip for torch: the requirement, where else to look, and the constraints."""

    requirement: str
    extra_index: str | None
    constraints: tuple[str, ...]


@dataclass(frozen=True)
class Stamp:
    """What an environment was made for: it is ready for whatever asks no more than this."""

    key: str
    extras: frozenset[str]

    def covers(self, other: Stamp) -> bool:
        """Return whether an environment with this stamp also serves the other."""
        return self.key == other.key and self.extras >= other.extras

    def to_json(self) -> str:
        """Return the stamp as it is stored."""
        return json.dumps({"key": self.key, "extras": sorted(self.extras)})

    @staticmethod
    def from_json(text: str) -> Stamp | None:
        """Return the stored stamp, or None when it cannot be understood."""
        try:
            data = json.loads(text)
            return Stamp(str(data["key"]), frozenset(map(str, data["extras"])))
        except (ValueError, KeyError, TypeError):
            return None


# --- which libraries -----------------------------------------------------------------------------


def libraries_for(choice: Choice) -> Libraries:
    """Return what is installed; PyTorch is built for the CPU where no build of it runs on the GPU.

    So what is measured of it on the CPU can be measured on every machine.
    """
    if choice.cuda is None:
        return Libraries(Accelerator.CPU, Accelerator.CPU)
    kernels = Accelerator(f"cuda{choice.cuda}")
    return Libraries(kernels, kernels if choice.torch else Accelerator.CPU)


def extras_for(goal: Goal, accelerator: Accelerator) -> frozenset[str]:
    """Return the package's extras; without a GPU, NVRTC is added to compile and analyse anyway."""
    if goal.extras == PACKAGED:
        return PACKAGED
    if goal.environment == ".venv-noqt":  # so that kernels are compiled with CUDA 12, too
        return goal.extras | {"cpu", "nvrtc12"}
    if accelerator is Accelerator.CPU:
        return goal.extras | {"cpu", "nvrtc"}
    return goal.extras | {accelerator.value}


def constraints_for(extras: Collection[str], *, torch: bool = False) -> tuple[str, ...]:
    """Return the constraint files: the common one, and those of the CUDA libraries in use.

    ``torch``: beside PyTorch in its build for that CUDA, which asks for its own toolkit's.
    """
    if OF_CUDA_12 & set(extras):
        return ("constraints.txt", f"constraints-cuda12{'-torch' if torch else ''}.txt")
    cupti = f"constraints-cupti{'-torch' if torch else ''}.txt"
    return ("constraints.txt", "constraints-cuda13.txt", *([cupti] if "cupti" in extras else []))


def torch_requests(accelerator: Accelerator, platform: str = sys.platform) -> list[TorchRequest]:
    """Return the ways to ask for torch, in the order to try them.

    Without a GPU only the build for the CPU is ever asked for, first as this machine's own pip
    configuration finds it, then from PyTorch's public index. What PyPI serves for Linux needs a
    driver for CUDA 13, so CUDA 12 has an index of its own.
    """
    both = constraints_for({"cuda13"})
    if platform == "darwin":  # there is one build, for the CPU and Metal
        return [TorchRequest(f"torch=={TORCH_VERSION}", None, both)]
    if accelerator is Accelerator.CUDA13:
        index = f"{TORCH_INDEX}/cu130" if platform == "win32" else None
        own = constraints_for({"cuda13", "cupti"}, torch=True)
        return [TorchRequest(f"torch=={TORCH_VERSION}", index, own)]
    if accelerator is Accelerator.CUDA12:
        build, own = f"torch=={TORCH_VERSION}+cu126", constraints_for({"cuda12"}, torch=True)
        return [TorchRequest(build, f"{TORCH_INDEX}/cu126", own)]
    build = f"torch=={TORCH_VERSION}+cpu"
    return [TorchRequest(build, None, both), TorchRequest(build, f"{TORCH_INDEX}/cpu", both)]


# --- doing it ------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"setup: {text}", flush=True)


def run_logged(command: Sequence[str], log: Path, *, verbose: bool) -> bool:
    """Run a command with its output in the log, or on the screen as well; return its success."""
    quiet_apt = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with log.open("a", encoding="utf-8") as file:
        file.write(f"$ {shlex.join(command)}\n")
        file.flush()
        if not verbose:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=quiet_apt,
                check=False,
            )
            return done.returncode == 0
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=quiet_apt,
            text=True,
        ) as child:
            assert child.stdout is not None
            for line in child.stdout:
                print(line, end="", flush=True)
                file.write(line)
        return child.returncode == 0


def fail(log: Path, sentence: str, *, verbose: bool) -> NoReturn:
    """Show the end of the log, unless it was on the screen, and stop with this sentence."""
    if not verbose:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(f"  {line}" for line in lines[-LOG_TAIL_LINES:]), file=sys.stderr)
    raise SetupError(f"{sentence} The whole log is {log}.")


def ensure_packages(goals: Sequence[Goal], *, verbose: bool) -> None:
    """Install the Debian packages these goals need, or say how to."""
    if sys.platform != "linux":
        return
    log = ROOT / goals[0].environment / "packages.log"
    sections = parse_apt_list(APT_LIST.read_text(encoding="utf-8"))
    names_of_sections = dict.fromkeys(name for goal in goals for name in goal.apt_sections)
    wanted = [names for section in names_of_sections for names in sections[section]]
    installed = installed_packages()
    if installed is None:
        names = ", ".join(names[0] for names in wanted)
        say(f"this is not Debian; please have your system's counterparts of: {names}")
        return
    missing = list(dict.fromkeys(missing_packages(wanted, installed)))
    action = decide(
        missing,
        is_root=os.geteuid() == 0,
        terminal=sys.stdin.isatty() and sys.stdout.isatty(),
        ci=under_ci(os.environ),
    )
    commands = apt_commands(missing)
    if action is Packages.ASK:
        answer = input(f"setup: install {len(missing)} packages ({' '.join(missing)})? [Y/n] ")
        action = Packages.INSTALL if answer.strip().lower() in {"", "y", "yes"} else Packages.PRINT
    if action is Packages.PRINT:
        say("system packages are missing; install them with:")
        print(f"  {command_line(commands, sudo=os.geteuid() != 0)}", flush=True)
    if action is Packages.INSTALL:
        say(f"installing {len(missing)} system packages")
        # A stale list of packages may still do, so only the install decides.
        successes = [run_logged(command, log, verbose=verbose) for command in commands]
        if not successes[-1]:
            retry = command_line(commands)
            fail(log, f"apt could not install them; try: {retry}.", verbose=verbose)


def python_of(environment: Path) -> Path:
    """Return the path of an environment's interpreter."""
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def ensure_environment(environment: Path) -> Path:
    """Make the virtual environment unless it works already; return its interpreter."""
    python = python_of(environment)
    if (
        python.exists()
        and subprocess.run(
            [python, "-m", "pip", "--version"], capture_output=True, check=False
        ).returncode
        == 0
    ):
        return python
    say(f"making {environment.name} with Python {sys.version.split()[0]}")
    try:
        venv.create(environment, with_pip=True, symlinks=sys.platform != "win32")
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetupError(
            "Python cannot make a virtual environment with pip; on Debian install python3-venv "
            "(apt-get install python3-venv) and run this again."
        ) from error
    return python


def pip_install(
    python: Path,
    requirements: Sequence[str],
    constraints: Sequence[str],
    log: Path,
    *,
    extra_index: str | None = None,
    report: Path | None = None,
    alone_in: Path | None = None,
    verbose: bool = False,
) -> bool:
    """Run pip in the environment; return its success. ``report`` receives what it installed.

    ``alone_in`` is another folder to install into, without what the requirements require.
    """
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", "--no-input"]
    for name in constraints:
        command += ["--constraint", str(PACKAGING / name)]
    if extra_index is not None:
        command += ["--extra-index-url", extra_index]
    if report is not None:
        command += ["--report", str(report)]
    if alone_in is not None:
        command += ["--no-deps", "--target", str(alone_in)]
    return run_logged([*command, *requirements], log, verbose=verbose)


def keep_hashes(report: Path, kept: Path) -> None:
    """Add the SHA-256 of what pip has just installed to that of what it installed before.

    The bill of materials tells them; pip itself forgets them.
    """
    hashes: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for item in json.loads(report.read_text(encoding="utf-8"))["install"]:
        name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
        archive = item["download_info"].get("archive_info", {})
        if "sha256" in archive.get("hashes", {}):
            hashes[f"{name}=={item['metadata']['version']}"] = archive["hashes"]["sha256"]
    kept.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    report.unlink()


def install_torch(python: Path, accelerator: Accelerator, log: Path, *, verbose: bool) -> bool:
    """Install torch the first way that works; False where the rest goes on without it."""
    requests = torch_requests(accelerator)
    say(f"installing {requests[0].requirement} ({FIRST_TIME})")
    for request in requests:
        if pip_install(
            python,
            [request.requirement],
            request.constraints,
            log,
            extra_index=request.extra_index,
            verbose=verbose,
        ):
            return True
    say(
        f"pip found no {requests[0].requirement}: going on without torch and its devices "
        "(make clean setup asks again)"
    )
    return False


def describe(driver: Driver | None, choice: Choice) -> str:
    """Return in one line what was found and what follows from it."""
    if driver is None:
        return "no NVIDIA GPU found: the CPU is the device"
    if choice.cuda is None:
        return f"{choice.remark}: the CPU is the device"
    remark = f" ({choice.remark})" if choice.remark else ""
    return f"{driver.words}: using cuda{choice.cuda}{remark}"


def stamp_key(libraries: Libraries) -> str:
    """Return what an installation depends on, as a hash; a change means to install again."""
    digest = hashlib.sha256()
    constraint_files = sorted(PACKAGING.glob("constraints*.txt"))
    for path in (ROOT / "pyproject.toml", *constraint_files, Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(repr((str(ROOT), sys.version_info[:3], libraries)).encode())
    return digest.hexdigest()


def read_stamp(path: Path) -> Stamp | None:
    """Return the stamp in a file, or None."""
    return Stamp.from_json(path.read_text(encoding="utf-8")) if path.exists() else None


def set_up(goals: Sequence[Goal], *, torch: bool, verbose: bool) -> None:
    """Bring the machine to where these goals work; return at once if it is there already.

    Debian packages are installed and environments made side by side, unless all that is printed is
    to be seen. Raises SetupError with what went wrong in any of them.
    """
    for goal in goals:
        (ROOT / goal.environment).mkdir(exist_ok=True)
    driver = find_driver()
    choice = choose(this_machine(driver, sys.version_info[:2]))
    libraries = libraries_for(choice) if torch else replace(libraries_for(choice), torch=None)
    unmade = [goal for goal in goals if not is_made(goal, libraries)]
    if unmade:
        say(describe(driver, choice))
    for goal in unmade:
        clear_of_another_cuda(ROOT / goal.environment, extras_for(goal, libraries.kernels))
    apart = len({goal.environment for goal in unmade}) == len(unmade) and not verbose
    asks = sys.stdin.isatty()  # nothing goes on behind a question
    if asks:
        ensure_packages(goals, verbose=verbose)
    with ThreadPoolExecutor(len(unmade) + 1 if apart else 1) as threads:
        works = [] if asks else [threads.submit(ensure_packages, goals, verbose=verbose)]
        works += [
            threads.submit(make_environment, goal, libraries, verbose=verbose) for goal in unmade
        ]
    failures = []
    for work in works:
        try:
            work.result()
        except SetupError as error:
            failures.append(str(error))
    if failures:
        raise SetupError(" ".join(failures))


def wanted_stamp(goal: Goal, libraries: Libraries) -> Stamp:
    """Return the stamp of an environment that serves a goal."""
    asked = libraries if goal.torch else replace(libraries, torch=None)
    extras = extras_for(goal, libraries.kernels)
    if trouble_of_system(this_machine(None)):
        extras -= NVRTC
    if "cuda13" in extras and not no_cupti(asked):
        extras |= {"cupti"}
    return Stamp(stamp_key(asked), extras)


def no_cupti(libraries: Libraries) -> str:
    """Return why CUPTI's package does not come along with CUDA 13; empty where it does."""
    beside_torch = libraries.torch is Accelerator.CUDA13
    return without_cupti(sys.platform, sys.version_info[:2], beside_torch)


def is_made(goal: Goal, libraries: Libraries) -> bool:
    """Return whether a goal's environment serves it already."""
    environment = ROOT / goal.environment
    present = read_stamp(environment / STAMP)
    wanted = wanted_stamp(goal, libraries)
    return present is not None and present.covers(wanted) and python_of(environment).exists()


def clear_of_another_cuda(environment: Path, extras: Collection[str]) -> None:
    """Empty an environment that was made for another CUDA: of two NVRTCs the newer is loaded."""
    unwanted = "nvidia_cuda_nvrtc-*" if OF_CUDA_12 & set(extras) else "nvidia_cuda_nvrtc_cu12-*"
    found = (
        installed
        for packages in ("lib/*/site-packages", "Lib/site-packages")
        for installed in environment.glob(f"{packages}/{unwanted}.dist-info")
    )
    if next(found, None) is None:
        return
    say(f"{environment.name} was made for another CUDA: making it anew")
    shutil.rmtree(environment)
    environment.mkdir()


def install_nvrtc_of_torch(python: Path, log: Path, *, verbose: bool) -> None:
    """Install NVRTC_OF_TORCH with its headers into its own folder, alone."""
    folder = python.parents[1] / NVRTC_OF_TORCH
    shutil.rmtree(folder, ignore_errors=True)
    say("installing the NVRTC of PyTorch's build for CUDA 12 (49 MB), for tests")
    names = constraints_for({"nvrtc12"}, torch=True)
    if not pip_install(
        python, NVRTC_OF_TORCH_PACKAGES, names, log, alone_in=folder, verbose=verbose
    ):
        what = "pip could not install an NVRTC; check the network and run this again."
        fail(log, what, verbose=verbose)


def make_environment(goal: Goal, libraries: Libraries, *, verbose: bool) -> None:
    """Install what a goal needs in its environment; SetupError when that fails."""
    environment = ROOT / goal.environment
    log, stamp_file = environment / "setup.log", environment / STAMP
    wanted, present = wanted_stamp(goal, libraries), read_stamp(stamp_file)
    extras = wanted.extras
    if present is not None and present.key == wanted.key:
        extras |= present.extras  # a second goal in the same environment keeps the first's
    stamp_file.unlink(missing_ok=True)
    python = ensure_environment(environment)
    beside_torch = False
    if goal.torch and libraries.torch is not None:
        installed = install_torch(python, libraries.torch, log, verbose=verbose)
        beside_torch = installed and libraries.torch is libraries.kernels
    listed = ",".join(sorted(extras))
    say(f"installing gpuexplorer[{listed}] ({FIRST_TIME}; log: {log})")
    project = ["--editable", f"{ROOT}[{listed}]"]
    report = environment / "pip-report.json"
    if "cuda13" in extras and "cupti" not in extras:
        say(f"cupti-python is left out: {no_cupti(libraries)}")
    constraints = constraints_for(extras, torch=beside_torch)
    if not pip_install(python, project, constraints, log, report=report, verbose=verbose):
        fail(
            log,
            "pip could not install the packages; check the network and run this again.",
            verbose=verbose,
        )
    keep_hashes(report, environment / WHEELS)
    if "nvrtc12" in extras:
        install_nvrtc_of_torch(python, log, verbose=verbose)
    stamp_file.write_text(Stamp(wanted.key, extras).to_json(), encoding="utf-8")
    say(f"{environment.name} is ready")


# --- the frameworks' own environment -------------------------------------------------------------

FRAMEWORKS = ".venv-frameworks"
FRAMEWORKS_PYTHON = (3, 13)
"""The newest Python that TensorFlow has wheels for."""
FRAMEWORKS_SIZES = (
    "about 630 MB to download (TensorFlow 275, PyTorch 190, jaxlib 85, SciPy 35, and smaller ones) "
    "and 3 GB of disk"
)
ENGINE_NEEDS = ("msgspec", "numpy", "platformdirs", "psutil", "simpleeval")
"""What an engine in another Python imports besides the standard library."""


def framework_requirements(
    platform: str = sys.platform, machine: str | None = None
) -> tuple[str, ...]:
    """Return what the frameworks' environment gets besides torch, built for the CPU alone."""
    intel = (machine or host.machine()).lower() in {"x86_64", "amd64"}
    # Elsewhere there is one build, which is for the CPU.
    tensorflow = "tensorflow-cpu" if intel and platform == "linux" else "tensorflow"
    return (*ENGINE_NEEDS, tensorflow, "keras", "jax")


def frameworks_key() -> str:
    """Return what the frameworks' environment depends on, as a hash."""
    digest = hashlib.sha256()
    for name in ("constraints.txt", "constraints-frameworks.txt"):
        digest.update((PACKAGING / name).read_bytes())
    asked = (framework_requirements(), TORCH_VERSION, sys.version_info[:3])
    digest.update(repr(asked).encode())
    return digest.hexdigest()


def set_up_frameworks(*, verbose: bool) -> None:
    """Make the environment with TensorFlow, Keras, JAX and torch for the CPU, unless it is there.

    An engine runs in it (``--python .venv-frameworks/bin/python``), so the program itself is not
    installed.
    """
    if sys.version_info[:2] > FRAMEWORKS_PYTHON:
        raise SetupError(
            f"TensorFlow has no wheels for Python {sys.version_info[0]}.{sys.version_info[1]} yet; "
            "name an older one with: make PYTHON=python3.13 frameworks"
        )
    environment = ROOT / FRAMEWORKS
    environment.mkdir(exist_ok=True)
    log, stamp_file = environment / "setup.log", environment / STAMP
    wanted = Stamp(frameworks_key(), frozenset())
    present = read_stamp(stamp_file)
    if present is not None and present.covers(wanted) and python_of(environment).exists():
        return
    stamp_file.unlink(missing_ok=True)
    say(f"TensorFlow, Keras, JAX and PyTorch for the CPU: {FRAMEWORKS_SIZES}")
    python = ensure_environment(environment)
    install_torch(python, Accelerator.CPU, log, verbose=verbose)
    requirements = framework_requirements()
    say(f"installing {', '.join(requirements)} (some minutes; log: {log})")
    constraints = ("constraints.txt", "constraints-frameworks.txt")
    if not pip_install(python, requirements, constraints, log, verbose=verbose):
        fail(
            log,
            "pip could not install the frameworks; check the network and run this again.",
            verbose=verbose,
        )
    stamp_file.write_text(wanted.to_json(), encoding="utf-8")
    say(f"{FRAMEWORKS} is ready: gpuexplorer devices --python {python}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Set up for these goals; return 0, or 1 after one sentence on what is wrong."""
    parser = argparse.ArgumentParser(description="Set GPU Explorer up on this machine.")
    parser.add_argument(
        "goals", nargs="+", choices=[*sorted(GOALS), "frameworks"], help="what to set up for"
    )
    parser.add_argument("--no-torch", action="store_true", help="leave torch out")
    parser.add_argument("-v", "--verbose", action="store_true", help="show pip's and apt's output")
    options = parser.parse_args(arguments)
    try:
        if sys.version_info < OLDEST_PYTHON:
            raise SetupError(
                f"GPU Explorer needs Python 3.11 or newer, this is {sys.version.split()[0]}; "
                "name another one with: make PYTHON=python3.12 ..."
            )
        goals = [GOALS[name] for name in options.goals if name in GOALS]
        if goals:
            set_up(goals, torch=not options.no_torch, verbose=options.verbose)
        if "frameworks" in options.goals:
            set_up_frameworks(verbose=options.verbose)
    except SetupError as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, EOFError):
        print("\nsetup: stopped; run the same command to go on.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
