"""The manifest of a CUDA file of one's own: what its text tells and its user answered, written out.

It lies beside the file, ``mine.toml`` for ``mine.cu``, or among the user's settings where that
folder cannot be written; everything else uses it, and it can be edited like any other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.cuda_source import Parameter
from gpuexplorer.workloads.fills import WHOLE
from gpuexplorer.workloads.instances import plain_name
from gpuexplorer.workloads.kernel_answers import Answers
from gpuexplorer.workloads.kernel_file import LARGEST, KernelFile
from gpuexplorer.workloads.kernel_text import AXES, KernelText

TOLERANCES = {"fp32": 1e-4, "fp64": 1e-12, "bf16": 1e-1, "fp16": 2e-2}
"""Allowed distance from float64, where sums may be as long as an array."""


def kernel_manifest(text: str, path: Path, name: str, answers: Answers) -> str:
    """Return the manifest of a CUDA file; ``text`` is what it holds.

    Its kernels with the same parameters as the chosen one are its variants. Raises InputError with
    file and line for a file without a kernel, for parameters that cannot be filled, and for answers
    that do not fit it.
    """
    return _Writer(KernelFile(text, path, answers)).toml(name)


class _Writer:
    """Writes what a file tells as a manifest."""

    def __init__(self, file: KernelFile) -> None:
        self._file = file

    def toml(self, name: str) -> str:
        """Return it as a manifest; InputError for what is missing or does not fit."""
        self._file.check()
        references = self._file.references()
        lines = [
            "format = 1",
            f"name = {_text(name)}",
            f"title = {_text(self._file.path.stem)}",
            f"summary = {_text(f'Your own kernel: {self._file.name} of {self._file.path.name}.')}",
            f"default_variant = {_text(plain_name(self._file.name))}",
        ]
        for size, default in (self._file.sizes or {"one": 1}).items():
            most = default if size not in self._file.sizes else LARGEST
            lines += ["", f"[sizes.{size}]", "min = 1", f"max = {most}", f"default = {default}"]
        tolerance = TOLERANCES[self._file.precision]
        lines += ["", "[precisions]", f"{self._file.precision} = {{ tolerance = {tolerance!r} }}"]
        lines += ["", "[arrays]", *map(self._array, self._file.arrays), *self._counters()]
        lines += ["", "[scalars]"] if self._file.numbers else []
        lines += map(self._scalar, self._file.numbers)
        lines += ["", "[work]", *self._work(references), "", "[reference]"]
        if references:
            pairs = ", ".join(f"{n} = {_text(e)}" for n, e in references.items())
            lines.append(f"outputs = {{ {pairs} }}")
            products = [formulas.product_factors(e) for e in references.values()]
            whole = {p.name for p in self._file.arrays if self._file.type_of(p) in WHOLE}
            matrices = all(len(self._sides(n)) == 2 and n not in whole for n in references)
            if all(products) and matrices:
                lines.append('check = "freivalds"')
        elif self._file.python is not None:
            lines.append(f"python = {_text(self._file.python)}")
        elif self._file.trusted is not None:
            lines.append(f"variant = {_text(plain_name(self._file.trusted))}")
        else:
            lines.append("unchecked = true")
        for entry, kernel in self._file.kernels.items():
            lines += self._variant(entry, kernel)
        if self._file.trusted in self._file.host_functions:
            lines += self._host_variant(self._file.trusted)
        return "\n".join(lines) + "\n"

    def _array(self, parameter: Parameter) -> str:
        """Return the line of an array: its shape, what is done to it, and what it holds."""
        kind = self._file.type_of(parameter)
        shape = ", ".join(s if s.isdigit() else _text(s) for s in self._sides(parameter.name))
        use = self._file.uses[parameter.name] or "in"
        fields = [f"shape = [{shape}]", f"role = {_text(use)}"]
        fields += [] if kind == "real" else [f"type = {_text(kind or '')}"]
        values, below = self._told(parameter.name)
        if values is not None:
            fields.append(f"values = {_text(values)}")
        elif kind in WHOLE:
            fields.append('fill = "integers"')
            fields += [f"below = {_text(below)}"] if below is not None else []
        return f"{parameter.name} = {{ {', '.join(fields)} }}"

    def _counters(self) -> list[str]:
        """Return the lines of the variables that each launch is to find as zeros."""
        found = {}
        for kernel in self._file.kernels.values():
            for one, shape in self._file.counters(kernel).items():
                kind = self._file.type_of(one)
                fields = [f"shape = [{', '.join(shape)}]", 'role = "scratch"']
                fields += [] if kind == "real" else [f"type = {_text(kind or '')}"]
                found[one.name] = f"{one.name} = {{ {', '.join(fields)} }}"
        return list(found.values())

    def _scalar(self, parameter: Parameter) -> str:
        kind, value = self._file.type_of(parameter) or "", self._file.scalars[parameter.name]
        return f"{parameter.name} = {{ type = {_text(kind)}, value = {value!r} }}"

    def _work(self, references: Mapping[str, str]) -> list[str]:
        """Return the bytes that are needed at least, and the operations of a product."""
        read = [self._bytes(p) for p in self._file.arrays if self._file.uses[p.name] != "out"]
        written = [self._bytes(p) for p in self._file.arrays if self._file.uses[p.name] != "in"]
        flops = "0"
        factors = [formulas.product_factors(e) for e in references.values()]
        if len(factors) == 1 and factors[0] is not None:
            left, right = (self._file.shapes.get(n) for n in factors[0])
            if left is not None and right is not None and len(left) == len(right) == 2:
                flops = _product(["2", left[0], left[1], right[1]])
        return [
            f"flops = {_text(flops)}",
            f"read_bytes = {_text(' + '.join(read) or '0')}",
            f"write_bytes = {_text(' + '.join(written))}",
        ]

    def _bytes(self, parameter: Parameter) -> str:
        kind = self._file.type_of(parameter)
        size = "itemsize" if kind == "real" else str(WHOLE[kind].itemsize) if kind in WHOLE else "4"
        return _product([*self._sides(parameter.name), size])

    def _told(self, name: str) -> tuple[str | None, str | None]:
        """Return what an input must hold, and what its whole numbers stay below."""
        said = self._file.answers.shapes.get(name)
        if self._file.uses[name] != "in" or (said and said != self._file.chosen.shapes.get(name)):
            return None, None  # another shape has another meaning
        return self._file.chosen.values.get(name), self._file.chosen.below.get(name)

    def _sides(self, name: str) -> tuple[str, ...]:
        return self._file.shapes[name] or ()

    def _variant(self, entry: str, kernel: KernelText) -> list[str]:
        name = plain_name(entry)
        block = self._file.block_of(kernel)
        grid = ", ".join(_text(g) for g in self._grid(kernel, block))
        where = self._file.source.where(kernel.function.start).rpartition(":")[2]
        lines = [
            "",
            f"[variants.{name}]",
            f"title = {_text(entry)}",
            f"teaches = {_text(f'Your own kernel, line {where} of {self._file.path.name}.')}",
        ]
        counters = [one.name for one in self._file.counters(kernel)]
        lines += self._reset(kernel.accumulated, counters)
        for axis, side in sorted(self._file.fixed_block(kernel).items()):
            rule = _text(f"block_{axis} == {side}")
            because = _text(f"the source takes {side} threads along {axis} for granted")
            lines += ["", f"[[variants.{name}.constraints]]", f"rule = {rule}",
                      f"because = {because}"]  # fmt: skip
        arguments = ", ".join(_text(p.name) for p in kernel.handed)
        filled = [p.name for p in kernel.parameters if p.name in kernel.symbols]
        symbols = ", ".join(map(_text, [*filled, *counters]))
        return [
            *lines,
            "",
            f"[[variants.{name}.launch]]",
            f"source = {_text(self._file.path.name)}",
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
        body = self._file.source.code[slice(*kernel.function.body)]
        if not re.search(r"\bextern\s+__shared__\b", body):
            return []
        launches = self._file.host.launches.get(kernel.function.name, ())
        found = next((n for one in launches if (n := self._file.host.bytes(one.shared))), None)
        by_block = next((t for one in launches if (t := self._file.host.bytes_by_block(one))), None)
        if found is None and by_block is not None:
            return [f"shared_bytes = {_text(by_block)}"]
        if found is None:
            raise InputError(
                f"{self._file.source.where(kernel.function.open_paren)}: how many bytes of extern "
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
        function = next(f for f in self._file.source.functions if f.name == name)
        where = self._file.source.where(function.open_paren).rpartition(":")[2]
        words = f"Your own function on one thread, line {where} of {self._file.path.name}."
        arguments = ", ".join(map(_text, self._file.host_functions[name]))
        return [
            "",
            f"[variants.{name}]",
            f"title = {_text(name)}",
            f"teaches = {_text(words)}",
            *self._reset(frozenset()),
            "",
            f"[[variants.{name}.launch]]",
            f"source = {_text(self._file.path.name)}",
            f"entry = {_text(name)}",
            'block = ["1"]',
            'grid = ["1"]',
            f"args = [{arguments}]",
        ]

    def _reset(self, accumulated: frozenset[str], counters: Sequence[str] = ()) -> list[str]:
        """Return the line that names the arrays which are set back before each launch."""
        names = [
            n for n, use in self._file.uses.items()
            if use == "inout" or (use == "out" and n in accumulated)
        ]  # fmt: skip
        names += counters
        return [f"reset = [{', '.join(map(_text, names))}]"] if names else []

    def _grid(self, kernel: KernelText, block: Sequence[int]) -> list[str]:
        """Return the grid that reaches over what the guards say, or over the largest output.

        Where the kernel numbers blocks it has as many as are counted. Where neither guards nor
        sizes say it, it has as many threads as in the host code, or as many blocks where the kernel
        does not ask for a thread's number.
        """
        axes = len(block)
        shapes = [self._sides(name) for name in self._file.outputs]
        largest = max(shapes, key=len)
        sides = largest[::-1] if axes > 1 else [_product(largest)]
        launch = self._file.launch_of(kernel)
        if launch.grid and not kernel.reach and not self._file.chosen.sizes:
            body = self._file.source.code[slice(*kernel.function.body)]
            launched = [*launch.grid[:axes], *[1] * axes]
            counted = []
            for axis, blocks, threads in zip(AXES, launched, block, strict=False):
                total = blocks * threads
                asked = re.search(rf"\bthreadIdx\s*\.\s*{axis}", body)
                told = kernel.blocks.get(axis)
                counted.append(
                    told or (f"ceil_div({total}, block_{axis})" if asked else str(blocks))
                )
            return counted
        found = []
        for at, axis in enumerate(AXES[:axes]):
            reach = kernel.reach.get(axis) or (sides[at] if at < len(sides) else "1")
            found.append(kernel.blocks.get(axis) or f"ceil_div({reach}, block_{axis})")
        return found


def _product(factors: Sequence[str]) -> str:
    return " * ".join(f if re.fullmatch(r"\w+", f) else f"({f})" for f in factors)


def _text(words: str) -> str:
    """Return words as a TOML string."""
    return json.dumps("".join(c for c in words if c.isprintable()), ensure_ascii=False)
