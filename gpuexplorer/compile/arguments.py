"""A manifest's arguments against a kernel's parameters: each scalar in the type that is declared.

The manifest says what is passed, the source says as what, and the compiled code how many bytes that
takes: a ``size_t`` that is handed a 32-bit value, or a ``float *`` that is handed doubles, runs and
gives nonsense. Types that the text does not tell (aliases, ``long``) are those that the compiler
says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.compile.parameters import CompiledParameter
from gpuexplorer.core.bfloat import TYPE_NAMES, packed
from gpuexplorer.core.errors import InputError
from gpuexplorer.workloads.cuda_source import Parameter, Signature
from gpuexplorer.workloads.fills import is_bfloat, stored_dtype
from gpuexplorer.workloads.plan import Argument, KernelLaunch, Plan

_FIXED: dict[str, npt.DTypeLike] = {
    "float": np.float32,
    "double": np.float64,
    "half": np.float16,
    "__half": np.float16,
    "bool": np.uint8,
    "char": np.int8,
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int16_t": np.int16,
    "uint16_t": np.uint16,
    "int": np.int32,
    "unsigned": np.uint32,
    "unsigned int": np.uint32,
    "uint": np.uint32,
    "int32_t": np.int32,
    "uint32_t": np.uint32,
    "long long": np.int64,
    "long long int": np.int64,
    "unsigned long long": np.uint64,
    "unsigned long long int": np.uint64,
    "int64_t": np.int64,
    "uint64_t": np.uint64,
    "size_t": np.uint64,
    "ptrdiff_t": np.int64,
}
_NUMBERS = {"signed": "i", "unsigned": "u", "bool": "u", "float": "f"}
"""How NumPy names the kinds of numbers, before their bytes."""


def declared_dtype(type_: str, precision: str) -> np.dtype[Any] | None:
    """Return how NumPy holds the bits of a declared C type; None for one that is not known here."""
    if type_ == "real":
        return stored_dtype("real", precision)
    if type_ == "accum":
        return stored_dtype("accum", precision)
    if type_ in TYPE_NAMES:
        return stored_dtype("real", "bf16")
    known = _FIXED.get(type_.removeprefix("std "))
    return None if known is None else np.dtype(known)


def cannot_fill(parameter: Parameter, where: str) -> InputError:
    """Return the refusal of a parameter by value that is no number."""
    return InputError(
        f"{where}: '{parameter.name}' is {parameter.type}, which a manifest cannot fill: it "
        "passes arrays and numbers",
        remedy="take its members one by one, or an array of them",
    )


def unknown_types(signature: Signature, precision: str) -> list[Parameter]:
    """Return the parameters by value whose type the compiler has to tell."""
    return [
        p
        for p in signature.parameters
        if not p.is_pointer and declared_dtype(p.type, precision) is None
    ]


def bind_arguments(
    step: KernelLaunch,
    plan: Plan,
    signature: Signature,
    compiled: Sequence[CompiledParameter] = (),
) -> list[str | np.generic]:
    """Return a step's arguments in order: arrays by name, scalars as the declared NumPy type.

    ``compiled`` is what the compiled kernel takes, as far as known. Raises InputError, naming file
    and line, when number, kind or type differ.
    """
    parameters, where = signature.parameters, signature.where
    if len(parameters) != len(step.arguments):
        raise InputError(
            f"{where}: kernel '{step.entry}' takes {len(parameters)} arguments "
            f"({', '.join(p.name for p in parameters)}), and its manifest gives "
            f"{len(step.arguments)}",
            remedy="correct 'args' of that launch in the manifest",
        )
    taken: list[CompiledParameter | None] = [None] * len(parameters)
    if len(compiled) == len(parameters):
        taken = list(compiled)
    return [
        _array(argument, plan, parameter, where)
        if argument.kind == "array"
        else _scalar(argument, plan, parameter, size, where)
        for argument, parameter, size in zip(step.arguments, parameters, taken, strict=True)
    ]


def _array(argument: Argument, plan: Plan, parameter: Parameter, where: str) -> str:
    if not parameter.is_pointer:
        raise InputError(
            f"{where}: '{parameter.name}' is not a pointer, and the manifest passes the array "
            f"'{argument.name}'",
            remedy="correct 'args' of that launch in the manifest",
        )
    precision = plan.config.precision
    type_ = plan.array(argument.name).type
    bfloat = is_bfloat(type_, precision)
    held, declared = stored_dtype(type_, precision), declared_dtype(parameter.type, precision)
    of_bfloats = of_bfloat(parameter, precision)
    is_number = of_bfloats or (declared is not None and declared.kind == "f")
    if is_number and (declared != held or of_bfloats != bfloat):
        raise InputError(
            f"{where}: '{parameter.name}' points to {parameter.type}, and in {precision} the array "
            f"'{argument.name}' holds {'bfloat16' if bfloat else held.name}",
            remedy="write real instead, or limit the variant's 'precisions' in the manifest",
        )
    return argument.name


def of_bfloat(parameter: Parameter, precision: str) -> bool:
    """Return whether a parameter is, or points to, what NumPy holds as the bits of bf16."""
    return parameter.type in TYPE_NAMES or is_bfloat(parameter.type, precision)


def _scalar(
    argument: Argument,
    plan: Plan,
    parameter: Parameter,
    compiled: CompiledParameter | None,
    where: str,
) -> np.generic:
    if parameter.is_pointer or (compiled is not None and compiled.kind == "pointer"):
        raise InputError(
            f"{where}: '{parameter.name}' is a pointer, and the manifest passes a number",
            remedy="correct 'args' of that launch in the manifest",
        )
    dtype = declared_dtype(parameter.type, plan.config.precision)
    if dtype is None and compiled is not None and compiled.kind in _NUMBERS:
        dtype = np.dtype(f"{_NUMBERS[compiled.kind]}{compiled.size_B}")
    if dtype is None or (compiled is not None and compiled.size_B != dtype.itemsize):
        raise cannot_fill(parameter, where)
    which = f"{where}: '{parameter.name}'"
    if of_bfloat(parameter, plan.config.precision):
        value = _converted(argument.value, np.dtype(np.float32), False, which, parameter)
        bits: np.generic = packed(np.atleast_1d(value))[0]
        return bits
    is_bool = parameter.type == "bool" or (compiled is not None and compiled.kind == "bool")
    return _converted(argument.value, dtype, is_bool, which, parameter)


def _converted(
    value: float, dtype: np.dtype[Any], is_bool: bool, which: str, parameter: Parameter
) -> np.generic:
    """Return a number in a parameter's type; InputError for one that it does not hold."""
    whole = math.isfinite(value) and value == int(value)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = (0, 1) if is_bool else (int(limits.min), int(limits.max))
        fits = whole and low <= value <= high
    else:
        fits = not math.isfinite(value) or abs(value) <= float(np.finfo(dtype).max)
    shown = int(value) if whole else value
    if not fits:
        raise InputError(
            f"{which} is {parameter.type}, which cannot hold {shown}",
            remedy="choose a smaller size or a wider type",
        )
    converted: np.generic = dtype.type(shown)
    return converted
