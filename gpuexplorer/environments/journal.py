"""What stands in an environment's folder about itself: what it is, and how far its making came.

An environment is made where it will stay, because the scripts and the compiled modules in it name
their own place. What makes it whole at once is this file, which is replaced by a rename: until it
says ready, the folder is not taken for an environment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from gpuexplorer.calibration.store import data_folder
from gpuexplorer.exchange.files import atomic_file

FILE = "gpuexplorer-environment.json"
SCRATCH = ".uv-"
"""How the folders begin, beside the environments, that uv works in: a killed one leaves its own."""
SCHEMA = "gpuexplorer/environment/1"
MOST_B = 1 << 20

SetUpStep = Literal["download", "install", "verify", "ready"]


class Managed(msgspec.Struct, frozen=True, kw_only=True):
    """One environment of ours, finished or not."""

    name: str
    kind: str
    """The name of its kind; empty where the folder does not say."""
    title: str
    """Its kind's title when it was made."""
    path: str
    """Its folder."""
    ready: bool
    """Whether it is finished; if not, ``create`` goes on with it, and ``remove`` ends it."""
    python: str = ""
    """Its Python's version."""
    base: str = ""
    """The interpreter that it was made with."""
    source: str = ""
    """The folder its wheels came from; empty for the index."""
    packages: dict[str, str] = {}
    """What was installed, with the versions."""
    left_out: dict[str, str] = {}
    """What it has to do without, with the reasons as clauses."""
    created_utc: str = ""
    verified: bool | None = None
    """Whether the self-test passed; None: there was none to make."""
    verdict: str = ""
    """What came of the verification, in one sentence."""
    problem: str = ""
    """Why it is not finished, in one sentence; empty when it was cut off."""


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """How far the making of an environment came."""

    schema: str = SCHEMA
    step: SetUpStep
    """What was under way."""
    key: str
    """What is being made; another plan begins anew."""
    environment: Managed

    def write(self) -> None:
        """Put it into the environment's folder; InputError when that is not possible."""
        with atomic_file(Path(self.environment.path) / FILE) as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")


def engines_folder() -> Path:
    """Return the folder in which environments and downloads stand."""
    return data_folder() / "engines"


def read_journal(folder: Path) -> Journal | None:
    """Return what a folder says of itself; None where it says nothing that can be understood."""
    try:
        with (folder / FILE).open("rb") as stream:
            found = msgspec.json.decode(stream.read(MOST_B), type=Journal)
    except (OSError, msgspec.DecodeError):
        return None
    if found.schema != SCHEMA:
        return None
    here = msgspec.structs.replace(found.environment, name=folder.name, path=str(folder))
    return msgspec.structs.replace(found, environment=here)


def key_of(words: Iterable[str]) -> str:
    """Return a text that is equal for equal words."""
    return hashlib.sha256("\n".join(sorted(words)).encode()).hexdigest()
