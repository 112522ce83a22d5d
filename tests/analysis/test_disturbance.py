"""Who else kept a processor busy, in words."""

from __future__ import annotations

import pytest

from gpuexplorer.analysis.disturbance import cores_of, disturbance, shared_words
from gpuexplorer.core.sample import DeviceUser, Reading
from tests.telemetry.stand_ins import gpu


@pytest.mark.parametrize(
    ("other_cores", "stolen", "words"),
    [
        (None, None, ""),
        (0.1, 0.01, ""),
        (1.34, 0.0, "other programs keep this CPU busy (1.3 of 2 cores)"),
        (0.0, 0.12, "its host gave 12 % of its time to others"),
        (
            1.0, 0.2,
            "other programs keep this CPU busy (1.0 of 2 cores) and its host gave 20 % of its "
            "time to others",
        ),
    ],
)  # fmt: skip
def test_only_what_disturbs_is_said(
    other_cores: float | None, stolen: float | None, words: str
) -> None:
    assert disturbance(other_cores, stolen, 2) == words


def test_without_a_number_of_cores_there_is_none_in_the_words() -> None:
    assert cores_of("opencl", 8) == 8
    assert cores_of("torch", 1) is None, "which are its threads"
    one = "other programs keep this CPU busy (0.5 of 1 core)"
    assert disturbance(0.5, None, 1) == one
    assert disturbance(1.0, None, None) == "other programs keep this CPU busy (1.0 cores)"


def test_programs_on_a_gpu_are_named_with_what_they_take() -> None:
    busy = DeviceUser(pid=1, program="python", user="anna", memory_B=3.0 * 2**30, load=0.45)
    idle = DeviceUser(pid=2, program="jupyter", load=0.0)
    reading = Reading(t_ns=1, source="nvml", users=(busy, idle))
    device = gpu()
    assert shared_words(reading, device) == (
        "python of user anna (3.22 GB, 45 % busy) and jupyter (idle) use this GPU"
    )
    assert shared_words(reading, device, working=True, named=False) == (
        "python (3.22 GB, 45 % busy) uses this GPU"
    )
    assert shared_words(Reading(t_ns=1, source="nvml", users=()), device) == ""
