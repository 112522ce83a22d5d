"""How large an array is that subscripts reach: an index multiplied out, and how far it goes."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from gpuexplorer.workloads.c_expressions import DEEPEST, names_in, number_of, read_expression
from gpuexplorer.workloads.host_text import HostText

MOST_TERMS = 64
LARGEST = 2**53
Term = tuple[str, ...]
"""Names that are multiplied, sorted."""


class Known(msgspec.Struct, frozen=True):
    """What is known of a kernel's variables."""

    host: HostText
    body: str
    sizes: tuple[str, ...]
    """Whole parameters that bound an index or scale one."""
    values: Mapping[str, str]
    """The texts that variables are defined as."""
    axis: Mapping[str, str]
    """Variables that number a thread, with their axis."""
    bounds: Mapping[str, str]
    """What variables stay below, as formulas over the sizes."""
    margins: Mapping[str, int]
    """How far from the border a variable stays."""


class Indices:
    """The indices of one kernel."""

    def __init__(self, known: Known) -> None:
        self._known = known

    def shape(self, indices: Sequence[str]) -> tuple[str, ...] | None:
        """Return an array's shape after its subscripts: the one with the most axes, the largest."""
        shapes = [shape for text in indices if (shape := self._shape_of(text))]
        large = dict.fromkeys(self._known.sizes, "1000")

        def order(shape: tuple[str, ...]) -> tuple[int, float, int]:
            sides = [number_of(side, large, 0) or 0 for side in shape]
            return len(shape), math.prod(sides), -len("".join(shape))

        return max(shapes, key=order, default=None)

    def _shape_of(self, index: str) -> tuple[str, ...] | None:
        tree = read_expression(index)
        if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mod):
            modulus = ast.unparse(tree.right)
            return (modulus,) if modulus in self._known.sizes else None
        terms = self.terms(index, 0)
        if terms is None:
            return None
        if all(name.isdigit() for term in terms for name in term):
            return ("1",) if index.strip() == "0" else None
        if len(terms) > 1 and (guard := self._guard_of(index)) is not None:
            return (guard,)
        moved = {t: sign for t, sign in terms.items() if all(map(self._is_size, t))}
        factors = {
            t: tuple(n for n in t if n in self._known.sizes or self._widens(n, t))
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
        rest_of = [s for s in self._known.sizes if s not in sides]
        usual = next(iter((*rest_of, *self._known.sizes)), None)
        first = self._extent(slowest, moved, strides[0], usual)
        return (first, *sides) if first is not None else None

    def _widens(self, factor: str, term: Term) -> bool:
        """Return whether a number is how far apart a bounded variable's elements are."""
        return factor.isdigit() and any(name in self._known.bounds for name in term)

    def _factor(self, node: ast.expr) -> Term:
        """Return a whole number above one that something is multiplied by; nothing for others."""
        if not isinstance(node, ast.Constant | ast.Name):
            return ()
        if isinstance(node, ast.Name) and node.id not in self._known.host.macros:
            return ()
        number = self._known.host.number(ast.unparse(node))
        whole = number is not None and number > 1 and number == int(number)
        return (str(int(number)),) if number is not None and whole else ()

    def _is_size(self, name: str) -> bool:
        return name in self._known.sizes or name.isdigit()

    def _guard_of(self, index: str) -> str | None:
        """Return what a subscript as a whole is compared with, as in ``if (i + k < n)``."""
        text = re.escape("".join(index.split()))
        guard = re.search(
            rf"(?<![\w*/%+-]){text}(?:<|>=)([\w*]+)(?:\)|&&|;|\|\||\?)", self._compact
        )
        return guard[1] if guard and names_in(guard[1]) <= set(self._known.sizes) else None

    @cached_property
    def _compact(self) -> str:
        """The body without blanks between words."""
        return "".join(self._known.body.split())

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
        bounds = [self.bound_of(term) for term, sign in terms.items() if sign > 0]
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
                margin = max(
                    (self._known.margins.get(n, 0) for term in terms for n in term), default=0
                )
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

    def bound_of(self, term: Term) -> str | None:
        """Return what bounds the variables of a term."""
        names = (n for n in term if n in self._known.bounds and n not in self._known.sizes)
        return next((self._known.bounds[name] for name in names), None)

    def terms(self, text: str, depth: int = 0) -> dict[Term, int] | None:
        """Return an index multiplied out, how often each term is added; None for what cannot be."""
        tree = read_expression(text)
        return None if tree is None or depth > DEEPEST else self.expand(tree, depth)

    def expand(self, node: ast.expr, depth: int = 0) -> dict[Term, int] | None:
        if isinstance(node, ast.Constant):
            return {(): node.value if isinstance(node.value, int) else 0}
        if isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            if (
                name in self._known.values
                and name not in self._known.axis
                and name not in self._known.bounds
            ):
                return self.terms(self._known.values[name], depth + 1)
            if name not in self._known.host.macros:
                return {(name,): 1}
            number = self._known.host.number(name)
            return {(): int(number) if number is not None and abs(number) < LARGEST else 0}
        if isinstance(node, ast.UnaryOp):
            found = self.expand(node.operand, depth)
            if found is None or not isinstance(node.op, ast.USub):
                return found
            return {term: -times for term, times in found.items()}
        if not isinstance(node, ast.BinOp):
            return None
        left, right = self.expand(node.left, depth), self.expand(node.right, depth)
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
