"""A switch is an axis: each variant takes those that it has, and wrong ones are refused."""

from __future__ import annotations

from typing import Any

import pytest

from gpuexplorer.core.axis_words import named_value
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.device import DeviceList
from gpuexplorer.core.errors import InputError
from gpuexplorer.search.space import Axis, Point, Space
from gpuexplorer.workloads.loader import load
from tests.support.problems import device, model_device

MLP = load()["mlp"]
DEVICES = DeviceList(devices=(device("opencl:0"), model_device("torch"), model_device("jax")))


def points(*axes: tuple[str, tuple[Any, ...]], **base: Any) -> list[Point]:
    request = RunRequest(**{"workload": "mlp", "device": "cpu", **base})
    return Space(request, tuple(Axis(*axis) for axis in axes)).points(MLP, DEVICES)


def test_the_values_of_a_switch_are_configurations() -> None:
    found = points(("size.B", (1, 8)), ("switch.compile", ("off", "default")))
    assert [p.config.switches for p in found if p.config] == [
        {}, {"compile": "default"}, {}, {"compile": "default"},
    ]  # fmt: skip
    assert found[1].words == "B = 1 · compile = default"


def test_a_value_that_the_device_lacks_is_skipped_with_the_reason() -> None:
    found = points(("switch.compile", ("off", "reduce-overhead")))
    assert found[0].config is not None and found[1].config is None
    assert "on a GPU only" in str(found[1].skipped)


def test_a_variant_without_the_switch_is_measured_once() -> None:
    found = points(("variant", ("torch", "jax")), ("switch.in_place", (False, True)))
    assert [p.config is not None for p in found] == [True, True, True, False]
    assert "does not depend on in place" in str(found[3].skipped)
    assert found[1].words == "variant torch · in place = on"


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (("switch.complie", ("off",)), "no variant of this sweep has a switch 'complie'; did you"),
        (("switch.jit", (True,)), "no variant of this sweep has a switch 'jit'"),
        (("switch.compile", ("fast",)), "switch 'compile' cannot be 'fast'"),
        (("switch.in_place", ("on",)), "switch 'in_place' cannot be 'on'; use False, True"),
        (("switch.", (True,)), "is no axis of a sweep"),
    ],
)
def test_what_is_no_switch_is_refused(axis: tuple[str, tuple[Any, ...]], said: str) -> None:
    with pytest.raises(InputError) as caught:
        points(axis)
    assert said in str(caught.value)


def test_a_value_by_itself_says_whose_it_is_where_it_must() -> None:
    assert named_value("switch.in_place", True) == "in place = on"
    assert named_value("size.B", 8) == "B = 8"
    assert named_value("precision", "bf16") == "bf16"
