"""What a GPU newer than the compiler needs: PTX, which the driver compiles as it is loaded."""

from __future__ import annotations

import numpy as np

from tests.gpu.first_minutes.check import LeftOut, Note, require
from tests.gpu.first_minutes.here import Here
from tests.gpu.first_minutes.sources import TWICE_SOURCE

ELEMENTS = 1000
BLOCK = 128
OLD = ((7, 5), (6, 0), (5, 0))
"""Architectures that PTX is made for, the newest first; NVRTC 13 begins with 7.5."""


def ptx(here: Here, note: Note) -> None:
    """PTX for an older architecture is compiled by the driver, and right."""
    from cuda.bindings import nvrtc
    from cuda.core import Program, ProgramOptions

    compiler = tuple(int(part) for part in nvrtc.nvrtcVersion()[1:])
    old = next(capability for capability in OLD if capability <= here.facts.capability)
    arch = f"sm_{old[0]}{old[1]}"
    note("NVRTC", ".".join(map(str, compiler)))
    note("PTX for", arch)
    if compiler > here.driver.version:
        raise LeftOut("this NVRTC is newer than the driver, which does not know such PTX")
    code = Program(TWICE_SOURCE, "c++", ProgramOptions(arch=arch)).compile("ptx").code
    with here.session.explained("loading PTX"):
        kernel = here.session.load(bytes(code), "twice")
    data = np.arange(ELEMENTS, dtype=np.float32)
    source, target = here.upload(data), here.upload(np.full(ELEMENTS, np.nan, np.float32))
    here.launch(
        kernel, (-(-ELEMENTS // BLOCK), 1, 1), (BLOCK, 1, 1),
        [np.uint64(source), np.uint64(target), np.int32(ELEMENTS)],
    )  # fmt: skip
    here.session.wait()
    found = here.download(target, np.empty(ELEMENTS, np.float32))
    require((found == 2 * data).all(), f"{(found != 2 * data).sum()} of {ELEMENTS} are wrong")
