"""What the text of a CUDA file says of its kernels: sizes, shapes, what is written, how it runs.

Nothing is compiled. What a kernel's subscripts, guards and the host code around it tell is a guess,
which a run that is verified confirms or not.
"""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from gpuexplorer.workloads.cuda_source import CudaSource, Function, Parameter
from gpuexplorer.workloads.instances import split_list

AXES = "xyz"
Use = Literal["in", "out", "inout"]
WHOLE = frozenset(
    "int unsigned long short size_t int32_t uint32_t int64_t uint64_t std uint".split()
)
"""Words of the types of whole numbers."""
_WHOLE_TYPE = (
    r"(?:unsigned\s+long\s+long|unsigned\s+int|unsigned|long\s+long|long|int|size_t|auto|uint|"
    r"u?int(?:32|64)_t)"
)
_DEFINED = re.compile(
    rf"\b(?:const\s+|constexpr\s+|static\s+)*{_WHOLE_TYPE}\s+(?=[A-Za-z_]\w*\s*=)"
)
_NAMED_VALUE = re.compile(r"\s*([A-Za-z_]\w*)\s*=(?!=)\s*")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+([^\n]+)", re.MULTILINE)
_LAUNCH = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<(?!<)((?:[^<>;]|<[^<>;]*>)*)>)?\s*<<<")
_POINTS_TO = r"\b(float|double|__half|half|unsigned(?:\s+int)?|int)\s*\*[^;()]*\b"
_DIM3 = re.compile(r"\bdim3\s+([A-Za-z_]\w*)\s*[({]([^;]*?)[)}]\s*[;,]")
_WRITES = re.compile(r"\s*(?:(=)(?!=)|[-+*/%|&^]=|<<=|>>=|\+\+|--)")
_ATOMIC = r"\batomic\w+\s*\(\s*(?:&\s*)?\(?\s*{name}\b"
_ATOMIC_ON = r"\batomic\w+\s*\(\s*({name})\s*,"
"""A pointer that an atomic function takes as it is: its first element."""
_POINTED_AT = r"(?:[=(,;{{}}+\-/%|<>!?:]|\breturn)\s*(\*\s*{name}\b)(?!\s*\[)"
"""A pointer that is read or written without a subscript."""
_OFFSET_FROM = r"\*\s*\(\s*{name}\s*\+\s*([^()]+(?:\([^()]*\)[^()]*)*)\)"
"""A pointer that is read or written with a sum in place of a subscript."""
_SHARED = re.compile(r"\b__shared__\s+[\w\s]+?\b([A-Za-z_]\w*)((?:\s*\[[^\]]+\])+)\s*;")
_CAST = re.compile(rf"\(\s*(?:const\s+)?{_WHOLE_TYPE}\s*\)|\bstatic_cast\s*<[^<>]*>")
_BELOW = re.compile(
    r"\b([A-Za-z_]\w*)\s*(?:<(?![<=])|>=)\s*([\w\s*+()-]+?)\s*(?:\)|&&|;|\|\||,|\?)"
)
_ABOVE = re.compile(r"(?:[(;]|&&|\|\|)\s*([\w\s*]+?)\s*(?:>(?![>=])|<=)\s*([A-Za-z_]\w*)\b")
_MARGIN = re.compile(r"^(\w+) ?- ?\d+$")
"""What an index next to the border stays below; the array itself is so much larger."""
_DEEPEST = 12
MOST_TERMS = 64

Term = tuple[str, ...]
"""Names that are multiplied, sorted."""


@dataclass(frozen=True)
class Launch:
    """How the host code launches a kernel: the block where it is known, and the arguments' text."""

    block: tuple[int, ...] | None
    arguments: tuple[str, ...]
    template: tuple[str, ...] = ()
    """The template's arguments as far as they are written there."""
    shared: str = "0"
    """The bytes of shared memory that it asks for, as they are written there."""


