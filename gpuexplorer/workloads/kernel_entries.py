"""The kernels of a CUDA file by their entries: of a template the instances that are launched."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gpuexplorer.core import bfloat
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource, Function
from gpuexplorer.workloads.declared_symbols import symbols_used
from gpuexplorer.workloads.host_text import HostText, Launch
from gpuexplorer.workloads.instances import (
    TemplateParameter,
    needs_arguments,
    plain_name,
    split_entry,
    template_parameters,
    with_instance,
)
from gpuexplorer.workloads.kernel_text import KernelText, read_kernel
from gpuexplorer.workloads.strict import suggestion

GUESSED_ARGUMENT = "16"
"""A template's number that neither the host code nor a default tells."""
PRECISION_OF = {
    "float": "fp32", "double": "fp64", "half": "fp16", "__half": "fp16",
    **dict.fromkeys(bfloat.TYPE_NAMES, "bf16"),
}  # fmt: skip


class Entry(msgspec.Struct, frozen=True):
    """One kernel that can run, an instance in a source of its own; its body is not read yet."""

    source: CudaSource
    function: Function
    host: HostText

    @property
    def head(self) -> list[tuple[str, str, int]]:
        """What it takes, variables outside of functions included."""
        variables = (symbol.parameter for symbol in symbols_used(self.source, self.function))
        parameters = (*self.source.parameters(self.function), *variables)
        return [(p.name, p.type, p.pointers) for p in parameters]

    def read(self) -> KernelText:
        """Return what its text says."""
        return read_kernel(self.source, self.function, self.host)


class KernelEntries:
    """The kernels of one file."""

    def __init__(self, source: CudaSource, host: HostText, path: Path) -> None:
        self._source, self._host, self._path = source, host, path

    def all(self, named: str | None) -> Iterator[tuple[str, Entry]]:
        """Yield every kernel by its entry, of a template the instances that are launched."""
        for name, function in self._source.kernels.items():
            if not function.is_template:
                yield name, Entry(self._source, function, self._host)
                continue
            for arguments in self._instances(function, named):
                source = with_instance(self._source, function, arguments)
                entry = f"{name}<{', '.join(arguments)}>"
                yield entry, Entry(source, source.kernels[name], HostText(source))

    def _instances(self, function: Function, named: str | None) -> list[tuple[str, ...]]:
        """Return the arguments of a template's instances: those that are launched, or a guess."""
        parameters = template_parameters(self._source, function)
        launches = self._host.launches.get(function.name) or [Launch(None, ())]
        found = [self.arguments(function, parameters, launch) for launch in launches]
        name, arguments = split_entry(named or "")
        if name == function.name and arguments:
            found.insert(0, self.arguments(function, parameters, Launch(None, (), arguments)))
        return list(dict.fromkeys(found))

    def arguments(
        self, function: Function, parameters: Sequence[TemplateParameter], launch: Launch
    ) -> tuple[str, ...]:
        """Return a template's arguments: as they are written, deduced, by default, or guessed."""
        found = []
        for parameter, written in itertools.zip_longest(parameters, launch.template):
            if parameter is None:
                raise needs_arguments(self._source, function)
            text = written or self._deduced(function, parameter, launch) or parameter.default
            if parameter.is_type:
                known = text is not None and (text in PRECISION_OF or not _is_a_letter(text))
                found.append(text if known and text is not None else "float")
                continue
            number = self._host.number(text) if text is not None else None
            if number is not None:
                found.append(str(int(number)))
            else:
                found.append(text if text in ("true", "false") else GUESSED_ARGUMENT)
        return tuple(found)

    def _deduced(
        self, function: Function, parameter: TemplateParameter, launch: Launch
    ) -> str | None:
        """Return the type that a launch's argument gives a template's parameter."""
        for taken, given in zip(self._source.parameters(function), launch.arguments, strict=False):
            if parameter.is_type and taken.is_pointer and taken.type == parameter.name:
                return self._host.pointed_type(given)
        return None

    def pick(self, named: str | None, entries: list[str]) -> str:
        """Return the entry that is meant: by its own name, its kernel's, or its variant's."""
        if named is None:
            order = list(self._host.launches)
            launched = [n for n in entries if split_entry(n)[0] in order]
            launched.sort(key=lambda n: order.index(split_entry(n)[0]))
            return (launched or entries)[0]
        wanted, arguments = split_entry(named)
        for entry in entries:
            name, own = split_entry(entry)
            if named in (entry, plain_name(entry)) or (wanted == name and not arguments):
                return entry
            if wanted == name and own[: len(arguments)] == arguments:
                return entry
        raise InputError(f"{self._path}: no kernel '{named}'", remedy=suggestion(named, entries))


def _is_a_letter(text: str) -> bool:
    """Return whether a type's name may be a template's parameter around a launch."""
    return re.fullmatch(r"[A-Z]\w?|T\w*|\w*_t?ype", text) is not None
