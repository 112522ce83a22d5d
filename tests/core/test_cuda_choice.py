"""Which of CUDA's libraries a machine gets: every system, Python, driver and GPU there may be."""

from __future__ import annotations

import itertools

import pytest

from gpuexplorer.core.cuda_choice import Choice, Here, choose, fit, plain_machine, without_cupti
from gpuexplorer.core.cuda_driver import Driver, Gpu, cuda_of

CAPABILITIES = ((6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
INTEL = """
535   12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  570  570
550   12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  570  570
570   12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  12   12
575   12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  12+torch  12   12
580   12+torch  12+torch  13+torch  13+torch  13+torch  13+torch  13+torch  13+torch  13+torch
590   12+torch  12+torch  13+torch  13+torch  13+torch  13+torch  13+torch  13+torch  13+torch
"""
"""By driver and capability: CUDA's major and whether PyTorch's build for it comes along, or the
driver that is asked for. That 590 drives Pascal and Volta no more does not show here: such a GPU
is not listed then, and one that is listed runs."""
ARM = """
535   12   12   12   12+torch  12+torch  12+torch  12+torch  570  570
550   12   12   12   12+torch  12+torch  12+torch  12+torch  570  570
570   12   12   12   12+torch  12+torch  12+torch  12+torch  12   12
575   12   12   12   12+torch  12+torch  12+torch  12+torch  12   12
580   12   12   13   13+torch  13+torch  13+torch  13+torch  13+torch  13+torch
590   12   12   13   13+torch  13+torch  13+torch  13+torch  13+torch  13+torch
"""
"""PyTorch's builds for aarch64 have kernels from 8.0 on."""
TABLES = {
    ("linux", "x86_64"): INTEL,
    ("linux", "aarch64"): ARM,
    ("win32", "x86_64"): INTEL,
}
OTHERS = (("darwin", "aarch64"), ("darwin", "x86_64"), ("win32", "aarch64"), ("linux", "ppc64le"))


def rows(table: str) -> dict[str, list[str]]:
    return {row[0]: row[1:] for row in map(str.split, table.strip().splitlines())}


def machine(
    branch: str | None, *capabilities: tuple[int, int] | None, system: str = "linux",
    processor: str = "x86_64", python: tuple[int, int] | None = (3, 12),
) -> Here:  # fmt: skip
    """Return a machine with GPUs of some capabilities under a branch of the driver."""
    if branch is None:
        return Here(system, processor, None, python)
    cuda = cuda_of(f"{branch}.1")
    assert cuda is not None
    gpus = tuple(Gpu(f"GPU {number}", has) for number, has in enumerate(capabilities))
    return Here(system, processor, Driver(cuda, gpus, f"{branch}.1"), python)


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: f"py{python[0]}{python[1]}")
@pytest.mark.parametrize(("system", "processor"), TABLES)
def test_every_driver_and_gpu_gets_libraries_that_run_on_it_or_is_told_what_does(
    system: str, processor: str, python: tuple[int, int]
) -> None:
    table = rows(TABLES[system, processor])
    assert list(table) == ["535", "550", "570", "575", "580", "590"]
    for branch, cells in table.items():
        for capability, cell in zip(CAPABILITIES, cells, strict=True):
            here = machine(branch, capability, system=system, processor=processor, python=python)
            choice = choose(here)
            if cell == "570":
                assert choice.cuda is None
                assert f"(compute capability {capability[0]}.0) needs an NVIDIA driver 570" in (
                    choice.remark
                )
                continue
            cuda, _, torch = cell.partition("+")
            assert (choice.cuda, choice.torch) == (int(cuda), bool(torch)), (branch, capability)
            assert bool(choice.remark) == (not torch), "what is left out is said, and nothing else"


@pytest.mark.parametrize("python", PYTHONS)
def test_without_a_driver_none_is_installed_and_the_driver_is_asked_for(
    python: tuple[int, int],
) -> None:
    for system, processor in TABLES:
        choice = choose(machine(None, system=system, processor=processor, python=python))
        assert (choice.cuda, choice.torch) == (None, False)
        assert choice.remark == (
            "CUDA 12 needs an NVIDIA driver 525 or newer, and there is no NVIDIA driver with a GPU "
            "here"
        )


@pytest.mark.parametrize(("system", "processor"), OTHERS)
def test_where_nvidia_has_no_wheels_none_is_installed(system: str, processor: str) -> None:
    for branch, capability, python in itertools.product(
        (None, "535", "590"), CAPABILITIES, PYTHONS
    ):
        here = machine(branch, capability, system=system, processor=processor, python=python)
        choice = choose(here)
        assert choice.cuda is None
        assert choice.remark.startswith("there are no wheels of CUDA's libraries for ")


def test_a_python_without_wheels_is_told_which_have_some() -> None:
    said = choose(machine("580", (9, 0), python=(3, 15))).remark
    assert said == (
        "there are no wheels of CUDA's libraries for Python 3.15: take one from 3.11 to 3.14"
    )
    assert choose(machine("580", (9, 0), python=None)).cuda == 13


def test_blackwell_before_driver_580_goes_without_torch_and_is_told_what_brings_it() -> None:
    choice = choose(machine("575", (12, 0)))
    assert (choice.cuda, choice.torch) == (12, False)
    assert choice.remark == (
        "PyTorch's build for CUDA 12 has no kernels for GPU 0 (compute capability 12.0); an NVIDIA "
        "driver 580 or newer brings one that has"
    )


def test_a_driver_too_old_for_cuda_12_is_said() -> None:
    driver = Driver((11, 8), (Gpu("Tesla K80", (3, 7)),))
    assert choose(Here("linux", "x86_64", driver)).remark == (
        "CUDA 12 needs an NVIDIA driver 525 or newer, and this one runs CUDA 11.8"
    )


@pytest.mark.parametrize(
    ("branch", "capabilities", "cuda", "torch"),
    [
        ("580", ((7, 5), (12, 0)), 13, True),
        ("580", ((7, 0), (7, 5)), 12, True),
        ("580", ((6, 1), (9, 0)), 12, True),
        ("580", ((7, 0), (12, 0)), 12, False),
        ("570", ((8, 9), (12, 0)), 12, False),
    ],
)
def test_of_several_gpus_all_are_served(
    branch: str, capabilities: tuple[tuple[int, int], ...], cuda: int, torch: bool
) -> None:
    choice = choose(machine(branch, *capabilities))
    assert (choice.cuda, choice.torch) == (cuda, torch)
    assert "left out" not in choice.remark
    assert ("PyTorch" in choice.remark) == (not torch)


def test_a_gpu_that_cannot_be_served_beside_others_is_named() -> None:
    choice = choose(machine("580", (3, 7), (7, 0), (7, 0)))
    assert (choice.cuda, choice.torch) == (12, True)
    assert choice.remark == (
        "CUDA 12 begins at compute capability 5.0, and GPU 0 has 3.7: it is left out"
    )
    found = fit(13, False, machine("580", (7, 0), (7, 5)))
    assert not found.trouble
    assert found.remark == (
        "CUDA 13 begins at compute capability 7.5, and GPU 0 has 7.0: it is left out"
    )


def test_gpus_whose_capability_nobody_tells_go_by_their_driver() -> None:
    assert choose(machine("570", None)) == Choice(12, True, "")
    assert choose(machine("580", None)) == Choice(13, True, "")


@pytest.mark.parametrize(
    ("capability", "torch"),
    [((8, 7), True), ((10, 3), True), ((12, 1), True), ((5, 2), False), ((13, 0), False)],
)
def test_a_gpu_runs_what_is_built_for_an_earlier_one_of_its_generation(
    capability: tuple[int, int], torch: bool
) -> None:
    assert bool(fit(13, True, machine("590", capability)).trouble) == (not torch)


def test_a_kind_of_no_use_says_why() -> None:
    def trouble(cuda: int, torch: bool, here: Here) -> str:
        return fit(cuda, torch, here).trouble

    assert trouble(13, False, machine("550", (8, 0))) == (
        "CUDA 13 needs an NVIDIA driver 580 or newer, and this one runs CUDA 12.4"
    )
    assert trouble(13, True, machine("580", (6, 1))) == (
        "CUDA 13 begins at compute capability 7.5, and GPU 0 has 6.1"
    )
    assert "an NVIDIA driver 580 or newer brings" in trouble(12, True, machine("570", (10, 0)))
    assert trouble(12, False, machine("570", (10, 0))) == ""
    assert trouble(13, True, machine("580", (7, 5), processor="aarch64")) == (
        "PyTorch's build for CUDA 13 on aarch64 has no kernels for GPU 0 (compute capability 7.5)"
    )


def test_processors_have_one_name() -> None:
    assert [plain_machine(name) for name in ("AMD64", "x86_64", "arm64", "aarch64")] == [
        "x86_64", "x86_64", "aarch64", "aarch64",
    ]  # fmt: skip


@pytest.mark.parametrize("torch", [True, False])
@pytest.mark.parametrize("python", PYTHONS)
def test_cupti_comes_along_where_there_is_a_wheel(python: tuple[int, int], torch: bool) -> None:
    assert without_cupti("win32", python, torch) == "there is no wheel of it for Windows"
    lacking = without_cupti("linux", (*python, 4), torch)
    if torch and python == (3, 14):
        assert lacking == "the version that goes with PyTorch has no wheel for Python 3.14"
    else:
        assert lacking == ""
