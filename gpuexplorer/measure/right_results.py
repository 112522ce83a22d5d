"""What a user's Python function says the outputs must be: called once a problem, in the engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gpuexplorer.backends.base import HostArray
from gpuexplorer.backends.user_program import UserProgram, kind_words
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.text import path_text
from gpuexplorer.core.units import listed
from gpuexplorer.workloads.evaluation import Scope
from gpuexplorer.workloads.plan import Plan
from gpuexplorer.workloads.python_function import PythonFunction, check_arguments
from gpuexplorer.workloads.workload import Workload


def right_results(
    found: PythonFunction, workload: Workload, plan: Plan, inputs: Mapping[str, HostArray]
) -> dict[str, HostArray]:
    """Return the outputs that a function of a workload's Python file says, in the plan's shapes.

    It is handed, by name, what its parameters ask for: inputs as NumPy arrays of float64, those of
    whole numbers as int64, sizes and numbers. It returns the only output, a tuple of them in the
    manifest's order, or a dict by name. Raises InputError, WorkFailed or CannotRunHere with file
    and line for whatever goes wrong in it, and for another shape.
    """
    origin = path_text(Path(workload.source.origin).parent / found.file)
    program = UserProgram(workload.source.files[found.file], origin)
    with program.running("importing the file"):
        function = getattr(program.load(), found.function, None)
    if not callable(function):
        raise InputError(f"{origin}: there is no function {found.function}()", remedy="define it")
    known: dict[str, Any] = {name: _widened(values) for name, values in inputs.items()}
    known |= Scope(workload, plan, inputs).numbers
    arguments = _arguments(function, found._replace(file=origin), known)
    with program.running(f"calling {found.function}()"):
        made = function(**arguments)
    names = [array.name for array in plan.outputs]
    results = _by_name(made, names, f"{origin}: {found.function}()")
    with program.running(f"reading what {found.function}() returned"):
        arrays = {name: np.asarray(value) for name, value in results.items()}
    program.show_printed()
    for name, values in arrays.items():
        shape = plan.array(name).shape
        if values.dtype.kind not in "biuf":
            raise InputError(
                f"{origin}: {found.function}() returned no real numbers for '{name}'",
                remedy="return an array of float64",
            )
        if values.shape != shape and values.size != 1:
            raise InputError(
                f"{origin}: {found.function}() gives the shape {values.shape} for '{name}', which "
                f"has {shape}",
                remedy="correct the function or the array's shape",
            )
        arrays[name] = np.broadcast_to(values.reshape(()) if values.size == 1 else values, shape)
    return arrays


def _widened(values: HostArray) -> HostArray:
    """Return a copy, so that a function that writes into it spoils nothing."""
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)


def _arguments(
    function: Callable[..., Any], found: PythonFunction, known: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # one that is written in C says nothing: it gets them all
        return dict(known)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return dict(known)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    check_arguments(found, [p.name for p in named if p.default is p.empty], known)
    return {p.name: known[p.name] for p in named if p.name in known}


def _by_name(made: Any, names: list[str], what: str) -> dict[str, Any]:
    """Return what a function returned by the outputs' names."""
    if isinstance(made, Mapping):
        unknown = [str(key) for key in made if key not in names]
        if unknown or not made:
            raise InputError(
                f"{what} returned a dict with {listed(unknown) or 'nothing'}",
                remedy=f"use the outputs' names: {listed(names)}",
            )
        missing = [name for name in names if name not in made]
        if missing:
            raise InputError(
                f"{what} returned a dict without {listed(missing)}, which would not be checked",
                remedy="return every output",
            )
        return dict(made)
    if len(names) == 1 and not isinstance(made, tuple):
        if made is None or isinstance(made, str):
            raise InputError(f"{what} returned {kind_words(made)}", remedy="return an array")
        return {names[0]: made}
    if isinstance(made, tuple) and len(made) == len(names):
        return dict(zip(names, made, strict=True))
    raise InputError(
        f"{what} returned {kind_words(made)}",
        remedy=f"return a dict or a tuple of {listed(names)}",
    )
