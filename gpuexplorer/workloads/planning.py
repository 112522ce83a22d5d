"""From a configuration to what exactly is launched, and how many bytes and operations that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
import numpy as np

from gpuexplorer.core.config import OWN_FILL, Block, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import CannotRunHere, InputError
from gpuexplorer.core.knobs import TRANSFERS, block_words
from gpuexplorer.core.precision import PRECISIONS
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads import formulas
from gpuexplorer.workloads.fills import WHOLE, stored_dtype
from gpuexplorer.workloads.frameworks import family_of
from gpuexplorer.workloads.manifest import (
    ArraySpec,
    ElementType,
    Formula,
    LaunchArgument,
    LaunchSpec,
    ReferenceSpec,
    VariantSpec,
)
from gpuexplorer.workloads.models import MODELS
from gpuexplorer.workloads.plan import Argument, ArrayPlan, KernelLaunch, Plan
from gpuexplorer.workloads.switches import check as check_switches
from gpuexplorer.workloads.switches import effective
from gpuexplorer.workloads.workload import Workload

Names = dict[str, int | float]


def itemsize_B(type_: ElementType, precision: str) -> int:
    """Return the bytes of one element of ``type_`` in a precision."""
    return stored_dtype(type_, precision).itemsize


def base_names(size: Mapping[str, int], precision: str) -> Names:
    """Return what every formula of a run sees: sizes and item sizes in bytes."""
    chosen = PRECISIONS[precision]
    return {
        **size,
        "itemsize": chosen.itemsize_B,
        "accum_itemsize": chosen.accum_itemsize_B,
    }


MOST_ELEMENTS = 2**60


def _shape(name: str, shape: Sequence[Formula], base: Names) -> tuple[int, ...]:
    lengths = tuple(formulas.whole(f, base) for f in shape)
    if min(lengths) < 1:
        listed = ", ".join(map(str, lengths))
        raise formulas.FormulaError(
            f"array '{name}' would have the shape ({listed})",
            remedy="choose a larger size, or correct 'shape'",
        )
    if math.prod(lengths) > MOST_ELEMENTS:
        raise formulas.FormulaError(
            f"array '{name}' would have more elements than any memory can hold",
            remedy="choose a smaller size, or correct 'shape'",
        )
    return lengths


def _amount(formula: Formula, names: Names) -> float:
    """Evaluate a number of operations or bytes."""
    value = float(formulas.number(formula, names))
    if value < 0:
        raise formulas.FormulaError(f"formula '{formula}' gave {value:g}, an amount below 0")
    return value


def block_names(block: Block) -> Names:
    """Return the names of a block's dimensions in formulas."""
    return dict(zip(("block_x", "block_y", "block_z"), block, strict=True))


def make_plan(workload: Workload, config: RunConfig, device: DeviceInfo) -> Plan:
    """Work out one configuration on one device.

    Raises InputError when block, grid, sizes or tunables are not legal, CannotRunHere when the
    device lacks what the variant requires.
    """
    try:
        plan = _make_plan(workload, config, device)
    except formulas.FormulaError as error:  # which of the user's manifests it stands in
        raise InputError(f"{workload.source.origin}: {error.what}", remedy=error.remedy) from None
    check_memory(workload, plan, device)
    return plan


def _make_plan(workload: Workload, config: RunConfig, device: DeviceInfo) -> Plan:
    variant = workload.variant(config.variant)
    check_requirements(workload, config.variant, config.precision, device)
    check_caches(config)
    check_switches(variant, config.variant, device, config.switches)
    base = base_names(config.size, config.precision)
    common = _common(
        workload, config.variant, config.precision, config.fill, tuple(config.size.items())
    )
    if variant.library is not None:
        tunable_values(workload, config)  # refuses every tunable
        arguments = tuple(_argument(name, workload, base, {}) for name in variant.args)
        plan = Plan(
            config=msgspec.structs.replace(config, block=None, grid=None, tunables={}),
            library=variant.library,
            library_arguments=arguments,
            **common,  # type: ignore[arg-type]
        )
    elif variant.model is not None:
        tunable_values(workload, config)
        plan = Plan(
            config=msgspec.structs.replace(config, block=None, grid=None, tunables={}),
            model=variant.model,
            switches=effective(variant, device, config.switches),
            **common,  # type: ignore[arg-type]
        )
    else:
        plan = _launch_plan(workload, config, device, base, common)
    return plan


