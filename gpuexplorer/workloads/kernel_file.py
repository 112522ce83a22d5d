"""A CUDA file of one's own as a workload: what its text tells, and what its user answers.

The answers become a manifest beside the file, ``mine.toml`` for ``mine.cu``, which everything else
uses and which can be edited like any other.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter
from gpuexplorer.workloads.fills import WHOLE
from gpuexplorer.workloads.host_text import HostText, Launch
from gpuexplorer.workloads.includes import unix_lines
from gpuexplorer.workloads.instances import (
    TemplateParameter,
    needs_arguments,
    plain_name,
    split_entry,
    template_parameters,
    with_instance,
)
from gpuexplorer.workloads.kernel_text import AXES, KernelText, Use, read_kernel
from gpuexplorer.workloads.python_function import python_function
from gpuexplorer.workloads.strict import suggestion

SUFFIX = ".cu"
MANIFEST_SUFFIX = ".toml"
NOTHING = "none"
"""The answer that no right result is known: what is measured is not verified."""
PRECISION_OF = {"float": "fp32", "double": "fp64", "half": "fp16", "__half": "fp16"}
TOLERANCES = {"fp32": 1e-4, "fp64": 1e-12, "fp16": 2e-2}
"""Allowed distance from float64, where sums may be as long as an array."""
WHOLE_OF = {
    **dict.fromkeys(("int", "unsigned", "unsigned int", "uint", "int32_t", "uint32_t"), "int"),
    **dict.fromkeys(("char", "signed char", "int8_t"), "int8"),
    **dict.fromkeys(("unsigned char", "uchar", "uint8_t"), "uint8"),
    **dict.fromkeys(("long long", "long long int", "int64_t"), "int64"),
    **dict.fromkeys(
        ("unsigned long long", "unsigned long long int", "uint64_t", "size_t"), "uint64"
    ),
}
"""Types of whole numbers by what manifests call them; of 32 bits there is one alone."""
_VECTOR = re.compile(r"(float|double|int|uint|char|uchar|longlong|ulonglong)([234])")
"""Types of several numbers each: an array of them has one more side."""
_LONG_NAMES = {"longlong": "long long", "ulonglong": "unsigned long long"}
_BLOCK_SIZE = re.compile(
    r"(?i)(?:n?_?threads?(?:_?per_?block)?|block_?(?:size|dim)(?:_?x)?|b?dim)_?"
)
"""What a template calls the threads of its block."""
LARGEST = 2**31 - 1
USUAL_SIZES = {1: 1 << 20, 2: 512, 3: 64}
"""Of a kernel whose host code says no size, by the axes of its largest array."""
GUESSED_ARGUMENT = "16"
"""A template's number that neither the host code nor a default tells."""
MOST_VARIANTS = 100
"""Kernels of a file that one manifest offers; another one is chosen by its name."""
USUAL_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}


_COMPUTES = re.compile(r"^(?!.*\b__(?:global|device)__)(?:(?:static|inline|__host__)\s+)*void\s")
"""How a function of the host begins that hands back nothing but what it writes."""
_CALLS_HOST = re.compile(r"<<<|\b(?:cuda[A-Z]\w*|malloc|calloc|free|new|std|printf|exit)\b")
"""What only a host can do."""


@dataclass(frozen=True)
class Answers:
    """What a user says of a file's kernel; the rest is taken from its text."""

    reference: Mapping[str, str] = field(default_factory=dict)
    """For each output an expression over the inputs, or the name of a function of the host or of
    another kernel in the file, or of a Python file beside it as ``check.py:product``; ``none``
    where nobody can say. Under an empty name for the only output, or for all where one function
    returns them."""
    unchecked: bool = False
    """Whether nobody can say what a right result is."""
    kernel: str | None = None
    uses: Mapping[str, Use] = field(default_factory=dict)
    """What is done to arrays; one that the text reads and writes stays so as an output."""
    shapes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Defaults of the sizes."""
    block: tuple[int, ...] | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether it says what a right result is, without which the others are no manifest."""
        return bool(self.reference) or self.unchecked

    @property
    def said(self) -> dict[str, str]:
        """What is right, of the outputs of which somebody says so."""
        stripped = {name: text.strip() for name, text in self.reference.items()}
        known = {name: text for name, text in stripped.items() if text != NOTHING}
        return {} if self.unchecked else known


