"""Architectures by the compiler's name and by the GPUs people know."""

from __future__ import annotations

import pytest

from gpuexplorer.analysis.architectures import (
    ARCHITECTURES,
    chosen_architectures,
    device_of,
    exact_architecture,
    gpu_words,
    limits_of,
)
from gpuexplorer.analysis.occupancy import LIMITS
from gpuexplorer.core.errors import InputError


def test_every_architecture_has_limits_and_gpus() -> None:
    assert list(ARCHITECTURES) == [
        "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
    ]  # fmt: skip
    for name, architecture in ARCHITECTURES.items():
        assert limits_of(name) is not None
        assert architecture.gpus
        assert name in architecture.title


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["sm_90"], ["sm_90"]),
        (["H100", "h200", "sm90"], ["sm_90"]),
        (["RTX 4090", "4090", "rtx-4090"], ["sm_89"]),
        (["sm_90a", "A100"], ["sm_90a", "sm_80"]),
        (["sm_110"], ["sm_110"]),
        (["ALL"], list(ARCHITECTURES)),
        (["sm_120", "all"], ["sm_120", *(n for n in ARCHITECTURES if n != "sm_120")]),
        ([], list(ARCHITECTURES)),
    ],
)
def test_names(wanted: list[str], names: list[str]) -> None:
    assert chosen_architectures(wanted) == names


@pytest.mark.parametrize("unknown", ["", "K80", "sm_", "sm_9", "sm_9000", "native", "4091"])
def test_an_unknown_name_is_refused(unknown: str) -> None:
    with pytest.raises(InputError, match="no architecture"):
        chosen_architectures([unknown])


def test_the_stand_in_for_a_gpu_has_its_limits() -> None:
    for name in ARCHITECTURES:
        device = device_of(name)
        capability = device.compute_capability
        assert capability is not None
        assert device.limits.max_shared_B == LIMITS[capability].shared_per_block_B
        assert device.has(name) and device.runs_kernels
    assert device_of("sm_90a").has("sm_90a")
    assert device_of("sm_90a").has("sm_80")
    assert not device_of("sm_90").has("sm_90a")
    assert limits_of("sm_110") is None
    assert gpu_words("sm_90a") == "H100, H200"
    assert gpu_words("sm_110") == ""


def test_a_variant_for_one_chip_asks_for_that_chip() -> None:
    assert exact_architecture("sm_90", ["cuda", "sm_90a"]) == "sm_90a"
    assert exact_architecture("sm_100", ["sm_90a"]) == "sm_100"