@lru_cache(maxsize=64)
def _common(
    workload: Workload,
    variant_name: str,
    precision: str,
    fill: str,
    size: tuple[tuple[str, int], ...],
) -> dict[str, object]:
    """Return what the plans of all blocks and tunables of a problem have in common, by field."""
    variant, sizes = workload.variant(variant_name), dict(size)
    base = base_names(sizes, precision)
    check_sizes(workload, sizes, precision)
    work = workload.work_of(variant_name)
    return {
        "arrays": arrays_of(workload, variant_name, precision, fill, sizes),
        "files": workload.source.files,
        "source_sha256": workload.sha256,
        "origin": workload.source.origin,
        "reset": tuple(variant.reset),
        "flops": _amount(work.flops, base),
        "fewer_flops": work.fewer_flops and variant.call is not None,
        "compulsory_read_B": _amount(work.read_bytes, base),
        "compulsory_write_B": _amount(work.write_bytes, base),
    }


def arrays_of(
    workload: Workload, variant_name: str, precision: str, fill: str, size: Mapping[str, int]
) -> tuple[ArrayPlan, ...]:
    """Return the arrays that a variant takes at some sizes, whether or not these go together."""
    variant, base = workload.variant(variant_name), base_names(size, precision)
    used = names_used(variant, workload.reference_of(variant_name))
    return tuple(
        _array(name, spec, variant, precision, fill, base)
        for name, spec in workload.manifest.arrays.items()
        if name in used
    )


def check_caches(asked: RunRequest | RunConfig) -> None:
    """Refuse cold caches where each sample copies its arrays, which leaves them in the caches."""
    if asked.cache == "cold" and asked.switches.get(TRANSFERS, False):
        raise InputError(
            "cold caches and included transfers do not go together: each sample copies its arrays "
            "anew, and what the caches hold then is the copies' doing",
            remedy="leave one of them out",
        )


def _array(
    name: str, spec: ArraySpec, variant: VariantSpec, precision: str, fill: str, base: Names
) -> ArrayPlan:
    type_ = spec.type
    if variant.model is not None and type_ in ("real", "accum") and precision != "fp64":
        type_ = "float"  # the masters, which the framework converts
    below = None if spec.below is None else formulas.whole(spec.below, base)
    most = np.iinfo(WHOLE[type_]).max if type_ in WHOLE else 0
    if below is not None and not 1 <= below <= min(most + 1, 2**31 - 1):
        raise formulas.FormulaError(
            f"'arrays.{name}.below' is {below}, and must be 1 or more, and such that {type_} holds "
            "what is below it"
        )
    return ArrayPlan(
        name=name,
        shape=_shape(name, spec.shape, base),
        type=type_,
        role=spec.role,
        fill=spec.fill if fill == OWN_FILL else fill,  # type: ignore[arg-type]
        itemsize_B=itemsize_B(type_, precision),
        scale=float(formulas.number(spec.scale, base)),
        below=below,
        values=spec.values,
    )


def check_sizes(workload: Workload, size: Mapping[str, int], precision: str) -> None:
    """Refuse sizes that do not go together."""
    names = base_names(size, precision)
    for constraint in workload.manifest.constraints:
        if not formulas.number(constraint.rule, names):
            sizes = ", ".join(f"{symbol} = {value}" for symbol, value in size.items())
            raise InputError(
                f"workload '{workload.name}' cannot run with {sizes}: {constraint.because}"
            )


def names_used(variant: VariantSpec, reference: ReferenceSpec) -> frozenset[str]:
    """Return the names that a variant and its reference use; other arrays are not made."""
    steps = variant.launch
    arguments = [a for s in steps for a in (*s.args, *s.symbols) if isinstance(a, str)]
    expressions = [*reference.outputs.values(), *([reference.scale] if reference.scale else [])]
    in_reference = [name for text in expressions for name in formulas.names_in(text)]
    named = [*arguments, *variant.args, *variant.reset, *reference.outputs, *in_reference]
    for family in (reference.model, family_of(variant.model or "")):
        if family in MODELS:
            named += [*MODELS[family].inputs, *MODELS[family].outputs]
    return frozenset(named)