class HostText:
    """The constants of a file, and the launches in its host code."""

    def __init__(self, source: CudaSource) -> None:
        self._source = source
        self.macros = {m[1]: m[2].strip() for m in _MACRO.finditer(source.plain)}
        kernels = [f.body for f in source.functions if f.is_kernel]
        outside = _blanked(source.code, kernels)
        self._values = dict(_definitions(outside))
        self._dims = {m[1]: split_list(m[2]) for m in _DIM3.finditer(outside)}
        self._code = outside

    def number(self, text: str) -> float | None:
        """Return what a constant expression comes to; None where a name has no value."""
        return _number(text, {**self.macros, **self._values}, 0)

    def bytes(self, text: str) -> int | None:
        """Return how many bytes a launch asks for; None where that is not known."""
        sizes = {"double": 8, "half": 2, "__half": 2, "char": 1, "float4": 16, "float2": 8}
        usual = {"float": 4, "int": 4, "unsigned": 4, "unsigned int": 4}
        plain = re.sub(
            r"\bsizeof\s*\(\s*([\w\s]+?)\s*\)",
            lambda m: str({**usual, **sizes}.get(" ".join(m[1].split()), m[0])),
            text,
        )
        found = self.number(plain)
        return int(found) if found is not None and 0 <= found == int(found) else None

    def pointed_type(self, name: str) -> str | None:
        """Return what a pointer of the host code points to; None where it is not declared."""
        if not re.fullmatch(r"\w+", name):
            return None
        declared = re.search(_POINTS_TO + name + r"\b", self._code)
        return declared[1] if declared else None

    @cached_property
    def launches(self) -> dict[str, list[Launch]]:
        """The launches of each kernel, in order."""
        found: dict[str, list[Launch]] = {}
        for match in _LAUNCH.finditer(self._code):
            end = self._code.find(">>>", match.end())
            opening = self._code.find("(", end)
            closing = self._source.closing(opening) if end > 0 else None
            if closing is None or self._code[end + 3 : opening].strip():
                continue
            how = split_list(self._code[match.end() : end])
            block = self._block(how[1]) if len(how) > 1 else None
            arguments = tuple(split_list(self._code[opening + 1 : closing]))
            template = tuple(split_list(match[2], pointed=True)) if (match[2] or "").strip() else ()
            shared = how[2] if len(how) > 2 else "0"
            found.setdefault(match[1], []).append(Launch(block, arguments, template, shared))
        return found

    def _block(self, text: str) -> tuple[int, ...] | None:
        made = re.fullmatch(r"dim3\s*[({](.*)[)}]", text.strip(), re.DOTALL)
        sides = self._dims.get(text.strip()) or (split_list(made[1]) if made else [text])
        numbers = [self.number(side) for side in sides]
        if any(n is None or n < 1 or n != int(n) for n in numbers):
            return None
        return tuple(int(n) for n in numbers if n is not None)


@dataclass(frozen=True)
class KernelText:
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
    fixed_block: Mapping[str, int] = field(default_factory=dict)
    """Sides of the block that the text takes for granted, by axis."""
    reach: Mapping[str, str] = field(default_factory=dict)
    """What the threads of an axis must reach over, as a formula, by axis."""
    axes: int = 1
    """How many axes its threads have."""


def read_kernel(source: CudaSource, function: Function, host: HostText) -> KernelText:
    """Return what a kernel's text says."""
    return _Reader(source, function, host).found()


