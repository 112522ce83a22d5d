"""A CUDA file of one's own: what its text tells together with what its user answers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.c_expressions import names_in
from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter
from gpuexplorer.workloads.fills import WHOLE
from gpuexplorer.workloads.host_text import HostText, Launch
from gpuexplorer.workloads.includes import unix_lines
from gpuexplorer.workloads.instances import plain_name, split_entry, template_parameters
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_entries import PRECISION_OF, KernelEntries
from gpuexplorer.workloads.kernel_text import AXES, KernelText, Use
from gpuexplorer.workloads.python_function import python_function
from gpuexplorer.workloads.strict import suggestion

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
MOST_VARIANTS = 100
"""Kernels of a file that one manifest offers; another one is chosen by its name."""
USUAL_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}
_COMPUTES = re.compile(r"^(?!.*\b__(?:global|device)__)(?:(?:static|inline|__host__)\s+)*void\s")
"""How a function of the host begins that hands back nothing but what it writes."""
_CALLS_HOST = re.compile(r"<<<|\b(?:cuda[A-Z]\w*|malloc|calloc|free|new|std|printf|exit)\b")
"""What only a host can do."""


class KernelFile:
    """What a CUDA file's text tells together with what was answered.

    Raises InputError for a file without a kernel that can be run.
    """

    def __init__(self, text: str, path: Path, answers: Answers) -> None:
        self.path, self.answers = path, answers
        self.source = CudaSource(unix_lines(text), str(path))
        self.host = HostText(self.source)
        self._entries = KernelEntries(self.source, self.host, path)
        found = dict(self._entries.all(answers.kernel))
        if not found:
            raise InputError(
                f"{path}: no __global__ function here", remedy="give a file with a kernel"
            )
        self.name = self._entries.pick(answers.kernel, list(found))
        """The kernel that runs first: its name, of a template an instance's."""
        chosen = found[self.name]
        self.chosen = chosen.read()
        """What the text of that one says."""
        self.others = [n for n in found if n != self.name]
        head = chosen.head
        alike = (n for n in self.others if found[n].head == head)
        names = {self.name, *itertools.islice(alike, MOST_VARIANTS - 1)}
        self.kernels = {
            n: self.chosen if n == self.name else one.read()
            for n, one in found.items()
            if n in names
        }
        """Those with its parameters, by their entries: the variants of the manifest."""
        self.arrays = [p for p in self.chosen.parameters if p.is_pointer]
        types = [one for p in self.arrays if (one := _element(p)[0]) in PRECISION_OF]
        self._real = max(types, key=types.count, default="float")
        self.precision = PRECISION_OF[self._real]
        self.shapes = {p.name: self._shape(p.name) for p in self.arrays}
        """Of each array, as formulas over the sizes; None where nothing tells."""
        self.uses = {p.name: self._use(p.name) for p in self.arrays}
        """Of each array; None where nothing tells."""
        sides = (names_in(side) for shape in answers.shapes.values() for side in shape)
        named = set(answers.sizes).union(*sides)
        numbers = [p for p in self.chosen.parameters if p.name in self.chosen.others]
        self.numbers = [p for p in numbers if p.name not in named or self.type_of(p) not in WHOLE]
        taken = {p.name for p in numbers} - {p.name for p in self.numbers}
        self.sizes = {
            p.name: self._default(p.name)
            for p in self.chosen.parameters
            if p.name in self.chosen.sizes or p.name in taken
        }
        """The sizes with their defaults: what the text tells, and what answers make one."""
        self.scalars = {p.name: self._value(p) for p in self.numbers}
        """The other numbers that it takes."""

    @property
    def _alike(self) -> list[KernelText]:
        """The kernels with the same parameters, the chosen one first."""
        return [self.chosen, *(k for k in self.kernels.values() if k is not self.chosen)]

    @property
    def outputs(self) -> list[str]:
        """The arrays that are written."""
        return [name for name, use in self.uses.items() if use in ("out", "inout")]

    @cached_property
    def host_functions(self) -> dict[str, list[str]]:
        """Functions of the host that can stand in for the kernel, with what they are given."""
        found = {}
        for function in self.source.functions:
            head = self.source.code[function.start : function.open_paren]
            body = self.source.code[slice(*function.body)]
            if _COMPUTES.search(head) and not (function.is_template or _CALLS_HOST.search(body)):
                arguments = self._given_to(self.source.parameters(function))
                if arguments:
                    found[function.name] = arguments
        return found

    @property
    def block(self) -> tuple[int, ...]:
        """Threads per block to begin with."""
        return self.block_of(self.chosen)

    # ---- what there is

    def counters(self, kernel: KernelText) -> dict[Parameter, tuple[str, ...]]:
        """Return the variables that a kernel is to find as zeros, as far as manifests fill them."""
        return {
            one: shape
            for one, shape in kernel.counters.items()
            if self.type_of(one) is not None and _element(one)[1] == 1
        }

    def type_of(self, parameter: Parameter) -> str | None:
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
        if name in self.chosen.symbols:
            return self.host.copied(name)
        names = [p.name for p in self.chosen.handed]
        launch = next(iter(self.host.launches.get(self.chosen.function.name, ())), None)
        if launch is None or len(launch.arguments) != len(names):
            return None
        return self.host.number(launch.arguments[names.index(name)])

    def _default(self, size: str) -> int:
        if size in self.answers.sizes:
            return self.answers.sizes[size]
        found = self._said_by_host(size)
        axes = max((len(shape) for shape in self.shapes.values() if shape), default=1)
        return int(found) if found is not None and found >= 1 else USUAL_SIZES[min(axes, 3)]

    def _value(self, parameter: Parameter) -> float:
        value = self.answers.scalars.get(parameter.name)
        if value is None:
            value = self._said_by_host(parameter.name)
        whole = self.type_of(parameter) in WHOLE
        value = (1 if whole else 2.0) if value is None else value
        return int(value) if whole else float(value)

    def _shape(self, name: str) -> tuple[str, ...] | None:
        parameter = next(p for p in self.arrays if p.name == name)
        width = _element(parameter)[1]
        told = (kernel.shapes[name] for kernel in self._alike)
        said = self.answers.shapes.get(name) or next(filter(None, told), None)
        found = said or self._allocated(parameter)
        if found is None and len(self.chosen.sizes) == 1:
            found = self.chosen.sizes
        if width == 1 or not found or (said and found[-1] == str(width)):
            return found
        return (*found, str(width))

    def _allocated(self, parameter: Parameter) -> tuple[str, ...] | None:
        """Return the sides of what the host allocates for an array; None where nothing tells."""
        names = [p.name for p in self.chosen.handed]
        for launch in self.host.launches.get(self.chosen.function.name, ()):
            if len(launch.arguments) == len(names) and parameter.name in names:
                given = dict(zip(names, launch.arguments, strict=True))
                itemsize_B = _itemsize_B(parameter)
                sides = self.host.allocated(given[parameter.name], itemsize_B)
                sizes = {given[size].strip(): size for size in self.chosen.sizes}
                if sides:
                    return tuple(sizes.get(s) or f"{self.host.number(s):.0f}" for s in sides)
        return None

    def _use(self, name: str) -> Use | None:
        found = next((use for k in self._alike if (use := k.uses[name]) is not None), None)
        said = self.answers.uses.get(name, found)
        return found if (said, found) == ("out", "inout") else said

    # ---- what is missing or does not fit

    def check(self) -> None:
        """Raise InputError for what the kernel does not tell, and for answers that do not fit."""
        answers = self.answers
        for parameter in self.arrays:
            self._check_array(parameter)
        for parameter in self.numbers:
            if self.type_of(parameter) is None:
                where = self.source.where(parameter.start)
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
                        f"{self.path}: the kernel '{self.name}' has no {what} '{name}'",
                        remedy=suggestion(name, found) if found else f"it has no {what} at all",
                    )
        if not self.outputs:
            raise InputError(
                f"{self.path}: the kernel '{self.name}' writes no array",
                remedy="name its outputs with --out",
            )

    def _check_array(self, parameter: Parameter) -> None:
        name, where = parameter.name, self.source.where(parameter.start)
        if self.type_of(parameter) is None:
            raise InputError(
                f"{where}: arrays of '{parameter.type}' cannot be filled here",
                remedy=f"use float, double, half or whole numbers of 8, 32 or 64 bits for '{name}'",
            )
        if self.shapes[name] is None:
            raise InputError(
                f"{where}: how large '{name}' is cannot be told",
                remedy=f"say --array {name}=ROWS,COLUMNS in sizes or numbers",
            )
        outside = name in self.chosen.symbols and name not in self.chosen.read_back
        if outside and self.uses[name] != "in":
            raise InputError(
                f"{where}: the kernel writes to '{name}', which lies outside of functions",
                remedy="copy it back with cudaMemcpyFromSymbol, or let it take a pointer to it",
            )
        if self.uses[name] is None:
            raise InputError(
                f"{where}: whether '{name}' is read or written cannot be told",
                remedy="make it const where it is read, or name the outputs with --out",
            )

    def _given_to(self, parameters: Sequence[Parameter]) -> list[str]:
        """Return the kernel's parameters by which a function is called; none where they differ."""
        own = self.chosen.parameters
        names = [p.name for p in parameters]
        if set(names) <= {p.name for p in own} and set(self.outputs) <= set(names):
            return names
        heads = [[(p.type, p.pointers, p.sides) for p in taken] for taken in (parameters, own)]
        return [p.name for p in own] if heads[0] == heads[1] else []

    @cached_property
    def trusted(self) -> str | None:
        """The kernel or function of the host that is the reference; None for expressions."""
        said = set(self.answers.said.values())
        if len(said) != 1:
            return None
        text = said.pop()
        if python_function(text) is not None:
            return None
        others = [n for n in self.kernels if n != self.name]
        entry = next((n for n in others if text in (n, plain_name(n), split_entry(n)[0])), None)
        if entry is not None or text in self.host_functions:
            return entry or text
        if any(text == f.name for f in self.source.functions):
            raise InputError(
                f"{self.path}: '{text}' cannot stand in for the kernel '{self.name}'",
                remedy="let it be void, take the kernel's parameters, and only compute",
            )
        return None

    @property
    def python(self) -> str | None:
        """The Python function that says what is right, as ``check.py:product``; None for none.

        Raises InputError for one that lies elsewhere, or does not say it for every output.
        """
        said = set(self.answers.said.values())
        named = [text for text in said if python_function(text) is not None]
        if not named:
            return None
        if len(said) > 1:
            raise InputError(
                f"{self.path}: {named[0]} stands beside another reference",
                remedy="let one Python function return every output",
            )
        file, _, function = named[0].rpartition(":")
        folder = self.path.absolute().parent
        if Path(file).name != file and Path(file).absolute().parent != folder:
            raise InputError(
                f"{file} does not lie beside {self.path}", remedy=f"put it into {folder}"
            )
        return f"{Path(file).name}:{function}"

    def references(self) -> dict[str, str]:
        """Return an expression for each output; none where another kernel is right, or nothing."""
        if self.trusted is not None or self.python is not None:
            return {}
        said = self.answers.said
        found = {name: text for name, text in said.items() if name}
        if "" in said:
            if len(self.outputs) != 1:
                raise InputError(
                    f"{self.path}: the kernel writes {', '.join(self.outputs)}",
                    remedy="say which with --reference NAME=EXPRESSION, once for each",
                )
            found[self.outputs[0]] = said[""]
        return found

    # ---- how it is launched

    def block_of(self, kernel: KernelText) -> tuple[int, ...]:
        """Return a kernel's threads per block to begin with."""
        said = self.answers.block or self.launch_of(kernel).block
        found = list(said or USUAL_BLOCKS[kernel.axes])
        while len(found) > kernel.axes and found[-1] == 1:
            del found[-1]
        found += [1] * (kernel.axes - len(found))
        for axis, side in self.fixed_block(kernel).items():
            if AXES.index(axis) < len(found):
                found[AXES.index(axis)] = side
        return tuple(found)

    def launch_of(self, kernel: KernelText) -> Launch:
        """Return the launch of a kernel that says most: a template's, with its own arguments."""
        launches = list(self.host.launches.get(kernel.function.name, ()))
        function, arguments = self._template(kernel)
        if function.is_template:
            parameters = template_parameters(self.source, function)
            launches = [
                one
                for one in launches
                if self._entries.arguments(function, parameters, one) == arguments
            ]
        launches.append(Launch(None, ()))
        return next((one for one in launches if one.block), launches[0])

    def _template(self, kernel: KernelText) -> tuple[Function, tuple[str, ...]]:
        """Return a kernel's function as the file has it, and its arguments as an instance."""
        entry = next(n for n, k in self.kernels.items() if k is kernel)
        return self.source.kernels[kernel.function.name], split_entry(entry)[1]

    def fixed_block(self, kernel: KernelText) -> dict[str, int]:
        """Return the sides of the block that are taken for granted; a launch knows them better."""
        block = self.launch_of(kernel).block or ()
        found = {
            axis: block[AXES.index(axis)] if AXES.index(axis) < len(block) else side
            for axis, side in kernel.fixed_block.items()
        }
        return found or ({} if block else self._template_block(kernel))

    def _template_block(self, kernel: KernelText) -> dict[str, int]:
        """Return the block of a template that has it as a parameter, such as ``blockSize``."""
        function, arguments = self._template(kernel)
        parameters = template_parameters(self.source, function) if function.is_template else []
        for parameter, argument in zip(parameters, arguments, strict=False):
            if _BLOCK_SIZE.fullmatch(parameter.name) and argument.isdigit():
                return {"x": int(argument)}
        return {}


def _element(parameter: Parameter) -> tuple[str, int]:
    """Return the type of the numbers in an array, and how many each element has."""
    vector = _VECTOR.fullmatch(parameter.type)
    if vector is None:
        return parameter.type, 1
    return _LONG_NAMES.get(vector[1], vector[1]), int(vector[2])


def _itemsize_B(parameter: Parameter) -> int:
    kind, width = _element(parameter)
    precision = PRECISIONS.get(PRECISION_OF.get(kind, ""))
    if precision is not None:
        return width * precision.itemsize_B
    whole = WHOLE.get(WHOLE_OF.get(kind.removeprefix("std "), ""))
    return width * (whole.itemsize if whole is not None else 4)
