"""Engines on other machines: this program and an environment of a kind are put there by ssh.

Everything stands below ``machine.HOME`` there, nothing as root: ``program/VERSION`` is what runs,
``far/KIND`` an environment, ``wheels/KIND`` the wheels that were copied from a folder here. Begun
again, each step goes on from what is there.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gpuexplorer.core import cuda_driver
from gpuexplorer.core.bootstrap import OLDEST_PYTHON
from gpuexplorer.core.cuda_choice import NEWEST_PYTHON, Here, choose, plain_machine
from gpuexplorer.core.cuda_driver import Driver
from gpuexplorer.core.errors import CannotRunHere, InputError, WorkFailed
from gpuexplorer.engine.interpreters import Interpreters, checked_name
from gpuexplorer.engine.machine import HOME, Machine
from gpuexplorer.engine.program import PROGRAMS, program_files, program_folder
from gpuexplorer.environments.far_talk import Answer, Talk, ask, request
from gpuexplorer.environments.hashes import read_sums, sha256_of
from gpuexplorer.environments.journal import Managed
from gpuexplorer.environments.kinds import Kind, all_kinds, find_kind
from gpuexplorer.environments.locked import read_lock
from gpuexplorer.environments.progress import SetUpProgress, Teller
from gpuexplorer.environments.uv import uv_program
from gpuexplorer.environments.verify import verify

ENVIRONMENTS = f"{HOME}/far"
WHEELS = f"{HOME}/wheels"
TOOLS = f"{HOME}/tools"
JOBS = f"{HOME}/jobs"
_MARK = "GPUEXPLORER-PYTHON"
_ASK_VERSION = f'import sys;print("{_MARK}","%d.%d.%d"%sys.version_info[:3],sys.executable)'
_FIND = f"""
for python in python3.13 python3.12 python3.11 python3 python3.14 \\
    "$HOME"/.local/bin/python3.1? /usr/local/bin/python3 /opt/conda/bin/python3 \\
    "$HOME"/miniconda3/bin/python3 "$HOME"/miniforge3/bin/python3 "$HOME"/anaconda3/bin/python3 \\
    "$HOME"/.local/share/uv/python/*/bin/python3 "$HOME"/.pyenv/versions/*/bin/python3
do
  found=$(command -v "$python" 2>/dev/null) || continue
  "$found" -I -c '{_ASK_VERSION}' 2>/dev/null
