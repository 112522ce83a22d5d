"""Code that relies on the threads of a warp running in step, without ``__syncwarp()``.

``s[tid] += s[tid + 16]; s[tid] += s[tid + 8];`` was right on GPUs until 2017, where a warp ran in
step. Since then nothing promises that the second line sees what other threads wrote in the first,
and on a CPU it does not. So between a write of one's own element of shared memory and a read of a
neighbour's there must be a barrier.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpuexplorer.compile.statements import Statement, parse_body
from gpuexplorer.workloads.cuda_source import CudaSource, Function

_SHARED = re.compile(r"\b__shared__\b[^;=()]*?([A-Za-z_]\w*)\s*(?:\[[^;]*)?;")
_ALIAS = re.compile(r"\bauto &(\w+) = gpux_shared_")
_POINTER = re.compile(
    r"\bvolatile\b[^;=(),]*\*\s*(?:const\s+)?([A-Za-z_]\w*)\s*=\s*&?\s*([A-Za-z_]\w*)"
)
_BARRIER = re.compile(r"\b(?:__sync\w+|\w+_sync|sync|__threadfence\w*|barrier)\s*\(")
_WRITE = re.compile(r"\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)")
_INDEX = re.compile(r"\s*([A-Za-z_][\w.]*)\s*$")
_NEIGHBOUR = re.compile(r"\s*([A-Za-z_][\w.]*)\s*[-+^]\s*[\w\s]+$")


@dataclass(frozen=True)
class InStep:
    """A read of what another thread has just written."""

    offset: int
    array: str
    written_at: int


def reads_in_step(source: CudaSource, function: Function) -> InStep | None:
    """Return the first read in a function that only a warp in step would get right."""
    start, end = function.body
    text = source.code[start:end]
    arrays = {*_SHARED.findall(text), *_ALIAS.findall(text)}
    arrays |= {name for name, of in _POINTER.findall(text) if of in arrays}
    if not function.is_kernel:
        for parameter in source.parameters(function):
            if "volatile" in source.code[parameter.start : parameter.end] and parameter.is_pointer:
                arrays.add(parameter.name)
    body = parse_body(source.code, start, end) if arrays else None
    if body is None:
        return None
    reader = _Reader(source, arrays)
    reader.statement(body, {})
    return reader.found


_Written = dict[tuple[str, str], int]
"""Where an array was written at an index of one's own since the last barrier."""


class _Reader:
    """Goes through a body in the order in which it runs."""

    def __init__(self, source: CudaSource, arrays: set[str]) -> None:
        self._source, self._code = source, source.code
        listed = "|".join(sorted(map(re.escape, arrays)))
        self._element = re.compile(rf"(?<![\w.])({listed})\s*\[")
        self.found: InStep | None = None

    def statement(self, statement: Statement, before: _Written) -> _Written:
        """Return what is written after a statement that follows ``before``."""
        if statement.kind == "block":
            written = before
            for part in statement.parts:
                written = self.statement(part, written)
            return written
        if not statement.parts:
            return self._simple(statement.start, statement.end, before)
        written = dict(before)
        if not statement.is_loop:
            for part in statement.parts:
                written |= self.statement(part, before)
            if all(self._meets(part) for part in statement.parts) and len(statement.parts) == 2:
                return {k: v for k, v in written.items() if k not in before}
            return written
        for _ in range(2):  # what one round writes the next one reads
            for part in statement.parts:
                written = written | self.statement(part, written) if not self._meets(part) else (
                    self.statement(part, written)
                )  # fmt: skip
        return written

    def _meets(self, statement: Statement) -> bool:
        return _BARRIER.search(self._code, statement.start, statement.end) is not None

    def _simple(self, start: int, end: int, before: _Written) -> _Written:
        if _BARRIER.search(self._code, start, end):
            return {}
        written = dict(before)
        for match in self._element.finditer(self._code, start, end):
            closing = self._source.closing(match.end() - 1)
            if closing is None:
                continue
            index = self._code[match.end() : closing]
            behind = self._code[closing + 1 : end]
            neighbour = _NEIGHBOUR.match(index)
            if neighbour and not _WRITE.match(behind):
                at = before.get((match[1], neighbour[1]))
                if at is not None and self.found is None:
                    self.found = InStep(match.start(), match[1], at)
            own = _INDEX.match(index)
            if own and _WRITE.match(behind):
                written[match[1], own[1]] = match.start()
        return written
