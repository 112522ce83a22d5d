"""A run as its command line and as a Python script, so that anybody can repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from gpuexplorer.core.change import switch_value
from gpuexplorer.core.config import EVEN_IF_WRONG, OWN_FILL, RunConfig

NOT_SWITCHES = ("include_transfers", EVEN_IF_WRONG)
"""Entries of ``RunConfig.switches`` that are no switch of a model."""


def command_line(
    config: RunConfig,
    kernels: Sequence[Path] = (),
    *,
    seconds: float | None = None,
    engine: str | None = None,
) -> str:
    """Return the ``gpuexplorer run`` command that gives this configuration, quoted for a shell.

    What makes the experiment is always spelled out, so that another version's defaults cannot
    change it; the rest is named only where it differs from its default. ``engine`` is the word for
    the engine that measures, None for the built-in one.
    """
    words = ["gpuexplorer", "run", config.workload, "--variant", config.variant]
    words += ["--size", ",".join(f"{symbol}={value}" for symbol, value in config.size.items())]
    if config.block is not None:
        words += ["--block", "x".join(map(str, short_block(config.block)))]
    words += ["--precision", config.precision, "--device", config.device]
    for name, value in config.tunables.items():
        words += ["--set", f"{name}={value}"]
    if config.cache != "hot":
        words += ["--cache", config.cache]
    if config.fill != OWN_FILL:
        words += ["--fill", config.fill]
    if config.seed != 1:
        words += ["--seed", str(config.seed)]
    if config.threads is not None:
        words += ["--threads", str(config.threads)]
    for name, chosen in switches_of(config).items():
        words += ["--switch", f"{name}={switch_value(chosen)}"]
    if config.include_transfers:
        words.append("--include-transfers")
    if seconds is not None:
        words += ["--seconds", f"{seconds:g}"]
    for folder in kernels:
        words += ["--kernels", str(folder)]
    if engine is not None:
        words += ["--python", engine]
    return shlex.join(words)


def python_script(
    config: RunConfig,
    kernels: Sequence[Path] = (),
    *,
    seconds: float | None = None,
    engine: str | None = None,
) -> str:
    """Return a short Python script that runs this configuration and prints its figures.

    ``engine`` is as for ``command_line``.
    """
    arguments: dict[str, object] = {
        "variant": config.variant,
        "size": config.size,
    }
    if config.block is not None:
        arguments["block"] = short_block(config.block)
    arguments |= {"precision": config.precision, "device": config.device}
    if config.tunables:
        arguments["tunables"] = config.tunables
    if config.cache != "hot":
        arguments["cache"] = config.cache
    if config.fill != OWN_FILL:
        arguments["fill"] = config.fill
    if config.seed != 1:
        arguments["seed"] = config.seed
    if config.threads is not None:
        arguments["threads"] = config.threads
    if switches_of(config):
        arguments["switches"] = switches_of(config)
    if config.include_transfers:
        arguments["include_transfers"] = True
    if seconds is not None:
        arguments["seconds"] = seconds
    if kernels:
        arguments["kernels"] = [str(folder) for folder in kernels]
    if engine is not None:
        arguments["python"] = engine
    lines = "".join(f"    {name}={value!r},\n" for name, value in arguments.items())
    return (
        "import gpuexplorer\n"
        "\n"
        "result = gpuexplorer.run(\n"
        f"    {config.workload!r},\n"
        f"{lines}"
        ")\n"
        "timing = result.timing\n"
        'print(f"median {timing.median_s * 1e6:.3f} µs of {timing.samples} launches")\n'
    )


def switches_of(config: RunConfig) -> dict[str, bool | int | float | str]:
    """Return what ``--switch`` sets of a configuration, where it differs from its default."""
    return {name: value for name, value in config.switches.items() if name not in NOT_SWITCHES}


def short_block(block: tuple[int, ...]) -> tuple[int, ...]:
    """Return a block without the ones at its end, but with two dimensions at least."""
    x, y, z = (*block, 1, 1)[:3]
    return (x, y) if z == 1 else (x, y, z)
