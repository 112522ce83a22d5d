"""From what a user asked for to a complete configuration: defaults, devices, names checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from gpuexplorer.core.config import OWN_FILL, Block, Cache, RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList, Unavailable
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError
from gpuexplorer.workloads.formulas import number
from gpuexplorer.workloads.frameworks import FRAMEWORKS, framework_of, is_own
from gpuexplorer.workloads.manifest import FILLS, OVERFLOW_FILL, TunedSpec, VariantSpec
from gpuexplorer.workloads.planning import base_names, check_caches, check_requirements
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.switches import check as check_switches
from gpuexplorer.workloads.switches import without_defaults
from gpuexplorer.workloads.workload import Workload

BACKENDS = ("cuda", "opencl", "numpy", *FRAMEWORKS)


def find_device(devices: DeviceList, wanted: str) -> DeviceInfo:
    """Return the device for an id or for ``cuda``, ``cpu``, ``auto``.

    Raises CannotRunHere with the backend's own reason and remedy when it is not available,
    InputError when there is no such device.
    """
    for device in devices.devices:
        if device.id == wanted:
            return device
    kernels = [d for d in devices.devices if d.runs_kernels]
    everything = [*kernels, *(d for d in devices.devices if not d.runs_kernels)]
    if wanted == "auto":
        gpus = [d for d in kernels if d.kind == "gpu"]
        candidates = [*(d for d in gpus if d.backend == "cuda"), *gpus, *everything]
    elif wanted == "cpu":
        candidates = [d for d in everything if d.kind == "cpu"]
    else:
        backend = wanted.partition(":")[0]
        candidates = [d for d in everything if d.backend == backend and wanted == backend]
    if candidates:
        return candidates[0]
    raise _no_device(devices, wanted)


def _no_device(devices: DeviceList, wanted: str) -> ExplorerError:
    backend = wanted.partition(":")[0]
    offered = [d.id for d in devices.devices]
    for missing in devices.unavailable:
        if missing.backend == backend or (wanted == "cpu" and missing.backend == "opencl"):
            return CannotRunHere(
                f"device '{wanted}' is not available: {missing.reason}", remedy=missing.remedy
            )
    if wanted in ("auto", "cpu"):
        return CannotRunHere("no device here can run work", remedy="see 'gpuexplorer doctor'")
    return InputError(f"no device '{wanted}'", remedy=suggestion(wanted, [*offered, "cuda", "cpu"]))


def device_for_variant(devices: DeviceList, variant: VariantSpec, chosen: DeviceInfo) -> DeviceInfo:
    """Return the view of the chosen hardware that can run a variant, or ``chosen`` itself.

    A library call or a model belongs to a backend of its own: with the CPU chosen through OpenCL,
    ``numpy.matmul`` runs on ``numpy:cpu``, which is the same silicon.
    """
    if variant.call is None:
        if chosen.runs_kernels:
            return chosen
        same = [d for d in devices.devices if d.runs_kernels]
    else:
        if variant.call in chosen.libraries:
            return chosen
        same = [d for d in devices.devices if variant.call in d.libraries]
    same = [d for d in same if d.hardware_id == chosen.hardware_id]
    return same[0] if same else chosen


def device_to_run(devices: DeviceList, wanted: str, variant: VariantSpec, name: str) -> DeviceInfo:
    """Return the device on which the variant of that name runs when ``wanted`` is asked for.

    ``auto`` finds one that has the variant's model. Raises as ``find_device``, and CannotRunHere
    where the device does not have the model: with the framework's own reason and remedy where it
    is missing.
    """
    found = device_for_variant(devices, variant, find_device(devices, wanted))
    if variant.model is None or variant.model in found.libraries:
        return found
    able = [d for d in devices.devices if variant.model in d.libraries]
    if able and wanted == "auto":
        return next((d for d in able if d.kind == "gpu"), able[0])
    title = FRAMEWORKS[framework_of(variant.model)]
    missing = missing_framework(devices, variant)
    if missing is not None:
        raise CannotRunHere(
            f"variant '{name}' runs on {title}, which is not available here: {missing.reason}",
            remedy=missing.remedy,
        )
    if able:
        raise CannotRunHere(
            f"{title} does not reach {found.id} ({found.name})",
            remedy=f"it runs '{name}' on {', '.join(d.id for d in able)}",
        )
    raise CannotRunHere(
        f"no device here offers the model {variant.model}",
        remedy="'gpuexplorer devices' lists what each device offers",
    )


def missing_framework(devices: DeviceList, variant: VariantSpec) -> Unavailable | None:
    """Return the framework that a variant's model or library call needs and that is not here."""
    framework = framework_of(variant.call or "")
    if framework not in FRAMEWORKS:
        return None
    return next((one for one in devices.unavailable if one.backend == framework), None)


def tuned_for(
    variant: VariantSpec, precision: str, device: DeviceInfo | None, size: Mapping[str, int]
) -> TunedSpec | None:
    """Return what the manifest says was measured to be good on a device like this one."""
    if device is None:
        return None
    for tuned in variant.tuned:
        if (
            all(map(device.has, tuned.on))
            and precision in (tuned.precisions or [precision])
            and (tuned.where is None or number(tuned.where, base_names(size, precision)))
        ):
            return tuned
    return None


