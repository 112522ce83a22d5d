"""What the text of a CUDA file says of its kernels: sizes, shapes, what is written, how it runs.

Nothing is compiled. What a kernel's subscripts, guards and the host code around it tell is a guess,
which a run that is verified confirms or not.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

import msgspec
from msgspec.structs import replace

from gpuexplorer.workloads.block_numbers import BlockNumbers
from gpuexplorer.workloads.c_expressions import definitions, names_in, read_expression
from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter
from gpuexplorer.workloads.declared_symbols import counters_of, symbols_used
from gpuexplorer.workloads.host_text import HostText, Launch
from gpuexplorer.workloads.index_shapes import Indices, Known
from gpuexplorer.workloads.row_pointers import with_arrays

AXES = "xyz"
Use = Literal["in", "out", "inout"]
WHOLE = frozenset(
    "int unsigned long short size_t int32_t uint32_t int64_t uint64_t std uint".split()
)
"""Words of the types of whole numbers."""
_WRITES = re.compile(r"\s*(?:(=)(?!=)|[-+*/%|&^]=|<<=|>>=|\+\+|--)")
_ATOMIC = r"\batomic\w+\s*\(\s*(?:&\s*)?\(?\s*{name}\b"
_ATOMIC_ON = r"\batomic\w+\s*\(\s*({name})\s*,"
"""A pointer that an atomic function takes as it is: its first element."""
_POINTED_AT = r"(?:[=(,;{{}}+\-/%|<>!?:]|\breturn)\s*(\*\s*{name}\b)(?!\s*\[)"
"""A pointer that is read or written without a subscript."""
_OFFSET_FROM = r"\*\s*\(\s*{name}\s*\+\s*([^()]+(?:\([^()]*\)[^()]*)*)\)"
"""A pointer that is read or written with a sum in place of a subscript."""
_FURTHER_SIDES = re.compile(r"(?:\s*\[[^\[\]]*\])+")
_SHARED = re.compile(r"\b__shared__\s+[\w\s]+?\b([A-Za-z_]\w*)((?:\s*\[[^\]]+\])+)\s*;")
_BELOW = re.compile(
    r"\b([A-Za-z_]\w*)\s*(?:<(?![<=])|>=)\s*([\w\s*+()-]+?)\s*(?:\)|&&|;|\|\||,|\?)"
)
_ABOVE = re.compile(r"(?:[(;]|&&|\|\|)\s*([\w\s*]+?)\s*(?:>(?![>=])|<=)\s*([A-Za-z_]\w*)\b")
_MARGIN = re.compile(r"^(\w+) ?- ?(\d+)$")
"""What an index next to the border stays below; the array itself is so much larger."""
_NEIGHBOUR = re.compile(r"\b([A-Za-z_]\w*)\s*\+\s*(\d+)\s*(?:<(?![<=])|>=|[!=]=)")
_LAST = re.compile(r"\b([A-Za-z_]\w*)\s*[!=]=\s*\(?\s*\w+\s*-\s*(\d+)")
"""Whether a neighbour is there is looked at, or whether an index is the last one."""
_MEMBER = re.compile(r"(?:\s*\.\s*[A-Za-z_]\w*)+")
_LOOP = re.compile(
    r"\bfor\s*\(\s*(?:[A-Za-z_][\w\s]*\s)?([A-Za-z_]\w*)\s*=\s*([^;]+?)\s*;\s*\1\s*<\s*([^;]+?)\s*;"
)
_ELEMENT = re.compile(r"([A-Za-z_]\w*)\s*\[([^\[\]]+)\]")
_PART_OF_THREADS = re.compile(r"\bthreadIdx\s*\.\s*([xyz])\s*(?:/\s*(\w+)|>>\s*(\d+))")
ROW = 8
"""Elements that each row of a sparse matrix gets."""
FEW = 1024
"""Elements of a variable that is set back before each launch."""


class KernelText(msgspec.Struct, frozen=True):
    """What one kernel's text says, with the names of its parameters."""

    function: Function
    parameters: tuple[Parameter, ...]
    sizes: tuple[str, ...]
    """Whole numbers that bound an index or scale one."""
    others: tuple[str, ...]
    """The other numbers it takes."""
    accumulated: frozenset[str]
    """Arrays that atomic functions alone touch: what they start from counts, zeros as a rule."""
    uses: Mapping[str, Use | None]
    """Of each array; None where neither reading nor writing was found."""
    shapes: Mapping[str, tuple[str, ...] | None]
    """Of each array, as formulas over the sizes; None where its subscripts do not tell."""
    fixed_block: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Sides of the block that the text takes for granted, by axis."""
    reach: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What the threads of an axis must reach over, as a formula, by axis."""
    blocks: Mapping[str, str] = msgspec.field(default_factory=dict)
    """How many blocks an axis has, as a formula, where blocks are numbered and not threads."""
    axes: int = 1
    """How many axes its threads have."""
    below: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What the whole numbers of an array must stay below, because they are subscripts."""
    values: Mapping[str, str] = msgspec.field(default_factory=dict)
    """What an array must hold, as an expression: where the rows of a sparse matrix begin."""
    symbols: frozenset[str] = frozenset()
    """Those of the parameters that are variables outside of functions, which the host fills..."""
    read_back: frozenset[str] = frozenset()
    """... and of these those that it reads after the launch."""
    counters: Mapping[Parameter, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Other such variables that a launch is to find as zeros, with their shapes."""

    @property
    def handed(self) -> tuple[Parameter, ...]:
        """The parameters that a launch hands over."""
        return tuple(p for p in self.parameters if p.name not in self.symbols)


