"""A fingerprint tells what two times depend on beyond their configuration."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpuexplorer.core.result import RunResult
from gpuexplorer.history.fingerprint import differences, fingerprint_of
from tests.support.results import made_result


def changed(**changes: Any) -> RunResult:
    """Return a run with other fields of its device or environment."""
    run = made_result(40)
    of_device = {k: v for k, v in changes.items() if k in run.device.__struct_fields__}
    of_environment = {k: v for k, v in changes.items() if k in run.environment.__struct_fields__}
    return msgspec.structs.replace(
        run,
        device=msgspec.structs.replace(run.device, **of_device),
        environment=msgspec.structs.replace(run.environment, **of_environment),
    )


def test_runs_of_one_installation_differ_in_nothing() -> None:
    slower = made_result(40, 1.0, block=(32, 8, 1), size={"N": 64}, precision="fp64")
    assert differences(made_result(40), slower) == []
    assert fingerprint_of(made_result(40)).digest == fingerprint_of(slower).digest


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"driver": "OpenCL 3.1"}, "The driver differs: OpenCL 3.0 (1.2.3) and OpenCL 3.1."),
        (
            {"hardware_id": "GPU-1", "name": "Example GPU"},
            "The device differs: Example CPU and Example GPU.",
        ),
        ({"hardware_id": "GPU-1"}, "The device differs: two of Example CPU."),
        ({"python": "3.12.1"}, "Python differs: 3.11.2 and 3.12.1."),
        ({"gpuexplorer": "0.2.0"}, "GPU Explorer differs: 0.1.0 and 0.2.0."),
        ({"torch": "2.13.0"}, "torch differs: none and 2.13.0."),
        ({"cuda": "13.0"}, "The CUDA compiler is known for only one of them: 13.0."),
        (
            {"source_sha256": "ab" * 32},
            "The kernel source is known for only one of them: abababababab.",
        ),
    ],
)  # fmt: skip
def test_each_difference_is_a_sentence(changes: dict[str, str], said: str) -> None:
    assert differences(made_result(40), changed(**changes)) == [said]
    assert len(differences(changed(**changes), made_result(40))) == 1
    assert fingerprint_of(made_result(40)).digest != fingerprint_of(changed(**changes)).digest


def test_processors_of_one_model_differ_where_both_say_in_which_machine_they_are() -> None:
    old, here, there = (
        changed(hardware_id=f"cpu:Example{mark}") for mark in ("", " #0123abcd", " #00c0ffee")
    )
    assert differences(here, there) == ["The device differs: two of Example CPU."]
    assert differences(old, here) == differences(there, old) == []


def test_of_two_frameworks_only_what_they_share_is_told() -> None:
    torch = changed(backend="torch", driver="PyTorch 2.13.0", torch="2.13.0", numpy="2.4")
    keras = changed(backend="keras", driver="Keras 3", keras="3 on jax", jax="0.10", numpy="2.4")
    assert differences(torch, keras) == []
    newer = changed(backend="keras", driver="Keras 3", keras="3 on jax", numpy="99.0")
    assert [words.split()[0] for words in differences(torch, newer)] == ["numpy"]
    assert len(differences(keras, newer)) == 2  # of one framework everything is told


def test_what_two_backends_have_for_themselves_is_no_difference() -> None:
    kernel = changed(driver="OpenCL 3", pyopencl="2026.1", cuda="13.0", numpy="2.4")
    library = changed(backend="numpy", driver="NumPy 2.4", numpy="2.4")
    assert differences(kernel, library) == differences(library, kernel) == []
    older = changed(backend="numpy", driver="NumPy 2.3", numpy="2.3")
    assert differences(kernel, older) == ["numpy differs: 2.4 and 2.3."]
    newer = changed(driver="OpenCL 3.1", pyopencl="2026.1", cuda="13.0", numpy="2.4")
    assert [words.split()[1] for words in differences(kernel, newer)] == ["driver"]


def test_an_edited_kernel_is_told_and_another_workload_is_not() -> None:
    before, after = changed(source_sha256="a" * 64), changed(source_sha256="b" * 64)
    assert differences(before, after) == [
        "The kernel source differs: aaaaaaaaaaaa and bbbbbbbbbbbb."
    ]
    other = msgspec.structs.replace(
        after, config=msgspec.structs.replace(after.config, workload="copy")
    )
    assert differences(before, other) == []


def test_the_place_of_a_device_in_a_list_is_no_difference() -> None:
    assert differences(made_result(40), changed(id="opencl:1")) == []
