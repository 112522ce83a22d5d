"""Run one block of a CUDA kernel in Python, all of its threads in step, and note what they touch.

A statement is done by all threads at once that come to it; those that do not are masked out, as in
the hardware's picture of a warp. So each time an expression is evaluated is a step of its own, and
which lanes are together in it needs no further rule. Numbers are those of int64 and float64, and a
whole one that a variable of 32 bits cannot hold is an error here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.support.cuda_reader import (
    Array,
    Function,
    Node,
    Pointer,
    Scalar,
    Structure,
    Type,
    align_of,
    size_of,
)

Lanes = npt.NDArray[np.bool_]
Value = Any
"""An array with an element a thread, or one for all; an ``Address``, or a structure's bytes."""
WHOLE, WARP, WIDEST_B = Scalar("i", 4), 32, 16


class Place(NamedTuple):
    """What was touched: the source's line, how, and the array by its name."""

    line: int
    kind: str
    array: str
    width_B: int


Request = list[tuple[int, int]]
"""The lanes that take part, each with where in the array it begins."""


@dataclass
class Memory:
    """Some bytes: of all threads together, or of each its own."""

    space: str
    name: str
    data: npt.NDArray[np.uint8]
    of_warp: Lanes = field(init=False)
    of_block: Lanes = field(init=False)
    read_B: int = 0
    written_B: int = 0

    def __post_init__(self) -> None:
        self.of_warp = np.zeros(self.data.shape[-1], bool)
        self.of_block = np.zeros(self.data.shape[-1], bool)


class Address(NamedTuple):
    """Where something of a type lies, for each thread."""

    memory: Memory
    at: Value
    to: Type


@dataclass
class Variable:
    """A number in a register."""

    kind: Scalar | Pointer
    value: Value


@dataclass
class Frame:
    """One call of a function: its variables, block in block, and who has left it."""

    scopes: list[dict[str, Any]]
    left: Lanes
    result: Value = 0


@dataclass
class Loop:
    """Who has left a loop, and who has left its present turn."""

    broken: Lanes
    turned: Lanes


