"""The options of a request's knobs: how each is shown and read, and the request that they make."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, get_args

from gpuexplorer.cli import values
from gpuexplorer.core import knobs
from gpuexplorer.core.config import Cache, RunRequest
from gpuexplorer.core.knobs import BY_AXIS, TRANSFERS, Knob
from gpuexplorer.workloads.manifest import FILLS

Group = argparse._ActionsContainer

SHOWN: dict[str, tuple[str | None, str]] = {
    "variant": ("V", "which implementation (default: the first)"),
    "size": ("N|N=..,M=..", "problem size, by symbol"),
    "block": ("XxY[xZ]", "threads per block, such as 16x16"),
    "precision": (
        "P",
        "fp64, fp32, bf16 or fp16; of a framework's model also tf32, fp8_e4m3, int8, "
        "autocast_bf16 or autocast_fp16",
    ),
    "device": ("D", "an id from 'gpuexplorer devices', or cuda, cpu, auto (default)"),
    "tunable": ("TUNABLE=VALUE", "a compile-time parameter of the variant; may repeat"),
    "switch": (
        "NAME=VALUE",
        "how a framework runs its model, such as compile=default or cuda_graph (on); may "
        "repeat, and 'gpuexplorer workloads NAME' lists them",
    ),
    "fill": ("F", f"inputs: {', '.join(FILLS)} (default: as the workload's manifest says)"),
    "seed": ("S", "of the inputs (default: 1)"),
    TRANSFERS: (None, "each sample runs the whole textbook program, host to device and back"),
    "cache": (
        None,
        "hot: launch after launch on the same arrays (default); cold: the last-level cache is "
        "emptied before each launch",
    ),
    "threads": ("T", "CPU threads a kernel may use (default: all cores but one)"),
}
"""The metavar and the help of each knob's option, where it takes one value."""
PROBLEM = ("variant", "size", "block", "precision", "device", "tunable", "switch", "fill", "seed",
           TRANSFERS)  # fmt: skip
"""The knobs that say which configuration of a workload is meant."""
READERS: dict[str, Callable[[str], Any]] = {
    "size": values.size,
    "block": values.block,
    "tunable": values.setting,
    "switch": values.switch,
}


def add_knobs(group: Group, *axes: str) -> None:
    """Add the options of some knobs, each with one value."""
    for axis in axes:
        add_knob(group, axis)


def add_knob(group: Group, axis: str, help: str | None = None, metavar: str | None = None) -> None:
    """Add the option of a knob with one value; help and metavar may be the command's own."""
    knob = BY_AXIS[axis]
    shown = SHOWN[axis]
    how: dict[str, Any] = {"help": help or shown[1], "default": knob.default}
    if axis == TRANSFERS:
        how |= {"action": "store_true"}
    elif axis == "cache":
        how |= {"choices": get_args(Cache)}
    else:
        how |= {"metavar": metavar or shown[0], "type": READERS.get(axis) or _reader(knob)}
    if axis == "size":
        how |= {"default": {}}
    elif knob.named:
        how |= {"default": [], "action": values.GatherSettings}
    group.add_argument(knob.option, **how)


def _reader(knob: Knob) -> Callable[[str], Any]:
    return str if knob.within is None else values.option(knob.within.read)


def add_several(
    group: Group, axis: str, metavar: str, help: str, names: Sequence[str] = ()
) -> None:
    """Add the option of a knob that takes several values, under its own name or under others."""
    knob = BY_AXIS[axis]
    how: dict[str, Any] = {"default": (), "type": values.several(knob)}
    if axis == "size":
        how = {"default": {}, "action": values.GatherSizes}
    elif knob.named:
        how = {"default": [], "type": values.several_by_name(knob), "action": values.GatherSettings}
    how |= {"dest": axis.replace(".", "_"), "metavar": metavar, "help": help}
    group.add_argument(*(names or (knob.option,)), **how)


def leave_open(parser: argparse.ArgumentParser, *axes: str) -> None:
    """Have the options of some knobs tell a default that is said from one that is not."""
    parser.set_defaults(**{_name_of(BY_AXIS[a]): None for a in axes if not BY_AXIS[a].named})


def said_knobs(options: argparse.Namespace) -> list[Knob]:
    """Return the knobs whose options were given, after ``leave_open``."""
    knobs = [BY_AXIS[axis] for axis in SHOWN]
    return [knob for knob in knobs if getattr(options, _name_of(knob), None) not in (None, [], {})]


def _name_of(knob: Knob) -> str:
    return knob.option[2:].replace("-", "_")


def request_of(options: argparse.Namespace, workload: str | None = None) -> RunRequest:
    """Return what the options ask for; what a command has no option for is left open."""
    given: dict[str, Any] = {}
    for axis in SHOWN:
        knob = BY_AXIS[axis]
        value = getattr(options, _name_of(knob), None)
        if knob.named:
            given[knob.field] = dict(value or {})
        else:
            given[knob.field] = knob.default if value is None else value
    return knobs.request_of(options.workload if workload is None else workload, **given)
