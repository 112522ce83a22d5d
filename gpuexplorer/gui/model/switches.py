"""The switches of a model as the panel offers them: what each may be, and why not otherwise."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gpuexplorer.core.device import DeviceInfo
from gpuexplorer.core.errors import ExplorerError
from gpuexplorer.core.knobs import TRANSFERS, switch_value
from gpuexplorer.workloads.manifest import VariantSpec
from gpuexplorer.workloads.switches import SWITCHES, Switch, Value, check, of_model

Switches = Mapping[str, Value]


class SwitchChoice(msgspec.Struct, frozen=True):
    """One value of a switch; ``reason`` says why it cannot be chosen."""

    value: Value
    words: str
    reason: str | None = None


class SwitchOffer(msgspec.Struct, frozen=True):
    """One switch as it stands."""

    switch: Switch
    value: Value
    choices: tuple[SwitchChoice, ...]

    @property
    def name(self) -> str:
        """The switch's name."""
        return self.switch.name

    @property
    def is_flag(self) -> bool:
        """Whether it is on or off."""
        return isinstance(self.switch.default, bool)

    @property
    def reason(self) -> str | None:
        """Why it stays as it is; None when there is anything to choose."""
        others = [c.reason for c in self.choices if c.value != self.switch.default]
        if self.value != self.switch.default or not others or None in others:
            return None
        return others[0]

    @property
    def tip(self) -> str:
        """What it teaches, and why it cannot be chosen."""
        parts = [self.switch.teaches, self.reason and f"Not here: {self.reason}."]
        return "\n".join(part for part in parts if part)


def switch_offers(
    variant: VariantSpec,
    name: str,
    device: DeviceInfo | None,
    switches: Switches,
    *,
    include_transfers: bool,
) -> list[SwitchOffer]:
    """Return the switches of a variant of that name, given how the others stand.

    Without a device nothing is refused; a kernel or library call has no switches.
    """
    if variant.model is None:
        return []
    offers = []
    for switch in of_model(variant.model):
        others: dict[str, Value] = {n: v for n, v in switches.items() if n != switch.name}
        others[TRANSFERS] = include_transfers
        choices = tuple(
            SwitchChoice(
                value, switch_value(value), _why_not(variant, name, device, switch, value, others)
            )
            for value in switch.values
        )
        offers.append(SwitchOffer(switch, switches.get(switch.name, switch.default), choices))
    return offers


def _why_not(
    variant: VariantSpec,
    name: str,
    device: DeviceInfo | None,
    switch: Switch,
    value: Value,
    others: Switches,
) -> str | None:
    if device is None or value == switch.default:
        return None
    if switch.with_transfers and device.kind in switch.kinds and not others[TRANSFERS]:
        return "it changes the copies, which are timed with 'Include transfers' only"
    try:
        check(variant, name, device, {**others, switch.name: value})
    except ExplorerError as error:
        return error.what
    return None


def own_switches(switches: Mapping[str, object], variant: VariantSpec) -> dict[str, Value]:
    """Return the switches of a configuration that are a variant's own and not at their default."""
    own = {s.name: s for s in of_model(variant.model)} if variant.model is not None else {}
    return {
        name: value
        for name, value in switches.items()
        if name in own
        and isinstance(value, (bool, str))
        and value in own[name].values
        and value != own[name].default
    }


def without_copies(switches: Switches) -> dict[str, Value]:
    """Return the switches that do not need the transfers to be timed."""
    return {n: v for n, v in switches.items() if n in SWITCHES and not SWITCHES[n].with_transfers}
