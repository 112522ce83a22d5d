"""The Pythons that engines run in: by name in ``engines.json``, or by path.

A word for an engine is ``built-in`` (this program's own Python), a name that was given with
``gpuexplorer engines add``, the path of an interpreter or of an environment's folder, a command
such as ``python3.12``, or an interpreter on another machine, ``ssh://me@box/home/me/env/bin/python``.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import msgspec

from gpuexplorer.core.errors import InputError
from gpuexplorer.engine.machine import Machine, is_address
from gpuexplorer.exchange.files import atomic_file, changing, read_file, write_error

SCHEMA = "gpuexplorer/engines/1"
BUILT_IN = "built-in"
"""The word for this program's own Python."""
CONFIG_VARIABLE = "GPUEXPLORER_CONFIG_DIR"
MOST_B = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,59}")


class Interpreter(msgspec.Struct, frozen=True):
    """A Python that an engine runs in; ``name`` is None for one that was named by its path."""

    path: Path
    name: str | None = None
    machine: Machine | None = None
    """The other machine that ``path`` is on."""

    @classmethod
    def of(cls, words: str, name: str | None = None) -> Interpreter:
        """Return what a line of ``engines.json`` means, or an address of another machine's."""
        if not is_address(words):
            return cls(Path(words), name)
        machine = Machine.read(words)
        if not machine.python:
            raise InputError(
                f"{words} names no Python there",
                remedy="'gpuexplorer engines add NAME ADDRESS' finds or makes one",
            )
        return cls(Path(machine.python), name, machine)

    @property
    def where(self) -> str:
        """Its path, or its address."""
        return str(self.path) if self.machine is None else str(self.machine)

    @property
    def label(self) -> str | None:
        """What a run's environment says of it; None for this program's own."""
        return self.name or (None if self.is_own else self.where)

    @property
    def is_own(self) -> bool:
        """Whether it is the Python that runs this program, of the same environment."""
        return self.machine is None and is_own(self.path)


class EnginesFile(msgspec.Struct, frozen=True, kw_only=True):
    """What ``engines.json`` holds."""

    schema: str = SCHEMA
    default: str | None = None
    """The name of the default engine; None: the built-in one."""
    engines: dict[str, str] = {}
    """Names and the interpreters' absolute paths or addresses, in the order they were added."""


def config_folder() -> Path:
    """Return where settings are kept (``XDG_CONFIG_HOME`` and its like decide)."""
    import platformdirs

    named = os.environ.get(CONFIG_VARIABLE)
    return Path(named) if named else platformdirs.user_config_path("gpuexplorer", False)


class Interpreters:
    """The engines that were given a name. Every call reads the file: others may have changed it.

    Only one program changes it at a time.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or config_folder() / "engines.json"

    def read(self) -> EnginesFile:
        """Return what the file holds, nothing where there is none; InputError when it is broken."""
        if not self.path.exists():
            return EnginesFile()
        data = read_file(self.path, MOST_B)
        try:
            found = msgspec.json.decode(data, type=EnginesFile)
        except msgspec.DecodeError as error:
            raise InputError(
                f"{self.path} cannot be read: {error}", remedy="mend it, or delete it"
            ) from None
        if found.schema != SCHEMA:
            raise InputError(
                f"{self.path} is of another version, '{found.schema[:60]}'",
                remedy="update GPU Explorer, or delete the file",
            )
        return found

    def write(self, file: EnginesFile) -> None:
        """Write the whole file; InputError when that is not possible."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_error(self.path.parent, error) from None
        with atomic_file(self.path) as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n")

    def all(self) -> list[Interpreter]:
        """Return every engine that has a name, in the order they were added."""
        return [Interpreter.of(path, name) for name, path in self.read().engines.items()]

    @property
    def default(self) -> str | None:
        """The name of the default engine; None for the built-in one."""
        return self.read().default

    def add(self, name: str, word: str, *, instead: bool = False) -> Interpreter:
        """Give an interpreter a name; InputError for a name or a path that cannot be.

        ``instead``: it takes the place of an engine that has the name already.
        """
        name = checked_name(name)
        with changing(self.path):
            file = self.read()
            if name in file.engines and not instead:
                raise InputError(
                    f"there is an engine '{name}' already: {file.engines[name]}",
                    remedy="choose another name, or remove it first",
                )
            added = _at(word, name)
            engines = {**file.engines, name: added.where}
            self.write(msgspec.structs.replace(file, engines=engines))
        return added

    def remove(self, name: str) -> EnginesFile:
        """Forget an engine; return what the file held before, for ``bring_back``."""
        with changing(self.path):
            before = self.read()
            self._known(name, before)
            engines = {n: path for n, path in before.engines.items() if n != name}
            default = None if before.default == name else before.default
            self.write(msgspec.structs.replace(before, engines=engines, default=default))
        return before

    def bring_back(self, name: str, before: EnginesFile) -> None:
        """Know an engine again that ``remove`` forgot; what else has changed since stays."""
        with changing(self.path):
            file = self.read()
            engines = {n: p for n, p in before.engines.items() if n == name or n in file.engines}
            engines |= file.engines
            default = name if before.default == name and file.default is None else file.default
            self.write(msgspec.structs.replace(file, engines=engines, default=default))

    def choose(self, name: str) -> None:
        """Make an engine the default."""
        with changing(self.path):
            file = self.read()
            if name != BUILT_IN:
                self._known(name, file)
            self.write(msgspec.structs.replace(file, default=None if name == BUILT_IN else name))

    def _known(self, name: str, file: EnginesFile) -> None:
        if name not in file.engines:
            raise InputError(f"no engine is called '{name}'", remedy=_names(file))

    def find(self, word: str | None) -> Interpreter | None:
        """Return the interpreter that a word means; None for the built-in one.

        Raises InputError for a name that nothing has, and for a path where no interpreter is.
        """
        if word is None or word == BUILT_IN:
            return None
        file = self.read()
        if word in file.engines:
            found = Interpreter.of(file.engines[word], word)
            if found.machine is None and not found.path.exists():
                raise InputError(
                    f"the engine '{word}' is gone: there is no {found.path}",
                    remedy=f"make it again, or 'gpuexplorer engines remove {word}'",
                )
            return found
        if not word.strip() or (not _is_path(word) and shutil.which(word) is None):
            raise InputError(f"'{word}' is no engine, no command and no path", remedy=_names(file))
        return _at(word)


