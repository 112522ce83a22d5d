"""Real listings: each shipped kernel's instructions belong to lines, and registers agree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuexplorer.analysis.listing import own_place
from gpuexplorer.compile.cache import ENVIRONMENT_VARIABLE
from gpuexplorer.core.config import RunRequest
from gpuexplorer.core.errors import CannotRunHere
from gpuexplorer.engine.analyze import analyze_variant, list_file, list_variants
from gpuexplorer.workloads.loader import load
from tests.support.crossed import crossed

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a")
SHIPPED = load()
KERNELS = [
    f"{workload.name}/{name}"
    for workload in SHIPPED.values()
    for name, variant in workload.manifest.variants.items()
    if variant.launch
]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled things go to a folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize(("arch", "kernel"), crossed(ARCHITECTURES, KERNELS[::2] + KERNELS[1::2]))
def test_every_instruction_has_a_line_and_registers_are_those_of_analyze(
    arch: str, kernel: str
) -> None:
    workload, variant = kernel.split("/")
    architectures = (arch,)
    request = RunRequest(workload=workload, variant=variant)
    for required in SHIPPED[workload].variant(variant).requires:
        if required.startswith("sm_") and int(required[3:]) > int(arch[3:].rstrip("a")):
            with pytest.raises(CannotRunHere, match=f"'{variant}' requires {required}, .*{arch}"):
                list_variants(SHIPPED[workload], [request], architectures)
            return
    listings = list_variants(SHIPPED[workload], [request], architectures)
    analysis = analyze_variant(SHIPPED[workload], request, architectures)
    assert [
        (k.name, k.arch, k.registers_per_thread, k.spill_store_B) for k in listings.kernels
    ] == [(k.name, k.arch, k.registers_per_thread, k.spill_store_B) for k in analysis.kernels]
    for found in listings.kernels:
        assert found.sass and found.ptx
        assert found.sass[-1].kind == "control"
        assert found.most_live_registers is not None
        assert 0 < found.most_live_registers <= found.registers_per_thread
        for one in found.sass:
            place = own_place(one, listings.sources) or one.places[0]
            lines = listings.sources.get(place.file, "").splitlines()
            assert place.file in listings.sources or place.file.endswith((".h", ".hpp")), place
            assert 0 < place.line <= (len(lines) or place.line)
        linked = {p.line for one in found.ptx for p in one.places}
        assert linked & {p.line for one in found.sass for p in one.places}


def test_a_file_with_headers_a_strange_name_and_vectors(tmp_path: Path) -> None:
    path = tmp_path / "größe 1.cu"
    path.write_text(
        '#include <cuda_fp16.h>\n#include "beside.cuh"\n'
        "__global__ void k(const float4 *A, __half *H)\n{\n"
        "    float4 v = A[threadIdx.x];\n"
        "    H[threadIdx.x] = __hadd(H[threadIdx.x], __float2half(sum(v)));\n}\n"
        "int main() { k<<<1, 32>>>(nullptr, nullptr); }\n",
        encoding="utf-8",
    )
    (tmp_path / "beside.cuh").write_text(
        "__device__ float sum(float4 v)\n{\n    return v.x + v.y + v.z + v.w;\n}\n",
        encoding="utf-8",
    )
    (kernel,) = (found := list_file(path, ["sm_90"])).kernels
    assert set(found.sources) == {"größe 1.cu", "beside.cuh"}
    (wide,) = [one for one in kernel.sass if one.width_B == 16]
    place = own_place(wide, found.sources)
    assert place is not None and (place.file, place.line) == ("größe 1.cu", 5)
    added = [one for one in kernel.sass if one.opcode == "FADD"]
    chains = {tuple((p.file, p.line) for p in one.places) for one in added}
    assert chains == {(("beside.cuh", 3), ("größe 1.cu", 6))}
