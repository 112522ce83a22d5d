"""What a launch copies to symbols and back: which values, how many bytes, as which type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from gpuexplorer.compile.arguments import bind_arguments, declared_dtype
from gpuexplorer.compile.rewriter import ROOM
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import CudaSource, Signature
from gpuexplorer.workloads.declared_symbols import kept_by, symbols_of
from gpuexplorer.workloads.includes import inline_includes
from gpuexplorer.workloads.instances import split_entry
from gpuexplorer.workloads.plan import KernelLaunch, Plan

Filled = tuple[tuple[str, int], ...]
"""Variables with the bytes that are copied to each."""


def bound_symbols(plan: Plan, step: KernelLaunch) -> dict[str, str | npt.NDArray[np.generic]]:
    """Return what is copied to each variable: an array of the plan by its name, or a number.

    Raises InputError, naming file and line, for a variable that is not there, or is of another kind
    or type.
    """
    if not step.symbols:
        return {}
    source = CudaSource(inline_includes(step.source, plan.files))
    known = symbols_of(source)
    for wanted in step.symbols:
        if wanted.name not in known:
            raise InputError(
                f"{step.source} has no __constant__ or __device__ variable '{wanted.name}' without "
                "values",
                remedy="correct 'symbols' of that launch in the manifest",
            )
    found = [known[wanted.name] for wanted in step.symbols]
    parameters = [
        replace(symbol.parameter, pointers=1) if wanted.kind == "array" else symbol.parameter
        for symbol, wanted in zip(found, step.symbols, strict=True)
    ]
    where = source.where(found[0].start)
    signature = Signature(step.entry, where, tuple(parameters))
    for symbol in found:
        if not symbol.sides and declared_dtype(symbol.type, plan.config.precision) is None:
            raise InputError(
                f"{source.where(symbol.start)}: '{symbol.name}' is {symbol.type}, which a manifest "
                "cannot fill",
                remedy="use a number or an array of them",
            )
    asked = KernelLaunch(
        source=step.source, entry=step.entry, block=step.block, grid=step.grid, shared_B=0,
        arguments=step.symbols,
    )  # fmt: skip
    values = bind_arguments(asked, plan, signature)
    return {
        symbol.name: value if isinstance(value, str) else np.array([value])
        for symbol, value in zip(found, values, strict=True)
    }


def written_symbols(plan: Plan, step: KernelLaunch) -> list[str]:
    """Return the variables that a launch writes and that are copied back from."""
    arrays = [plan.array(one.name) for one in step.symbols if one.kind == "array"]
    return [array.name for array in arrays if array.role in ("out", "inout")]


def kept_variables(plan: Plan) -> list[str]:
    """Return the variables in which a launch may leave what the next one finds."""
    found: dict[str, None] = {}
    for step in plan.steps:
        source = CudaSource(inline_includes(step.source, plan.files))
        kernel = source.kernels.get(split_entry(step.entry)[0])
        set_back = {one.name for one in step.symbols if one.name in plan.reset}
        kept = kept_by(source, kernel) if kernel is not None else []
        found |= dict.fromkeys(name for name in kept if name not in set_back)
    return list(found)


def filled_B(plan: Plan, step: KernelLaunch) -> Filled:
    """Return the variables that a launch fills, with the bytes that are copied to each."""
    return tuple(
        (name, plan.array(value).nbytes if isinstance(value, str) else value.nbytes)
        for name, value in bound_symbols(plan, step).items()
    )


def room_for(filled: Iterable[tuple[str, int]]) -> str:
    """Return what has a compiler see that the variables are as large as what is copied to them."""
    said = []
    for name, size in filled:
        words = f"the manifest fills {name} with {size} bytes, which is more than it holds"
        said.append(ROOM.format(name=name, size=size, words=words))
    return "\n".join([*said, ""])


def with_room(files: Mapping[str, str], source: str, filled: Filled) -> dict[str, str]:
    """Return the files with that check at the end of one."""
    if not filled:
        return dict(files)
    return {**files, source: f"{files[source]}\n{room_for(filled)}"}
