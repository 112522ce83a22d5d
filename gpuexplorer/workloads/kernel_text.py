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
from gpuexplorer.workloads.host_text import HostText, definitions, number_of, read_expression
from gpuexplorer.workloads.symbols import symbols_used

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
ROW = 8
"""Elements that each row of a sparse matrix gets."""
_DEEPEST = 12
MOST_TERMS = 64
LARGEST = 2**53

Term = tuple[str, ...]
"""Names that are multiplied, sorted."""


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
    below: Mapping[str, str] = field(default_factory=dict)
    """What the whole numbers of an array must stay below, because they are subscripts."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What an array must hold, as an expression: where the rows of a sparse matrix begin."""
    symbols: frozenset[str] = frozenset()
    """Those of the parameters that are variables outside of functions, which the host fills."""

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
        self._host = host
        self._function = function
        self._symbols = {s.name: s for s in symbols_used(source, function)}
        variables = (symbol.parameter for symbol in self._symbols.values())
        self._parameters = (*source.parameters(function), *variables)
        start, end = function.body
        self._body = host.expanded(source.code[start:end])
        self._heads = {p.name: source.code[p.start : p.end] for p in self._parameters}
        whole = [p.name for p in self._parameters if not p.is_pointer and _is_whole(p)]
        self._values = dict(definitions(self._body))
        self._axis = {n: a for n, text in self._values.items() if (a := _axis_of(text))}
        self._bounds = self._read_bounds(whole)
        used = {n for bound in self._bounds.values() for n in _names(bound)}
        self._sizes = tuple(n for n in whole if n in used or self._scales(n))

    def found(self) -> KernelText:
        arrays = [p for p in self._parameters if p.is_pointer]
        indices = {p.name: list(self._subscripts(p.name)) for p in arrays}
        texts = {name: [text for text, _, _ in found] for name, found in indices.items()}
        shapes = {
            p.name: self._declared_shape(p.name)
            if p.name in self._symbols
            else self._shape(texts[p.name])
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
            axes=self._axes(),
            symbols=frozenset(self._symbols),
        )  # fmt: skip

    # ---- bounds

    def _read_bounds(self, whole: Sequence[str]) -> dict[str, str]:
        """Return what each variable is compared with, as a formula over whole parameters."""
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
            names = _names(text)
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
        self._margins = {
            name: max(int(number) for one, number in margins if one == name) for name, _ in margins
        }
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
        """The arrays every use of which is an atomic function's."""
        found = set()
        for parameter in self._parameters:
            if parameter.is_pointer:
                uses = sum(1 for _ in self._subscripts(parameter.name))
                atomic = re.findall(_ATOMIC.format(name=parameter.name), self._body)
                if uses and uses == len(atomic):
                    found.add(parameter.name)
        return frozenset(found)

    def _rows(self, texts: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, list[str]]]:
        """Return the arrays that say where rows begin: how many rows, and what lies in them.

        That is ``for (j = start[i]; j < start[i + 1]; j++)``, with the arrays that have a
        subscript ``j``.
        """
        found = {}
        for match in _LOOP.finditer(self._body):
            first, last = (_ELEMENT.fullmatch(self._values.get(t, t)) for t in match.groups()[1:])
            if not first or not last or first[1] != last[1] or first[1] not in texts:
                continue
            tree = read_expression(f"({last[2]}) - ({first[2]})")
            terms = None if tree is None else self._expand(tree, 0)
            row = self._terms(first[2], 0) or {}
            count = next(filter(None, map(self._bound_of, row)), None)
            if count is None or terms is None or {t: n for t, n in terms.items() if n} != {(): 1}:
                continue
            inside = [n for n, said in texts.items() if match[1] in map(str.strip, said)]
            found[first[1]] = count, inside
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
                meant = [text, *(self._values[n] for n in _names(text) if n in self._values)]
                named = {n for t in meant for n in re.findall(r"\b([A-Za-z_]\w*)\s*\[", t)}
                for array in named & texts.keys():
                    side = sides.get(indexed, only)
                    if side is not None and array != indexed:
                        found.setdefault(array, side)
        return found

    def _declared_shape(self, name: str) -> tuple[str, ...] | None:
        """Return the shape of an array outside of functions, whose sides are numbers."""
        sides = [self._host.number(side) for side in self._symbols[name].sides]
        if any(side is None or side < 1 or side != int(side) for side in sides):
            return None
        return tuple(str(int(side)) for side in sides if side is not None)

    def _shape(self, indices: Sequence[str]) -> tuple[str, ...] | None:
        """Return an array's shape after its subscripts: the one with the most axes, the largest."""
        shapes = [shape for text in indices if (shape := self._shape_of(text))]
        large = dict.fromkeys(self._sizes, "1000")

        def order(shape: tuple[str, ...]) -> tuple[int, float, int]:
            sides = [number_of(side, large, 0) or 0 for side in shape]
            return len(shape), math.prod(sides), -len("".join(shape))

        return max(shapes, key=order, default=None)

    def _shape_of(self, index: str) -> tuple[str, ...] | None:
        tree = read_expression(index)
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mod):
            modulus = ast.unparse(tree.right)
            return (modulus,) if modulus in self._sizes else None
        terms = self._terms(index, 0)
        if terms is None:
            return None
        if all(name.isdigit() for term in terms for name in term):
            return ("1",) if index.strip() == "0" else None
        if len(terms) > 1 and (guard := self._guard_of(index)) is not None:
            return (guard,)
        moved = {t: sign for t, sign in terms.items() if all(map(self._is_size, t))}
        factors = {
            t: tuple(n for n in t if n in self._sizes or self._widens(n, t))
            for t in terms
            if t not in moved
        }
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
        slowest = {t: terms[t] for t, f in factors.items() if f == strides[0]}
        rest_of = [s for s in self._sizes if s not in sides]
        usual = next(iter((*rest_of, *self._sizes)), None)
        first = self._extent(slowest, moved, strides[0], usual)
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

    def _is_size(self, name: str) -> bool:
        return name in self._sizes or name.isdigit()

    def _guard_of(self, index: str) -> str | None:
        """Return what a subscript as a whole is compared with, as in ``if (i + k < n)``."""
        text = re.escape("".join(index.split()))
        guard = re.search(
            rf"(?<![\w*/%+-]){text}(?:<|>=)([\w*]+)(?:\)|&&|;|\|\||\?)", self._compact
        )
        return guard[1] if guard and _names(guard[1]) <= set(self._sizes) else None

    @cached_property
    def _compact(self) -> str:
        """The body without blanks between words."""
        return "".join(self._body.split())

    def _extent(
        self,
        terms: Mapping[Term, int],
        moved: Mapping[Term, int],
        stride: Term,
        usual: str | None,
    ) -> str | None:
        """Return how far an index reaches along its slowest axis, or else what is usual.

        Several variables reach as far as all of them together, such as ``a[i + k]``; what is
        subtracted leaves the far end where it is. A size that is added moves the end
        (``a[i + n]``), or is the end where variables are subtracted alone (``a[n - 1 - i]``).
        Numbers alone are neighbours, as far as guards do not keep them inside.
        """
        bounds = [self._bound_of(term) for term, sign in terms.items() if sign > 0]
        known = [bound for bound in bounds if bound is not None]
        offsets, number = [], 0
        for term, sign in moved.items():
            rest = Counter(term)
            rest.subtract(stride)
            if min(rest.values(), default=0) < 0:
                continue
            names = sorted(rest.elements(), key=lambda name: not name.isdigit())
            if all(name.isdigit() for name in names):
                number += sign * math.prod(map(int, names))
            else:
                offsets.append((sign, " * ".join(names if abs(sign) == 1 else
                                                 [str(abs(sign)), *names])))  # fmt: skip
        if not any(sign > 0 for sign, _ in offsets):
            if len(known) != len(bounds) or len(known) < 2:
                margin = max((self._margins.get(n, 0) for term in terms for n in term), default=0)
                beyond = number - margin  # what no guard keeps inside
                return f"{known[0]} + {beyond}" if known and beyond > 0 else (*known, usual)[0]
            offsets, number = [], 0
        elif bounds and not known:
            if usual is None:
                return None
            known = [usual]
        number += 1 - len(known)
        signed = [(1, bound if re.fullmatch(r"[\w* ]+", bound) else f"({bound})")
                  for bound in known] + offsets  # fmt: skip
        signed += [(1 if number > 0 else -1, str(abs(number)))] if number else []
        signed.sort(key=lambda part: part[0] < 0)
        parts = [part for sign, part in signed for part in ("+" if sign > 0 else "-", part)]
        return " ".join(parts[1:])  # what is added comes first

    def _bound_of(self, term: Term) -> str | None:
        """Return what bounds the variables of a term."""
        names = (n for n in term if n in self._bounds and n not in self._sizes)
        return next((self._bounds[name] for name in names), None)

    def _terms(self, text: str, depth: int) -> dict[Term, int] | None:
        """Return an index multiplied out, how often each term is added; None for what cannot be."""
        tree = read_expression(text)
        return None if tree is None or depth > _DEEPEST else self._expand(tree, depth)

    def _expand(self, node: ast.expr, depth: int) -> dict[Term, int] | None:
        if isinstance(node, ast.Constant):
            return {(): node.value if isinstance(node.value, int) else 0}
        if isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            if name in self._values and name not in self._axis and name not in self._bounds:
                return self._terms(self._values[name], depth + 1)
            if name not in self._host.macros:
                return {(name,): 1}
            number = self._host.number(name)
            return {(): int(number) if number is not None and abs(number) < LARGEST else 0}
        if isinstance(node, ast.UnaryOp):
            found = self._expand(node.operand, depth)
            if found is None or not isinstance(node.op, ast.USub):
                return found
            return {term: -times for term, times in found.items()}
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self._expand(node.left, depth), self._expand(node.right, depth)
        if left is None or right is None:
            return None
        found = Counter[Term]()
        if isinstance(node.op, ast.Add | ast.Sub):
            found.update(left)
            (found.update if isinstance(node.op, ast.Add) else found.subtract)(right)
        elif isinstance(node.op, ast.Mult) and len(left) * len(right) <= MOST_TERMS:
            ours, theirs = self._factor(node.left), self._factor(node.right)
            left, right = {(): 1} if ours else left, {(): 1} if theirs else right
            for a, b in itertools.product(left, right):
                found[tuple(sorted(a + b + ours + theirs))] += left[a] * right[b]
        elif isinstance(node.op, ast.Div | ast.Mod):
            found[(ast.unparse(node),)] = 1
        else:
            return None
        return {term: times for term, times in found.items() if times or not term}

    # ---- threads

    def _axes(self) -> int:
        used = re.findall(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])", self._body)
        return max((AXES.index(a) + 1 for a in used), default=1)

    def _reach(self) -> dict[str, str]:
        """Return what bounds the number of a thread on each axis."""
        found: dict[str, str] = {}
        inside = [n for n in self._axis if "blockIdx" not in self._values[n]]
        for name in [*(n for n in self._axis if n not in inside), *inside]:  # of the grid first
            if name in self._bounds:
                found.setdefault(self._axis[name], self._bounds[name])
        return found

    def _fixed_block(self) -> dict[str, int]:
        """Return the sides that shared arrays and the numbers of threads take for granted."""
        found: dict[str, int] = {}
        alone = {f"threadIdx.{a}": a for a in AXES}
        alone |= {n: a for n, t in self._values.items() for a in AXES if _is_alone(t, a)}
        alone = {n: a for n, a in alone.items() if not re.search(rf"\b{n}\s*\+=", self._body)}
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


def _axis_of(text: str) -> str | None:
    """Return the only axis whose thread number a definition has; None for none, or several."""
    axes = set(re.findall(r"\bthreadIdx\s*\.\s*([xyz])", text))
    return axes.pop() if len(axes) == 1 else None


def _is_alone(text: str, axis: str) -> bool:
    return re.fullmatch(rf"\s*threadIdx\s*\.\s*{axis}\s*", text) is not None


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))
