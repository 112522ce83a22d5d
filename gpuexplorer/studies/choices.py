"""The switches a configuration could be run with, a value each, and why others are not offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from gpuexplorer.core.axis_words import threads_words
from gpuexplorer.core.config import RunConfig, RunRequest
from gpuexplorer.core.device import DeviceInfo, DeviceList
from gpuexplorer.core.errors import ExplorerError, InputError
from gpuexplorer.core.offer import Offer
from gpuexplorer.core.studies import SwitchValue
from gpuexplorer.engine.cores import usable_cores
from gpuexplorer.studies.kind import Scene
from gpuexplorer.workloads.choose import complete, find_device
from gpuexplorer.workloads.frameworks import framework_of
from gpuexplorer.workloads.planning import make_plan
from gpuexplorer.workloads.strict import suggestion
from gpuexplorer.workloads.switches import SWITCHES, Switch, read_switch
from gpuexplorer.workloads.workload import Workload

THREADS = "threads"
"""The number of CPU threads, which stands among the switches here."""
THREADS_TIP = (
    "The model with so many CPU threads, in an engine of its own beside the window's:\n"
    "starting it takes a few seconds"
)
NO_SWITCH = "none"
"""Asks for no switch at all, so that numbers of CPU threads alone are tried."""


class Choice(msgspec.Struct, frozen=True):
    """One value of one switch, other than the baseline's."""

    switch: str
    value: SwitchValue
    title: str
    config: RunConfig
    """The baseline with this value."""


class Choices(msgspec.Struct, frozen=True):
    """What can be turned, and what cannot."""

    baseline: RunConfig
    offered: tuple[Choice, ...]
    not_offered: dict[str, str] = msgspec.field(default_factory=dict)
    """Titles of switches, or of values of one, with the reason."""


def choices_of(
    request: RunRequest,
    workload: Workload,
    devices: DeviceList,
    names: Sequence[str] | None = None,
    threads: Sequence[int] = (),
) -> Choices:
    """Return every value of every switch of the request's variant on its device.

    ``names`` chooses among them: ``compile``, or ``compile=default``. ``threads`` are numbers of
    CPU threads to try. Raises InputError when there is nothing to turn or a name is not known, and
    what ``complete`` raises.
    """
    baseline = _checked(request, workload, devices)
    device = find_device(devices, baseline.device)
    wanted = _wanted(names)
    model = workload.variant(baseline.variant).model
    found: list[Choice] = []
    refused: dict[str, str] = {}
    for switch in SWITCHES.values():
        of_framework = model is not None and framework_of(model) in switch.frameworks
        if (wanted is None and of_framework) or (wanted is not None and switch.name in wanted):
            only = wanted.get(switch.name) if wanted is not None else None
            _values(switch, only, request, baseline, workload, devices, found, refused)
    for number in threads:
        _threads(number, baseline, device, found, refused)
    if not found:
        why = next(iter(refused.values()), "it is a kernel or a library call")
        raise InputError(
            f"variant '{baseline.variant}' has no switch to turn here: {why}",
            remedy="choose a framework's model, such as --variant torch",
        )
    return Choices(baseline, tuple(found), refused)


def thread_offers(scene: Scene) -> list[Offer]:
    """Return other numbers of CPU threads that a model could be tried with on its processor."""
    device = scene.device
    if device is None or device.threads is None or scene.variant.model is None:
        return []
    cores = usable_cores()
    powers = (1 << k for k in range(cores.bit_length()))
    numbers = sorted({n for n in (*powers, cores - 1, cores) if 1 <= n <= cores} - {device.threads})
    return [Offer(str(n), title_of(THREADS, n), tip=THREADS_TIP) for n in numbers]


def with_switches(config: RunConfig, values: Mapping[str, SwitchValue]) -> RunConfig:
    """Return a configuration with some switches set; what is the default is left out."""
    switches = dict(config.switches)
    changes: dict[str, object] = {}
    for name, value in values.items():
        if name == THREADS:
            changes["threads"] = int(value)
        elif name in SWITCHES and value == SWITCHES[name].default:
            switches.pop(name, None)
        else:
            switches[name] = value
    return msgspec.structs.replace(config, switches=switches, **changes)


def legal(
    config: RunConfig, workload: Workload, devices: DeviceList
) -> tuple[RunConfig | None, str]:
    """Return a configuration as it would be run, or None and why it cannot be."""
    try:
        return make_plan(workload, config, find_device(devices, config.device)).config, ""
    except ExplorerError as error:
        return None, error.what


def title_of(name: str, value: SwitchValue) -> str:
    """Return a switch with its value in words, such as ``torch.compile: default``."""
    if name == THREADS:
        return threads_words(int(value))
    title = SWITCHES[name].title
    if isinstance(value, bool):
        return title if value else f"{title}: off"
    return f"{title}: {value}"


def _checked(request: RunRequest, workload: Workload, devices: DeviceList) -> RunConfig:
    config = complete(request, workload, devices)
    return make_plan(workload, config, find_device(devices, config.device)).config


def _wanted(names: Sequence[str] | None) -> dict[str, list[SwitchValue]] | None:
    """Return the values asked for by switch (none: all of its values); None asks for everything,
    and ``NO_SWITCH`` for nothing."""
    if names is None:
        return None
    if list(names) == [NO_SWITCH]:
        return {}
    wanted: dict[str, list[SwitchValue]] = {}
    for word in names:
        name, equals, value = (part.strip() for part in word.partition("="))
        if name not in SWITCHES:
            raise InputError(f"no switch '{name}'", remedy=suggestion(name, SWITCHES))
        values = wanted.setdefault(name, [])
        if equals:
            values.append(read_switch(name, value))
    return wanted


def _values(
    switch: Switch,
    only: Sequence[SwitchValue] | None,
    request: RunRequest,
    baseline: RunConfig,
    workload: Workload,
    devices: DeviceList,
    found: list[Choice],
    refused: dict[str, str],
) -> None:
    """Take in the values of one switch other than the baseline's."""
    now = baseline.switches.get(switch.name, switch.default)
    reasons: dict[SwitchValue, str] = {}
    for value in dict.fromkeys(only or switch.values):
        if value == now:
            continue
        asked = with_switches(baseline, {switch.name: value})
        try:
            wish = msgspec.structs.replace(request, switches=asked.switches)
            config = _checked(wish, workload, devices)
        except ExplorerError as error:
            reasons[value] = error.what
        else:
            found.append(Choice(switch.name, value, title_of(switch.name, value), config))
    if not reasons:
        return
    if not any(choice.switch == switch.name for choice in found):  # one reason for the whole
        refused[switch.title] = next(iter(reasons.values()))
        return
    for value, reason in reasons.items():
        refused[title_of(switch.name, value)] = reason


def _threads(
    number: int,
    baseline: RunConfig,
    device: DeviceInfo,
    found: list[Choice],
    refused: dict[str, str],
) -> None:
    title = title_of(THREADS, number)
    if device.threads is None:
        refused[title] = f"{device.id} is no CPU"
    elif number != baseline.threads:
        config = msgspec.structs.replace(baseline, threads=number)
        found.append(Choice(THREADS, number, title, config))
