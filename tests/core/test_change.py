"""A change in words and as options."""

from __future__ import annotations

import shlex

from gpuexplorer.cli.parser import parse
from gpuexplorer.core.change import Change


def test_a_change_is_told_in_a_few_words() -> None:
    change = Change(variant="tiled", block=(32, 8, 1), tunables={"TILE": 32}, cache="cold")
    assert change.words == "variant tiled, block 32×8, TILE = 32, cold cache"
    assert Change(threads=1).words == "1 CPU thread"
    assert Change(include_transfers=False).words == "the kernel alone"


def test_its_options_are_those_of_the_command_line() -> None:
    change = Change(
        variant="tiled", block=(8, 4, 2), size={"N": 64}, precision="fp64",
        tunables={"TILE": 32}, cache="cold", include_transfers=True, threads=3,
    )  # fmt: skip
    options = parse(["run", "matmul", *shlex.split(change.options)])
    assert (options.variant, options.block, options.size) == ("tiled", (8, 4, 2), {"N": 64})
    assert (options.precision, options.cache, options.threads) == ("fp64", "cold", 3)
    assert dict(options.set) == {"TILE": 32} and options.include_transfers