def _launch_plan(
    workload: Workload,
    config: RunConfig,
    device: DeviceInfo,
    base: Names,
    common: dict[str, object],
) -> Plan:
    variant = workload.variant(config.variant)
    defines, steps = launch_steps(workload, config, device)
    seen: Names = {**base, **defines, **block_names(config.block or (1, 1, 1))}
    grid = steps[variant.main_launch].grid
    seen |= dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))

    def requested(formula: str | int | float | None) -> float | None:
        return None if formula is None else _amount(formula, seen)

    return Plan(
        config=msgspec.structs.replace(config, grid=grid, tunables=defines),
        steps=steps,
        main_step=variant.main_launch,
        defines=defines,
        requested_read_B=requested(variant.requested_read_bytes),
        requested_write_B=requested(variant.requested_write_bytes),
        **common,  # type: ignore[arg-type]
    )


def launch_steps(
    workload: Workload, config: RunConfig, device: DeviceInfo
) -> tuple[dict[str, int], tuple[KernelLaunch, ...]]:
    """Return the macros and launches of a kernel variant; InputError when they cannot be."""
    variant = workload.variant(config.variant)
    if config.block is None:
        raise InputError(f"variant '{config.variant}' needs a block", remedy="give --block XxY")
    defines = tunable_values(workload, config)
    sliders = {**base_names(config.size, config.precision), **defines, **block_names(config.block)}
    for constraint in variant.constraints:
        if not formulas.number(constraint.rule, sliders):
            raise InputError(
                f"variant '{config.variant}' cannot run with block "
                f"{block_words(config.block)}: {constraint.because}"
            )
    steps = tuple(_step(step, workload, config, sliders) for step in variant.launch)
    for step in steps:
        check_launch(step, device)
    return defines, steps


def tunable_values(workload: Workload, config: RunConfig) -> dict[str, int]:
    """Return every macro of the variant with its value; InputError for one not allowed."""
    variant = workload.variant(config.variant)
    for name in config.tunables:
        if name not in variant.tunables:
            known = ", ".join(variant.tunables) or "none"
            raise InputError(f"variant '{config.variant}' has no tunable '{name}': it has {known}")
    names = {**base_names(config.size, config.precision), **block_names(config.block or (1, 1, 1))}
    values: dict[str, int] = {}
    for name, tunable in variant.tunables.items():
        if tunable.formula is not None:
            values[name] = formulas.whole(tunable.formula, names)
            if abs(values[name]) >= 2**31:
                raise formulas.FormulaError(f"formula '{tunable.formula}' gave a number too large")
            if config.tunables.get(name, values[name]) != values[name]:
                raise InputError(
                    f"tunable {name} follows from '{tunable.formula}'", remedy="leave it out"
                )  # its own value may be named, as the configuration of a finished run does
            continue
        default = tunable.values[0] if tunable.default is None else tunable.default
        values[name] = config.tunables.get(name, default)
        if values[name] not in tunable.values:
            allowed = ", ".join(map(str, tunable.values))
            raise InputError(f"tunable {name} cannot be {values[name]}", remedy=f"use {allowed}")
    return values


def _triple(values: list[int]) -> Block:
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


def _step(step: LaunchSpec, workload: Workload, config: RunConfig, sliders: Names) -> KernelLaunch:
    if step.follows_sliders:
        chosen = config.block or (1, 1, 1)
        block = _triple(list(chosen[: len(step.block)]))
        if chosen[len(step.block) :] != (1,) * (3 - len(step.block)):
            raise InputError(
                f"variant '{config.variant}' has {len(step.block)}-dimensional blocks, not "
                f"{block_words(chosen)}"
            )
    else:
        block = _triple([formulas.whole(f, sliders) for f in step.block])
    names = {**sliders, **block_names(block)}
    grid = _triple([formulas.whole(f, names) for f in step.grid])
    seen = {**names, **dict(zip(("grid_x", "grid_y", "grid_z"), grid, strict=True))}
    return KernelLaunch(
        source=step.source,
        entry=step.entry,
        block=block,
        grid=grid,
        shared_B=formulas.whole(step.shared_bytes, names),
        arguments=tuple(_argument(a, workload, seen, seen) for a in step.args),
        symbols=tuple(_named(n, _argument(n, workload, seen, seen)) for n in step.symbols),
    )


def _named(name: str, argument: Argument) -> Argument:
    return msgspec.structs.replace(argument, name=name)


