"""Run a user's model file: its prints kept short, its failures told with file and line.

Here and nowhere else foreign code runs. Whatever it does, the engine's thread gets one of our
errors: an exception, ``exit()``, a missing package and a wrong return value each have a sentence.
What ends the process itself (``os._exit``, a crash, a loop that never returns) the client tells.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
import io
import linecache
import random
import sys
import traceback
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gpuexplorer.backends.frameworks import pip_install
from gpuexplorer.backends.torch import failures
from gpuexplorer.core.errors import (
    CannotRunHere,
    DeviceLost,
    ExplorerError,
    InputError,
    OutOfMemory,
    WorkFailed,
)
from gpuexplorer.core.units import count

KEPT_LINES = 12
"""Lines that are kept of what the file prints."""
LINE_LETTERS = 240
_READ_LETTERS = 1 << 14
"""Letters looked at of one print: more are never kept."""
FRAMES = 6
"""Calls within the file that stand in an error's details."""


class Tail(io.TextIOBase):
    """A stream that keeps its last lines, however much is written."""

    def __init__(self) -> None:
        self.letters = 0
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._open = ""

    def writable(self) -> bool:
        """Return that it takes text."""
        return True

    def write(self, text: str) -> int:
        """Take text in; returns its length."""
        self.letters += len(text)
        *whole, self._open = (self._open + text[-_READ_LETTERS:]).split("\n")
        self._lines.extend(line[-LINE_LETTERS:] for line in whole[-KEPT_LINES:])
        self._open = self._open[-LINE_LETTERS:]
        return len(text)

    def fileno(self) -> int:
        """Return the descriptor for what is written past Python: the engine's log."""
        return 2

    def words(self) -> str:
        """Return the last lines, and how much was left out."""
        lines = [*self._lines, *([self._open] if self._open else [])][-KEPT_LINES:]
        text = "\n".join(lines)
        left = self.letters - len(text) - 1
        return f"({count(left)} letters before)\n{text}" if left > 0 else text


