"""A manifest's arguments against a kernel's parameters: each scalar in the type that is declared.

The manifest says what is passed, the source says as what. A ``size_t`` that is handed a 32-bit
value, or a ``float *`` that is handed doubles, runs and gives nonsense: it is refused here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gpuexplorer.compile.cuda_source import Parameter, Signature
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.workloads.fills import element_dtype
from gpuexplorer.workloads.plan import Argument, Plan, Step

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


def declared_dtype(type_: str, precision: str) -> np.dtype[Any] | None:
    """Return how NumPy holds a declared C type; None for one that is not known here."""
    if type_ == "real":
        return np.dtype(PRECISIONS[precision].dtype)
    if type_ == "accum":
        return np.dtype(PRECISIONS[precision].accum_dtype)
    known = _FIXED.get(type_.removeprefix("std::"))
    return None if known is None else np.dtype(known)


def bind_arguments(step: Step, plan: Plan, signature: Signature) -> list[str | np.generic]:
    """Return a step's arguments in order: arrays by name, scalars as the declared NumPy type.

    Raises InputError, naming file and line, when number, kind or type differ.
    """
    parameters, where = signature.parameters, signature.where
    if len(parameters) != len(step.arguments):
        raise InputError(
            f"{where}: kernel '{step.entry}' takes {len(parameters)} arguments "
            f"({', '.join(p.name for p in parameters)}), and its manifest gives "
            f"{len(step.arguments)}",
            remedy="correct 'args' of that launch in the manifest",
        )
    return [
        _array(argument, plan, parameter, where)
        if argument.kind == "array"
        else _scalar(argument, plan, parameter, where)
        for argument, parameter in zip(step.arguments, parameters, strict=True)
    ]


def _array(argument: Argument, plan: Plan, parameter: Parameter, where: str) -> str:
    if not parameter.is_pointer:
        raise InputError(
            f"{where}: '{parameter.name}' is not a pointer, and the manifest passes the array "
            f"'{argument.name}'",
            remedy="correct 'args' of that launch in the manifest",
        )
    precision = plan.config.precision
    held = element_dtype(plan.array(argument.name).type, precision)
    declared = declared_dtype(parameter.type, precision)
    if declared is not None and declared.kind == "f" and declared != held:
        raise InputError(
            f"{where}: '{parameter.name}' points to {parameter.type}, and in {precision} the array "
            f"'{argument.name}' holds {held.name}",
            remedy="write real instead, or limit the variant's 'precisions' in the manifest",
        )
    return argument.name


def _scalar(argument: Argument, plan: Plan, parameter: Parameter, where: str) -> np.generic:
    name = f"'{parameter.name}'"
    if parameter.is_pointer:
        raise InputError(
            f"{where}: {name} is a pointer, and the manifest passes a number",
            remedy="correct 'args' of that launch in the manifest",
        )
    precision = plan.config.precision
    dtype = declared_dtype(parameter.type, precision) or element_dtype(argument.type, precision)
    value = argument.value
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if value != int(value) or not limits.min <= value <= limits.max:
            raise InputError(
                f"{where}: {name} is {parameter.type}, which cannot hold {value}",
                remedy="choose a smaller size or a wider type",
            )
        value = int(value)
    converted: np.generic = dtype.type(value)
    return converted