done
exit 0
"""
"""Told to ``sh`` there on its input."""

OnProgress = Callable[[SetUpProgress], None]
Content = bytes | Path
"""What a file there is to hold: bytes, or what a file here holds."""


class FarLook(msgspec.Struct, frozen=True):
    """What another machine has."""

    machine: Machine
    python: str
    """The Python that environments are made with there."""
    version: str
    system: str
    processor: str
    libc: str
    base: str
    """Where ``HOME`` is there."""
    free_B: int
    uv: str
    """A uv of its own; empty for none."""
    driver: Driver | None
    """Its NVIDIA driver."""

    @property
    def words(self) -> str:
        """Say it in a line."""
        gpu = self.driver.words if self.driver is not None else "no NVIDIA driver"
        return f"{self.system} on {self.processor}, Python {self.version}, {gpu}"

    @property
    def kind(self) -> str:
        """The name of the kind that serves its GPUs best."""
        numbers = tuple(map(int, self.version.split(".")))
        here = Here(self.system.lower(), plain_machine(self.processor), self.driver, numbers)
        found = choose(here)
        return "cpu" if found.cuda is None else f"cuda{found.cuda}"


def look(machine: Machine, python: str = "", cancel: threading.Event | None = None) -> FarLook:
    """Find a Python on another machine, and what else decides there.

    ``python``: take this one. Raises CannotRunHere where ssh does not get there or there is no
    Python for an engine, WorkFailed and Cancelled.
    """
    chosen, version = find_python(machine, python, cancel)
    found = request(machine, chosen, {"action": "look", "home": HOME}, cancel)
    driver = cuda_driver.from_tool(lambda words: ask(machine, ["nvidia-smi", *words], cancel))
    return FarLook(
        machine, chosen, version, found["system"], found["machine"], found["libc"], found["base"],
        found["free_B"], found["uv"], driver,
    )  # fmt: skip


def find_python(machine: Machine, named: str, cancel: threading.Event | None) -> tuple[str, str]:
    """Return the path and the version of a Python there that an engine can run in.

    ``named``: this one alone; empty: any.
    """
    if named:
        said = ask(machine, [named, "-I", "-c", _ASK_VERSION], cancel)
    else:
        said = ask(machine, ["sh", "-s"], cancel, _FIND)
    found = [
        (version, path)
        for line in (said or "").splitlines()
        if line.startswith(_MARK)
        for _, version, path in [line.split(" ", 2)]
    ]
    oldest = ".".join(map(str, OLDEST_PYTHON))
    # Newer ones than libraries have wheels for come last.
    fitting = [one for one in found if _numbers(one[0]) >= OLDEST_PYTHON]
    fitting.sort(key=lambda one: _numbers(one[0]) > NEWEST_PYTHON)
    if not fitting:
        raise CannotRunHere(
            f"{named} on {machine.host} is no Python {oldest} or newer"
            if named
            else f"no Python {oldest} or newer was found on {machine.host}",
            remedy=f"install Python {oldest} or newer there, or name one with --python PATH",
        )
    version, path = fitting[0]
    return path, version


def _numbers(version: str) -> tuple[int, int]:
    first, second = version.split(".")[:2]
    return int(first), int(second)


# ---- this program


def send_program(
    machine: Machine,
    python: str,
    on_progress: OnProgress = lambda progress: None,
    cancel: threading.Event | None = None,
) -> None:
    """Have this very version of the program there."""
    files = list(program_files().items())
    _put(machine, python, program_folder(), files, Teller(on_progress), cancel, at_once=True)


def _put(
    machine: Machine,
    python: str,
    folder: str,
    files: Sequence[tuple[str, Content]],
    tell: Teller,
    cancel: threading.Event | None,
    *,
    at_once: bool = False,
) -> None:
    """Have files in a folder there; what is there already is not sent again.

    ``at_once``: the folder has its name once all is in it, and one that lacks files is completed.
    """
    listed = [_listed(name, content, cancel) for name, content in files]
    total = sum(one.size for one in listed)
    sent = 0

    def send(answer: Answer, talk: Talk) -> None:
        nonlocal sent
        if "have" not in answer:
            return
        for (name, content), there, one in zip(files, answer["have"], listed, strict=True):
            sent += there
            tell("download", sent, total, name.rpartition("/")[2])
            if there >= one.size:
                continue
            for piece in _pieces(content, there):
                talk.send(piece)
                sent += len(piece)
                tell("download", sent, total, name.rpartition("/")[2])

    wanted = {"action": "put", "folder": folder, "files": listed, "at_once": at_once}
    request(machine, python, wanted, cancel, send)


class _Listed(msgspec.Struct, frozen=True):
    """A file as ``far_side`` is told of it."""

    path: str
    size: int
    sha256: str
    program: bool


def _listed(name: str, content: Content, cancel: threading.Event | None) -> _Listed:
    if isinstance(content, bytes):
        return _Listed(name, len(content), hashlib.sha256(content).hexdigest(), False)
    status = content.stat()
    return _Listed(name, status.st_size, sha256_of(content, cancel), bool(status.st_mode & 0o100))


def _pieces(content: Content, start: int) -> Iterator[bytes]:
    """Return what follows in a file, in pieces."""
    if isinstance(content, bytes):
        yield content[start:]
        return
    with content.open("rb") as stream:
        stream.seek(start)
        yield from iter(partial(stream.read, 1 << 20), b"")


# ---- an environment


def make(
    found: FarLook,
    kind: Kind,
    wheels: Path | None = None,
    on_progress: OnProgress = lambda progress: None,
    cancel: threading.Event | None = None,
) -> Machine:
    """Have this program and an environment of a kind on another machine; return it with its Python.

    ``wheels``: a folder here that they are copied from; nothing is fetched there then. Raises
    CannotRunHere, InputError, WorkFailed and Cancelled.
    """
    machine, tell = found.machine, Teller(on_progress)
    send_program(machine, found.python, on_progress, cancel)
    uv = _uv(found, tell, cancel)
    far_wheels = ""
    if wheels is not None:
        far_wheels = f"{WHEELS}/{kind.name}"
        _put(machine, found.python, far_wheels, _vouched(kind, wheels), tell, cancel)
    lock = read_lock(kind.lock) if kind.lock is not None else None
    total = 0

    def report(answer: Answer, talk: Talk) -> None:
        if "phase" in answer:
            tell("install", answer["fetched_B"], total, answer["words"] or "installing")

    made = request(
        machine,
        found.python,
        {
            "action": "make",
            "folder": f"{ENVIRONMENTS}/{kind.name}",
            "scratch": f"{ENVIRONMENTS}/.uv-{kind.name}",
            "python": found.python,
            "uv": uv,
            "requirements": list(kind.requirements),
            "constraints": lock.constraints if lock is not None else [],
            "wheels": far_wheels,
            "index": kind.index,
            "kind": kind.name,
            "jobs": JOBS,
        },
        cancel,
        report,
    )
    return replace(machine, python=str(made["python"]))


def _uv(found: FarLook, tell: Teller, cancel: threading.Event | None) -> str:
    """Return where a uv is on another machine: ours, where it is of the same kind, or its own."""
    same = (found.system, found.processor) == (platform.system(), platform.machine())
    if same:
        ours = uv_program()
        _put(found.machine, found.python, TOOLS, [(ours.name, ours)], tell, cancel)
        return f"{TOOLS}/{ours.name}"
    if found.uv:
        return found.uv
    raise CannotRunHere(
        f"{found.machine.host} has no 'uv', and ours does not run on {found.system} on "
        f"{found.processor}",
        remedy="install it there once: curl -LsSf https://astral.sh/uv/install.sh | sh",
    )


def _vouched(kind: Kind, folder: Path) -> list[tuple[str, Content]]:
    """Return the wheels of a folder; InputError where one is not what the lock or its list says."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}", remedy="check its path")
    lock = read_lock(kind.lock) if kind.lock is not None else None
    known = {**read_sums(folder), **(lock.hashes if lock is not None else {})}
    found: list[tuple[str, Content]] = []
    for path in sorted(folder.glob("*.whl")):
        if path.name not in known:
            raise InputError(
                f"nothing vouches for {path.name}: neither this program's lock nor a SHA256SUMS",
                remedy="fill the folder with 'gpuexplorer engines fetch'",
            )
        if sha256_of(path) != known[path.name]:
            raise WorkFailed(
                f"{path} is not what its SHA-256 says", remedy="fetch it again, or copy it again"
            )
        found.append((path.name, path))
    if not found:
        raise InputError(f"there are no wheels in {folder}", remedy="check its path")
    return found


