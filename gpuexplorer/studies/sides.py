"""The two devices of a comparison of devices, and which variant runs on each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import CannotRunHere, ExplorerError, InputError
from gpuexplorer.core.offer import Offer
from gpuexplorer.studies.kind import Choice, Scene
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.workload import Workload

Pair = tuple[str | None, str | None]
REMEDY = "name any two devices with --devices, such as opencl:0,torch:cpu"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two devices, and what runs there."""

    device: str
    """Its id."""
    name: str
    kind: str
    """``gpu`` or ``cpu``."""
    driver: str
    variant: str
    precision: str
    threads: int | None = None

    @property
    def label(self) -> str:
        """A few words for legends."""
        return f"{self.device} ({self.variant})"


def able_devices(scene: Scene) -> list[DeviceInfo]:
    """Return the devices that can run any variant of the workload."""
    variants = scene.workload.manifest.variants.values()
    calls = {v.call for v in variants if v.call is not None}
    kernels = any(v.launch for v in variants)
    return [
        device
        for device in scene.devices or ()
        if (kernels and device.runs_kernels) or calls & set(device.libraries)
    ]


def usual_sides(scene: Scene) -> Pair:
    """Return the two devices that are compared at first: a CPU, then a GPU where there is one.

    What the knobs stand at comes first of its kind; None where there are not two.
    """
    able = able_devices(scene)
    if scene.device in able:
        able = [scene.device, *(device for device in able if device is not scene.device)]
    cpus = [device for device in able if device.kind == "cpu"]
    gpus = [device for device in able if device.kind != "cpu"]
    pair = [*cpus[:1], *gpus[:1]] if cpus and gpus else able[:2]
    first, second = ([device.id for device in pair] + [None, None])[:2]
    return first, second


def _offers(scene: Scene) -> list[Offer]:
    return [
        Offer(device.id, device.id, tip=f"{device.name}\n{device.driver}")
        for device in able_devices(scene)
    ]


def _nothing(scene: Scene) -> str:
    if None not in usual_sides(scene):
        return ""
    return "Only one device here can run this workload, so there is nothing to hold against it."


TWO_DEVICES = Choice(
    "names", "--devices", "A,B",
    "two devices; the first has the data at hand (default: the CPU, then the GPU)",
    also=("--device",), title="Devices", offers=_offers, nothing=_nothing, first=usual_sides,
    too_few="there are no two devices to compare",
    boxes=(
        ("&First", "The device that has its data at hand, as a CPU has"),
        ("S&econd", "The device that the data has to be brought to, as a GPU"),
    ),
)  # fmt: skip


def two_sides(
    request: RunRequest,
    workload: Workload,
    devices: DeviceList,
    names: Sequence[str] | None,
) -> tuple[RunConfig, RunConfig]:
    """Return what runs on the first and on the second device, at the request's size.

    ``names`` are two devices; None: the CPU, then the GPU. Where a device cannot run the request's
    variant, or none was asked for, it gets the first variant of the workload that it can run.
    Raises CannotRunHere where there is no GPU or a device runs no variant, InputError for other
    names.
    """
    if names is None:
        gpu = _side(request, workload, devices, _gpus(devices))
        same = msgspec.structs.replace(request, variant=gpu.variant)
        return _side(same, workload, devices, [d for d in devices if d.kind == "cpu"]), gpu
    if len(names) != 2:
        raise InputError(f"{len(names)} devices were named", remedy="name two: A,B")
    chosen = [find_device(devices, name) for name in names]
    first = _side(request, workload, devices, [chosen[0]])
    same = request
    if request.variant is None:
        same = msgspec.structs.replace(request, variant=first.variant)
    second = _side(same, workload, devices, [chosen[1]])
    if (first.device, first.variant) == (second.device, second.variant):
        raise InputError(
            f"both are variant '{first.variant}' on {first.device}", remedy="name two devices"
        )
    return first, second


def _gpus(devices: DeviceList) -> list[DeviceInfo]:
    found = [device for device in devices if device.kind == "gpu"]
    if found:
        return found
    missing = next((u for u in devices.unavailable if u.backend == "cuda"), None)
    raise CannotRunHere(
        "there is no GPU here to hold against the CPU"
        if missing is None
        else f"there is no GPU here to hold against the CPU: {missing.reason}",
        remedy=REMEDY,
    )


def _side(
    request: RunRequest,
    workload: Workload,
    devices: DeviceList,
    candidates: Sequence[DeviceInfo],
) -> RunConfig:
    """Return what runs on the first of some devices that can run a variant, the wanted one first.

    Raises the error of the wanted variant where that says more than that it does not run there.
    """
    first_error: ExplorerError | None = None
    wanted = request.variant or workload.manifest.first_variant
    workload.variant(wanted)  # a wrong name is an error of its own
    for variant in dict.fromkeys((wanted, *workload.manifest.variants)):
        for device in candidates:
            asked = msgspec.structs.replace(
                request, variant=variant, device=device.id,
                block=request.block if variant == wanted else None,
                tunables=request.tunables if variant == wanted else {},
                threads=request.threads if device.threads is not None else None,
            )  # fmt: skip
            try:
                config = complete(asked, workload, devices)
            except CannotRunHere as error:
                first_error = first_error or error
                continue
            except InputError as error:
                if variant == wanted:  # such as a precision that nobody knows
                    raise
                first_error = first_error or error
                continue
            if config.device == device.id:
                return config
    ids = ", ".join(device.id for device in candidates) or "any CPU"
    raise CannotRunHere(
        f"no variant of '{workload.name}' runs on {ids}"
        if first_error is None
        else f"no variant of '{workload.name}' runs on {ids}: {first_error.what}",
        remedy=REMEDY,
    )


def side_of(config: RunConfig, devices: DeviceList) -> Side:
    """Return a side as it stands in the document."""
    device = find_device(devices, config.device)
    return Side(
        device=device.id,
        name=device.name,
        kind=device.kind,
        driver=device.driver,
        variant=config.variant,
        precision=config.precision,
        threads=config.threads,
    )
