"""NVBench's sample files: folders beside a JSON file, put in place with it or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gpuexplorer.core.errors import InputError
from gpuexplorer.exchange.files import write_error

Float32 = npt.NDArray[np.float32]


class SampleFolders:
    """Puts folders of sample files in place, and takes them back when what follows fails."""

    def __init__(self, path: Path, files: Mapping[str, Sequence[Float32]]) -> None:
        self._parent, self._files = path.resolve().parent, files
        self._mark = secrets.token_hex(4)
        self._placed: set[str] = set()

    def __enter__(self) -> None:
        for name in self._files:
            target = self._parent / name
            if target.exists() and not _only_samples(target):
                raise InputError(
                    f"{target} is there already and is no folder of NVBench's samples",
                    remedy="choose another name for the file",
                )
        try:
            for name, values in self._files.items():
                self._place(name, values)
        except BaseException as error:
            self._undo()
            if isinstance(error, OSError):
                raise write_error(self._parent / name, error) from None
            raise

    def _place(self, name: str, values: Sequence[Float32]) -> None:
        part, target, old = self._names(name)
        if values:
            part.mkdir()
            for index, array in enumerate(values):
                with (part / f"{index}.bin").open("wb") as stream:
                    stream.write(array.tobytes())
        if target.exists():
            target.replace(old)
        if values:
            part.replace(target)
            self._placed.add(name)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self._undo()
        else:
            for name in self._files:
                shutil.rmtree(self._names(name)[2], ignore_errors=True)

    def _undo(self) -> None:
        """Put everything back as it was."""
        for name in self._files:
            part, target, old = self._names(name)
            shutil.rmtree(part, ignore_errors=True)
            if old.exists() or name in self._placed:
                shutil.rmtree(target, ignore_errors=True)
            with suppress(OSError):
                old.replace(target)

    def _names(self, name: str) -> tuple[Path, Path, Path]:
        """Return where a folder is made, where it goes, and where the one before it waits.

        The first and the last are this call's alone, by its mark.
        """
        hidden = f".{name[-200:]}.{self._mark}"
        return self._parent / f"{hidden}.part", self._parent / name, self._parent / f"{hidden}.old"


def _only_samples(folder: Path) -> bool:
    return folder.is_dir() and all(f.suffix == ".bin" and f.is_file() for f in folder.iterdir())