def set_up(
    name: str,
    machine: Machine,
    kind: str | None,
    wheels: Path | None = None,
    on_progress: OnProgress = lambda progress: None,
    cancel: threading.Event | None = None,
) -> Managed:
    """Set an engine up on another machine, test it, and give it a name.

    ``kind`` None: what serves its GPU best. Raises as ``make`` does, InputError for a name that is
    taken, WorkFailed when the finished environment cannot be an engine.
    """
    check_free(name)
    tell = Teller(on_progress)
    tell("download", 0, 0, f"asking {machine.host}")
    found = look(machine, "", cancel)
    chosen = find_kind(kind or found.kind)
    made = make(found, chosen, wheels, on_progress, cancel)
    return _tested(name, made, chosen, tell, cancel)


def update_and_test(
    name: str,
    machine: Machine,
    on_progress: OnProgress = lambda progress: None,
    cancel: threading.Event | None = None,
) -> Managed:
    """Bring this version to an engine on another machine, and test it. Raises as ``set_up``."""
    made = update(machine, None, on_progress, cancel)
    kind = next((one for one in all_kinds() if one.name == kind_of(made)), None)
    alone = Kind(name="", title="An engine", teaches="")
    return _tested(name, made, kind or alone, Teller(on_progress), cancel)


def _tested(
    name: str, made: Machine, kind: Kind, tell: Teller, cancel: threading.Event | None
) -> Managed:
    """Test a finished engine, and give it its name."""

    def report(done: int, total: int, words: str) -> None:
        tell("verify", done, total, words)

    tested = verify(str(made), kind, report, cancel)
    if not tested.usable:
        raise WorkFailed(
            f"'{name}' was set up on {made.host}, but {tested.words}",
            remedy=tested.remedy or tested.engine.remedy,
            detail="\n".join(tested.engine.said),
        )
    add(name, made)
    return Managed(
        name=name,
        kind=kind.name,
        title=kind.title,
        path=str(made),
        ready=True,
        python=tested.engine.python or "",
        packages=tested.engine.packages,
        verified=tested.passed,
        verdict=tested.words,
    )


