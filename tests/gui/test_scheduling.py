"""The window's thread asks Linux to be served soon when it wakes; nobody else is changed by it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpuexplorer.gui import scheduling

TOLD = "from gpuexplorer.gui import scheduling; print(scheduling.attributes().runtime_ns)"


@pytest.mark.skipif(scheduling.attributes() is None, reason="the system does not tell")
def test_a_thread_that_wakes_soon_has_a_short_slice_and_what_it_starts_the_usual_one() -> None:
    here = scheduling.attributes()
    assert here is not None

    def slices() -> tuple[scheduling.Attributes | None, scheduling.Attributes | None, int]:
        usual = scheduling.attributes()  # of a thread that was just started
        scheduling.wake_soon()
        child = subprocess.run(
            [sys.executable, "-c", TOLD], check=True, capture_output=True, text=True
        )
        return usual, scheduling.attributes(), int(child.stdout)

    with ThreadPoolExecutor(1) as threads:
        usual, own, child_ns = threads.submit(slices).result()
    assert usual is not None and own is not None
    usual_ns = usual.runtime_ns  # 0 before Linux 6.12
    assert own.runtime_ns == (scheduling.SLICE_NS if usual_ns else 0)
    assert (own.policy, own.nice) == (usual.policy, usual.nice)
    assert child_ns == usual_ns
    after = scheduling.attributes()
    assert after is not None and after.runtime_ns == here.runtime_ns, "each thread has its own"


def test_a_machine_whose_calls_are_not_known_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduling, "CALLS", {})
    assert scheduling.attributes() is None
    scheduling.wake_soon()