def _argument(
    argument: str | LaunchArgument, workload: Workload, base: Names, names: Names
) -> Argument:
    manifest = workload.manifest
    if isinstance(argument, LaunchArgument):
        return _scalar("", argument.type, formulas.number(argument.value, names))
    if argument in manifest.arrays:
        return Argument(kind="array", name=argument)
    if argument in manifest.scalars:
        scalar = manifest.scalars[argument]
        return _scalar(argument, scalar.type, formulas.number(scalar.value, base))
    return _scalar(argument, "int", base[argument])


def _scalar(name: str, type_: ElementType, value: float) -> Argument:
    """Return a scalar argument; InputError for an int that would be cut or wrap around."""
    if type_ in WHOLE:
        limits = np.iinfo(WHOLE[type_])
        if not (value == int(value) and limits.min <= value <= limits.max):
            raise InputError(
                f"argument '{name}' is {value:g}, not a whole number of {limits.bits} bits"
                if name
                else f"a computed argument is {value:g}, not a whole number of {limits.bits} bits"
            )
    return Argument(kind="scalar", name=name, type=type_, value=value)


def check_requirements(
    workload: Workload, variant_name: str, precision: str, device: DeviceInfo
) -> None:
    """Raise CannotRunHere when the device lacks what a variant in a precision requires."""
    variant = workload.variant(variant_name)
    if precision not in device.precisions:
        raise CannotRunHere(
            f"{device.id} ({device.name}) does not offer {precision}",
            remedy=f"it offers {', '.join(device.precisions)}",
        )
    if variant.call is not None:
        if variant.call not in device.libraries:
            raise CannotRunHere(
                f"{device.id} does not offer the library call {variant.call}"
                if variant.library
                else f"{device.id} does not offer the model {variant.call}",
                remedy="'gpuexplorer devices' lists what each device offers",
            )
        return
    if not device.runs_kernels:
        raise CannotRunHere(
            f"{device.id} runs library variants only, and '{variant_name}' is a kernel",
            remedy="choose a device of the cuda or opencl backend",
        )
    missing = [r for r in variant.requires if not device.has(r)]
    if missing:
        raise CannotRunHere(
            f"variant '{variant_name}' requires {', '.join(missing)}, which {device.id} "
            f"({device.name}) does not have",
            remedy="choose another variant or device",
        )


def check_launch(step: KernelLaunch, device: DeviceInfo) -> None:
    """Raise InputError when the device cannot launch a step's block, grid or shared memory."""
    limits = device.limits
    shape = block_words(step.block)
    if min(step.block) < 1:
        raise InputError(f"block {shape} has a dimension below 1", remedy="use 1 or more")
    if step.threads_per_block > limits.max_threads_per_block:
        raise InputError(
            f"block {shape} has {step.threads_per_block} threads, and {device.id} allows "
            f"{limits.max_threads_per_block}",
            remedy="make the block smaller",
        )
    for axis, size, most in zip("xyz", step.block, limits.max_block, strict=True):
        if size > most:
            raise InputError(f"block {shape} is longer in {axis} than the {most} of {device.id}")
    for axis, size, most in zip("xyz", step.grid, limits.max_grid, strict=True):
        if not 1 <= size <= most:
            raise InputError(
                f"'{step.entry}' would need {size} blocks in {axis}, and {device.id} allows {most}",
                remedy="make the block larger or the size smaller",
            )
    if step.shared_B < 0:
        raise InputError(
            f"'{step.entry}' asks for {step.shared_B} bytes of shared memory",
            remedy="correct 'shared_bytes' in the manifest",
        )
    if step.shared_B > limits.max_shared_B:
        raise InputError(
            f"'{step.entry}' asks for {quantity(step.shared_B, 'B')} of shared memory, and "
            f"{device.id} gives a block {quantity(limits.max_shared_B, 'B')}",
            remedy="make the tile or the block smaller",
        )


def check_memory(
    workload: Workload, plan: Plan, device: DeviceInfo, *, free_B: float | None = None
) -> None:
    """Raise InputError when a plan needs more memory than there is, with what would fit.

    ``free_B`` is what can be taken now; None: the device's memory as a whole.
    """
    from gpuexplorer.workloads.memory.fits import check_fits

    def plan_of(size: dict[str, int]) -> Plan:
        return _make_plan(workload, msgspec.structs.replace(plan.config, size=size), device)

    check_fits(plan, device, workload.manifest.sizes, plan_of, free_B=free_B)
