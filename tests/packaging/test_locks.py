"""The lock files of the engines' kinds: made of pyproject and the constraints, and up to date."""

from __future__ import annotations

import re

import pytest
from builder.locks import constraints, requirements, torch_lines, wheels

from gpuexplorer.environments.kinds import RECIPES, Recipe, lock_file
from gpuexplorer.environments.locked import plain, read_lock
from gpuexplorer.environments.resolve import IndexFile

AGAIN = "run PYTHONPATH=packaging python -m builder.locks"


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_lock_is_of_pyprojects_extras_and_the_constraints(recipe: Recipe) -> None:
    lock = read_lock(lock_file(recipe.name))
    assert lock.requirements == requirements(recipe), AGAIN
    pins = constraints(recipe)
    assert {one.name: one.version for one in lock.packages} == {
        one.name: pins[one.name] for one in lock.packages
    }, AGAIN
    assert lock.index == {p: url for p, (_, url) in torch_lines(recipe).items() if url is not None}
    asked = {plain(re.split(r"[^\w.-]", line)[0]) for line in lock.requirements}
    assert asked <= {plain(one.name) for one in lock.packages}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_every_wheel_has_a_hash_and_a_size(recipe: Recipe) -> None:
    for one in read_lock(lock_file(recipe.name)).packages:
        assert one.wheels, one.name
        for wheel in one.wheels:
            assert re.fullmatch(r"[0-9a-f]{64}", wheel.sha256)
            assert wheel.size_B
            assert plain(wheel.file.partition("-")[0]) == plain(one.name)


def test_only_wheels_for_our_systems_and_pythons_are_kept() -> None:
    def kept(tags: str) -> bool:
        url = f"https://x/apple-1.0-{tags}.whl"
        return bool(wheels([IndexFile(url=url, hashes={"sha256": "0" * 64})]))

    assert kept("py3-none-any")
    assert kept("cp312-cp312-manylinux_2_28_x86_64")
    assert kept("cp38-abi3-win_amd64")
    assert not kept("cp310-cp310-win_amd64")
    assert not kept("cp313-cp313t-win_amd64")
    assert not kept("cp312-cp312-musllinux_1_2_x86_64")