class _Reader:
    """Reads one kernel."""

    def __init__(self, source: CudaSource, function: Function, host: HostText) -> None:
        self._host = host
        self._function = function
        self._parameters = tuple(source.parameters(function))
        start, end = function.body
        self._body = source.code[start:end]
        self._heads = {p.name: source.code[p.start : p.end] for p in self._parameters}
        whole = [p.name for p in self._parameters if not p.is_pointer and _is_whole(p)]
        self._values = dict(_definitions(self._body))
        self._axis = {n: a for n, text in self._values.items() if (a := _axis_of(text))}
        self._bounds = self._read_bounds(whole)
        used = {n for bound in self._bounds.values() for n in _names(bound)}
        self._sizes = tuple(n for n in whole if n in used or self._scales(n))

    def found(self) -> KernelText:
        arrays = [p for p in self._parameters if p.is_pointer]
        indices = {p.name: list(self._subscripts(p.name)) for p in arrays}
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
            shapes={p.name: self._shape([text for text, _, _ in indices[p.name]]) for p in arrays},
            fixed_block=self._fixed_block(),
            reach=self._reach(),
            axes=self._axes(),
        )  # fmt: skip

    # ---- bounds

    def _read_bounds(self, whole: Sequence[str]) -> dict[str, str]:
        """Return what each variable is compared with, as a formula over whole parameters."""
        known = {*whole, *self._host.macros}
        found: dict[str, str] = {}
        pairs = [(m[1], m[2]) for m in _BELOW.finditer(self._body)]
        pairs += [(m[2], m[1]) for m in _ABOVE.finditer(self._body)]
        for name, bound in pairs:
            text = _MARGIN.sub(r"\1", " ".join(bound.split()))
            names = _names(text)
            if name in known or text.count("(") != text.count(")") or not names <= known:
                continue
            for macro in names - set(whole):  # a manifest knows the parameters alone
                number = self._host.number(macro)
                if number is None or number != int(number):
                    break
                text = re.sub(rf"\b{macro}\b", str(int(number)), text)
            else:
                if names and _expression(text) is not None:
                    found.setdefault(name, text)
        return found

    def _scales(self, size: str) -> bool:
        """Return whether an index is multiplied by a parameter inside of a subscript."""
        texts = [text for p in self._parameters if p.is_pointer for text, _, _ in
                 self._subscripts(p.name)]  # fmt: skip
        texts += self._values.values()
        return any(re.search(rf"[*%]\s*{size}\b|\b{size}\s*\*", text) for text in texts)

    # ---- arrays

    def _subscripts(self, name: str) -> Iterator[tuple[str, int, int]]:
        """Yield each subscript of an array, with where the whole begins and ends in the body."""
        for match in re.finditer(rf"\b{name}\s*\[", self._body):
            depth, at = 1, match.end()
            while at < len(self._body) and depth:
                depth += (self._body[at] == "[") - (self._body[at] == "]")
                at += 1
            yield self._body[match.end() : at - 1], match.start(), at
        for match in re.finditer(_OFFSET_FROM.format(name=name), self._body):
            yield match[1], match.start(), match.end()
        for form in (_POINTED_AT, _ATOMIC_ON):
            for match in re.finditer(form.format(name=name), self._body):
                yield "0", match.start(1), match.end(1)

    def _use(self, parameter: Parameter, found: Sequence[tuple[str, int, int]]) -> Use | None:
        """Return whether an array is read, written, or both."""
        if re.search(r"\bconst\b[^*]*\*", self._heads[parameter.name]):
            return "in"
        reads = writes = False
        name = parameter.name
        for _, _start, end in found:
            written = _WRITES.match(self._body, end)
            writes |= written is not None
            reads |= written is None or written[1] is None
        if not found:
            return None
        if name in self._accumulated:
            return "out"
        if re.search(_ATOMIC.format(name=name), self._body):
            return "inout"
        return "inout" if reads and writes else "out" if writes else "in"

    @cached_property
    def _accumulated(self) -> frozenset[str]:
        """The arrays every use of which is an atomic function's."""
        found = set()
        for parameter in self._parameters:
            if parameter.is_pointer:
                uses = sum(1 for _ in self._subscripts(parameter.name))
                atomic = re.findall(_ATOMIC.format(name=parameter.name), self._body)
                if uses and uses == len(atomic):
                    found.add(parameter.name)
        return frozenset(found)

    def _shape(self, indices: Sequence[str]) -> tuple[str, ...] | None:
        """Return an array's shape after its subscripts; the one with the most axes counts."""
        shapes = [shape for text in indices if (shape := self._shape_of(text))]
        return max(shapes, key=lambda shape: (len(shape), -len("".join(shape))), default=None)

    def _shape_of(self, index: str) -> tuple[str, ...] | None:
        tree = _expression(index)
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mod):
            modulus = ast.unparse(tree.right)
            return (modulus,) if modulus in self._sizes else None
        terms = self._terms(index, 0)
        if terms is None:
            return None
        if all(name.isdigit() for term in terms for name in term):
            return ("1",) if index.strip() == "0" else None
        factors = {t: tuple(n for n in t if n in self._sizes or self._widens(n, t)) for t in terms}
        strides = sorted({f for t, f in factors.items() if len(t) > len(f)}, key=len, reverse=True)
        if not strides:
            return None
        if strides[-1] and all(name.isdigit() for name in strides[-1]):
            strides.append(())  # each index has so many neighbours
        sides = []
        for longer, shorter in itertools.pairwise(strides):
            rest = Counter(longer)
            rest.subtract(shorter)
            if min(rest.values()) < 0:
                return None
            sides.append(" * ".join(rest.elements()))
        if strides[-1]:
            return None
        first = self._bound_of([t for t in terms if factors[t] == strides[0]])
        if first is None:
            rest_of = [s for s in self._sizes if s not in sides]
            first = next(iter((*rest_of, *self._sizes)), None)
        return (first, *sides) if first is not None else None

    def _widens(self, factor: str, term: Term) -> bool:
        """Return whether a number is how far apart a bounded variable's elements are."""
        return factor.isdigit() and any(name in self._bounds for name in term)

    def _factor(self, node: ast.expr) -> Term:
        """Return a whole number above one that something is multiplied by; nothing for others."""
        if not isinstance(node, ast.Constant | ast.Name):
            return ()
        if isinstance(node, ast.Name) and node.id not in self._host.macros:
            return ()
        number = self._host.number(ast.unparse(node))
        whole = number is not None and number > 1 and number == int(number)
        return (str(int(number)),) if number is not None and whole else ()

    def _bound_of(self, terms: Sequence[Term]) -> str | None:
        """Return what bounds the variables of some terms."""
        for term in terms:
            for name in term:
                if name in self._bounds and name not in self._sizes:
                    return self._bounds[name]
        return None

    def _terms(self, text: str, depth: int) -> set[Term] | None:
        """Return an index multiplied out; None for what cannot be."""
        tree = _expression(text)
        return None if tree is None or depth > _DEEPEST else self._expand(tree, depth)

    def _expand(self, node: ast.expr, depth: int) -> set[Term] | None:
        if isinstance(node, ast.Constant):
            return {()}
        if isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            if name in self._values and name not in self._axis and name not in self._bounds:
                return self._terms(self._values[name], depth + 1)
            return {()} if name in self._host.macros else {(name,)}
        if isinstance(node, ast.UnaryOp):
            return self._expand(node.operand, depth)
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self._expand(node.left, depth), self._expand(node.right, depth)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add | ast.Sub):
            return left | right
        if isinstance(node.op, ast.Mult) and len(left) * len(right) <= MOST_TERMS:
            by = self._factor(node.left) + self._factor(node.right)
            return {tuple(sorted(a + b + by)) for a in left for b in right}
        return {(ast.unparse(node),)} if isinstance(node.op, ast.Div | ast.Mod) else None

    # ---- threads

    def _axes(self) -> int:
        used = re.findall(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])", self._body)
        return max((AXES.index(a) + 1 for a in used), default=1)

    def _reach(self) -> dict[str, str]:
        """Return what bounds the number of a thread on each axis."""
        found: dict[str, str] = {}
        for name, axis in self._axis.items():
            if name in self._bounds:
                found.setdefault(axis, self._bounds[name])
        return found

    def _fixed_block(self) -> dict[str, int]:
        """Return the sides that shared arrays and the numbers of threads take for granted."""
        found: dict[str, int] = {}
        alone = {f"threadIdx.{a}": a for a in AXES}
        alone |= {n: a for n, t in self._values.items() for a in AXES if _is_alone(t, a)}
        for text in self._values.values():
            for match in re.finditer(r"\bblockIdx\s*\.\s*([xyz])\s*\*\s*(\w+)(?!\s*\.)", text):
                self._fix(found, match[1], match[2])
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