# ---- names


def check_free(name: str) -> None:
    """Raise InputError for a name that an engine has already, or that cannot be one."""
    taken = Interpreters().read().engines.get(checked_name(name))
    if taken is not None:
        raise InputError(
            f"there is an engine '{name}' already: {taken}",
            remedy="choose another name, or remove it first",
        )


def add(name: str, machine: Machine) -> None:
    """Give an engine on another machine a name, or its name another place."""
    Interpreters().add(name, str(machine), instead=True)


def kind_of(machine: Machine) -> str | None:
    """Return the kind of an environment that was made there; None for another Python."""
    folders = machine.python.split("/")
    inside = machine.python.endswith("/bin/python") and "/.local/share/gpuexplorer/far/" in (
        machine.python
    )
    return folders[-3] if inside else None


def update(
    machine: Machine,
    wheels: Path | None = None,
    on_progress: OnProgress = lambda progress: None,
    cancel: threading.Event | None = None,
) -> Machine:
    """Bring this very version there, and the environment to what its kind has now."""
    name = kind_of(machine)
    kind = next((one for one in all_kinds() if one.name == name), None)
    if kind is None:
        send_program(machine, machine.python, on_progress, cancel)
        return machine
    return make(look(machine, "", cancel), kind, wheels, on_progress, cancel)


class Removed(msgspec.Struct, frozen=True):
    """What came of deleting what was set up for an engine on another machine."""

    freed_B: int = 0
    everything_stays: bool = False
    """Whether nothing was deleted, because others use all of it."""
    others: tuple[str, ...] = ()
    """The names of other engines there, for which stays what they use."""


def remove(name: str, machine: Machine, cancel: threading.Event | None = None) -> Removed:
    """Delete what was set up there for the engine ``name``, but for what other names use."""
    known = [one for one in Interpreters().all() if one.machine is not None and one.name != name]
    there = [one for one in known if one.machine is not None and one.machine.may_be(machine)]
    others = tuple(one.name for one in there if one.name is not None)
    kind = kind_of(machine)
    if others and (kind is None or any(str(one.path) == machine.python for one in there)):
        return Removed(everything_stays=True, others=others)
    python, _ = find_python(machine, "", cancel)
    folders = []
    if kind is not None:
        folders = [f"{ENVIRONMENTS}/{kind}", f"{ENVIRONMENTS}/.uv-{kind}", f"{WHEELS}/{kind}"]
    wanted = {
        "action": "remove",
        "home": HOME,
        "folders": folders,
        "environments": ENVIRONMENTS,
        "jobs": JOBS,
        "with_the_last": [] if others else [PROGRAMS, TOOLS, WHEELS, ENVIRONMENTS],
    }
    freed_B = int(request(machine, python, wanted, cancel)["freed_B"])
    return Removed(freed_B, others=others)