def read_kernel(source: CudaSource, function: Function, host: HostText) -> KernelText:
    """Return what a kernel's text says."""
    return _Reader(source, function, host).found()


class _Reader:
    """Reads one kernel."""

    def __init__(self, source: CudaSource, function: Function, host: HostText) -> None:
        self._host, self._source = host, source
        self._function = function
        self._symbols = {s.name: s for s in symbols_used(source, function)}
        variables = (symbol.parameter for symbol in self._symbols.values())
        self._parameters = (*source.parameters(function), *variables)
        start, end = function.body
        arrays = [p.name for p in self._parameters if p.is_pointer]
        self._body = with_arrays(host.expanded(source.code[start:end]), arrays)
        self._heads = {p.name: source.code[p.start : p.end] for p in self._parameters}
        whole = [p.name for p in self._parameters if not p.is_pointer and _is_whole(p)]
        self._values = dict(definitions(self._body))
        self._axis = {n: a for n, text in self._values.items() if (a := _axis_of(text))}
        self._bounds, margins = self._read_bounds(whole)
        self._launches = self._handing_over(host.launches.get(function.name, ()))
        self._numbers = BlockNumbers(host, self._body, self._values, whole)
        self._blocks = self._counted(whole)
        told = [host.sizes_of(one) & given.keys() for one, given in self._launches]
        used = {given[n] for (_, given), names in zip(self._launches, told, strict=True)
                for n in names}  # fmt: skip
        for formula in (*self._bounds.values(), *self._blocks.values()):
            used |= names_in(formula)
        self._sizes = tuple(n for n in whole if n in used or self._scales(n))
        threads = {
            n: axis for n, axis in self._axis.items()
            if f"blockIdx.{axis}" not in self._bounds or self._is_inside(n)
        }  # fmt: skip
        self._indices = Indices(
            Known(host, self._body, self._sizes, self._values, threads, self._bounds, margins)
        )

    def found(self) -> KernelText:
        arrays = [p for p in self._parameters if p.is_pointer]
        indices = {p.name: list(self._subscripts(p.name)) for p in arrays}
        texts = {name: [text for text, _, _ in found] for name, found in indices.items()}
        shapes = {
            p.name: self._declared_shape(self._symbols[p.name].sides)
            if p.name in self._symbols
            else self._shape_of_rows(p, texts[p.name])
            if p.sides
            else self._indices.shape(texts[p.name])
            for p in arrays
        }
        rows = self._rows(texts)
        shapes |= {n: (f"{count} + 1",) for n, (count, _) in rows.items()}
        shapes |= {n: (f"{ROW} * {count}",) for count, inside in rows.values() for n in inside}
        return KernelText(
            function=self._function,
            parameters=self._parameters,
            sizes=self._sizes,
            others=tuple(
                p.name for p in self._parameters
                if not p.is_pointer and p.name not in self._sizes
            ),
            accumulated=self._accumulated,
            uses={p.name: self._use(p, indices[p.name]) for p in arrays},
            shapes=shapes,
            below=self._below(texts, shapes),
            values={n: f"{ROW} * arange({count} + 1)" for n, (count, _) in rows.items()},
            fixed_block=self._fixed_block(),
            reach=self._reach(),
            blocks=self._blocks,
            axes=self._axes(),
            symbols=frozenset(self._symbols),
            read_back=self._read_back,
            counters=self._counters(),
        )  # fmt: skip

    # ---- bounds

    def _read_bounds(self, whole: Sequence[str]) -> tuple[dict[str, str], dict[str, int]]:
        """Return what each variable is compared with, as a formula over whole parameters.

        And how far from the border variables stay whose neighbours are looked at.
        """
        known = {*whole, *self._host.macros}
        found: dict[str, str] = {}
        pairs = [(m[1], m[2]) for m in _BELOW.finditer(self._body)]
        pairs += [(m[2], m[1]) for m in _ABOVE.finditer(self._body)]
        margins = [*_NEIGHBOUR.findall(self._body), *_LAST.findall(self._body)]
        for name, bound in pairs:
            text = " ".join(bound.split())
            if margin := _MARGIN.match(text):
                margins.append((name, margin[2]))
                text = margin[1]
            names = names_in(text)
            if name in known or text.count("(") != text.count(")") or not names <= known:
                continue
            for macro in names - set(whole):  # a manifest knows the parameters alone
                number = self._host.number(macro)
                if number is None or number != int(number):
                    break
                text = re.sub(rf"\b{macro}\b", str(int(number)), text)
            else:
                if names and read_expression(text) is not None:
                    found.setdefault(name, text)
        return found, {
            name: max(int(number) for one, number in margins if one == name) for name, _ in margins
        }

    def _handing_over(self, launches: Sequence[Launch]) -> list[tuple[Launch, dict[str, str]]]:
        """Return the launches with the parameters by the texts of what they are handed."""
        names = [p.name for p in self._parameters if p.name not in self._symbols]
        return [
            (one, {text.strip(): n for text, n in zip(one.arguments, names, strict=True)})
            for one in launches
            if len(one.arguments) == len(names)
        ]

    def _counted(self, whole: Sequence[str]) -> dict[str, str]:
        """Return how many blocks there are on the axes where blocks are numbered.

        Bounds tell it, or the host's launch, or a parameter that has no other use. A block's number
        has it as its bound from then on.
        """
        found: dict[str, str] = {}
        for name in [n for n in self._bounds if n in self._values]:
            counted = self._numbers.blocks(name, self._bounds[name])
            if counted is not None and not re.search(rf"\b{name}\s*\+\+", self._body):
                found.setdefault(*counted)
        threads = {
            self._axis[n] for n in self._axis.keys() & self._bounds.keys()
            if not self._is_inside(n) and self._numbers.blocks(n, self._bounds[n]) is None
        }  # fmt: skip
        found = {axis: count for axis, count in found.items() if axis not in threads}
        scaling = [n for n in whole if self._scales(n)]
        bounding = {n for bound in self._bounds.values() for n in names_in(bound)}
        unused = [n for n in whole if not re.search(rf"\b{n}\b", self._body)]
        usual = [*unused, *(n for n in whole if n in bounding and n not in scaling), *scaling]
        for at, axis in enumerate(AXES):
            if axis in found or axis in threads or not self._numbers.is_of_block(axis):
                continue
            same = self._numbers.same(axis)
            count = next((self._bounds[n] for n in self._bounds if n in same), None)
            count = count or self._launched(at)
            if count is None and self._numbers.reaches(axis, self._all_subscripts):
                count = next(iter(usual), None)
            if count is not None:
                found[axis] = count
                self._bounds.setdefault(f"blockIdx.{axis}", count)
        for at, axis in enumerate(AXES):
            if self._numbers.is_unnumbered(axis) and (found or axis in self._strided):
                found[axis] = self._launched(at) or "1"
        return found

    def _launched(self, at: int) -> str | None:
        """Return the blocks on an axis as the host launches them, as a formula."""
        for launch, given in self._launches:
            sides = {text.strip(): f"block_{a}" for text, a in zip(launch.sides, AXES, strict=False)
                     if text.strip().isidentifier()}  # fmt: skip
            text = launch.grid_sides[at] if at < len(launch.grid_sides) else "1"
            if (count := self._host.formula(text, {**sides, **given})) is not None:
                return count
        return None

    def _scales(self, size: str) -> bool:
        """Return whether an index is multiplied by a parameter inside of a subscript."""
        texts = [*self._all_subscripts, *self._values.values()]
        return any(re.search(rf"[*%]\s*{size}\b|\b{size}\s*\*", text) for text in texts)

    @cached_property
    def _all_subscripts(self) -> list[str]:
        """The subscripts of all arrays."""
        arrays = (p.name for p in self._parameters if p.is_pointer)
        return [text for name in arrays for text, _, _ in self._subscripts(name)]

    # ---- arrays

    def _subscripts(self, name: str) -> Iterator[tuple[str, int, int]]:
        """Yield each subscript of an array, with where the whole begins and ends in the body."""
        for match in re.finditer(rf"\b{name}\s*\[", self._body):
            depth, at = 1, match.end()
            while at < len(self._body) and depth:
                depth += (self._body[at] == "[") - (self._body[at] == "]")
                at += 1
            end = at
            for rest in (_FURTHER_SIDES, _MEMBER):
                further = rest.match(self._body, end)
                end = further.end() if further else end
            yield self._body[match.end() : at - 1], match.start(), end
        for match in re.finditer(_OFFSET_FROM.format(name=name), self._body):
            yield match[1], match.start(), match.end()
        for form in (_POINTED_AT, _ATOMIC_ON):
            for match in re.finditer(form.format(name=name), self._body):
                yield "0", match.start(1), match.end(1)

    def _use(self, parameter: Parameter, found: Sequence[tuple[str, int, int]]) -> Use | None:
        """Return whether an array is read, written, or both."""
        if parameter.name in self._read_back:
            return "inout" if self._host.copies_to(parameter.name) else "out"
        if re.search(r"\bconst\b[^*]*\*", self._heads[parameter.name]):
            return "in"
        reads = writes = False
        name = parameter.name
        for _, _start, end in found:
            written = _WRITES.match(self._body, end)
            writes |= written is not None
            reads |= written is None or written[1] is None
        if name in self._symbols and not writes:  # whoever reads it, a helper perhaps
            return "in"
        if not found:
            return None
        if name in self._accumulated:
            return "out"
        if re.search(_ATOMIC.format(name=name), self._body):
            return "inout"
        return "inout" if reads and writes else "out" if writes else "in"

    @cached_property
    def _accumulated(self) -> frozenset[str]:
        """The arrays every use of which is an atomic function's.

        Of variables outside of functions those that are not only written.
        """
        found = {name for name in self._read_back if not self._is_only_written(name)}
        for parameter in self._parameters:
            if parameter.is_pointer and parameter.name not in self._read_back:
                uses = sum(1 for _ in self._subscripts(parameter.name))
                atomic = re.findall(_ATOMIC.format(name=parameter.name), self._body)
                if uses and uses == len(atomic):
                    found.add(parameter.name)
        return frozenset(found)

    @cached_property
    def _read_back(self) -> frozenset[str]:
        """The variables outside of functions that the host reads after the launch."""
        return frozenset(name for name, symbol in self._symbols.items() if symbol.is_read)

    def _is_only_written(self, name: str) -> bool:
        uses = len(re.findall(rf"\b{name}\b", self._body))
        written = re.findall(rf"\b{name}\b(?:\s*\[[^\[\]]*\])*\s*=(?!=)", self._body)
        return uses == len(written) > 0

    def _rows(self, texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, list[str]]]:
        """Return the arrays that say where rows begin: how many rows, and what lies in them.

        That is ``for (j = start[i]; j < start[i + 1]; j++)``, with the arrays that have a
        subscript ``j``. Threads that share a row begin at ``start[i] + threadIdx.x``.
        """
        found = {}
        for match in _LOOP.finditer(self._body):
            last = _ELEMENT.fullmatch(self._values.get(match[3], match[3]))
            first = next(filter(None, map(_ELEMENT.fullmatch, self._summands(match[2]))), None)
            if not first or not last or first[1] != last[1] or first[1] not in texts:
                continue
            tree = read_expression(f"({last[2]}) - ({first[2]})")
            terms = None if tree is None else self._indices.expand(tree)
            row = self._indices.terms(first[2]) or {}
            count = next(filter(None, map(self._indices.bound_of, row)), None)
            if count is None or terms is None or {t: n for t, n in terms.items() if n} != {(): 1}:
                continue
            inside = [n for n, said in texts.items() if match[1] in map(str.strip, said)]
            found[first[1]] = count, inside
        return found

    def _summands(self, text: str) -> list[str]:
        """Return what an expression adds up, what names stand for in their place."""
        tree = read_expression(self._values.get(text, text))
        found, nodes = [], [] if tree is None else [tree]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                nodes += [node.left, node.right]
            else:
                said = ast.unparse(node)
                found.append(self._values.get(said, said))
        return found

    def _below(
        self, texts: Mapping[str, Sequence[str]], shapes: Mapping[str, tuple[str, ...] | None]
    ) -> dict[str, str]:
        """Return what the elements of arrays are below that are subscripts of others."""
        sides = {n: " * ".join(shape) for n, shape in shapes.items() if shape}
        for match in _SHARED.finditer(self._body):
            numbers = [self._host.number(s) for s in re.findall(r"\[([^\]]+)\]", match[2])]
            if len(numbers) == 1 and numbers[0] is not None:
                sides[match[1]] = f"{numbers[0]:.0f}"
                texts = {**texts, match[1]: [t for t, _, _ in self._subscripts(match[1])]}
        only = self._sizes[0] if len(self._sizes) == 1 else None
        found: dict[str, str] = {}
        for indexed, said in texts.items():
            for text in said:
                meant = [text, *(self._values[n] for n in names_in(text) if n in self._values)]
                named = {n for t in meant for n in re.findall(r"\b([A-Za-z_]\w*)\s*\[", t)}
                for array in named & texts.keys():
                    side = sides.get(indexed, only)
                    if side is not None and array != indexed:
                        found.setdefault(array, side)
        return found

    def _shape_of_rows(self, parameter: Parameter, texts: Sequence[str]) -> tuple[str, ...] | None:
        """Return the shape of an array whose rows have sides that are numbers."""
        rows, shape = self._declared_shape(parameter.sides), self._indices.shape(texts)
        return (" * ".join(shape), *rows) if shape and rows else None

    def _counters(self) -> dict[Parameter, tuple[str, ...]]:
        """Return what counts on from launch to launch; zeroing more would empty caches."""
        found = {}
        for symbol in counters_of(self._source, self._function):
            shape = self._declared_shape(symbol.sides)
            if symbol.name not in self._symbols and shape and math.prod(map(int, shape)) <= FEW:
                found[replace(symbol.parameter, pointers=1)] = shape
        return found

    def _declared_shape(self, texts: Sequence[str]) -> tuple[str, ...] | None:
        """Return a shape whose sides are numbers: of an array outside of functions, of a row."""
        sides = [self._host.number(side) for side in texts or ("1",)]
        if any(side is None or side < 1 or side != int(side) for side in sides):
            return None
        return tuple(str(int(side)) for side in sides if side is not None)

    # ---- threads

    def _axes(self) -> int:
        used = re.findall(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])", self._body)
        return max((AXES.index(a) + 1 for a in used), default=1)

    def _reach(self) -> dict[str, str]:
        """Return what bounds the number of a thread on each axis, of those of the grid first.

        What a thread of a block goes through in steps does not.
        """
        found: dict[str, str] = {}
        for name in sorted(self._axis, key=self._is_inside):
            if name in self._bounds and name not in self._stepping:
                found.setdefault(self._axis[name], self._bounds[name])
        return found

    def _is_inside(self, name: str) -> bool:
        return "blockIdx" not in self._values[name]

    @cached_property
    def _stepping(self) -> set[str]:
        """The numbers of threads of a block that go on in steps."""
        return {
            n for n in self._axis if self._is_inside(n) and re.search(rf"\b{n}\s*\+=", self._body)
        }

    @cached_property
    def _strided(self) -> set[str]:
        """The axes on which nothing but such steps reaches what is to be done."""
        return {self._axis[n] for n in self._stepping if n in self._bounds} - self._reach().keys()

    def _fixed_block(self) -> dict[str, int]:
        """Return the sides that shared arrays and the numbers of threads take for granted."""
        found: dict[str, int] = {}
        alone = {f"threadIdx.{a}": a for a in AXES}
        alone |= {n: a for n, t in self._values.items() for a in AXES if _is_alone(t, a)}
        alone = {n: a for n, a in alone.items() if not re.search(rf"\b{n}\s*\+=", self._body)}
        for text in self._values.values():
            for match in re.finditer(r"\bblockIdx\s*\.\s*([xyz])\s*\*\s*(\w+)(?!\s*\.)", text):
                part = _PART_OF_THREADS.search(text)
                shared = () if part is None else ("*", part[2]) if part[2] else ("<<", part[3])
                self._fix(found, _axis_of(text) or match[1], " ".join((match[2], *shared)))
        for match in _SHARED.finditer(self._body):
            sides = re.findall(r"\[([^\]]+)\]", match[2])
            used = re.compile(rf"\b{match[1]}" + r"\s*\[([^\]]+)\]" * len(sides))
            for use in used.finditer(self._body, match.end()):
                for side, index in zip(sides, use.groups(), strict=True):
                    axis = alone.get(re.sub(r"\s", "", index))
                    if axis is not None:
                        self._fix(found, axis, side)
        return found

    def _fix(self, found: dict[str, int], axis: str, text: str) -> None:
        number = self._host.number(text)
        if number is not None and number >= 1 and number == int(number):
            found.setdefault(axis, int(number))


# ---- pieces of text


def _is_whole(parameter: Parameter) -> bool:
    return set(parameter.type.split()) <= WHOLE


def _axis_of(text: str) -> str | None:
    """Return the only axis whose thread number a definition has; None for none, or several."""
    axes = set(re.findall(r"\bthreadIdx\s*\.\s*([xyz])", text))
    return axes.pop() if len(axes) == 1 else None


def _is_alone(text: str, axis: str) -> bool:
    return re.fullmatch(rf"\s*threadIdx\s*\.\s*{axis}\s*", text) is not None