def is_kernel_file(word: str | Path) -> bool:
    """Return whether a word names a CUDA file rather than a workload."""
    return str(word).lower().endswith(SUFFIX)


def manifest_path(path: Path) -> Path:
    """Return where the manifest of a CUDA file lies: beside it, under its name."""
    return path.with_suffix(MANIFEST_SUFFIX)


def kernel_manifest(text: str, path: Path, name: str, answers: Answers) -> str:
    """Return the manifest of a CUDA file; ``text`` is what it holds.

    Its kernels with the same parameters as the chosen one are its variants. Raises InputError with
    file and line for a file without a kernel, for parameters that cannot be filled, and for answers
    that do not fit it.
    """
    return KernelFile(text, path, answers).toml(name)


class KernelFile:
    """What a CUDA file's text tells together with what was answered.

    Raises InputError for a file without a kernel that can be run.
    """

    def __init__(self, text: str, path: Path, answers: Answers) -> None:
        self._path, self._answers = path, answers
        self._source = CudaSource(unix_lines(text), str(path))
        self._host = HostText(self._source)
        read = dict(self._read(answers.kernel))
        if not read:
            raise InputError(
                f"{path}: no __global__ function here", remedy="give a file with a kernel"
            )
        self.name = self._pick(answers.kernel, list(read))
        """The kernel that runs first: its name, of a template an instance's."""
        self._chosen = read[self.name]
        self.others = [n for n in read if n != self.name]
        alike = (n for n, k in read.items() if n != self.name and _heads(k) == _heads(self._chosen))
        names = {self.name, *itertools.islice(alike, MOST_VARIANTS - 1)}
        self._kernels = {n: k for n, k in read.items() if n in names}
        self._arrays = [p for p in self._chosen.parameters if p.is_pointer]
        types = [one for p in self._arrays if (one := _element(p)[0]) in PRECISION_OF]
        self._real = max(types, key=types.count, default="float")
        self._precision = PRECISION_OF[self._real]
        self.shapes = {p.name: self._shape(p.name) for p in self._arrays}
        """Of each array, as formulas over the sizes; None where nothing tells."""
        self.uses = {p.name: self._use(p.name) for p in self._arrays}
        """Of each array; None where nothing tells."""
        self.sizes = {n: self._default(n) for n in self._chosen.sizes}
        """The sizes with their defaults."""
        self._numbers = [p for p in self._chosen.parameters if p.name in self._chosen.others]
        self.scalars = {p.name: self._value(p) for p in self._numbers}
        """The other numbers that it takes."""

    @property
    def _alike(self) -> list[KernelText]:
        """The kernels with the same parameters, the chosen one first."""
        return [self._chosen, *(k for k in self._kernels.values() if k is not self._chosen)]

    @property
    def outputs(self) -> list[str]:
        """The arrays that are written."""
        return [name for name, use in self.uses.items() if use in ("out", "inout")]

    @cached_property
    def host_functions(self) -> dict[str, list[str]]:
        """Functions of the host that can stand in for the kernel, with what they are given."""
        found = {}
        for function in self._source.functions:
            head = self._source.code[function.start : function.open_paren]
            body = self._source.code[slice(*function.body)]
            if _COMPUTES.search(head) and not (function.is_template or _CALLS_HOST.search(body)):
                arguments = self._given_to(self._source.parameters(function))
                if arguments:
                    found[function.name] = arguments
        return found

    @property
    def block(self) -> tuple[int, ...]:
        """Threads per block to begin with."""
        return self._block(self._chosen)

    # ---- what there is

    def _read(self, named: str | None) -> Iterator[tuple[str, KernelText]]:
        """Yield every kernel by its entry, of a template the instances that are launched."""
        for name, function in self._source.kernels.items():
            if not function.is_template:
                yield name, read_kernel(self._source, function, self._host)
                continue
            for arguments in self._instances(function, named):
                source = with_instance(self._source, function, arguments)
                entry = f"{name}<{', '.join(arguments)}>"
                yield entry, read_kernel(source, source.kernels[name], HostText(source))

    def _instances(self, function: Function, named: str | None) -> list[tuple[str, ...]]:
        """Return the arguments of a template's instances: those that are launched, or a guess."""
        parameters = template_parameters(self._source, function)
        launches = self._host.launches.get(function.name) or [Launch(None, ())]
        found = [self._arguments(function, parameters, launch) for launch in launches]
        name, arguments = split_entry(named or "")
        if name == function.name and arguments:
            found.insert(0, self._arguments(function, parameters, Launch(None, (), arguments)))
        return list(dict.fromkeys(found))

    def _arguments(
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

    def _pick(self, named: str | None, entries: list[str]) -> str:
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

    def _type(self, parameter: Parameter) -> str | None:
        """Return a parameter's type as manifests name it; None for one they do not have."""
        kind, width = _element(parameter)
        if width > 1 and not parameter.is_pointer:
            return None
        if kind == self._real:
            return "real"
        if kind == "float":
            return kind
        return WHOLE_OF.get(kind.removeprefix("std "))

    def _said_by_host(self, name: str) -> float | None:
        """Return the value that the host code hands over for a parameter."""
        if name in self._chosen.symbols:
            return self._host.copied(name)
        names = [p.name for p in self._chosen.handed]
        launch = next(iter(self._host.launches.get(self._chosen.function.name, ())), None)
        if launch is None or len(launch.arguments) != len(names):
            return None
        return self._host.number(launch.arguments[names.index(name)])

    def _default(self, size: str) -> int:
        if size in self._answers.sizes:
            return self._answers.sizes[size]
        found = self._said_by_host(size)
        axes = max((len(shape) for shape in self.shapes.values() if shape), default=1)
        return int(found) if found is not None and found >= 1 else USUAL_SIZES[min(axes, 3)]

    def _value(self, parameter: Parameter) -> float:
        value = self._answers.scalars.get(parameter.name)
        if value is None:
            value = self._said_by_host(parameter.name)
        whole = self._type(parameter) in WHOLE
        value = (1 if whole else 2.0) if value is None else value
        return int(value) if whole else float(value)

    def _shape(self, name: str) -> tuple[str, ...] | None:
        parameter = next(p for p in self._arrays if p.name == name)
        width = _element(parameter)[1]
        told = (kernel.shapes[name] for kernel in self._alike)
        said = self._answers.shapes.get(name) or next(filter(None, told), None)
        found = said or self._allocated(parameter)
        if found is None and len(self._chosen.sizes) == 1:
            found = self._chosen.sizes
        if width == 1 or not found or (said and found[-1] == str(width)):
            return found
        return (*found, str(width))

    def _allocated(self, parameter: Parameter) -> tuple[str, ...] | None:
        """Return the sides of what the host allocates for an array; None where nothing tells."""
        names = [p.name for p in self._chosen.handed]
        for launch in self._host.launches.get(self._chosen.function.name, ()):
            if len(launch.arguments) == len(names) and parameter.name in names:
                given = dict(zip(names, launch.arguments, strict=True))
                itemsize_B = _itemsize_B(parameter)
                sides = self._host.allocated(given[parameter.name], itemsize_B)
                sizes = {given[size].strip(): size for size in self._chosen.sizes}
                if sides:
                    return tuple(sizes.get(s) or f"{self._host.number(s):.0f}" for s in sides)
        return None

    def _use(self, name: str) -> Use | None:
        found = next((use for k in self._alike if (use := k.uses[name]) is not None), None)
        said = self._answers.uses.get(name, found)
        return found if (said, found) == ("out", "inout") else said

    # ---- what is missing or does not fit

    def _check(self) -> None:
        """Raise InputError for what the kernel does not tell, and for answers that do not fit."""
        answers = self._answers
        for parameter in self._arrays:
            self._check_array(parameter)
        for parameter in self._numbers:
            if self._type(parameter) is None:
                where = self._source.where(parameter.start)
                raise InputError(
                    f"{where}: a '{parameter.type}' by value cannot be handed over",
                    remedy=f"use float, double or int for '{parameter.name}'",
                )
        for size, default in self.sizes.items():
            if not 1 <= default <= LARGEST:
                raise InputError(
                    f"the size {size} = {default} is out of range", remedy=f"use 1 to {LARGEST}"
                )
        known: list[tuple[Iterable[str], Sequence[str], str]] = [
            ((*answers.uses, *answers.shapes), list(self.shapes), "array"),
            ((n for n in answers.reference if n), self.outputs, "output"),
            (answers.sizes, list(self.sizes), "size"),
            (answers.scalars, list(self.scalars), "number"),
        ]
        for names, found, what in known:
            for name in names:
                if name not in found:
                    raise InputError(
                        f"{self._path}: the kernel '{self.name}' has no {what} '{name}'",
                        remedy=suggestion(name, found) if found else f"it has no {what} at all",
                    )
        if not self.outputs:
            raise InputError(
                f"{self._path}: the kernel '{self.name}' writes no array",
                remedy="name its outputs with --out",
            )

    def _check_array(self, parameter: Parameter) -> None:
        name, where = parameter.name, self._source.where(parameter.start)
        if self._type(parameter) is None:
            raise InputError(
                f"{where}: arrays of '{parameter.type}' cannot be filled here",
                remedy=f"use float, double, half or whole numbers of 8, 32 or 64 bits for '{name}'",
            )
        if self.shapes[name] is None:
            raise InputError(
                f"{where}: how large '{name}' is cannot be told",
                remedy=f"say --array {name}=ROWS,COLUMNS in sizes or numbers",
            )
        if name in self._chosen.symbols and self.uses[name] != "in":
            raise InputError(
                f"{where}: the kernel writes to '{name}', which lies outside of functions",
                remedy="let it take a pointer to what it writes",
            )
        if self.uses[name] is None:
            raise InputError(
                f"{where}: whether '{name}' is read or written cannot be told",
                remedy="make it const where it is read, or name the outputs with --out",
            )

    def _given_to(self, parameters: Sequence[Parameter]) -> list[str]:
        """Return the kernel's parameters by which a function is called; none where they differ."""
        own = self._chosen.parameters
        names = [p.name for p in parameters]
        if set(names) <= {p.name for p in own} and set(self.outputs) <= set(names):
            return names
        same = [(p.type, p.pointers) for p in parameters] == [(p.type, p.pointers) for p in own]
        return [p.name for p in own] if same else []

    @cached_property
    def trusted(self) -> str | None:
        """The kernel or function of the host that is the reference; None for expressions."""
        said = set(self._answers.said.values())
        if len(said) != 1:
            return None
        text = said.pop()
        if python_function(text) is not None:
            return None
        others = [n for n in self._kernels if n != self.name]
        entry = next((n for n in others if text in (n, plain_name(n), split_entry(n)[0])), None)
        if entry is not None or text in self.host_functions:
            return entry or text
        if any(text == f.name for f in self._source.functions):
            raise InputError(
                f"{self._path}: '{text}' cannot stand in for the kernel '{self.name}'",
                remedy="let it be void, take the kernel's parameters, and only compute",
            )
        return None

    @property
    def python(self) -> str | None:
        """The Python function that says what is right, as ``check.py:product``; None for none.

        Raises InputError for one that lies elsewhere, or does not say it for every output.
        """
        said = set(self._answers.said.values())
        named = [text for text in said if python_function(text) is not None]
        if not named:
            return None
        if len(said) > 1:
            raise InputError(
                f"{self._path}: {named[0]} stands beside another reference",
                remedy="let one Python function return every output",
            )
        file, _, function = named[0].rpartition(":")
        folder = self._path.absolute().parent
        if Path(file).name != file and Path(file).absolute().parent != folder:
            raise InputError(
                f"{file} does not lie beside {self._path}", remedy=f"put it into {folder}"
            )
        return f"{Path(file).name}:{function}"

    def _references(self) -> dict[str, str]:
        """Return an expression for each output; none where another kernel is right, or nothing."""
        if self.trusted is not None or self.python is not None:
            return {}
        said = self._answers.said
        found = {name: text for name, text in said.items() if name}
        if "" in said:
            if len(self.outputs) != 1:
                raise InputError(
                    f"{self._path}: the kernel writes {', '.join(self.outputs)}",
                    remedy="say which with --reference NAME=EXPRESSION, once for each",
                )
            found[self.outputs[0]] = said[""]
        return found

    # ---- as a manifest

    def toml(self, name: str) -> str:
        """Return it as a manifest; InputError for what is missing or does not fit."""
        self._check()
        references = self._references()
        lines = [
            "format = 1",
            f"name = {_text(name)}",
            f"title = {_text(self._path.stem)}",
            f"summary = {_text(f'Your own kernel: {self.name} of {self._path.name}.')}",
            f"default_variant = {_text(plain_name(self.name))}",
        ]
        for size, default in (self.sizes or {"one": 1}).items():
            most = default if size not in self.sizes else LARGEST
            lines += ["", f"[sizes.{size}]", "min = 1", f"max = {most}", f"default = {default}"]
        tolerance = TOLERANCES[self._precision]
        lines += ["", "[precisions]", f"{self._precision} = {{ tolerance = {tolerance!r} }}"]
        lines += ["", "[arrays]"]
        for parameter in self._arrays:
            kind = self._type(parameter)
            shape = ", ".join(s if s.isdigit() else _text(s) for s in self._sides(parameter.name))
            fields = [f"shape = [{shape}]", f"role = {_text(self.uses[parameter.name] or 'in')}"]
            fields += [] if kind == "real" else [f"type = {_text(kind or '')}"]
            values, below = self._told(parameter.name)
            if values is not None:
                fields.append(f"values = {_text(values)}")
            elif kind in WHOLE:
                fields.append('fill = "integers"')
                fields += [f"below = {_text(below)}"] if below is not None else []
            lines.append(f"{parameter.name} = {{ {', '.join(fields)} }}")
        lines += ["", "[scalars]"] if self._numbers else []
        for parameter in self._numbers:
            kind, value = _text(self._type(parameter) or ""), self.scalars[parameter.name]
            lines.append(f"{parameter.name} = {{ type = {kind}, value = {value!r} }}")
        lines += ["", "[work]", *self._work(references), "", "[reference]"]
        if references:
            pairs = ", ".join(f"{n} = {_text(e)}" for n, e in references.items())
            lines.append(f"outputs = {{ {pairs} }}")
            products = [formulas.product_factors(e) for e in references.values()]
            whole = {p.name for p in self._arrays if self._type(p) in WHOLE}
            matrices = all(len(self._sides(n)) == 2 and n not in whole for n in references)
            if all(products) and matrices:
                lines.append('check = "freivalds"')
        elif self.python is not None:
            lines.append(f"python = {_text(self.python)}")
        elif self.trusted is not None:
            lines.append(f"variant = {_text(plain_name(self.trusted))}")
        else:
            lines.append("unchecked = true")
        for entry, kernel in self._kernels.items():
            lines += self._variant(entry, kernel)
        if self.trusted in self.host_functions:
            lines += self._host_variant(self.trusted)
        return "\n".join(lines) + "\n"

    def _work(self, references: Mapping[str, str]) -> list[str]:
        """Return the bytes that are needed at least, and the operations of a product."""
        read = [self._bytes(p) for p in self._arrays if self.uses[p.name] != "out"]
        written = [self._bytes(p) for p in self._arrays if self.uses[p.name] != "in"]
        flops = "0"
        factors = [formulas.product_factors(e) for e in references.values()]
        if len(factors) == 1 and factors[0] is not None:
            left, right = (self.shapes.get(n) for n in factors[0])
            if left is not None and right is not None and len(left) == len(right) == 2:
                flops = _product(["2", left[0], left[1], right[1]])
        return [
            f"flops = {_text(flops)}",
            f"read_bytes = {_text(' + '.join(read) or '0')}",
            f"write_bytes = {_text(' + '.join(written))}",
        ]

    def _bytes(self, parameter: Parameter) -> str:
        kind = self._type(parameter)
        size = "itemsize" if kind == "real" else str(WHOLE[kind].itemsize) if kind in WHOLE else "4"
        return _product([*self._sides(parameter.name), size])

    def _told(self, name: str) -> tuple[str | None, str | None]:
        """Return what an input must hold, and what its whole numbers stay below."""
        said = self._answers.shapes.get(name)
        if self.uses[name] != "in" or (said and said != self._chosen.shapes.get(name)):
            return None, None  # another shape has another meaning
        return self._chosen.values.get(name), self._chosen.below.get(name)

    def _sides(self, name: str) -> tuple[str, ...]:
        return self.shapes[name] or ()

    def _variant(self, entry: str, kernel: KernelText) -> list[str]:
        name = plain_name(entry)
        block = self._block(kernel)
        grid = ", ".join(_text(g) for g in self._grid(kernel, block))
        where = self._source.where(kernel.function.start).rpartition(":")[2]
        lines = [
            "",
            f"[variants.{name}]",
            f"title = {_text(entry)}",
            f"teaches = {_text(f'Your own kernel, line {where} of {self._path.name}.')}",
        ]
        lines += self._reset(kernel.accumulated)
        for axis, side in sorted(self._fixed(kernel).items()):
            rule = _text(f"block_{axis} == {side}")
            because = _text(f"the source takes {side} threads along {axis} for granted")
            lines += ["", f"[[variants.{name}.constraints]]", f"rule = {rule}",
                      f"because = {because}"]  # fmt: skip
        arguments = ", ".join(_text(p.name) for p in kernel.handed)
        symbols = ", ".join(_text(p.name) for p in kernel.parameters if p.name in kernel.symbols)
        return [
            *lines,
            "",
            f"[[variants.{name}.launch]]",
            f"source = {_text(self._path.name)}",
            f"entry = {_text(entry)}",
            f"block = [{', '.join(map(str, block))}]",
            f"grid = [{grid}]",
            *self._shared(kernel, block),
            f"args = [{arguments}]",
            *([f"symbols = [{symbols}]"] if symbols else []),
        ]

    def _shared(self, kernel: KernelText, block: tuple[int, ...]) -> list[str]:
        """Return the line with the shared memory whose size the launch says.

        It follows the block where it is so many whole bytes a thread.
        """
        body = self._source.code[slice(*kernel.function.body)]
        if not re.search(r"\bextern\s+__shared__\b", body):
            return []
        launches = self._host.launches.get(kernel.function.name, ())
        found = next((n for one in launches if (n := self._host.bytes(one.shared))), None)
        by_block = next((t for one in launches if (t := self._host.bytes_by_block(one))), None)
        if found is None and by_block is not None:
            return [f"shared_bytes = {_text(by_block)}"]
        if found is None:
            raise InputError(
                f"{self._source.where(kernel.function.open_paren)}: how many bytes of extern "
                f"__shared__ memory '{kernel.function.name}' needs cannot be told",
                remedy="launch it in the file with a number, such as <<<n / 256, 256, 1024>>>",
            )
        threads = math.prod(block)
        sides = [f"block_{axis}" for axis in AXES[: len(block)]]
        each, rest = divmod(found, threads)
        formula = str(found) if rest else " * ".join([str(each), *sides])
        return [f"shared_bytes = {_text(formula)}"]

    def _host_variant(self, name: str) -> list[str]:
        """Return a function of the host as a variant, which one thread runs."""
        function = next(f for f in self._source.functions if f.name == name)
        where = self._source.where(function.open_paren).rpartition(":")[2]
        words = f"Your own function on one thread, line {where} of {self._path.name}."
        arguments = ", ".join(map(_text, self.host_functions[name]))
        return [
            "",
            f"[variants.{name}]",
            f"title = {_text(name)}",
            f"teaches = {_text(words)}",
            *self._reset(frozenset()),
            "",
            f"[[variants.{name}.launch]]",
            f"source = {_text(self._path.name)}",
            f"entry = {_text(name)}",
            'block = ["1"]',
            'grid = ["1"]',
            f"args = [{arguments}]",
        ]

    def _reset(self, accumulated: frozenset[str]) -> list[str]:
        """Return the line that names the arrays which are set back before each launch."""
        names = [
            n for n, use in self.uses.items()
            if use == "inout" or (use == "out" and n in accumulated)
        ]  # fmt: skip
        return [f"reset = [{', '.join(map(_text, names))}]"] if names else []

    def _block(self, kernel: KernelText) -> tuple[int, ...]:
        said = self._answers.block or self._launched(kernel).block
        found = list(said or USUAL_BLOCKS[kernel.axes])
        while len(found) > kernel.axes and found[-1] == 1:
            del found[-1]
        found += [1] * (kernel.axes - len(found))
        for axis, side in self._fixed(kernel).items():
            if AXES.index(axis) < len(found):
                found[AXES.index(axis)] = side
        return tuple(found)

    def _launched(self, kernel: KernelText) -> Launch:
        """Return the launch of a kernel that says most: a template's, with its own arguments."""
        launches = list(self._host.launches.get(kernel.function.name, ()))
        function, arguments = self._template(kernel)
        if function.is_template:
            parameters = template_parameters(self._source, function)
            launches = [
                one for one in launches if self._arguments(function, parameters, one) == arguments
            ]
        launches.append(Launch(None, ()))
        return next((one for one in launches if one.block), launches[0])

    def _template(self, kernel: KernelText) -> tuple[Function, tuple[str, ...]]:
        """Return a kernel's function as the file has it, and its arguments as an instance."""
        entry = next(n for n, k in self._kernels.items() if k is kernel)
        return self._source.kernels[kernel.function.name], split_entry(entry)[1]

    def _fixed(self, kernel: KernelText) -> dict[str, int]:
        """Return the sides of the block that are taken for granted; a launch knows them better."""
        block = self._launched(kernel).block or ()
        found = {
            axis: block[AXES.index(axis)] if AXES.index(axis) < len(block) else side
            for axis, side in kernel.fixed_block.items()
        }
        return found or ({} if block else self._template_block(kernel))

    def _template_block(self, kernel: KernelText) -> dict[str, int]:
        """Return the block of a template that has it as a parameter, such as ``blockSize``."""
        function, arguments = self._template(kernel)
        parameters = template_parameters(self._source, function) if function.is_template else []
        for parameter, argument in zip(parameters, arguments, strict=False):
            if _BLOCK_SIZE.fullmatch(parameter.name) and argument.isdigit():
                return {"x": int(argument)}
        return {}

    def _grid(self, kernel: KernelText, block: Sequence[int]) -> list[str]:
        """Return the grid that reaches over what the guards say, or over the largest output.

        Where neither guards nor sizes say it, it has as many threads as in the host code, or as
        many blocks where the kernel does not ask for a thread's number.
        """
        axes = len(block)
        shapes = [self._sides(name) for name in self.outputs]
        largest = max(shapes, key=len)
        sides = largest[::-1] if axes > 1 else [_product(largest)]
        launch = self._launched(kernel)
        if launch.grid and not kernel.reach and not self._chosen.sizes:
            body = self._source.code[slice(*kernel.function.body)]
            by_axis = itertools.zip_longest(AXES[:axes], launch.grid[:axes], fillvalue=1)
            counted = []
            for (axis, blocks), threads in zip(by_axis, block, strict=True):
                total = blocks * threads
                asked = re.search(rf"\bthreadIdx\s*\.\s*{axis}", body)
                counted.append(f"ceil_div({total}, block_{axis})" if asked else str(blocks))
            return counted
        found = []
        for at, axis in enumerate(AXES[:axes]):
            reach = kernel.reach.get(axis) or (sides[at] if at < len(sides) else "1")
            found.append(f"ceil_div({reach}, block_{axis})")
        return found


def split_reference(text: str) -> tuple[str, str]:
    """Return the output that ``C=A @ B`` names, or nothing, and the expression."""
    name, sign, expression = text.partition("=")
    if sign and re.fullmatch(r"\s*[A-Za-z_]\w*\s*", name) and not expression.startswith("="):
        return name.strip(), expression.strip()
    return "", text.strip()


def _element(parameter: Parameter) -> tuple[str, int]:
    """Return the type of the numbers in an array, and how many each element has."""
    vector = _VECTOR.fullmatch(parameter.type)
    if vector is None:
        return parameter.type, 1
    return _LONG_NAMES.get(vector[1], vector[1]), int(vector[2])


def _itemsize_B(parameter: Parameter) -> int:
    kind, width = _element(parameter)
    known = {"float": 4, "double": 8, "half": 2, "__half": 2}
    whole = WHOLE.get(WHOLE_OF.get(kind.removeprefix("std "), ""))
    return width * (known.get(kind) or (whole.itemsize if whole is not None else 4))


def _is_a_letter(text: str) -> bool:
    """Return whether a type's name may be a template's parameter around a launch."""
    return re.fullmatch(r"[A-Z]\w?|T\w*|\w*_t?ype", text) is not None


def _heads(kernel: KernelText) -> list[tuple[str, str, int]]:
    return [(p.name, p.type, p.pointers) for p in kernel.parameters]


def _product(factors: Sequence[str]) -> str:
    return " * ".join(f if re.fullmatch(r"\w+", f) else f"({f})" for f in factors)


def _text(words: str) -> str:
    """Return words as a TOML string."""
    return json.dumps("".join(c for c in words if c.isprintable()), ensure_ascii=False)


def pairs(words: Sequence[str], what: str) -> dict[str, str]:
    """Return ``NAME=TEXT`` words by name; InputError naming ``what`` for one that is none."""
    found = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not re.fullmatch(r"[A-Za-z_]\w*", name.strip()) or not text.strip():
            raise InputError(f"{what} '{word}' is not NAME=VALUE", remedy=f"say {what} NAME=VALUE")
        found[name.strip()] = text.strip()
    return found