def default_block(
    variant: VariantSpec, precision: str = "", device: DeviceInfo | None = None,
    size: Mapping[str, int] | None = None,
) -> Block | None:  # fmt: skip
    """Return the block that is there before one is chosen, or None for a library call.

    On a device, in a precision and at a size that the manifest has a tuned one for, that one.
    """
    tuned = tuned_for(variant, precision, device, size or {})
    if tuned is not None and tuned.block:
        x, y, z = (*tuned.block, 1, 1)[:3]
        return x, y, z
    for step in variant.launch:
        if step.follows_sliders:
            x, y, z = (*(int(b) for b in step.block), 1, 1)[:3]
            return x, y, z
    return (1, 1, 1) if variant.launch else None


def default_tunables(
    variant: VariantSpec, precision: str = "", device: DeviceInfo | None = None,
    size: Mapping[str, int] | None = None,
) -> dict[str, int]:  # fmt: skip
    """Return the tunables that are the user's to choose, not tied to the block, as they begin."""
    first = {
        name: tunable.values[0] if tunable.default is None else tunable.default
        for name, tunable in variant.tunables.items()
        if tunable.formula is None
    }
    tuned = tuned_for(variant, precision, device, size or {})
    return first if tuned is None else first | tuned.tunables


def complete(request: RunRequest, workload: Workload, devices: DeviceList) -> RunConfig:
    """Fill in what a request left open and check every name in it.

    Raises InputError for what cannot be, CannotRunHere for what this machine lacks.
    """
    manifest = workload.manifest
    variant_name = manifest.first_variant if request.variant is None else request.variant
    variant = workload.variant(variant_name)
    if request.device.partition(":")[0] not in (*BACKENDS, "cpu", "auto"):
        raise _no_device(devices, request.device)
    device = device_to_run(devices, request.device, variant, variant_name)
    precision = _precision(request.precision, workload, variant_name)
    fill = OWN_FILL if request.fill is None else request.fill
    if fill not in (OWN_FILL, *FILLS, OVERFLOW_FILL):
        raise InputError(f"no input distribution '{fill}'", remedy=suggestion(fill, FILLS))
    if request.cache not in get_args(Cache):
        raise InputError(
            f"no cache state '{request.cache}'", remedy=suggestion(request.cache, get_args(Cache))
        )
    if is_own(variant.model) and fill != OWN_FILL:
        raise InputError(
            "a model's file brings its own inputs", remedy="leave --fill out, or change build()"
        )
    check_caches(request)
    check_requirements(workload, variant_name, precision, device)
    check_switches(variant, variant_name, device, request.switches)
    size = _sizes(request.size, workload)
    tuned = tuned_for(variant, precision, device, size)
    if not 0 <= request.seed < 2**63:
        raise InputError(f"seed {request.seed} is out of range", remedy="use 0 to 2^63 - 1")
    return RunConfig(
        workload=workload.name,
        variant=variant_name,
        size=size,
        precision=precision,
        device=device.id,
        block=_block(request.block, variant, precision, device, size),
        tunables=request.tunables if tuned is None else tuned.tunables | request.tunables,
        cache=request.cache,
        fill=fill,
        seed=request.seed,
        threads=_threads(request, device),
        switches=without_defaults(request.switches),
    )


def _threads(request: RunRequest, device: DeviceInfo) -> int | None:
    """Return the CPU threads of a run; a GPU's has none, whatever the engine was started with."""
    if device.kind == "gpu":
        return None
    return device.threads if request.threads is None else request.threads


def _precision(wanted: str | None, workload: Workload, variant: str) -> str:
    offered = workload.precisions_of(variant)
    if wanted is None:
        return "fp32" if "fp32" in offered else offered[0]
    if wanted not in workload.manifest.precisions:
        raise InputError(
            f"workload '{workload.name}' has no precision '{wanted}'",
            remedy=suggestion(wanted, workload.manifest.precisions),
        )
    if wanted not in offered:
        raise InputError(
            f"variant '{variant}' has no precision '{wanted}'", remedy=suggestion(wanted, offered)
        )
    return wanted


def _sizes(wanted: dict[str, int], workload: Workload) -> dict[str, int]:
    specs = workload.manifest.sizes
    first = next(iter(specs))
    sizes = {symbol: spec.default for symbol, spec in specs.items()}
    for symbol, value in wanted.items():
        name = symbol or first
        if name not in specs:
            raise InputError(
                f"workload '{workload.name}' has no size '{name}'", remedy=suggestion(name, specs)
            )
        if not specs[name].min <= value <= specs[name].max:
            raise InputError(
                f"size {name}={value} is out of range",
                remedy=f"choose {specs[name].min} to {specs[name].max}",
            )
        sizes[name] = value
    return sizes


def _block(
    wanted: tuple[int, ...] | None, variant: VariantSpec, precision: str, device: DeviceInfo,
    size: Mapping[str, int],
) -> Block | None:  # fmt: skip
    if variant.call is not None:
        if wanted is not None:
            raise InputError(
                "a library variant chooses its own blocks"
                if variant.library
                else "a framework's model chooses its own blocks",
                remedy="leave --block out",
            )
        return None
    if wanted is None:
        return default_block(variant, precision, device, size)
    if not 1 <= len(wanted) <= 3:
        raise InputError("a block has one to three dimensions", remedy="give --block XxY")
    x, y, z = (*wanted, 1, 1)[:3]
    if min(x, y, z) < 1:
        raise InputError(
            f"block {'×'.join(map(str, wanted))} has a dimension below 1", remedy="use 1 or more"
        )
    return x, y, z
