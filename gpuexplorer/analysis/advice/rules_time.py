"""What the time is spent on besides the kernel: copies, launching."""

from __future__ import annotations

from gpuexplorer.analysis.advice.advice import Advice
from gpuexplorer.analysis.advice.situation import Situation
from gpuexplorer.core.change import Change
from gpuexplorer.core.units import percent, quantity

MOSTLY = 0.5
LAUNCH_S = 3e-6
"""What a launch costs the host at least, on CUDA and on the CPU's OpenCL alike."""
SHORT_S = 20e-6
GROWTH = 64
"""How much more work a larger size may bring to make launches long enough."""


def transfers(situation: Situation) -> Advice | None:
    """Say that copies to and from the device take most of each sample.

    Leaving them out of the samples saves no time, so none is promised.
    """
    phases = situation.phases
    parts = (
        phases.allocate, phases.host_to_device, phases.kernel, phases.device_to_host, phases.free
    )  # fmt: skip
    if not situation.config.include_transfers or phases.kernel is None:
        return None
    total_s = sum(part for part in parts if part is not None)
    copies_s = (phases.host_to_device or 0.0) + (phases.device_to_host or 0.0)
    if total_s <= 0 or copies_s / total_s < MOSTLY:
        return None
    change = Change(include_transfers=False)
    return Advice(
        rule="transfers",
        kind="speed",
        title=f"Copies take {percent(copies_s / total_s)} of each sample",
        evidence="; ".join(
            [
                f"{quantity(copies_s, 's')} of copies to the device and back, for a kernel of "
                f"{quantity(phases.kernel, 's')}",
                "keep data on the device between kernels",
            ]
        ),
        saves=0.0,
        takes=copies_s / total_s,
        section="Copies that dominate",
        change=change if situation.look(change) is not None else None,
    )


def short_launch(situation: Situation) -> Advice | None:
    """Say that a program around this kernel would spend its time launching it.

    A library on the CPU is called, and launches nothing.
    """
    seconds = situation.median_s
    if situation.config.include_transfers or not 0 < seconds < SHORT_S:
        return None
    if situation.library and not situation.is_gpu:
        return None
    evidence = [
        f"{quantity(seconds, 's')} a launch, and starting one costs the host "
        f"{quantity(LAUNCH_S, 's', 1)} or more"
    ]
    share = situation.resolution_s / seconds
    if share > 0.01:
        step = quantity(situation.resolution_s, "s", 2)
        evidence.append(f"the clock's step of {step} is {percent(share)} of it")
    return Advice(
        rule="short-launch",
        kind="speed",
        title="The kernel is about as short as the launch that starts it"
        if seconds <= 2 * LAUNCH_S
        else "Launching takes a good part of so short a kernel",
        evidence="; ".join(evidence),
        saves=min(0.5, LAUNCH_S / (seconds + LAUNCH_S)),
        section="Launches that are too short",
        change=_larger(situation),
    )


def _larger(situation: Situation) -> Change | None:
    """Return a size with enough work for a launch to be worth it; None when there is none."""
    work = situation.launch.flops or situation.launch.compulsory_B
    if not work or not situation.config.size:
        return None
    symbol, size = next(iter(situation.config.size.items()))
    largest = situation.largest_size.get(symbol, size)
    while 2 * size <= largest:
        size *= 2
        change = Change(size={symbol: size})
        launch = situation.look(change)
        if launch is None:
            return None
        growth = (launch.flops or launch.compulsory_B) / work
        if growth * situation.median_s >= 2 * SHORT_S:
            return change if growth <= GROWTH else None
    return None
