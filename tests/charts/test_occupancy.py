"""The occupancy chart: limiters of one architecture, curves that several share."""

from __future__ import annotations

from gpuexplorer.analysis.static import Analysis, KernelAnalysis, KernelFigures, describe_kernel
from gpuexplorer.charts.occupancy import LIMITERS, MAX_KERNELS, limiter_slot, occupancy_chart


def kernel(arch: str, name: str = "k", registers: int = 40) -> KernelAnalysis:
    figures = KernelFigures(
        name=name, source="k.cu", arch=arch, registers_per_thread=registers,
        static_shared_B=4096, local_B=0, spill_store_B=0, spill_load_B=0, barriers=1,
        max_threads_per_block=512,
    )  # fmt: skip
    return describe_kernel(
        lambda _: (figures, 0), (16, 16, 1), precision="fp32", tunables={"TILE": 8}
    )


def test_one_architecture_shows_its_limiters_and_the_present_block() -> None:
    spec = occupancy_chart(Analysis(subject="k.cu", kernels=(kernel("sm_90"),)))
    ((panel,),) = spec.rows
    names = [s.name for s in panel.series]
    assert {"limited by registers", "limited by launch bounds", "block 16×16"} <= set(names)
    line = panel.series[0]
    assert len(line.x) == 32
    assert line.y.max() <= 100
    assert "TILE = 8" in spec.subtitle
    assert any("40 registers" in note for note in spec.notes)


def test_architectures_with_the_same_curve_share_a_line() -> None:
    kernels = tuple(kernel(arch) for arch in ("sm_80", "sm_90", "sm_75"))
    ((panel,),) = occupancy_chart(Analysis(subject="k.cu", kernels=kernels)).rows
    lines = [s for s in panel.series if s.kind == "line"]
    assert [s.name for s in lines] == ["sm_80, sm_90", "sm_75 (T4, RTX 2080 Ti)"]
    assert len({s.colour for s in lines}) == 2


def test_what_is_left_out_is_said() -> None:
    many = tuple(kernel("sm_90", f"k{i}") for i in range(MAX_KERNELS + 2))
    spec = occupancy_chart(Analysis(subject="k.cu", kernels=many))
    assert len(spec.rows) == MAX_KERNELS
    assert any("2 of 8 kernels are not drawn" in note for note in spec.notes)


def test_every_limiter_has_a_colour_of_its_own() -> None:
    assert len({limiter_slot(name) for name in LIMITERS}) == len(LIMITERS) <= 6