class Block:
    """One block of a launch; ``requests`` are those of one warp, step by step."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        block: Sequence[int],
        place: Sequence[int],
        grid: Sequence[int],
        warp: int,
        dynamic_B: int,
    ) -> None:
        x, y, z = block
        self.threads = x * y * z
        number = np.arange(self.threads)
        self._number = number
        self._lane, self._mine = number % WARP, number // WARP == warp
        self._functions = functions
        self._builtins: dict[str, dict[str, Value]] = {
            "threadIdx": {"x": number % x, "y": number // x % y, "z": number // (x * y)},
            "blockDim": dict(zip("xyz", block, strict=True)),
            "blockIdx": dict(zip("xyz", place, strict=True)),
            "gridDim": dict(zip("xyz", grid, strict=True)),
        }
        self._dynamic = Memory("shared", "", np.zeros(dynamic_B, np.uint8))
        self._static: dict[int, Memory] = {}
        self.requests: defaultdict[Place, list[Request]] = defaultdict(list)
        self.shared: list[Memory] = []
        self._frames: list[Frame] = []
        self._loops: list[Loop] = []

    def run(self, entry: str, arguments: Sequence[Value]) -> None:
        """Run a kernel with numbers and addresses."""
        self._call(self._functions[entry], arguments, np.ones(self.threads, bool))

    def _call(self, function: Function, given: Sequence[Value], active: Lanes) -> Value:
        taken: dict[str, Any] = {}
        for (name, kind), value in zip(function.parameters, given, strict=True):
            held = Pointer(kind.of) if isinstance(kind, Array) else kind
            assert isinstance(held, Scalar | Pointer)
            taken[name] = Variable(held, self._converted(value, held, active))
        frame = Frame([taken], np.zeros(self.threads, bool))
        loops, self._loops = self._loops, []
        self._frames.append(frame)
        self._do(function.body, active)
        self._frames.pop()
        self._loops = loops
        return frame.result

    # ---- statements

    def _do(self, node: Node, active: Lanes) -> Lanes:
        """Do a statement and return who goes on behind it."""
        return self._statements.get(node.what, Block._do_expression)(self, node, active)

    def _do_expression(self, node: Node, active: Lanes) -> Lanes:
        self.value(node, active)
        return active

    def _do_block(self, node: Node, active: Lanes) -> Lanes:
        scopes = self._frames[-1].scopes
        scopes.append({})
        for part in node.parts:
            if not active.any():
                break
            active = self._do(part, active)
        scopes.pop()
        return active

    def _do_if(self, node: Node, active: Lanes) -> Lanes:
        true = self._true(node.parts[0], active)
        yes, no = active & true, active & ~true
        if yes.any():
            yes = self._do(node.parts[1], yes)
        if len(node.parts) > 2 and no.any():
            no = self._do(node.parts[2], no)
        return yes | no

    def _do_for(self, node: Node, active: Lanes) -> Lanes:
        first, condition, step, body = node.parts
        scopes = self._frames[-1].scopes
        scopes.append({})
        active = self._do(first, active)
        active = self._turns(condition, step, body, active)
        scopes.pop()
        return active

    def _do_while(self, node: Node, active: Lanes) -> Lanes:
        return self._turns(node.parts[0], None, node.parts[1], active)

    def _turns(self, condition: Node, step: Node | None, body: Node, active: Lanes) -> Lanes:
        loop = Loop(np.zeros(self.threads, bool), np.zeros(self.threads, bool))
        self._loops.append(loop)
        done = np.zeros(self.threads, bool)
        while active.any():
            true = self._true(condition, active)
            done |= active & ~true
            active = active & true
            if not active.any():
                break
            loop.turned[:] = False
            active = self._do(body, active) | loop.turned
            if step is not None and active.any():
                self.value(step, active)
        self._loops.pop()
        return done | loop.broken

    def _do_break(self, _: Node, active: Lanes) -> Lanes:
        self._loops[-1].broken |= active
        return np.zeros_like(active)

    def _do_continue(self, _: Node, active: Lanes) -> Lanes:
        self._loops[-1].turned |= active
        return np.zeros_like(active)

    def _do_return(self, node: Node, active: Lanes) -> Lanes:
        frame = self._frames[-1]
        if node.parts:
            frame.result = self._mixed(active, self.value(node.parts[0], active), frame.result)
        frame.left |= active
        return np.zeros_like(active)

    def _do_declare(self, node: Node, active: Lanes) -> Lanes:
        scope = self._frames[-1].scopes[-1]
        for variable in node.parts:
            assert variable.type is not None
            scope[variable.word] = self._made(node.word, variable, variable.type)
            if variable.parts:
                self._store(self._place_of_name(variable.word), variable.parts[0], active)
        return active

    def _made(self, how: str, node: Node, kind: Type) -> Any:
        if how == "dynamic":
            self._dynamic.name = node.word
            self.shared.append(self._dynamic)
            return Address(self._dynamic, 0, kind)
        if how == "shared":
            if id(node) not in self._static:
                data = np.zeros(size_of(kind), np.uint8)
                self._static[id(node)] = made = Memory("shared", node.word, data)
                self.shared.append(made)
            return Address(self._static[id(node)], 0, kind)
        if isinstance(kind, Scalar | Pointer):
            return Variable(kind, 0)
        data = np.zeros((self.threads, size_of(kind)), np.uint8)
        return Address(Memory("own", node.word, data), 0, kind)

    _statements: Mapping[str, Callable[[Block, Node, Lanes], Lanes]] = {
        "block": _do_block, "if": _do_if, "for": _do_for, "while": _do_while, "break": _do_break,
        "continue": _do_continue, "return": _do_return, "declare": _do_declare,
        "empty": lambda block, node, active: active,
    }  # fmt: skip

    # ---- places

    def _place(self, node: Node, active: Lanes) -> Variable | Address:
        """Return what an expression names, without looking at what is there."""
        if node.what == "name":
            return self._place_of_name(node.word)
        if node.what == "unary" and node.word == "*":
            pointed = self.value(node.parts[0], active)
            assert isinstance(pointed, Address)
            return pointed
        if node.what == "element":
            base, index = self.value(node.parts[0], active), self.value(node.parts[1], active)
            assert isinstance(base, Address)
            return self._moved(base, index)
        assert node.what == "member", node
        whole = self._place(node.parts[0], active)
        assert isinstance(whole, Address) and isinstance(whole.to, Structure)
        kind, offset = whole.to.members[node.word]
        return Address(whole.memory, whole.at + offset, kind)

    def _place_of_name(self, name: str) -> Variable | Address:
        for scope in reversed(self._frames[-1].scopes):
            if name in scope:
                found: Variable | Address = scope[name]
                return found
        raise KeyError(name)

    @staticmethod
    def _moved(base: Address, by: Value) -> Address:
        return Address(base.memory, base.at + by * size_of(base.to), base.to)

    # ---- memory

    def _bytes(self, place: Address, active: Lanes) -> npt.NDArray[np.int64]:
        """Return the numbers of the bytes there; those of threads that take no part are 0."""
        size = size_of(place.to)
        at = np.where(active, place.at, 0)
        assert ((at >= 0) & (at + size <= place.memory.data.shape[-1])).all(), place.memory.name
        return at[:, None] + np.arange(size)

    def _note(
        self, place: Address, active: Lanes, line: int, kinds: Sequence[str], size: int
    ) -> None:
        memory = place.memory
        if memory.space == "own":
            return
        at = np.broadcast_to(place.at, active.shape)
        mine = active & self._mine
        piece = min(align_of(place.to), WIDEST_B, size)
        for kind in kinds:
            for first in range(0, size, piece):
                width = min(piece, size - first)
                lanes = [(int(self._lane[t]), int(at[t]) + first) for t in np.flatnonzero(mine)]
                if lanes:
                    self.requests[Place(line, kind, memory.name, width)].append(lanes)
        for some, touched in ((mine, memory.of_warp), (active, memory.of_block)):
            touched[(at[some][:, None] + np.arange(size)).ravel()] = True
        memory.read_B += size * int(active.sum()) * any(k != "write" for k in kinds)
        memory.written_B += size * int(active.sum()) * any(k != "read" for k in kinds)

    def _load(self, place: Address, active: Lanes) -> Value:
        numbers = self._bytes(place, active)
        data = place.memory.data
        found = data[self._number[:, None], numbers] if data.ndim == 2 else data[numbers]
        if isinstance(place.to, Structure):
            return found
        assert isinstance(place.to, Scalar)
        kind = np.dtype(f"{place.to.kind if place.to.kind != 'b' else 'u'}{place.to.size}")
        wide = np.float64 if place.to.kind == "f" else np.int64
        return np.ascontiguousarray(found).view(kind)[:, 0].astype(wide)

    def _keep(self, place: Address, value: Value, active: Lanes) -> None:
        numbers = self._bytes(place, active)[active]
        if isinstance(place.to, Structure):
            made = value
        else:
            assert isinstance(place.to, Scalar)
            kind = np.dtype(f"{place.to.kind if place.to.kind != 'b' else 'u'}{place.to.size}")
            with np.errstate(over="ignore"):
                wide = np.broadcast_to(self._converted(value, place.to, active), active.shape)
                made = np.where(active, wide, 0).astype(kind)[:, None].view(np.uint8)
        data = place.memory.data
        if data.ndim == 2:
            data[self._number[active][:, None], numbers] = made[active]
        else:
            data[numbers] = made[active]

    def _store(self, place: Variable | Address, node: Node, active: Lanes) -> Value:
        value = self.value(node, active)
        self._put(place, value, active)
        return value

    def _put(self, place: Variable | Address, value: Value, active: Lanes) -> None:
        if isinstance(place, Address):
            self._keep(place, value, active)
            return
        made = self._converted(value, place.kind, active)
        place.value = self._mixed(active, made, place.value)

    def _mixed(self, active: Lanes, new: Value, old: Value) -> Value:
        if active.all():
            return new
        if isinstance(new, Address):
            assert not isinstance(old, Address) or old.memory is new.memory
            at = old.at if isinstance(old, Address) else 0
            return Address(new.memory, np.where(active, new.at, at), new.to)
        if np.ndim(new) == 2:
            return np.where(active[:, None], new, old)
        return np.where(active, new, old)

    def _converted(self, value: Value, kind: Type, active: Lanes) -> Value:
        """Return a value as a variable of a type holds it."""
        if isinstance(kind, Pointer):
            assert isinstance(value, Address)
            return Address(value.memory, value.at, kind.to)
        if not isinstance(kind, Scalar):
            return value
        if kind.kind == "f":
            return np.asarray(value, np.float64)
        if kind.kind == "b":
            return np.asarray(value) != 0
        whole = np.asarray(value)
        if whole.dtype.kind == "f":
            whole = np.trunc(np.where(active, whole, 0)).astype(np.int64)
        if kind.size == 4:
            there = np.broadcast_to(whole, active.shape)[active]
            assert ((there >= -(2**31)) & (there < 2**32)).all(), "a whole number overflows"
        return whole.astype(np.int64)

    # ---- expressions

    def value(self, node: Node, active: Lanes) -> Value:
        """Return what an expression comes to for the active threads."""
        return self._expressions[node.what](self, node, active)

    def _of_place(self, node: Node, active: Lanes) -> Value:
        if node.what == "member" and node.parts[0].word in self._builtins:
            return self._builtins[node.parts[0].word][node.word]
        if node.word == "INFINITY":
            return np.inf
        place = self._place(node, active)
        if isinstance(place, Variable):
            return place.value
        if isinstance(place.to, Array):
            return Address(place.memory, place.at, place.to.of)
        self._note(place, active, node.line, ["read"], size_of(place.to))
        return self._load(place, active)

    def _of_number(self, node: Node, _: Lanes) -> Value:
        text = node.word.rstrip("uUlL")
        if text[:2] in ("0x", "0X"):
            return int(text, 16)
        text = text.rstrip("fF")
        return int(text) if text.isdigit() else float(text)

    def _of_unary(self, node: Node, active: Lanes) -> Value:
        inner = node.parts[0]
        if node.word == "*":
            return self._of_place(node, active)
        if node.word == "&":
            place = self._place(inner, active)
            assert isinstance(place, Address)
            return place
        if node.word in ("++", "--"):
            return self._changed(inner, node.word[0], 1, active)[1]
        found = self.value(inner, active)
        if node.word == "!":
            return np.asarray(found) == 0
        return {"-": np.negative, "+": np.positive, "~": np.invert}[node.word](np.asarray(found))

    def _of_after(self, node: Node, active: Lanes) -> Value:
        return self._changed(node.parts[0], node.word[0], 1, active)[0]

    def _changed(self, node: Node, word: str, by: Value, active: Lanes) -> tuple[Value, Value]:
        """Do ``+=`` and the like; return what was there and what is there now."""
        place = self._place(node, active)
        if isinstance(place, Variable):
            old = place.value
        else:
            self._note(place, active, node.line, ["read", "write"], size_of(place.to))
            old = self._load(place, active)
        new = self._of_two(word, old, by)
        self._put(place, new, active)
        return old, new

    def _of_assign(self, node: Node, active: Lanes) -> Value:
        target, source = node.parts
        if node.word != "=":
            return self._changed(target, node.word[:-1], self.value(source, active), active)[1]
        value = self.value(source, active)
        place = self._place(target, active)
        if isinstance(place, Address):
            self._note(place, active, target.line, ["write"], size_of(place.to))
        self._put(place, value, active)
        return value

    def _of_binary(self, node: Node, active: Lanes) -> Value:
        left, right = node.parts
        if node.word in ("&&", "||"):
            first = np.broadcast_to(self._true(left, active), active.shape)
            rest = active & (first if node.word == "&&" else ~first)
            second = self._true(right, rest) if rest.any() else np.zeros_like(active)
            return (first & second) if node.word == "&&" else (first | (rest & second))
        return self._of_two(node.word, self.value(left, active), self.value(right, active))

    def _of_two(self, word: str, left: Value, right: Value) -> Value:
        if isinstance(left, Address):
            assert word in "+-"
            return self._moved(left, right if word == "+" else -right)
        if word in "/%":
            return _divided(word, np.asarray(left), np.asarray(right))
        with np.errstate(all="ignore"):
            return _TWO[word](left, right)

    def _true(self, node: Node, active: Lanes) -> Lanes:
        found: Lanes = np.broadcast_to(np.asarray(self.value(node, active)) != 0, active.shape)
        return found

    def _of_choose(self, node: Node, active: Lanes) -> Value:
        true = self._true(node.parts[0], active)
        yes, no = active & true, active & ~true
        if not no.any():
            return self.value(node.parts[1], yes)
        second = self.value(node.parts[2], no)
        return self._mixed(yes, self.value(node.parts[1], yes), second) if yes.any() else second

    def _of_cast(self, node: Node, active: Lanes) -> Value:
        assert node.type is not None
        return self._converted(self.value(node.parts[0], active), node.type, active)

    def _of_call(self, node: Node, active: Lanes) -> Value:
        name = node.word
        if name in self._functions:
            given = [self.value(part, active) for part in node.parts]
            return self._call(self._functions[name], given, active)
        if name.startswith("atomic"):
            return self._atomic(node, active)
        if name == "__pipeline_memcpy_async":
            return self._copied(node, active)
        if name == "__stcs":
            return self._written(node, active)
        if name in ("__syncthreads", "__syncwarp", "__threadfence", "__pipeline_commit",
                    "__pipeline_wait_prior"):  # fmt: skip
            return 0
        given = [np.asarray(self.value(part, active)) for part in node.parts]
        if name in _FOURS:
            kept = _FOURS[name]
            members = [np.broadcast_to(value, active.shape) & np.iinfo(kept).max for value in given]
            return np.stack(members, axis=1).astype(kept).view(np.uint8)
        if name.startswith("__shfl"):
            return self._shuffled(name, *given)
        with np.errstate(all="ignore"):
            return _CALLED[name](*given)

    def _shuffled(self, name: str, _: Value, value: Value, by: Value, width: Value = WARP) -> Value:
        lane, width = self._lane % width, np.asarray(width)
        source = {
            "__shfl_sync": by % width, "__shfl_up_sync": lane - by, "__shfl_down_sync": lane + by,
            "__shfl_xor_sync": lane ^ by,
        }[name]  # fmt: skip
        source = np.where((source < 0) | (source >= width), lane, source)
        at = np.minimum(self._number - lane + source, self.threads - 1)
        return np.broadcast_to(value, self._number.shape)[at]

    def _atomic(self, node: Node, active: Lanes) -> Value:
        place = self.value(node.parts[0], active)
        value = np.broadcast_to(self.value(node.parts[1], active), active.shape)
        assert isinstance(place, Address)
        self._note(place, active, node.parts[0].line, ["atomic"], size_of(place.to))
        found = np.zeros(self.threads, np.int64)
        for thread in np.flatnonzero(active):
            alone = self._number == thread
            found[thread] = self._load(place, alone)[thread]
            new = value if node.word == "atomicExch" else found + value
            self._keep(place, new, alone)
        return found

    def _written(self, node: Node, active: Lanes) -> Value:
        value, place = (self.value(part, active) for part in reversed(node.parts))
        assert isinstance(place, Address)
        self._note(place, active, node.parts[0].line, ["write"], size_of(place.to))
        self._keep(place, value, active)
        return 0

    def _copied(self, node: Node, active: Lanes) -> Value:
        to, source, size = (self.value(part, active) for part in node.parts)
        raw = Structure({}, int(size), int(size))
        for kind, place, part in (("read", source, node.parts[1]), ("write", to, node.parts[0])):
            self._note(place._replace(to=raw), active, part.line, [kind], int(size))
        self._keep(to._replace(to=raw), self._load(source._replace(to=raw), active), active)
        return 0

    _expressions: Mapping[str, Callable[[Block, Node, Lanes], Value]] = {
        "name": _of_place, "element": _of_place, "member": _of_place, "number": _of_number,
        "unary": _of_unary, "after": _of_after, "assign": _of_assign, "binary": _of_binary,
        "choose": _of_choose, "cast": _of_cast, "call": _of_call, "empty": lambda *_: 0,
    }  # fmt: skip


def _divided(word: str, left: Value, right: Value) -> Value:
    """Divide as C does: whole numbers towards 0."""
    with np.errstate(all="ignore"):
        if left.dtype.kind == "f" or right.dtype.kind == "f":
            return left / right
        safe = np.where(right == 0, 1, right)
        quotient = np.sign(left) * np.sign(safe) * (np.abs(left) // np.abs(safe))
        return quotient if word == "/" else left - quotient * safe


_TWO: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "<": np.less, ">": np.greater,
    "<=": np.less_equal, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift,
    ">>": np.right_shift,
}  # fmt: skip
_FOURS: Mapping[str, type[np.unsignedinteger[Any]]] = {
    "make_ushort4": np.uint16, "make_uint4": np.uint32
}  # fmt: skip
_CALLED: Mapping[str, Callable[..., Value]] = {
    "min": np.minimum, "max": np.maximum, "exp": np.exp, "log2": np.log2, "floor": np.floor,
    "rsqrt": lambda value: 1 / np.sqrt(value), "sqrt": np.sqrt,
}  # fmt: skip
