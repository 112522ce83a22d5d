"""``gpuexplorer run --tuned``: the block and tunables that an earlier tuning found."""

from __future__ import annotations

import argparse

from gpuexplorer.charts.words import knob_words
from gpuexplorer.cli.messages import say
from gpuexplorer.core.config import RunConfig
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.core.units import quantity
from gpuexplorer.workloads.choose import find_device
from gpuexplorer.workloads.workload import Workload


def check_tuned(options: argparse.Namespace) -> None:
    """Raise InputError when the block or a tunable is given as well."""
    for given, name in ((options.block is not None, "--block"), (bool(options.set), "--set")):
        if given:
            raise InputError(
                f"--tuned chooses the block and the tunables, and {name} is given as well",
                remedy=f"leave one of the two out, --tuned or {name}",
            )


def tuned_config(config: RunConfig, workload: Workload, devices: DeviceList) -> RunConfig:
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
        raise not_tuned(config, device)
    say(
        f"gpuexplorer: tuned on {entry.time_utc[:10]}: {knob_words(entry.config)}, "
        f"{quantity(entry.median_s, 's')} then"
    )
    if other := other_conditions(config, entry):
        say(f"gpuexplorer: it was tuned with {', '.join(other)}; another one may be faster here")
    return with_tuned(config, entry)
