"""What a GPU newer than the compiler needs: PTX, which the driver compiles as it is loaded."""

from __future__ import annotations

import numpy as np

from gpuexplorer.compile.nvrtc import compile_kernels
from gpuexplorer.compile.program import Nvrtc
from gpuexplorer.compile.targets import is_ptx, number, target_for
from tests.gpu.first_minutes.check import LeftOut, Note, require
from tests.gpu.first_minutes.here import Here
from tests.gpu.first_minutes.sources import TWICE, TWICE_SOURCE

ELEMENTS = 1000
BLOCK = 128


def ptx(here: Here, note: Note) -> None:
    """PTX, as a GPU that is newer than NVRTC gets it, is compiled by the driver and right."""
    nvrtc = Nvrtc.load()
    note("NVRTC", ".".join(map(str, nvrtc.version)))
    if nvrtc.version > here.driver.version:
        raise LeftOut("this NVRTC is newer than the driver, which does not know such PTX")
    target = older_target(here.arch, nvrtc)
    note("target", target)
    built = compile_kernels(TWICE, {TWICE: TWICE_SOURCE}, target, entries=("twice",))
    with here.session.explained("loading PTX"):
        kernel = here.session.load(built.code, built.kernels["twice"].symbol)
    data = np.arange(ELEMENTS, dtype=np.float32)
    source, out = here.upload(data), here.upload(np.full(ELEMENTS, np.nan, np.float32))
    here.launch(
        kernel, (-(-ELEMENTS // BLOCK), 1, 1), (BLOCK, 1, 1),
        [np.uint64(source), np.uint64(out), np.int32(ELEMENTS)],
    )  # fmt: skip
    here.session.wait()
    found = here.download(out, np.empty(ELEMENTS, np.float32))
    require((found == 2 * data).all(), f"{(found != 2 * data).sum()} of {ELEMENTS} are wrong")


def older_target(arch: str, nvrtc: Nvrtc) -> str:
    """Return what would be compiled for if NVRTC ended just before ``arch``."""
    wanted = number(arch) or 0
    before = [one for one in nvrtc.known if one < wanted]
    target = target_for(arch, before, nvrtc.version) if before else f"compute_{wanted}"
    assert is_ptx(target)
    return target
