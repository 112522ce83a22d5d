"""Run a user's model file, and look over what its ``build()`` returns."""

from __future__ import annotations

import copy
import dataclasses
import random
import types
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from gpuexplorer.backends.torch import failures
from gpuexplorer.backends.torch.load import stated_kept
from gpuexplorer.backends.user_program import UserProgram, kind_words
from gpuexplorer.core.errors import DeviceLost, ExplorerError, InputError, OutOfMemory


class Built(msgspec.Struct, frozen=True):
    """What ``build()`` returned, looked over."""

    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    loss: Callable[[Any], Any] | None


class UserFile(UserProgram):
    """A model's file in this process."""

    def __init__(self, text: str, origin: str, torch: Any) -> None:
        super().__init__(text, origin)
        self._torch = torch
        self._module: types.ModuleType | None = None

    def build(self, sizes: Mapping[str, int], seed: int) -> Built:
        """Import the file and call ``build()`` with sizes by name; the same seed, the same model.

        Raises InputError for what ``build()`` should not return, CannotRunHere for a missing
        package, WorkFailed for whatever else goes wrong; each names file and line.
        """
        random.seed(seed)
        np.random.seed(seed % 2**32)
        self._torch.manual_seed(seed)
        with stated_kept(self._torch):
            with self.running("importing the file"):
                self._module = self.load()
            build = getattr(self._module, "build", None)
            if not callable(build):
                raise InputError(
                    f"{self.origin}: there is no function build()",
                    remedy="define build() that returns (module, example inputs)",
                )
            with self.running("calling build()"):
                made = build(**sizes)
        return self._looked_over(made, build)

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
            what = f"{len(made)} things" if isinstance(made, tuple | list) else kind_words(made)
            raise InputError(f"{where}: build() returned {what}", remedy=remedy)
        module, inputs = made[0], made[1]
        if not isinstance(module, torch.nn.Module):
            raise InputError(
                f"{where}: build() returned {kind_words(module)} first, which is not a "
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
                f"{kind_words(inputs)}",
                remedy="return a tensor, a tuple of them, or a dict of them by argument name",
            )
        loss = made[2] if len(made) == 3 else getattr(self._module, "loss", None)
        if loss is not None and not callable(loss):
            raise InputError(
                f"{where}: build() returned {kind_words(loss)} as its loss, which cannot be called",
                remedy="a loss is a function of the module's output that returns one number",
            )
        return Built(module, args, kwargs, loss)

    def device_error(
        self, error: BaseException, place: str, doing: str, first: str, detail: str
    ) -> ExplorerError | None:
        """Return that memory ran out, or that the GPU failed."""
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
        return None


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