def _blanked(code: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, kept = [], 0
    for start, end in spans:
        parts += [code[kept:start], " " * (end - start)]
        kept = end
    return "".join([*parts, code[kept:]])


def _definitions(code: str) -> Iterator[tuple[str, str]]:
    """Yield the whole numbers that are defined in some code, with what they are set to."""
    for match in _DEFINED.finditer(code):
        end = code.find(";", match.end())
        for part in split_list(code[match.end() : end if end >= 0 else len(code)]):
            named = _NAMED_VALUE.match(part)
            if named:
                yield named[1], part[named.end() :].strip()


def _axis_of(text: str) -> str | None:
    """Return the only axis whose thread number a definition has; None for none, or several."""
    axes = set(re.findall(r"\bthreadIdx\s*\.\s*([xyz])", text))
    return axes.pop() if len(axes) == 1 else None


def _is_alone(text: str, axis: str) -> bool:
    return re.fullmatch(rf"\s*threadIdx\s*\.\s*{axis}\s*", text) is not None


def _expression(text: str) -> ast.expr | None:
    """Read a C expression that Python reads in the same way; None for any other."""
    plain = re.sub(r"\b(0[xX][\da-fA-F]+|\d+)[uUlL]+\b", r"\1", _CAST.sub("", text))
    plain = re.sub(r"(?<=\d)'(?=\d)", "", plain)
    try:
        return ast.parse(" ".join(plain.split()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _number(text: str, values: Mapping[str, str], depth: int) -> float | None:
    plain = re.sub(r"(?<![\w.])(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)[fF]\b", r"\1", text)
    tree = _expression(plain)
    return None if tree is None or depth > _DEEPEST else _value(tree, values, depth)


def _value(node: ast.expr, values: Mapping[str, str], depth: int) -> float | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, int | float) else None
    if isinstance(node, ast.Name):
        if node.id not in values:
            return None
        others = {name: text for name, text in values.items() if name != node.id}
        known = _number(values[node.id], others, depth + 1)
        if isinstance(values, dict):  # each name is worked out once
            values[node.id] = "?" if known is None else repr(known)
        return known
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand, values, depth)
        return None if inner is None else -inner
    if not isinstance(node, ast.BinOp):
        return None
    left, right = _value(node.left, values, depth), _value(node.right, values, depth)
    if left is None or right is None or max(abs(left), abs(right)) > 2**53:
        return None
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.LShift) and isinstance(left, int) and right in range(53):
        return left << int(right)
    if isinstance(node.op, ast.Div) and right:
        both = isinstance(left, int) and isinstance(right, int)
        return math.trunc(left / right) if both else left / right
    return None