@dataclass(frozen=True)
class Built:
    """What ``build()`` returned, looked over."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    loss: Callable[[Any], Any] | None


class UserFile:
    """A model's file in this process.

    ``origin`` is what it is called in messages: its path on the user's machine.
    """

    def __init__(self, text: str, origin: str, torch: Any) -> None:
        self._text, self.origin, self._torch = text, origin, torch
        self._module: types.ModuleType | None = None
        self.printed = Tail()

    # ---- running it

    def build(self, sizes: Mapping[str, int], seed: int) -> Built:
        """Import the file and call ``build()`` with sizes by name; the same seed, the same model.

        Raises InputError for what ``build()`` should not return, CannotRunHere for a missing
        package, WorkFailed for whatever else goes wrong; each names file and line.
        """
        random.seed(seed)
        np.random.seed(seed % 2**32)
        self._torch.manual_seed(seed)
        with self.running("importing the file"):
            self._import()
        build = getattr(self._module, "build", None)
        if not callable(build):
            raise InputError(
                f"{self.origin}: there is no function build()",
                remedy="define build() that returns (module, example inputs)",
            )
        with self.running("calling build()"):
            made = build(**sizes)
        return self._looked_over(made, build)

    def _import(self) -> None:
        name = f"own_model_{abs(hash(self._text)):x}"
        module = types.ModuleType(name)
        module.__file__ = self.origin
        # For tracebacks, and for what reads a function's source.
        linecache.cache[self.origin] = (
            len(self._text), None, self._text.splitlines(keepends=True), self.origin,
        )  # fmt: skip
        sys.modules[name] = module
        importlib.invalidate_caches()  # a package installed since is found
        exec(compile(self._text.encode(), self.origin, "exec"), module.__dict__)
        self._module = module

    def _looked_over(self, made: Any, build: Any) -> Built:
        torch = self._torch
        code = getattr(build, "__code__", None)
        line = f":{code.co_firstlineno}" if code and code.co_filename == self.origin else ""
        where = f"{self.origin}{line}"
        remedy = "return (module, example inputs), and a loss after them if there is one"
        if isinstance(made, torch.nn.Module):
            raise InputError(
                f"{where}: build() returned a module without example inputs", remedy=remedy
            )
        if not isinstance(made, tuple | list) or not 2 <= len(made) <= 3:
            what = f"{len(made)} things" if isinstance(made, tuple | list) else _kind_words(made)
            raise InputError(f"{where}: build() returned {what}", remedy=remedy)
        module, inputs = made[0], made[1]
        if not isinstance(module, torch.nn.Module):
            raise InputError(
                f"{where}: build() returned {_kind_words(module)} first, which is not a "
                "torch.nn.Module",
                remedy=remedy,
            )
        args: tuple[Any, ...] = ()
        kwargs: dict[str, Any] = {}
        if isinstance(inputs, Mapping):
            kwargs = {str(name): value for name, value in inputs.items()}
        elif isinstance(inputs, tuple | list):
            args = tuple(inputs)
        else:
            args = (inputs,)
        if not tensors_in(torch, (args, kwargs)):
            raise InputError(
                f"{where}: build() returned no tensor among its example inputs, but "
                f"{_kind_words(inputs)}",
                remedy="return a tensor, a tuple of them, or a dict of them by argument name",
            )
        loss = made[2] if len(made) == 3 else getattr(self._module, "loss", None)
        if loss is not None and not callable(loss):
            raise InputError(
                f"{where}: build() returned {_kind_words(loss)} as its loss, which cannot be "
                "called",
                remedy="a loss is a function of the module's output that returns one number",
            )
        return Built(module, args, kwargs, loss)

    @contextlib.contextmanager
    def running(self, doing: str) -> Iterator[None]:
        """Run foreign code: what it prints is kept short, whatever it raises becomes an error."""
        failure: ExplorerError
        try:
            with (
                contextlib.redirect_stdout(self.printed),
                contextlib.redirect_stderr(self.printed),
            ):
                yield
            return
        except ExplorerError:
            raise
        except SystemExit as error:
            failure = self._exited(error, doing)
        except BaseException as error:  # noqa: BLE001 - also what a user's code calls its own
            failure = self._explained(error, doing)
        raise failure  # outside the handler: the foreign frames, and the arrays in them, are gone

    # ---- what went wrong

    def _exited(self, error: SystemExit, doing: str) -> WorkFailed:
        call = "exit()" if error.code is None else f"exit({error.code!r})"
        return WorkFailed(
            f"{self._place(error)}: {call} was called while {doing}",
            remedy="let it return instead; a model's file has no program around it to end",
            detail=self._detail(error),
        )

    def _explained(self, error: BaseException, doing: str) -> ExplorerError:
        place, detail = self._place(error), self._detail(error)
        first = (str(error).strip().splitlines() or [""])[0][:LINE_LETTERS]
        if isinstance(error, ModuleNotFoundError) and error.name:
            return self._package_missing(error.name, place, detail)
        if isinstance(error, SyntaxError):
            return InputError(
                f"{error.filename or self.origin}:{error.lineno or 1}: {error.msg}",
                remedy=f"the engine's Python is {sys.version.split()[0]}; correct the file",
                detail=detail,
            )
        if isinstance(error, Exception) and failures.out_of_memory(self._torch, error):
            return OutOfMemory(
                f"{place}: memory ran out while {doing}",
                remedy="choose a smaller size, or a device with more memory",
                detail=detail,
            )
        if isinstance(error, Exception) and failures.device_failed(self._torch, error):
            return DeviceLost(
                f"{place}: the GPU failed while {doing}: {first}",
                remedy="the engine starts afresh; with CUDA_LAUNCH_BLOCKING=1 the line is exact",
                detail=detail,
            )
        said = f"{type(error).__name__}: {first}" if first else type(error).__name__
        own = bool(self._frames(error))  # otherwise PyTorch, or a package, stumbled over it
        return WorkFailed(
            f"{place}: {said} (while {doing})",
            remedy="correct the file" if own else "see where with -v",
            detail=detail,
        )

    def _package_missing(self, name: str, place: str, detail: str) -> CannotRunHere:
        package = name.partition(".")[0]
        folder = Path(self.origin).parent
        try:
            beside = (folder / f"{package}.py").exists() or (folder / package).is_dir()
        except OSError:
            beside = False
        if beside:
            return CannotRunHere(
                f"{place}: it imports '{name}', which lies next to it and does not come along",
                remedy="put what it needs into the one file, or install it as a package",
                detail=detail,
            )
        return CannotRunHere(
            f"{place}: it needs the package '{package}', which the engine's Python does not have",
            remedy=f"install it with {pip_install(package)}",
            detail=detail,
        )

    def _frames(self, error: BaseException) -> list[traceback.FrameSummary]:
        found = traceback.extract_tb(error.__traceback__)
        return [frame for frame in found if frame.filename == self.origin]

    def _place(self, error: BaseException) -> str:
        """Return file and line of the user's own that the error went through last."""
        frames = self._frames(error)
        return f"{self.origin}:{frames[-1].lineno}" if frames else self.origin

    def _detail(self, error: BaseException) -> str:
        """Return the calls within the file, the error in full, and what was printed last."""
        frames = self._frames(error)
        lines = [
            f"{self.origin}:{frame.lineno} in {frame.name}: {frame.line or ''}".rstrip(": ")
            for frame in frames[-FRAMES:]
        ]
        lines += traceback.format_exception_only(error)
        printed = self.printed.words()
        if printed:
            lines += ["It printed last:", printed]
        return "\n".join(line.rstrip() for line in lines)

    def show_printed(self) -> None:
        """Say in the engine's log what the file printed last."""
        printed = self.printed.words()
        if printed:
            print(f"{self.origin} printed:\n{printed}", file=sys.stderr, flush=True)


def _kind_words(value: Any) -> str:
    """Return what a value is, such as ``a list`` or ``None``."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def mapped(torch: Any, value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with every tensor in it changed, wherever ``tensors_in`` finds them."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        parts = [mapped(torch, part, change) for part in value]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*parts)
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, Mapping):
        return {key: mapped(torch, part, change) for key, part in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        made = copy.copy(value)
        for field in dataclasses.fields(value):
            part = mapped(torch, getattr(value, field.name), change)
            object.__setattr__(made, field.name, part)  # also of a frozen one
        return made
    return value


def tensors_in(torch: Any, value: Any) -> list[Any]:
    """Return the tensors in a value: in tuples, lists, dicts and dataclasses, in their order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, Mapping):
        parts = list(value.values())
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    else:
        return []
    return [tensor for part in parts for tensor in tensors_in(torch, part)]
