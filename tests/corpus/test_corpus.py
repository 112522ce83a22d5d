"""What CUDA C++ runs on the CPU device: each kernel of the corpus computes what NumPy does."""

from __future__ import annotations

import re

import pytest

from gpuexplorer.compile.nvrtc import compile_kernels
from tests.backends.opencl_support import device
from tests.corpus.on_the_cpu import RUNS, cases, outcome, subjects, text_of
from tests.support.crossed import crossed

ARCHITECTURES = ("sm_80", "sm_86", "sm_90", "sm_120")
"""One of them for each file; before sm_80 there is no __reduce_add_sync, and less of bfloat16."""


@pytest.mark.skipif("Portable" in device().driver, reason="plain C is not C++")
@pytest.mark.parametrize(("subject", "turn"), crossed(subjects(), range(3)))
def test_every_kernel_computes_what_numpy_does_or_is_refused_in_words(
    subject: str, turn: int
) -> None:
    for case in cases(subject)[turn::3]:
        found = outcome(subject, case)
        if case.refused is None:
            assert found == RUNS, case.kernel
        else:
            assert re.match(rf"refused: {subject}\.cu{case.refused}", found), (case.kernel, found)


@pytest.mark.parametrize("subject", subjects())
def test_a_gpus_compiler_takes_them_all(subject: str) -> None:
    name = f"{subject}.cu"
    arch = ARCHITECTURES[subjects().index(subject) % len(ARCHITECTURES)]
    entries = [case.kernel for case in cases(subject)]
    found = compile_kernels(name, {name: text_of(subject)}, arch, entries=entries).kernels
    assert set(found) == set(entries)
