"""``gpuexplorer run --tuned``: the block and tunables that an earlier tuning found."""

from __future__ import annotations

import argparse

import msgspec

from gpuexplorer.charts.words import knob_words
from gpuexplorer.cli.messages import say
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import quantity
from gpuexplorer.history.place import shown
from gpuexplorer.reproduce import tuning_command
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.loader import own_root
from gpuexplorer.workloads.workload import Workload


def check_tuned(options: argparse.Namespace) -> None:
    """Raise InputError when the block or a tunable is given as well."""
    for given, name in ((options.block is not None, "--block"), (bool(options.set), "--set")):
        if given:
            raise InputError(
                f"--tuned chooses the block and the tunables, and {name} is given as well",
                remedy=f"leave one of the two out, --tuned or {name}",
            )


def tuning_line(
    command: str, config: RunConfig, workload: Workload, options: argparse.Namespace
) -> str:
    """Return the command that tunes a configuration's problem, or runs what was found, as asked."""
    root = own_root(workload)
    asked = msgspec.structs.replace(config, threads=options.threads)
    return tuning_command(
        command,
        asked,
        [root] if root is not None else [],
        engine=options.python,
        history=None if options.history is None else shown(options.history),
    )


def tuned_config(
    config: RunConfig, workload: Workload, devices: DeviceList, options: argparse.Namespace
) -> RunConfig:
    """Return a configuration with what was tuned for its problem, and say what that is.

    Raises InputError with the command that tunes when there is nothing, and the store's errors.
    """
    from gpuexplorer.history.store import Store
    from gpuexplorer.search.tune_keep import find_tuned, not_tuned, other_conditions, with_tuned

    device = find_device(devices, config.device)
    if workload.variant(config.variant).call is not None:
        raise InputError(
            f"variant '{config.variant}' is no kernel of its own: there is nothing to tune",
            remedy="leave --tuned out",
        )
    with Store.open_to_read() as store:
        entry = find_tuned(store, config, workload, device)
    if entry is None:
        raise not_tuned(config, device, tuning_line("tune", config, workload, options))
    say(
        f"gpuexplorer: tuned on {entry.time_utc[:10]}: {knob_words(entry.config)}, "
        f"{quantity(entry.median_s, 's')} then"
    )
    if other := other_conditions(config, entry):
        say(f"gpuexplorer: it was tuned with {', '.join(other)}; another one may be faster here")
    return with_tuned(config, entry)