def _at(word: str, name: str | None = None) -> Interpreter:
    """Return the interpreter at a path or an address; InputError where there is none."""
    if is_address(word):
        return Interpreter.of(word, name)
    return Interpreter(interpreter_at(word), name)


def find_interpreter(word: str | None) -> Interpreter | None:
    """Return the interpreter that a word means, as ``Interpreters.find`` does."""
    return None if word is None or word == BUILT_IN else Interpreters().find(word)


def is_far(word: str | None) -> bool:
    """Whether a word means an engine on another machine; False for one that means none."""
    try:
        found = find_interpreter(word)
    except InputError:
        return False
    return found is not None and found.machine is not None


def default_engine() -> str | None:
    """Return the name of the engine that the user chose for everything; None: the built-in one."""
    return Interpreters().default


def _names(file: EnginesFile) -> str:
    names = ", ".join([BUILT_IN, *file.engines])
    return f"there is {names}; 'gpuexplorer engines add NAME PATH' adds one"


def checked_name(name: str) -> str:
    """Return a name for an engine; InputError where it could not be used as a word for one."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"'{name}' is no name for an engine",
            remedy="use letters, digits and . _ + -, 60 at the most",
        )
    if name == BUILT_IN:
        raise InputError(f"'{name}' is this program's own engine", remedy="choose another name")
    return name


def _is_path(word: str) -> bool:
    return os.sep in word or "/" in word or word.startswith("~") or Path(word).exists()


def interpreter_at(word: str) -> Path:
    """Return an interpreter's absolute path, of an environment's folder too; links are kept.

    A link in a virtual environment is what makes its Python find the environment. Raises InputError
    where there is none.
    """
    if not _is_path(word):
        command = shutil.which(word)
        if command is None:
            raise InputError(f"there is no command '{word}'", remedy="give the interpreter's path")
        return Path(os.path.abspath(command))
    path = Path(os.path.abspath(os.path.expanduser(word)))
    if os.path.isdir(path):  # which is False of what no path can be
        inside = python_in(path)
        if inside is None:
            raise InputError(
                f"{path} is no environment: there is no Python in it",
                remedy="give the path of an interpreter, such as FOLDER/bin/python",
            )
        return inside
    if not os.path.exists(path):
        raise InputError(f"there is no {path}", remedy="check the interpreter's path")
    return path


def python_in(folder: Path) -> Path | None:
    """Return the Python of an environment's folder; None when it is none."""
    places = (
        ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python", "bin/python3")
    )
    return next((folder / place for place in places if os.path.exists(folder / place)), None)


def is_own(path: Path) -> bool:
    """Whether a path is this program's Python, of the same environment."""
    own = Path(os.path.abspath(sys.executable))
    if path == own:
        return True
    try:
        return path.parent == own.parent and path.samefile(own)
    except OSError:
        return False


def name_for(path: Path, taken: set[str]) -> str:
    """Return a name for an interpreter that is not taken, after its environment's folder."""
    folder = path.parent.parent if path.parent.name in ("bin", "Scripts") else path.parent
    in_a_system_folder = folder == Path(folder.anchor) or folder.name in ("usr", "local")
    words = path.name.removesuffix(".exe") if in_a_system_folder else folder.name
    if words.lower() in (".venv", "venv", "env", ".env"):
        words = folder.parent.name
    base = re.sub(r"[^A-Za-z0-9._+-]+", "-", words).strip("-._+") or "python"
    base = base[:50]
    number, name = 1, base
    while name in taken or name == BUILT_IN:
        number += 1
        name = f"{base}-{number}"
    return name


def engine_words(word: str | None) -> str:
    """Return what an engine is called among others: its name, or the end of its path."""
    said = word or BUILT_IN
    if is_address(said):
        return Machine.read(said).host
    path = Path(said)
    if len(path.parts) < 2:
        return said
    inside = path.parent.name in ("bin", "Scripts")
    folder = path.parent.parent if inside else path
    return f"{folder.parent.name}/{folder.name}"
